"""The report and the maps behind it, looked at in a real browser where there is one."""

from __future__ import annotations

import datetime
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidegl
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.showing.colours import class_colours
from hidegl.showing.maps import borders, point_map, tree_layout
from hidegl.showing.report import described_settings, settings, write_report
from hidegl.showing.report.contents import in_words
from hidegl.showing.tallies import Tally
from hidegl.spreading.labels import Labels
from hidegl.spreading.stream import LabelledBlock, label_columns
from hidegl.structure.tree import edges
from problems import spanning_tree

EVIL = "<script>alert(1)</script>"
MODELS = {"HiDeGL": HiDeGL(80, random_state=0), "AutoHiDeGL": AutoHiDeGL("quick", random_state=0)}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return fit(MODELS[request.param])


def fit(model):
    """A model of three heaps, one of them named to do harm, one label of 60 wrong."""
    truth = np.sort(np.arange(600) % 3)
    X = 3 * np.eye(5)[truth] + np.random.default_rng(0).normal(0, 0.9, (600, 5))
    names = np.array(["plain", EVIL, 'a "quoted" & long_class_name'])
    y = np.where(np.arange(600) % 10 == 0, names[truth], None)
    y[50] = EVIL
    return model.fit(X, y)


def describe(rows):
    return {"row": rows.tolist(), "text": [f"</script><b>{EVIL} text of {row}" for row in rows]}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write(fit(AutoHiDeGL("quick", random_state=0)), tmp_path_factory.mktemp("report"))


def write(fitted, folder):
    path = folder / "report.html"
    facts = {"learned from": f"a file named {EVIL}"}
    write_report(path, fitted, title=f"{EVIL}.csv", describe=describe, seconds=1.25, facts=facts)
    return path


class Scripts(HTMLParser):
    """Counts scripts and gathers addresses, as a browser would."""

    def __init__(self):
        super().__init__()
        self.scripts, self.addresses = 0, []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action")]


def test_the_page_is_one_small_file_with_one_script(fitted, tmp_path):
    text = write(fitted, tmp_path).read_text()
    found = Scripts()
    found.feed(text)
    assert len(text.encode()) < 3e6
    assert found.scripts == 1
    assert [address for address in found.addresses if not address.startswith("#")] == ["data:,"]
    for address in found.addresses[1:]:
        assert f'id="{address[1:]}"' in text
    assert not re.search(r"@import|url\(", text.partition("</style>")[0])


def test_the_page_says_what_was_done(fitted, tmp_path):
    text = write(fitted, tmp_path).read_text().partition("<script>")[0]
    for words in (
        "540 rows",
        "60 labels",
        "1.2 seconds",
        "The map",
        "text of",
    ):
        assert words in text
    for name in described_settings(fitted):
        assert f"<dt>{name}</dt>" in text
    assert ("Doubtful labels" in text) == any(label.doubtful for label in fitted.audit())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert EVIL not in text


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 2
    X = np.where(truth == 1, 2.2, 0)[:, None] * np.eye(1, 3) + rng.normal(size=(600, 3))
    return AutoHiDeGL("quick", random_state=0).fit(X, np.where(np.arange(600) < 60, truth, -1))


def test_the_page_begins_with_the_decision(overlapping, tmp_path):
    write_report(tmp_path / "report.html", overlapping, precision=0.85, notes=[{"code": "data", "text": "a note"}])
    text = (tmp_path / "report.html").read_text()
    taken = overlapping.acceptance(0.85).n_rows
    assert 0 < taken < 540
    cards = re.findall(r"<b>([\d,]+)</b><span>(accept now|review|label these next)", text)
    assert cards == [(str(taken), "accept now"), (str(540 - taken), "review"), ("20", "label these next")]
    parts = ["85 % of them", "a note", "The map", "A sample of the accepted", "Classes most easily", "What was done"]
    places = [text.index(words) for words in parts]
    assert places == sorted(places)
    accepted = overlapping.accept(0.85)
    sample = text[places[3] : text.index("</section>", places[3])]
    rows = [int(row) for row in re.findall(r'<td class="short">(\d+)</td>', sample)]
    assert len(rows) == 8
    assert all(accepted[row] is not None and row not in overlapping.given_labels_.rows for row in rows)


def test_one_row_that_is_left_is_spoken_of_as_one(tmp_path):
    truth = np.arange(90) % 3
    X = 5 * np.eye(3)[truth] + np.random.default_rng(0).normal(size=(90, 3))
    model = AutoHiDeGL("quick", random_state=0).fit(X, np.where(np.arange(90) == 7, -1, truth))
    write_report(tmp_path / "report.html", model)
    text = (tmp_path / "report.html").read_text()
    assert "<b>1 row</b> was labelled from <b>89 labels</b>" in text
    assert "label this next" in text


def test_without_labels_for_the_wanted_precision_a_lower_one_is_named(overlapping, tmp_path):
    assert overlapping.acceptance(0.999).n_rows == 0
    write_report(tmp_path / "report.html", overlapping, precision=0.999)
    text = (tmp_path / "report.html").read_text()
    shares = (0.99, 0.98, 0.95, 0.9, 0.8)
    lower = next(share for share in shares if overlapping.acceptance(share).share >= 0.05)
    n_rows = overlapping.acceptance(lower).n_rows
    assert f"no label is certain enough for 99.9 %; {n_rows} are for {100 * lower:.0f} %" in text


def test_a_model_of_many_rows_has_a_small_report(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(8_000) % 20
    X = (4 * np.eye(20)[truth] + rng.normal(size=(8_000, 20))).astype(np.float32)
    model = HiDeGL(random_state=0).fit(X, np.where(np.arange(8_000) < 2000, truth, -1))

    def long_texts(rows):
        return describe(rows) | {"more": ["x" * 500] * len(rows)}

    write_report(tmp_path / "report.html", model, describe=long_texts)
    assert (tmp_path / "report.html").stat().st_size < 3e6


# In a browser


def opened(browser, page, **options):
    """The page in a tab, with all that it said to the console and asked of the network."""
    tab = browser.new_page(**options)
    tab.complaints = []
    tab.on("console", lambda message: message.type in ("error", "warning") and tab.complaints.append(message.text))
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.on("dialog", lambda dialog: (tab.complaints.append("a dialog opened"), dialog.dismiss()))
    tab.on("request", lambda request: request.url == page.as_uri() or tab.complaints.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-ready]", timeout=20_000)
    return tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_opens_without_a_complaint(browser, page, scheme, width):
    tab = opened(browser, page, color_scheme=scheme, viewport={"width": width, "height": 900})
    assert tab.complaints == []
    assert tab.title() == f"{EVIL}.csv · hidegl"
    assert tab.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out to the side
    assert tab.locator("#map canvas").count() > 0
    ink, paper = tab.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (lightness[0] < lightness[1]) == (scheme == "light")
    tab.close()


def test_long_names_fit_a_phone(browser, tmp_path):
    """Names of classes, columns and files without a space, and a tooltip about them."""
    truth = np.sort(np.arange(300) % 3)
    X = 3 * np.eye(5)[truth] + np.random.default_rng(0).normal(0, 0.9, (300, 5))
    names = np.array([letter * 120 for letter in "abc"])
    y = np.where(np.arange(300) % 10 == 0, names[truth], None)
    y[[0, 50]] = names[1], names[2]
    path, long = tmp_path / "report.html", "column" * 30
    facts = {"learned_from" * 20: "value" * 60}

    def described(rows):
        return {"row": rows.tolist(), long: ["ab"] * len(rows), "text": ["word" * 60] * len(rows)}

    model = AutoHiDeGL("quick", random_state=0).fit(X, y)
    write_report(path, model, title="file" * 60, describe=described, facts=facts)
    tab = opened(browser, path, viewport={"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    outside = """[...document.querySelectorAll("main *:not(.wide):not(.wide *)")]
        .filter((e) => e.getBoundingClientRect().right > 391 && !e.closest(".bk-Figure, svg, canvas"))
        .map((e) => e.outerHTML)"""
    assert tab.evaluate(outside) == []
    tables = tab.evaluate("[...document.querySelectorAll('.wide')].map((e) => e.scrollWidth)")
    assert max(tables) <= 2 * 390  # a table may be moved sideways, but not for ever
    tab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page(browser, page, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = opened(browser, page, color_scheme=scheme, viewport={"width": 390, "height": 900})
    for what in ("folded", "open"):
        found = axe.run(tab, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
        assert found.violations_count == 0, (what, found.generate_report())
        for summary in tab.locator("summary").all():
            summary.click()
        tab.wait_for_timeout(300)
    tab.close()


@pytest.mark.parametrize(("width", "highest"), [(1280, 2900), (390, 5000)])
def test_the_page_is_short_and_its_tables_can_be_moved(browser, page, width, highest):
    tab = opened(browser, page, viewport={"width": width, "height": 900})
    assert tab.evaluate("document.documentElement.scrollHeight") <= highest
    assert tab.locator("details[open]").count() == 0
    tab.locator("#precisions summary").click()
    tab.wait_for_function("document.querySelector('#acceptance .bk-Figure').getBoundingClientRect().width > 200")
    wide = tab.locator(".wide").all()
    moved = [one for one in wide if one.evaluate("(e) => e.scrollWidth > e.clientWidth + 1")]
    assert bool(moved) == (width == 390)
    assert tab.locator(".hint").count() == len(moved)
    assert {one.get_attribute("tabindex") for one in moved} <= {"0"}
    assert tab.complaints == []
    tab.close()


def test_hovering_over_a_point_tells_about_it(browser, page):
    tab = opened(browser, page, viewport={"width": 1280, "height": 1200})
    place = tab.evaluate(
        """() => {
            const view = [...Bokeh.index.roots].find((v) => v.model.name === "map");
            const dots = view.model.renderers.find((r) => r.name === "points");
            const [x, y] = [dots.data_source.data.x[3], dots.data_source.data.y[3]];
            const box = view.canvas_view.el.getBoundingClientRect();
            return [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)];
        }"""
    )
    tab.mouse.move(place[0] - 3, place[1] - 3)
    tab.mouse.move(*place)
    tip = tab.locator(".tip").first
    tip.wait_for(timeout=5000)
    assert re.search(r"(sure · about|given label|Label next)", tip.inner_text())
    assert "text of" in tip.inner_text()
    assert tab.complaints == []
    tab.close()


CLASSES_OF = """(name) => [...new Set(Bokeh.documents.flatMap((d) => [...d.all_models])
    .find((m) => m.name === name && m.data_source).data_source.data.code)].map(String)"""


def test_a_click_on_a_class_shows_it_alone(browser, page):
    tab = opened(browser, page)
    names = tab.locator("#map-names .place")
    assert len(tab.evaluate(CLASSES_OF, "points")) == names.count() == 3
    chip = tab.locator(".chip").nth(1)
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    for name in ("points", "given"):
        assert tab.evaluate(CLASSES_OF, name) == [chip.get_attribute("data-code")]
    assert names.all_inner_texts() == [chip.inner_text().strip()]
    chip.click()
    assert len(tab.evaluate(CLASSES_OF, "points")) == 3
    tab.close()


def test_rows_of_tables_are_found_on_the_map_and_by_search(browser, page):
    tab = opened(browser, page)
    ring = tab.locator("#map-here")
    assert not ring.is_visible()
    row = tab.locator("tr[data-x]").first
    row.focus()
    row.press("Enter")
    assert ring.is_visible()
    first = ring.bounding_box()
    tab.locator("tr[data-x]").nth(1).press("Space")
    assert ring.bounding_box() != first
    tab.locator("tr[data-code]").last.click()
    assert len(tab.evaluate(CLASSES_OF, "points")) == 1
    box, rows = tab.locator("#next input.search"), tab.locator("#next tbody tr:visible")
    assert (rows.count(), box.is_visible()) == (6, False)
    tab.locator("#next .more").click()
    assert rows.count() == 20
    box.fill(rows.nth(3).locator("td").first.inner_text())
    assert 1 <= rows.count() < 20
    assert tab.complaints == []
    tab.close()


def test_77_classes_have_names_that_do_not_overlap(browser, tmp_path):
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(77, 8)) * 6, np.repeat(np.arange(77), 20)
    names = np.array([f"a kind of question {number}" for number in range(77)])
    few = np.where(np.arange(len(y)) % 20 < 2, names[y], None)
    model = AutoHiDeGL("quick", random_state=0).fit(centres[y] + rng.normal(size=(len(y), 8)), few)
    path = tmp_path / "many.html"
    write_report(path, model)
    tab = opened(browser, path)
    boxes = [one.bounding_box() for one in tab.locator("#map-names .place").all()]
    assert len(boxes) >= 15
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            apart = abs(one["x"] - other["x"]) > 1 or abs(one["y"] - other["y"]) > 10
            assert apart
    tab.locator("input[aria-label='Search 77 classes']").fill("question 42")
    assert tab.locator(".chip:visible").all_inner_texts() == ["a kind of question 42"]
    assert tab.complaints == []
    tab.close()


def test_the_page_prints(browser, page):
    tab = opened(browser, page, color_scheme="dark")
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.complaints == []
    tab.close()


# What the report is made of


@given(st.integers(1, 60), st.integers(0, 10**6))
def test_a_layout_is_in_the_square_and_keeps_points_apart(k, seed):
    places = tree_layout(spanning_tree(np.random.default_rng(seed).normal(size=(k, 3))))
    assert places.shape == (k, 2)
    assert np.all(np.isfinite(places))
    assert np.abs(places).max() <= 1
    if k > 1:
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(k)
        assert gaps.min() > 1e-4


def test_the_map_shows_classes_masses_and_given_labels(fitted):
    shown = point_map(fitted)
    k = len(shown.positions)
    assert len(shown.heads) == k - 1
    assert shown.mass.sum() == pytest.approx(600, rel=1e-4)
    assert set(shown.codes) == {0, 1, 2}
    assert np.all((shown.confidence > 0) & (shown.confidence <= 1 + 1e-9))
    right = shown.codes[shown.given_points] == shown.given_codes
    assert right.mean() > 0.9
    assert len(shown.given_rows) == 60


def test_borders_are_the_edges_between_classes(fitted):
    shown = point_map(fitted)
    found = borders(shown)
    crossing = shown.codes[shown.heads] != shown.codes[shown.tails]
    assert sum(border.n_edges for border in found) == crossing.sum()
    assert [border.undecided for border in found] == sorted((border.undecided for border in found), reverse=True)
    for border in found:
        assert {shown.codes[point] for point in border.points} == set(border.codes)


def test_a_map_without_labels(moons):
    shown = point_map(HiDeGL(50, random_state=0).fit(moons[0]))
    assert set(shown.codes) == {-1}
    assert len(shown.given_rows) == 0


def test_a_tally_counts_rows_in_parts():
    tally = Tally(np.array(["a", "b"]))
    P = np.array([[0.7, 0.3], [0.48, 0.52], [0.02, 0.98], [0.0, 1.0]])
    tally.add(LabelledBlock.of(label_columns(P[:3]), tally.classes, Labels.of(tally.classes, np.array([0, -1, -1]))))
    tally.add(LabelledBlock.of(label_columns(P[3:]), tally.classes))
    assert tally.given.tolist() == [1, 0]
    assert tally.rows.tolist() == [1, 3]
    assert tally.histogram[1, [10, 19]].tolist() == [1, 2]
    assert tally.confidence[1] == pytest.approx(2.5 / 3)


@pytest.mark.parametrize("n", [1, 10, 11, 77])
def test_colours_differ(n):
    colours = class_colours(n)
    assert len(set(colours)) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_the_layout_of_a_tree_has_few_crossings(moons):
    """Edges of a tree can be drawn without crossings, and nearly are."""
    G = spanning_tree(np.random.default_rng(0).normal(size=(120, 4)))
    places = tree_layout(G)
    a, b = (places[ends] for ends in edges(G))

    def side(p, q, r):
        one, other = q - p, r - p
        return np.sign(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])

    p, q, r, s = a[:, None], b[:, None], a[None], b[None]
    cross = (side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)
    assert cross.sum() / 2 < 0.1 * len(a)


def test_the_date_needs_no_code_that_some_systems_lack():
    assert in_words(datetime.datetime(2025, 5, 3, 9, 7)) == "3 May 2025, 09:07"
    source = Path(hidegl.__file__).parent
    assert [path for path in source.rglob("*.py") if re.search(r"%-[a-zA-Z]\b", path.read_text())] == []


def test_every_name_of_a_setting_is_one_that_models_have():
    X, truth = make_three_moons(300, random_state=0)
    y = hide_labels(truth, draw_labels(truth, 9, seed=0, kind="balanced"))
    models = [HiDeGL(30, random_state=0).fit(X, y), AutoHiDeGL(effort="quick", random_state=0).fit(X, y)]
    known = {name for model in models for name in model.settings_}
    assert set(settings.NAMES) - known == {"view_weights"}  # of models with several views
