"""One bar for all of a command, with the time left; lines in a log where there is no terminal."""

import logging
import re

import numpy as np
import pytest

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.basics import course
from hidegl.basics.course import Course, Phase, block_done, duration, watching
from hidegl.cli.running import run

SHARE = re.compile(r"(\d+)%  ([a-z 0-9]+)")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until a test moves it."""
    now = [100.0]
    monkeypatch.setattr(course.time, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch):
    """Makes standard error a terminal, when it is called."""
    return lambda: monkeypatch.setattr("sys.stderr.isatty", lambda: True)


def shares_in(text):
    return [(int(share), what.split("  about ")[0].strip()) for share, what in SHARE.findall(text)]


def test_time_left_follows_the_rates_of_this_machine(clock):
    seen = []
    with watching(lambda *said: seen.append(said)), Course(verbose=False) as whole:
        whole.plan([Phase("reading", 2.0), Phase("learning", 8.0)])
        whole.begin("reading", 100)
        for _ in range(10):
            clock[0] += 1  # ten seconds for a phase of two: this machine is five times as slow
            block_done(10)
        whole.begin("learning", 100)
        assert seen[-1] == ("reading", pytest.approx(0.2), "about 40 s left")
        clock[0] += 1
        block_done(50)  # half of it in a second
    assert seen[-1] == ("learning", pytest.approx(11 / 12), "about 1 s left")
    assert [said[1] for said in seen] == sorted(said[1] for said in seen)


def test_a_phase_that_ends_early_or_is_left_out_does_not_count(clock):
    seen = []
    with watching(lambda *said: seen.append(said)), Course(verbose=False) as whole:
        whole.plan([Phase("one", 10.0), Phase("two", 70.0), Phase("three", 10.0)])
        whole.begin("one", 1000)
        clock[0] += 10
        block_done(100)
        whole.begin("three", 100)
        clock[0] += 1
        block_done(1)
    assert seen[-1][0] == "three"
    assert seen[-1][1] == pytest.approx(0.5, abs=0.06)


def test_no_time_is_promised_before_rates_are_known(clock):
    seen = []
    with watching(lambda *said: seen.append(said)), Course(verbose=False) as whole:
        whole.plan([Phase("learning", 60.0)])
        whole.begin("learning", 100)
        clock[0] += 0.5
        block_done(1)
    assert seen[-1][2] == ""


@pytest.mark.filterwarnings("ignore:only one label each")
def test_all_of_a_fit_is_one_bar_in_words_of_users(moons, capsys, terminal, monkeypatch):
    monkeypatch.setattr(course, "REDRAW_SECONDS", 0.0)
    terminal()
    X, y, _ = moons
    AutoHiDeGL(random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    AutoHiDeGL(random_state=0, verbose=True).fit(X, y)
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    shares = shares_in(shown)
    assert [share for share, _ in shares] == sorted(share for share, _ in shares)
    names = list(dict.fromkeys(name for _, name in shares))
    learning = [f"learning groups {number} of 3" for number in (1, 2, 3)]
    assert [name for name in names if name != "preparing rows"] == [
        *(learning[0], "assigning rows", learning[1], learning[2], "labelling")
    ]
    assert "hidegl: 600 rows" in shown


def test_lines_where_there_is_no_terminal(moons, capsys, caplog, monkeypatch):
    X, y, _ = moons
    monkeypatch.setattr(course, "REDRAW_SECONDS", 0.0)
    monkeypatch.setattr(course, "LINE_SECONDS", 0.0)
    HiDeGL(50, random_state=0).fit(X, y)
    assert caplog.text == ""
    HiDeGL(50, random_state=0, verbose=True).fit(X, y)
    lines = [record.getMessage() for record in caplog.records]
    assert all(record.name == "hidegl" and record.levelno == logging.INFO for record in caplog.records)
    assert any(re.match(r"\d+%, learning groups", line) for line in lines)
    assert lines[-1].startswith("600 rows, 50 points, ")
    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda self: False)
    capsys.readouterr()
    HiDeGL(50, random_state=0, verbose=True).fit(X, y)  # a program without a log
    shown = capsys.readouterr().err
    assert re.search(r"^hidegl: \d+%, learning groups", shown, flags=re.MULTILINE)
    assert re.search(r"^hidegl: 600 rows, 50 points, ", shown, flags=re.MULTILINE)


def test_ten_seconds_between_lines(clock, caplog):
    with Course(verbose=True) as whole:
        whole.plan([Phase("learning", 60.0)])
        whole.begin("learning", 600)
        for _ in range(60):
            clock[0] += 1
            block_done(10)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 6
    assert lines[0] == "17%, learning, about 50 s left"


def test_iterations_are_for_debugging(moons, caplog):
    X, y, _ = moons
    with caplog.at_level(logging.DEBUG, logger="hidegl"):
        model = HiDeGL(50, random_state=0).fit(X, y)
    assert len(caplog.records) == model.n_iter_ + 1
    assert "objective" in caplog.text


def test_a_command_is_one_bar_to_the_end(tmp_path, capsys, terminal, monkeypatch):
    monkeypatch.setattr(course, "REDRAW_SECONDS", 0.0)
    terminal()
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    lines = [
        f"{','.join(f'{x:.3f}' for x in 5 * np.eye(3)[c] + rng.normal(size=3))},{'abc'[c] if i < 12 else ''}"
        for i, c in enumerate(y)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["u,v,w,label", *lines]) + "\n")
    assert run(["label", str(tmp_path / "t.csv"), "--labels", "label"]) == 0
    shares = shares_in(capsys.readouterr().err)
    assert [share for share, _ in shares] == sorted(share for share, _ in shares)
    assert shares[-1][1] == "labelling and writing rows"
    assert shares[-1][0] == 100


def test_an_interruption_ends_the_bar_and_gives_130(tmp_path, capsys, terminal, monkeypatch):
    terminal()

    def interrupted(*_, **__):
        block_done(1)
        raise KeyboardInterrupt

    (tmp_path / "t.csv").write_text("u,label\n1,a\n2,b\n3,\n")
    monkeypatch.setattr("hidegl.intake.tasks.fitted", interrupted)
    assert run(["label", str(tmp_path / "t.csv"), "--labels", "label"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert course.COURSE.get() is None


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (80, "80 s"), (200, "3 min"), (8000, "2.2 h")])
def test_durations_as_people_say_them(seconds, said):
    assert duration(seconds) == said
