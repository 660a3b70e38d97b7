"""Every measured number of the documents has a stored result, or a reason why it needs none.

A measured number is a percentage, a time, a size, a factor, or a decimal. Tables between marks and whole pages are
written from stored results, and tests/test_docs.py compares them. Code and transcripts are examples, and are not looked
at. Every other number is in MEASURED, with the stored value that it must equal, or in NOT_MEASURED, with a reason.
"""

import importlib
import json
import re
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
WRITTEN_WHOLE = ("scaling.md", "baselines.md", "speed.md", "changelog.md")
PAGES = ["README.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md") if p.name not in WRITTEN_WHOLE)]
UNIT = r"(?:\s?%|\s(?:s|ms|seconds?|minutes?|MB|GB|×|points?|times as fast)\b)"
NUMBER = re.compile(rf"(?<![\w.,#/=§-])(?:\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?(?={UNIT})|\d+\.\d+(?![\w.]))")
NAMED = re.compile(
    r"(?:Python |numpy |scipy |cleanlab |scikit-activeml |[Vv]ersions? |Sections? |arXiv |§)[\d.–]+(?: and [\d.]+\))?"
    r"|\b0\.[123]\b|\b\d[\d,]{2,} points"
)
"""Versions, sections of the paper, and numbers of points of a model."""


def plain(text):
    """The text without what is compared elsewhere: tables between marks, code, links, versions, points."""
    for pattern in (r"<!-- [\w ]+ -->\n.*?<!-- end -->", r"```.*?```", r"`[^`\n]*`", r"\]\([^)]*\)"):
        text = re.sub(pattern, " _ ", text, flags=re.DOTALL)
    text = re.sub(r"\|[^\n]*±[^\n]*\|", " _ ", NAMED.sub(" _ ", text))
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").replace("\n> ", " ").split())


@cache
def stored(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


@cache
def records(name):
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


def average(name, of, **cell):
    """The mean of a field over the draws of the report in a cell."""
    found = [of(r) for r in records(name) if cell.items() <= r.items() and r.get("draw", 1000) in range(1000, 1010)]
    return mean(value for value in found if value is not None)


def banking(of):
    return average("accuracy", of, data="banking77", effort="default", labels=385)


def grid_means(method):
    """The mean over all sets with five labels per class, as docs/accuracy.md shows it."""
    page = importlib.import_module("page")
    wanted = [(data, counts[page.PER_CLASS.index(5)]) for data, counts in page.GRID.items()]
    return float(page.all_results().mean_over(method, wanted))


def texts(of, **cell):
    return average("text_views", lambda r: r[of], **cell)


def tuned(method, **cell):
    """The mean of a method over the cells of tuning that SetFit has, too."""
    by_cell = {}
    for r in records("text_tuning"):
        by_cell.setdefault((r["data"], r["per_class"], r["draw"]), {})[r["who"]] = r
    found = [both for (*_, draw), both in by_cell.items() if len(both) == 2 and draw == 1000]
    found = [both for both in found if cell.items() <= both["hidegl"].items()]
    return mean(both["SetFit"]["accuracy"] if method == "SetFit" else both["hidegl"][method] for both in found)


def poisson_on_coil(choose):
    page = importlib.import_module("page")
    results = page.all_results()
    return choose(mean(results.values("Poisson", "coil20", n)) for n in page.CELLS["coil20"])


def without_coil(method):
    page = importlib.import_module("page")
    cells = [(data, n) for data, counts in page.CELLS.items() for n in counts if data != "coil20"]
    return float(page.all_results().mean_over(method, cells))


def accepted(r):
    return 100 * r["accepted"][1][0]


def right(r):
    return None if r["accepted"][1][1] is None else 100 * r["accepted"][1][1]


def accuracy(r):
    return r["accuracy"]


def logistic():
    method = "logistic regression, C by cross-validation"
    return average("peers", accuracy, data="banking77", method=method, labels=385)


def core(*path):
    found = stored("core")
    for name in path:
        found = found[name]
    return found


def speed_of(way):
    return next(r for r in stored("texts")["made"] if r["way"] == way)["texts_per_second"]


MEASURED = {
    "README.md": [
        (
            "hidegl accepts **{:.0f} %** of the labels at a precision of 95 % ({:.1f} %",
            lambda: banking(accepted),
            lambda: banking(right),
        ),
        ("In all, {:.1f} % of its labels are right", lambda: banking(accuracy)),
        ("same embeddings, {:.1f} %", logistic),
    ],
    "docs/index.md": [
        ("{:.0f} % accepted at 95 % precision", lambda: banking(accepted)),
        ("{:.1f} % of the accepted labels were right", lambda: banking(right)),
        (
            "{:.1f} % instead of {:.1f} %",
            lambda: grid_means("default"),
            lambda: grid_means("logistic regression, C by cross-validation"),
        ),
        ("4 million rows in {:.0f} MB", lambda: stored("disk")["runs"][-1]["private_megabytes"]),
    ],
    "docs/accuracy.md": [
        ("COIL20 ({:.0f} to {:.0f} %)", lambda: poisson_on_coil(min), lambda: poisson_on_coil(max)),
        (
            "Without COIL20 its mean is {:.1f}, and the mean of _ is {:.1f}",
            lambda: without_coil("Poisson"),
            lambda: without_coil("default"),
        ),
        (
            "takes {:.1f} s on two cores and {:.0f} MB",
            lambda: core("mnist_fit", "fit_seconds"),
            lambda: core("mnist_fit", "peak_megabytes_beyond_data"),
        ),
        ("takes {:.0f} ms", lambda: 1000 * core("mnist_fit", "relabel_seconds")),
        (
            "it labels {:.1f} % of them right, and {:.1f} % of 10,000 new ones",
            lambda: core("new_rows", "unlabelled_rows_of_the_fit", "mean"),
            lambda: core("new_rows", "new_rows", "mean"),
        ),
    ],
    "docs/from_texts.md": [
        (
            "{:.1f} points on the stances of tweets, and {:.1f} on Banking77",
            lambda: texts("one view", data="tweet_stance") - texts("views", data="tweet_stance"),
            lambda: texts("one view", data="banking77") - texts("views", data="banking77"),
        ),
        (
            "expected {:.0f} % where {:.0f} % were right on average, and {:.0f} % where {:.0f} % were right",
            lambda: texts("views: expected"),
            lambda: texts("views"),
            lambda: texts("views: expected", data="amazon"),
            lambda: texts("views", data="amazon"),
        ),
        ("{:.1f} points ahead of SetFit on average", lambda: tuned("tuned") - tuned("SetFit")),
        ("behind SetFit on Amazon ({:.1f},", lambda: tuned("SetFit", data="amazon") - tuned("tuned", data="amazon")),
        (
            "costs {:.1f} points on the stances",
            lambda: tuned("views", data="tweet_stance") - tuned("tuned", data="tweet_stance"),
        ),
        (
            "far too high ({:.0f} % where {:.0f} % are right)",
            lambda: tuned("tuned: expected", per_class=3),
            lambda: tuned("tuned", per_class=3),
        ),
        (
            "within {:.0f} points on average",
            lambda: max(
                abs(tuned("tuned: expected", per_class=n) - tuned("tuned", per_class=n)) + 0.5 for n in (5, 10, 20)
            ),
        ),
        ("a million short texts take about {:.0f}0 minutes", lambda: 1e6 / speed_of("minilm") / 600),
    ],
}
"""For each page, words with numbers, and the stored values that the numbers are."""

LEVEL = "a level that the user asks for, or that a method is set to"
SIZE = "the size of a file, which is not a result"
MADE = "how the data of a benchmark were made"
EXAMPLE = "an example of what a user may see or write"
FIXED = "a constant of the code"
SUMMED_UP = "sums up tables of the page, which are written from results"
NOT_MEASURED = {
    "docs/accuracy.md": [
        ("A confidence of 0.9 should be right", LEVEL),
        ("of which 95 % are expected", LEVEL),
        ("nothing is accepted for 95 %", LEVEL),
        ("more than 3 points behind", LEVEL),
        ("accepted for 90, 95 and 99 %", LEVEL),
        ("that were accepted for 95 %", LEVEL),
        ("nothing could be accepted for 99 %", LEVEL),
        ("the 60 % of rows with the highest confidence", MADE),
    ],
    "docs/architecture.md": [
        ("a step is 1.8 times", FIXED),
        ("as it takes to find 99.8 %", FIXED),
        ("more than 32 MB", FIXED),
        ("the 5 % quantile", FIXED),
        ("with at most 5 %", FIXED),
        ("10.8 million numbers", "the number of weights of a network"),
        ("1.3 MB", SIZE),
        ("4.8 MB", SIZE),
    ],
    "docs/benchmarks.md": [
        ("PoissonMBO 96.5 at one label per class", "published by the authors of PoissonMBO"),
        ("nominally of 95 %", LEVEL),
    ],
    "docs/bridges.md": [("0.5 or more", FIXED)],
    "docs/choosing_labels.md": [
        ("10 more labels would gain about 0.8 points", EXAMPLE),
        ("between a quarter (20 %, similar class) and two thirds (20 %, any class)", MADE),
    ],
    "docs/command_line.md": [
        ("1.50 stays 1.50", EXAMPLE),
        ("of which 95 % are expected", LEVEL),
        ("would be right in 73 %", EXAMPLE),
        ("otherwise 95 %", LEVEL),
    ],
    "docs/confidence.md": [("of which 95 % are right", LEVEL), ("nothing is accepted for 95 %", LEVEL)],
    "docs/from_images.md": [("a network of 17 MB", SIZE)],
    "docs/from_tables.md": [("1.50 stays 1.50", EXAMPLE), ("at least 90 % of its cells", FIXED)],
    "docs/from_texts.md": [
        ("90 % is a rough promise", LEVEL),
        ("384 columns, 22 MB", SIZE),
        ("(16 MB)", SIZE),
        ("(90 MB)", SIZE),
        ("22 MB larger", SIZE),
    ],
    "docs/glossary.md": [("a confidence of 0.9, about 90 % are right", LEVEL)],
    "docs/index.md": [("a file of 1 GB", SIZE)],
    "docs/sources.md": [
        ("right in 74 % and another that is right in 60 %", MADE),
        ("the 60 % with the largest margin", FIXED),
        ("right in about 60 %", FIXED),
        ("in 70 % the same other class", MADE),
        ("nominally of 95 %", LEVEL),
        ("is right in 30 % of the rows", MADE),
        ("about 95, 75 and 55 %", MADE),
        ("right in 65 to 96 %", SUMMED_UP),
        ("by 1 to 10 points, on Banking77 by 4.4", SUMMED_UP),
    ],
    "docs/studio.md": [("less than 1 %", FIXED), ("more than 1 MB", FIXED)],
    "docs/when.md": [("accepted for 90 %", LEVEL), ("near 100 %", EXAMPLE)],
}
"""For each page, words with numbers, and the reason why no result is needed."""


def covered(page, text):
    """The places of the text that MEASURED or NOT_MEASURED explain."""
    spans = []
    for words, *values in MEASURED.get(page, ()):
        spans += places(text, words.format(*(value() for value in values)))
    for words, _ in NOT_MEASURED.get(page, ()):
        spans += places(text, words)
    return spans


def places(text, words):
    return [(found.start(), found.end()) for found in re.finditer(re.escape(words), text)]


@pytest.fixture
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "accuracy")


@pytest.mark.usefixtures("_benchmarks")
@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_a_page_is_that_of_a_stored_result(page):
    text = plain((ROOT / page).read_text())
    spans = covered(page, text)
    unexplained = [
        f"… {text[max(0, found.start() - 60) : found.end() + 25]} …"
        for found in NUMBER.finditer(text)
        if not any(first <= found.start() and found.end() <= last for first, last in spans)
    ]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.usefixtures("_benchmarks")
@pytest.mark.parametrize("page", sorted({*MEASURED, *NOT_MEASURED}))
def test_the_words_around_numbers_are_still_there(page):
    """So no entry is left behind when a sentence goes."""
    text = plain((ROOT / page).read_text())
    entries = [*MEASURED.get(page, ()), *NOT_MEASURED.get(page, ())]
    assert not [words for words, *_ in entries if not is_in(text, words)]


def is_in(text, words):
    pattern = re.sub(r"\\\{[^}]*\\\}|\\\{:.*?\}", r"[-\\d.,]+", re.escape(words))
    return re.search(pattern, text) is not None


@pytest.mark.usefixtures("_benchmarks")
def test_logistic_regression_reaches_the_public_number_in_the_protocol_of_mteb():
    """So draws, vectors and test rows are those of others."""
    protocols = importlib.import_module("public_protocols")
    cell = {"protocol": "mteb", "data": "banking77", "who": protocols.LOGISTIC}
    found = [r["accuracy"] for r in records("public_protocols") if cell.items() <= r.items()]
    assert len(found) == 10
    assert mean(found) == pytest.approx(protocols.PUBLISHED["mteb", "banking77"], abs=0.5)


@pytest.mark.usefixtures("_benchmarks")
def test_results_of_another_machine_replace_those_of_the_same_cell(tmp_path):
    merge = importlib.import_module("merge")
    stored_file, new = tmp_path / "stored.jsonl", tmp_path / "new.jsonl"
    cells = [{"data": "mnist", "draw": draw, "accuracy": 90.0} for draw in range(3)]
    stored_file.write_text("".join(f"{json.dumps(cell)}\n" for cell in cells))
    new.write_text("".join(f"{json.dumps({**cells[1], 'accuracy': 95.0, 'draw': draw})}\n" for draw in (1, 7)))
    assert merge.merged(new, stored_file) == (1, 1)
    found = [json.loads(line) for line in stored_file.read_text().splitlines()]
    assert [(r["draw"], r["accuracy"]) for r in found] == [(0, 90.0), (1, 95.0), (2, 90.0), (7, 95.0)]
