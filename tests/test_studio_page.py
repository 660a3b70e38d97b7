"""Studio's page in a real browser, as a person uses it: by keys, with a lasso, in two tabs, in the dark, on a phone."""

from __future__ import annotations

import csv
import re
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from studio import EVIL, open_session, wait_for, write_digits, write_texts

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")
from hidegl.browser.serving import serve  # noqa: E402


@contextmanager
def running(path, **options):
    """Studio on a file, in a thread: its session and its address."""
    session, told = open_session(path, **options), []
    thread = threading.Thread(target=serve, args=(session,), kwargs={"open_browser": False, "tell": told.append})
    thread.start()
    address = wait_for(lambda: told and told[0])
    base, token = re.fullmatch(r"(http://[\d.:]+)/\?token=(.*)", address).groups()
    try:
        yield session, address
    finally:
        with httpx.Client(base_url=base, headers={"origin": base}) as client:
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
    tab.keyboard.press("7")
    labels_are(tab, before + ticked)
    tab.keyboard.press("Control+z")
    labels_are(tab, before)
    tab.click("#map-pan")
    points = session.map()
    x, y = tab.evaluate(
        """([x, y]) => {
            const view = [...Bokeh.index.roots].find((one) => one.model.name === "map");
            const box = document.getElementById("map").getBoundingClientRect();
            return [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)];
        }""",
        [points["x"][5], points["y"][5]],
    )
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
        second = settled(tab, session, "s")
        assert {first, second} == set(wrong)
        assert session.names()[first] == truth[first]
        assert session.names()[second] == wrong[second]

        tab.keyboard.press("]")
        opened_heap(tab, "review")
        proposed = tab.locator(".tiles li:has(input:checked)").count()
        tab.keyboard.press("Enter")
        labels_are(tab, len(given) + proposed)
        tab.keyboard.press("u")
        labels_are(tab, len(given))

        wait_for(lambda: session.learner.now.trust.version == session.state()["version"])
        tab.keyboard.press("]")
        opened_heap(tab, "unfamiliar")
        tab.keyboard.press("n")
        tab.keyboard.type("9")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#choices .class:nth-child(9)")
        found = [row for row, name in session.names().items() if name == "9"]
        assert np.mean([truth[row] in "89" for row in found]) > 0.9
        assert tab.complaints == []
        tab.close()


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
    colours = tab.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert (lightness[0] > lightness[1]) == (size == "dark")
    assert tab.complaints == []
    tab.close()
