"""Studio's page in a real browser, as a person uses it: by keys, with a lasso, in two tabs, in the dark, on a phone."""

from __future__ import annotations

import csv
import os
import re
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from hidegl.annotation.label_store import ANNOTATOR
from studio import EVIL, open_session, wait_for, write_digits, write_texts

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")
from hidegl.browser.serving import Place, serve  # noqa: E402
from hidegl.browser.waiting import WaitingPage  # noqa: E402


@contextmanager
def running(path, port=0, **options):
    """Studio on a file, in a thread: its session and its address."""
    session, told = open_session(path, **options), []
    how = {"open_browser": False, "tell": told.append, "port": port}
    thread = threading.Thread(target=serve, args=(session,), kwargs=how)
    thread.start()
    address = wait_for(lambda: told and told[0])
    base, token = re.fullmatch(r"(http://[\d.:]+)/\?token=(.*)", address).groups()
    try:
        yield session, address
    finally:
        with suppress(httpx.ConnectError), httpx.Client(base_url=base, headers={"origin": base}) as client:
            client.get("/", params={"token": token})
            client.post("/api/end", json={})
        thread.join(timeout=30)
        assert not thread.is_alive()


def opened(browser, address, **options):
    """The page in a tab, with all that it said to the console, and dialogs that opened."""
    options.setdefault("viewport", {"width": 1280, "height": 860})
    tab = browser.new_page(**options)
    tab.complaints = []
    tab.on("console", lambda message: message.type in ("error", "warning") and tab.complaints.append(message.text))
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.on("dialog", lambda dialog: (tab.complaints.append("a dialog opened"), dialog.dismiss()))
    tab.on("request", lambda request: request.url.startswith("http://127.0.0.1:") or tab.complaints.append(request.url))
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]", timeout=20_000)
    tab.wait_for_selector("article.card", timeout=30_000)
    assert tab.url.endswith("/")  # the token is gone from the address
    return tab


def labels_are(tab, n):
    tab.wait_for_selector(f"html[data-labels='{n}']", timeout=10_000)


def label_by_keys(tab, truth, n):
    """Label n cards with nothing but the keyboard."""
    known = {name.strip() for name in tab.locator("#choices .class .name").all_inner_texts()}
    begun = int(tab.get_attribute("html", "data-labels"))
    for step in range(n):
        tab.wait_for_selector("article.card", timeout=10_000)
        row = int(tab.get_attribute("article.card", "data-row"))
        name = truth[row]
        if name in known:
            tab.keyboard.press(name)
        else:
            if known:  # before there is a class, its field has the focus
                tab.keyboard.press("n")
            tab.keyboard.type(name)
            tab.keyboard.press("Enter")
            known.add(name)
        labels_are(tab, begun + step + 1)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Texts of three kinds, labelled, one class of which is named to do harm."""
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    truth = write_texts(path)
    with running(path, embedder="words") as (session, address):
        for row in range(0, 90, 4):
            session.label_named([row], {"fruit": EVIL}.get(truth[row], truth[row]), "card")
        wait_for(lambda: session.learner.now.trust and session.learner.now.layout)
        yield session, address


def test_from_an_unlabelled_csv_to_an_export_by_keys_alone(browser, tmp_path):
    path = tmp_path / "digits.csv"
    truth = write_digits(path)
    with running(path) as (session, address):
        tab = opened(browser, address)
        tab.wait_for_selector("article.card img.picture")
        label_by_keys(tab, truth, 30)
        tab.wait_for_selector(".proposal .accept", timeout=10_000)
        for _ in range(20):
            tab.keyboard.press("u")
        labels_are(tab, 10)
        for _ in range(20):
            tab.keyboard.press("Control+Shift+z")
        labels_are(tab, 30)
        before = tab.get_attribute("article.card", "data-row")
        tab.keyboard.press("s")
        tab.wait_for_selector(f"article.card:not([data-row='{before}'])")
        wait_for(lambda: session.learner.now.trust)
        tab.keyboard.press("Control+s")
        tab.wait_for_selector("dialog .kinds button:focus")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("dialog .told[data-wrote]", timeout=20_000)
        tab.keyboard.press("Escape")
        tab.keyboard.press("?")
        assert "any number of steps" in tab.inner_text("dialog")
        assert tab.complaints == []
        tab.close()
    with (path.parent / "digits.labelled.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(truth)
    assert sum(row["given"] == "true" for row in rows) == 30
    assert np.mean([row["label"] == name for row, name in zip(rows, truth, strict=True)]) > 0.8


def test_a_restart_goes_on_and_two_tabs_agree(browser, tmp_path):
    path = tmp_path / "digits.csv"
    truth = write_digits(path)
    with running(path) as (session, _):
        for row in range(40):
            session.label_named([row], truth[row], "card")
    with running(path) as (session, address):
        begun = len(session.store.labels())
        assert begun == 40
        first, second = opened(browser, address), opened(browser, address)
        labels_are(first, begun)
        label_by_keys(first, truth, 2)
        labels_are(second, begun + 2)
        label_by_keys(second, truth, 1)
        labels_are(first, begun + 3)
        second.keyboard.press("u")
        labels_are(first, begun + 2)
        assert first.complaints + second.complaints == []
        lasso_and_review(first, session)
        first.close()
        second.close()


def lasso_and_review(tab, session):
    """Draw around points of the map, and label their rows at once; a click shows the rows of a region."""
    wait_for(lambda: session.learner.now.trust)
    before = len(session.store.labels())
    tab.wait_for_selector("html:not([data-colours=''])[data-colours]")
    box = tab.locator("#map").bounding_box()
    tab.click("#map-lasso")
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(middle[0] - 160, middle[1] - 160)
    tab.mouse.down()
    for dx, dy in ((160, -160), (160, 160), (-160, 160), (-160, -150)):
        tab.mouse.move(middle[0] + dx, middle[1] + dy, steps=4)
    tab.mouse.up()
    tab.wait_for_selector(".tiles li", timeout=10_000)
    assert "Rows in the lasso" in tab.inner_text(".list-head")
    ticked = tab.locator(".tiles input:checked").count()
    assert ticked > 3
    assert tab.locator("#tip").is_hidden()
    tab.keyboard.press("7")
    confirmed(tab, ticked)
    labels_are(tab, before + ticked)
    tab.keyboard.press("Control+z")
    labels_are(tab, before)
    tab.click("#map-pan")
    x, y = place_of_point(tab, session, 5)
    tab.mouse.move(x + 1, y + 1)
    tab.mouse.move(x, y)
    tab.wait_for_selector("#tip:not([hidden])")
    assert "sure" in tab.inner_text("#tip")
    tab.mouse.click(x, y)
    tab.wait_for_selector(".tiles li")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("article.card")


def test_doubts_review_and_unfamiliar_rows_are_settled_by_keys(browser, tmp_path):
    """Labels of eight digits, two of them wrong: the page finds both, the digits without a label, and unsure rows."""
    path = tmp_path / "digits.csv"
    truth = write_digits(path, 1000)
    given = [int(row) for name in "01234567" for row in np.flatnonzero(truth == name)[:12]]
    wrong = {given[3]: "6", given[40]: "1"}
    with running(path) as (session, address):
        for row in given:
            session.label_named([row], wrong.get(row, truth[row]), "file")
        wait_for(lambda: session.learner.now.trust and len(session.learner.now.trust.doubts) > 1)
        tab = opened(browser, address)
        tab.keyboard.press("]")
        tab.wait_for_selector("#tab-doubts[aria-selected='true']")
        first = settled(tab, session, "Enter")
        tab.keyboard.press("u")
        tab.wait_for_selector(f"article.card[data-row='{first}']")  # what was taken back is looked at again
        wait_for(lambda: session.learner.now.trust.version == session.state()["version"])
        assert settled(tab, session, "Enter") == first
        second = settled(tab, session, "s")
        assert {first, second} == set(wrong)
        assert session.names()[first] == truth[first]
        assert session.names()[second] == wrong[second]

        tab.keyboard.press("]")
        tab.keyboard.press("]")  # nothing is unclear
        opened_heap(tab, "review")
        proposed = tab.locator(".tiles li:has(input:checked)").count()
        tab.keyboard.press("Enter")
        confirmed(tab, proposed)
        labels_are(tab, len(given) + proposed)
        tab.keyboard.press("u")
        labels_are(tab, len(given))

        wait_for(lambda: session.learner.now.trust.version == session.state()["version"])
        tab.keyboard.press("]")
        opened_heap(tab, "unfamiliar")
        tab.keyboard.press("n")
        ticked = tab.locator(".tiles input:checked").count()
        tab.keyboard.type("9")
        tab.keyboard.press("Enter")
        confirmed(tab, ticked)
        tab.wait_for_selector("#choices .class:nth-child(9)")
        found = [row for row, name in session.names().items() if name == "9"]
        assert np.mean([truth[row] in "89" for row in found]) > 0.9
        assert tab.complaints == []
        tab.close()


def confirmed(tab, n):
    """More than 20 rows are labelled only if a person means it."""
    if n > 20:
        tab.wait_for_selector(f"dialog:has-text('Label {n} rows?') button:focus")
        tab.keyboard.press("Enter")


def settled(tab, session, key):
    """The row of the doubt that the page shows first, after a key."""
    row = int(tab.get_attribute("article.card", "data-row"))
    tab.keyboard.press(key)
    tab.wait_for_selector(f"article.card[data-row='{row}']", state="detached")
    wait_for(lambda: session.store.labels()[row].source == "doubts")
    return row


def opened_heap(tab, name):
    """The first heap of a tab, opened from the keyboard."""
    tab.wait_for_selector(f"#tab-{name}[aria-selected='true']")
    tab.locator(".heap").first.focus(timeout=10_000)
    tab.evaluate("import('/page/model.js').then((page) => page.tell('tab'))")  # news, at which the panel is drawn again
    tab.wait_for_selector(".heap:focus")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".tiles li")


def test_classes_are_renamed_and_merged_and_a_harmful_name_does_nothing(browser, texts):
    session, address = texts
    tab = opened(browser, address)
    assert EVIL in tab.inner_text("#choices")
    tab.click("#tab-classes")
    line = tab.locator("tr", has=tab.locator("[aria-label='Name of car']"))
    line.locator("input.name").fill("vehicle")
    line.locator("input.name").press("Enter")
    tab.wait_for_selector("[aria-label='Name of vehicle']")
    tab.select_option("[aria-label='Merge vehicle into']", label="sea")
    tab.wait_for_selector("[aria-label='Name of vehicle']", state="detached")
    assert [one.name for one in session.store.classes] == [EVIL, "sea"]
    tab.locator("body").press("Control+z")
    tab.wait_for_selector("[aria-label='Name of vehicle']")
    tab.locator("body").press("Control+z")
    tab.wait_for_selector("[aria-label='Name of car']")
    for name in ("doubts", "review", "unfamiliar", "next"):
        tab.click(f"#tab-{name}")
        tab.wait_for_selector(f"#tab-{name}[aria-selected='true']")
    tab.click("#tab-search")
    tab.keyboard.type("wheel")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".tiles li")
    assert "30 rows" in tab.inner_text(".list-head")
    tab.fill("#map-find", EVIL)
    tab.wait_for_selector(".place")
    assert tab.locator(".place").all_inner_texts() == [EVIL]
    assert tab.complaints == []
    tab.close()


SIZES = {
    "desktop": {"viewport": {"width": 1280, "height": 860}},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "zoom": {"viewport": {"width": 640, "height": 430}, "device_scale_factor": 2},
}


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_and_everybody_can_use_it(browser, texts, size):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = opened(browser, texts[1], **SIZES[size])
    for name in ("next", "review", "classes", "search"):
        tab.click(f"#tab-{name}")
        tab.wait_for_timeout(120)
        assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["viewport"]["width"]
        found = axe.run(tab, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
        assert found.violations_count == 0, (name, found.generate_report())
    tab.click("#tab-next")
    for name, keys in (("export", "Control+s"), ("keys", "?")):
        tab.keyboard.press(keys)
        tab.wait_for_selector("dialog")
        tab.wait_for_timeout(120)
        found = axe.run(tab, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
        assert found.violations_count == 0, (name, found.generate_report())
        tab.keyboard.press("Escape")
    colours = tab.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert (lightness[0] > lightness[1]) == (size == "dark")
    assert tab.complaints == []
    tab.close()


def said(tab, words):
    tab.wait_for_function("words => document.querySelector('#said.shown')?.textContent.includes(words)", arg=words)


def row_of(tab):
    return tab.get_attribute("article.card", "data-row")


@pytest.fixture
def many_texts(tmp_path):
    """300 texts of three kinds, 30 of them labelled."""
    path = tmp_path / "texts.csv"
    truth = write_texts(path, 300)
    with running(path, embedder="words") as (session, address):
        for row in range(30):
            session.label_named([row], truth[row], "card")
        wait_for(lambda: session.learner.now.trust and session.learner.now.layout)
        yield session, address


def test_clicks_and_keys_do_what_they_say(browser, many_texts):
    session, address = many_texts
    tab = opened(browser, address)
    labels_are(tab, 30)
    tab.wait_for_selector(".proposal .accept")
    tab.click("#undo")
    labels_are(tab, 29)
    tab.keyboard.press("Enter")  # the proposal, not the button again
    labels_are(tab, 30)
    for name in ("review", "next"):
        tab.click(f"#tab-{name}")
    tab.wait_for_selector(".proposal .accept")
    tab.keyboard.press(" ")
    labels_are(tab, 31)

    for _ in range(4):
        tab.keyboard.down("1")  # held: the browser repeats it
    tab.keyboard.up("1")
    tab.keyboard.press("1")
    labels_are(tab, 33)
    tab.wait_for_timeout(200)
    assert tab.get_attribute("html", "data-labels") == "33"

    tab.locator("#choices .class").nth(1).hover()
    tab.mouse.down()
    session.label_named([299], "fruit", "card")  # another page labels a row, and all counts change
    labels_are(tab, 34)
    tab.mouse.up()
    labels_are(tab, 35)

    classes_are_changed_by_clicks(tab, session)
    what_is_proposed_is_deleted(tab, session)
    tab.route("**/api/label", lambda route: route.fulfill(status=500, json={"error": "the disk is full"}), times=1)
    before = tab.get_attribute("html", "data-labels")
    assert tab.complaints == []
    tab.keyboard.press("1")
    said(tab, "Not saved: the disk is full")
    tab.keyboard.press("1")
    labels_are(tab, int(before) + 1)
    tab.wait_for_selector("#said:not(.shown)", state="attached", timeout=1000)
    tab.close()


def classes_are_changed_by_clicks(tab, session):
    """A new name and the deletion of another class in one go; Esc; and names that differ in capitals only."""
    tab.click("#tab-classes")
    tab.fill("[aria-label='Name of fruit']", "apples")
    box = tab.locator("[aria-label='Delete sea']").bounding_box()
    tab.mouse.move(box["x"] + 5, box["y"] + 5)
    tab.mouse.down()
    wait_for(lambda: "apples" in [one.name for one in session.store.classes])
    tab.wait_for_timeout(100)
    tab.mouse.up()
    wait_for(lambda: [one.name for one in session.store.classes] == ["apples", "car"])
    tab.wait_for_selector("[aria-label='Name of sea']", state="detached")
    tab.fill("[aria-label='Name of car']", "nonsense")
    tab.press("[aria-label='Name of car']", "Escape")
    assert tab.input_value("[aria-label='Name of car']") == "car"
    tab.click("#tab-next")
    tab.wait_for_selector("article.card")
    assert "gone" not in tab.inner_text("article.card")
    tab.keyboard.press("n")
    tab.keyboard.type("CAR")
    tab.keyboard.press("Enter")
    said(tab, "There is a class “car” too")
    wait_for(lambda: [one.name for one in session.store.classes] == ["apples", "car", "CAR"])  # said before it is saved


def what_is_proposed_is_deleted(tab, session):
    """Elsewhere. The card proposes among the classes that are left."""
    tab.wait_for_selector(".proposal .accept")
    row, name = row_of(tab), tab.inner_text(".proposal .accept .tag").strip()
    number = next(one.number for one in session.store.classes if one.name == name)
    session.change(lambda store: store.delete(number))
    tab.wait_for_selector(f"#choices .class[data-class='{number}']", state="detached")
    assert row_of(tab) == row
    assert "gone" not in tab.inner_text("article.card")
    session.change(lambda store: store.undo())
    tab.wait_for_selector(f"#choices .class[data-class='{number}']")


def test_lists_say_what_a_key_does_and_show_what_is_so(browser, many_texts):
    session, address = many_texts
    tab = opened(browser, address)
    tab.click("#tab-search")
    tab.keyboard.type("wheel")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".tiles li")
    assert "60 of 100 rows" in tab.inner_text(".list-head")
    left = tab.locator(".tiles li:not(.given) input").nth(3)
    left_row = int(left.get_attribute("aria-label").removeprefix("Row "))
    left.click()
    tab.click(".list .note button")
    assert tab.inner_text(".does") == "A class key labels all 89 rows without a label"  # of 100, 10 are labelled
    pressed = tab.locator(".list .note button[aria-pressed='true']")
    assert pressed.evaluate("one => getComputedStyle(one).backgroundColor") == tab.evaluate(
        "getComputedStyle(document.body).color"
    )
    tab.keyboard.press("2")
    tab.wait_for_selector("dialog:has-text('Label 89 rows?')")
    tab.get_by_role("button", name="Cancel").click()
    labels_are(tab, 30)
    tab.keyboard.press("2")
    confirmed(tab, 89)
    labels_are(tab, 30 + 89)
    assert left_row not in session.store.labels()
    tab.wait_for_selector(".tiles li:nth-child(50).given")
    tab.keyboard.press("u")
    labels_are(tab, 30)
    tab.wait_for_selector(".tiles li:nth-child(50):not(.given)")
    tab.keyboard.press("Control+y")
    tab.wait_for_selector(".tiles li:nth-child(50).given")

    rows = list(range(100, 229))
    group = {"number": 1, "n_rows": 700, "examples": session.contents.of(rows[:3]), "rows": rows}
    tab.route("**/api/groups", lambda route: route.fulfill(json={"groups": [group]}))
    tab.click("#tab-unfamiliar")
    tab.click(".heap")
    tab.wait_for_selector(".tiles li")
    assert "60 of 700 rows" in tab.inner_text(".list-head")
    for listed in (120, 129):
        tab.click(".more")
        tab.wait_for_selector(f".tiles li:nth-child({listed})")
    assert "others come" in tab.inner_text(".list .note")

    tab.click("#tab-next")
    point_is_clicked(tab, session, 5)
    tab.get_by_role("button", name="Tick none").click()
    tab.keyboard.press("1")
    said(tab, "Tick some rows first")
    assert tab.locator(".tiles li").count() > 0  # the list stays
    assert tab.complaints == []

    session.label_named(range(300), "sea", "card")
    labels_are(tab, 300)
    wait_for(lambda: "rows are labelled by you" in tab.inner_text("#progress"))
    assert "expected" not in tab.inner_text("#view")
    tab.close()


def place_of_point(tab, session, number):
    """Where a point of the map is on the page."""
    points = session.map()
    return tab.evaluate(
        """([x, y]) => {
            const view = [...Bokeh.index.roots].find((one) => one.model.name === "map");
            const box = document.getElementById("map").getBoundingClientRect();
            return [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)];
        }""",
        [points["x"][number], points["y"][number]],
    )


def point_is_clicked(tab, session, number):
    x, y = place_of_point(tab, session, number)
    tab.mouse.click(x, y)
    tab.wait_for_selector(".tiles li")


def test_the_page_knows_when_studio_ends_and_starts_again(browser, tmp_path):
    path = tmp_path / "digits.csv"
    write_digits(path, 60)
    with running(path) as (_, address):
        first, second = opened(browser, address), opened(browser, address)
        assert row_of(first) == row_of(second)
        skipped = row_of(first)
        first.keyboard.press("Escape")  # out of the field for the first class
        first.keyboard.press("s")
        second.wait_for_selector(f"article.card:not([data-row='{skipped}'])")
        early = browser.new_page()
        held, complaints = [], []
        early.on("pageerror", lambda error: complaints.append(str(error)))
        early.route("**/events", lambda route: held.append(route))
        early.goto(address)
        for name in ("doubts", "review", "unfamiliar", "classes", "search", "review"):
            early.click(f"#tab-{name}")
        early.keyboard.press("Control+s")
        early.keyboard.press("n")
        early.keyboard.type("x")
        early.keyboard.press("Enter")
        wait_for(lambda: early.wait_for_timeout(20) or held)
        held[0].continue_()
        early.wait_for_selector("#panel .empty")
        assert complaints == []
        early.close()
        first.keyboard.press("Control+s")
        first.get_by_role("button", name="Finish").click()
        first.wait_for_selector("main.ended")
        said(second, "start it again and open the address that it prints")
        assert first.complaints == []
        port = int(re.search(r":(\d+)/", address)[1])
        first.wait_for_timeout(300)
        assert first.complaints == []
    with running(path, port=port):
        said(second, "Studio was started again: open the address that it prints")
        second.reload()
        assert "Open the address that Studio prints" in second.inner_text("main")
    first.close()
    second.close()


def test_keys_and_numbers_can_be_read_on_narrow_screens(browser, tmp_path):
    path = tmp_path / "houses.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["median_income_of_the_neighbourhood_in_thousands", "latitude of the house", "note", "rooms"])
        for i in range(60):
            lines.writerow([f"{i * 0.1234567 + 100:.6f}", f"{i % 7 * 1.7654321 - 123:.6f}", "x" * 400, i % 5])
    with running(path) as (_, address):
        for size in ("desktop", "zoom", "phone"):
            tab = opened(browser, address, **SIZES[size])
            broken = tab.evaluate(
                """() => [...document.querySelectorAll(".cells dd, .cells dt")].filter((one) => {
                    const range = document.createRange();
                    range.selectNodeContents(one);
                    return one.textContent.length < 12 && range.getClientRects().length > 1;
                }).map((one) => one.textContent)"""
            )
            assert broken == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["viewport"]["width"]
            assert tab.locator("#undo kbd").is_visible() == (size != "phone")
            tab.keyboard.press("Escape")
            tab.keyboard.press("?")
            assert tab.locator("dialog kbd").first.is_visible()
            tab.close()


def write_tickets(path, n_rows=120):
    """Texts with seven other columns."""
    kinds = ["the invoice is wrong", "where is my parcel", "cannot log in"]
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["ticket", "created", "channel", "agent", "text", "country", "since", "priority"])
        for i in range(n_rows):
            other = [
                f"T-{i}",
                f"2026-01-{i % 28 + 1:02d}",
                "mail",
                "Ann",
                f"{kinds[i % 3]} {i}",
                "GB",
                2000 + i % 9,
                "low",
            ]
            lines.writerow(other)
    return [("billing", "delivery", "login")[i % 3] for i in range(n_rows)]


def test_the_first_screen_asks_for_a_name_and_keys_count_at_once(browser, tmp_path):
    path = tmp_path / "tickets.csv"
    write_tickets(path)
    with running(path, text="text", embedder="words") as (session, address):
        tab = opened(browser, address)
        assert tab.evaluate("document.activeElement.id") == "new-class"
        assert "Name this row’s class" in tab.inner_text("#choices")
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(tab, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]})
        assert found.violations_count == 0, found.generate_report()
        text, field = tab.locator("article.card p.text").bounding_box(), tab.locator("#new-class").bounding_box()
        assert 0 < field["y"] - (text["y"] + text["height"]) < 320  # right under the row, not at the foot of the page
        assert tab.locator(".cells dd:visible").count() == 3
        tab.get_by_text("4 more columns").click()
        assert tab.locator(".cells dd:visible").count() == 7

        def slowly(route):
            if "name" in (route.request.post_data_json or {}):
                threading.Event().wait(0.4)
            route.continue_()

        tab.route("**/api/label", slowly)
        tab.locator("#new-class").focus()
        tab.keyboard.type("7")
        tab.keyboard.press("Enter")
        tab.wait_for_timeout(50)
        tab.keyboard.press("7")  # before the server knows the class
        labels_are(tab, 2)
        assert set(session.names().values()) == {"7"}
        assert tab.locator(".cells dd:visible").count() == 7  # what was opened stays open
        assert tab.complaints == []
        tab.close()


def test_single_keys_can_be_turned_off(browser, many_texts):
    _, address = many_texts
    tab = opened(browser, address)
    tab.keyboard.press("?")
    tab.check("#keys-off")
    tab.keyboard.press("Escape")
    tab.keyboard.press("1")
    tab.keyboard.press("s")
    tab.wait_for_timeout(150)
    labels_are(tab, 30)
    tab.keyboard.press("Alt+1")
    labels_are(tab, 31)
    tab.reload()
    tab.wait_for_selector("article.card")
    tab.keyboard.press("2")
    tab.keyboard.press("Enter")
    labels_are(tab, 32)
    assert tab.locator("html.keys-off").count() == 1
    tab.keyboard.press("Alt+?")
    tab.uncheck("#keys-off")
    tab.keyboard.press("Escape")
    tab.keyboard.press("1")
    labels_are(tab, 33)
    tab.close()


BETTER_MODEL = """import('/page/model.js').then(({ model, take }) => {
    const { number } = model.state;
    take({ ...model.state, number: number + 0.1, is_best: false });
    take({ ...model.state, number: number + 0.2, is_best: true });
})"""


def test_files_are_named_before_they_are_written_and_search_follows_the_typing(browser, many_texts):
    session, address = many_texts
    tab = opened(browser, address)
    tab.keyboard.press("Control+s")
    tab.wait_for_selector(".kinds :text('texts.labelled.csv')")
    assert tab.locator(".kinds button").first.get_attribute("data-kind") == "csv"
    assert str(session.store.path.parent) in tab.inner_text("dialog")
    tab.check("#only-sure")
    tab.wait_for_selector(".kinds :text('texts.labelled.csv and texts.review.csv')")
    close, finish = (tab.get_by_role("button", name=name).bounding_box() for name in ("Close", "Finish"))
    assert finish["y"] - close["y"] > 150
    tab.keyboard.press("Escape")
    assert "points" in tab.inner_text("#progress")

    tab.evaluate(BETTER_MODEL)
    said(tab, "The better model has taken over, so numbers and map have changed")

    tab.click("#tab-search")
    tab.keyboard.type("wheel", delay=20)
    tab.wait_for_selector(".tiles li")  # without Enter
    assert "60 of 100 rows" in tab.inner_text(".list-head")
    assert tab.evaluate("document.activeElement.id") == "search-words"
    tab.keyboard.type(" brake 1")
    tab.wait_for_selector(".list-head :text('“wheel brake 1”')")
    assert tab.locator(".tiles .cells").count() == 0  # the text leads
    tab.click("#tab-classes")
    assert tab.locator("#class-buttons").is_hidden()
    tab.click("#fold-classes")
    assert tab.locator("#class-buttons").is_visible()
    tab.click("#tab-next")
    assert tab.locator("#class-buttons").is_visible()
    assert tab.complaints == []
    tab.close()


def test_a_class_without_a_point_is_named_on_the_map_and_facts_are_short(browser, many_texts):
    _, address = many_texts
    tab = opened(browser, address)
    tab.wait_for_selector(".place:text('sea')")
    tab.evaluate(
        """import('/page/model.js').then(({ model, take, tell }) => {
            const { state, colours } = model;
            const [one, other] = state.classes.map((known) => known.number);
            model.colours = { ...colours, classes: colours.classes.map((number) => (number === one ? other : number)) };
            take({ ...state, number: state.number + 0.1 });
            tell('colours');
        })"""
    )
    tab.wait_for_timeout(300)
    assert sorted(tab.locator(".place").all_inner_texts()) == ["car", "fruit", "sea"]
    assert "at least" in tab.inner_text(".fact.accuracy")  # the cards chose the rows
    assert tab.locator(".fact.accuracy").bounding_box()["height"] < 130
    tab.close()


def test_a_group_to_review_has_one_class(many_texts):
    session, _ = many_texts
    regions = session.rows.unsure(0.99)["regions"]
    assert len(regions) > 1
    numbers = session.learner.now.trust.numbers
    assert all({int(numbers[row]) for row in region["rows"]} == {region["number"]} for region in regions)
    assert sum(region["n_rows"] for region in regions) == session.rows.unsure(0.99)["total"]


def test_small_images_keep_their_pixels_and_can_be_enlarged(browser, tmp_path):
    path = tmp_path / "digits.csv"
    write_digits(path, 60)
    with running(path) as (_, address):
        tab = opened(browser, address)
        tab.wait_for_selector("article.card img.pixels")
        before = tab.locator("article.card img").bounding_box()["width"]
        assert before > 150
        tab.keyboard.press("Escape")
        tab.keyboard.press("+")
        tab.wait_for_selector("dialog.enlarged img.pixels")
        assert tab.locator("dialog.enlarged img").bounding_box()["width"] > 1.5 * before
        tab.close()
        phone = opened(browser, address, **SIZES["phone"])
        assert phone.locator("header").bounding_box()["height"] < 60
        assert phone.locator("kbd:visible").count() == 0
        assert "N" not in phone.get_attribute("#new-class", "placeholder")
        phone.close()


def test_the_page_says_how_far_embedding_is(browser, tmp_path):
    path = tmp_path / "texts.csv"
    write_texts(path)
    place, opened_at = Place.at("127.0.0.1", 0), []
    tab = browser.new_page()
    with WaitingPage(place, "texts.csv", lambda: opened_at.append(place.address)) as waiting:
        waiting.passed("embedding", 0.1, "")
        assert opened_at == []  # work of a moment needs no page
        waiting._begun -= 10
        waiting.passed("embedding", 0.3, "")
        tab.goto(opened_at[0])
        tab.wait_for_selector("#what:text('embedding: 30 %')")
        waiting.passed("embedding", 0.72, "")
        tab.wait_for_selector("#what:text('embedding: 72 %')")
        assert tab.evaluate("document.querySelector('progress').value") == 0.72
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        assert axe.run(tab, options={"runOnly": ["wcag2a", "wcag2aa"]}).violations_count == 0
        without = httpx.get(f"http://127.0.0.1:{place.port}/waiting")
        assert without.status_code == 401
    session = open_session(path, embedder="words")
    how = {"place": place, "open_browser": False, "tell": lambda _: None}
    thread = threading.Thread(target=serve, args=(session,), kwargs=how)
    thread.start()
    tab.wait_for_selector("article.card", timeout=30_000)  # the same page has become Studio
    tab.keyboard.press("Escape")
    tab.keyboard.press("Control+s")
    tab.get_by_role("button", name="Finish").click()
    tab.wait_for_selector("main.ended")
    thread.join(timeout=30)
    assert not thread.is_alive()
    tab.close()


def test_two_people_disagree_and_one_is_unsure(browser, tmp_path):
    write_texts(tmp_path / "t.csv")
    with running(tmp_path / "t.csv", embedder="words") as (session, address):
        tab = opened(browser, address)
        tab.click("#who")
        tab.fill("#person", "anna")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#who:has-text('anna')")
        label_first = tab.locator("article.card").get_attribute("data-row")
        tab.fill("#new-class", "sea")
        tab.keyboard.press("Enter")
        labels_are(tab, 1)
        tab.keyboard.press("-")
        tab.wait_for_selector("#tab-disputes .count:has-text('1')")
        tab.click("text=Other / junk")
        labels_are(tab, 2)
        token = ANNOTATOR.set("ben")
        session.label_named([int(label_first)], "car", "card")
        ANNOTATOR.reset(token)
        tab.wait_for_selector("#tab-disputes .count:has-text('2')")
        tab.click("#tab-disputes")
        tab.wait_for_selector(f"article.card[data-row='{label_first}']:has-text('anna says')")
        if folder := os.environ.get("HIDEGL_PICTURES"):
            tab.screenshot(path=f"{folder}/unclear.png")
        tab.click("article.card .proposal button:has-text('sea')")
        tab.wait_for_selector("#tab-disputes .count:has-text('1')")
        assert not session.store.disputed()
        assert {one.name for one in session.store.classes} == {"sea", "car", "other / junk"}
        assert tab.complaints == []
