"""Options from hidegl.toml and pyproject.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import hidegl


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(
        f"{i % 2 * 4 + i / 100:.2f},{i % 2 * 4 - i / 90:.2f},{'ab'[i % 2] if i < 12 else ''}\n" for i in range(60)
    )
    Path("points.csv").write_text(f"x,y,kind\n{rows}")


def facts(command, capfd):
    capfd.readouterr()
    hidegl(f"{command} --json")
    return json.loads(capfd.readouterr().out)


def test_a_file_gives_defaults_and_the_command_line_wins(capfd):
    Path("hidegl.toml").write_text('labels = "kind"\naccept = 0.9\n[label]\neffort = "quick"\ncolumns = ["x"]\n')
    found = facts("label points.csv", capfd)
    assert found["labels"] == 12
    assert found["accepted"]["expected_precision"] >= 0.9
    assert [one["column"] for one in found["columns"] if one["learned"]] == ["x"]
    assert found["options_from"] == "hidegl.toml"
    found = facts("label points.csv --columns y --force", capfd)
    assert [one["column"] for one in found["columns"] if one["learned"]] == ["y"]


def test_the_file_that_was_used_is_printed_once(capfd):
    Path("hidegl.toml").write_text('labels = "kind"\neffort = "quick"\n')
    hidegl("label points.csv")
    said = capfd.readouterr().err
    assert said.count("hidegl.toml") == 1
    assert said.splitlines()[0] == "  options  labels, effort from hidegl.toml"
    hidegl("label points.csv --force --quiet")
    assert "hidegl.toml" not in capfd.readouterr().err


def test_pyproject_is_read_where_it_has_a_table_of_ours(capfd):
    Path("pyproject.toml").write_text('[tool.other]\nseed = "x"\n')
    assert "options_from" not in facts("label points.csv --labels kind --effort quick", capfd)
    Path("pyproject.toml").write_text('[tool.hidegl]\nlabels = ["kind"]\neffort = "quick"\nas = {x = "number"}\n')
    assert facts("label points.csv --force", capfd)["options_from"] == "pyproject.toml"
    Path("pyproject.toml").write_text("this is = no [toml")  # which other tools will say
    assert "options_from" not in facts("label points.csv --labels kind --effort quick --force", capfd)


WRONG = {
    "acept = 0.9": "acept is no option that a file may contain: did you mean 'accept'?",
    "[label]\nacept = 0.9": "label.acept is no option that a file may contain: did you mean 'accept'?",
    'report = "r.html"': "report is no option that a file may contain",
    "allow-network = true": "allow-network is no option that a file may contain",
    "seed = true": "seed must be a whole number, got True",
    "seed = 0.5": "seed must be a whole number, got 0.5",
    "accept = 1": "accept must be a share such as 0.95, got 1",
    "labels = [1]": "labels must be a list of texts, got [1]",
    'tune = "yes"': "tune must be true or false, got 'yes'",
    'embedder = "m:function"': "embedder = 'm:function' would run code of a file: name it on the command line",
    "a = ": "is not TOML: ",
}


@pytest.mark.parametrize("content", WRONG)
def test_a_wrong_file_ends_in_one_line(content, capfd):
    Path("hidegl.toml").write_text(content)
    from hidegl.cli.running import run

    assert run(["label", "points.csv"]) in (1, 2)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("hidegl: hidegl.toml")
    assert WRONG[content] in line


def test_options_are_saved_and_used_again(capfd):
    hidegl("label points.csv --labels kind --effort quick --accept 90% --seed 3 --save-options")
    assert Path("hidegl.toml").read_text().splitlines()[1:] == [
        *("accept = 0.9", 'effort = "quick"', 'labels = ["kind"]', "seed = 3"),
    ]
    found = facts("label points.csv --force", capfd)
    assert (found["labels"], found["options_from"]) == (12, "hidegl.toml")
    hidegl("label points.csv --columns x --force --save-options")
    assert 'columns = "x"' in Path("hidegl.toml").read_text()
    assert "seed = 3" in Path("hidegl.toml").read_text()


def test_a_file_with_comments_is_not_written_anew(capfd):
    Path("hidegl.toml").write_text('# the column of our team\nlabels = "kind"\n')
    hidegl("label points.csv --effort quick --save-options", 2)
    assert capfd.readouterr().err.splitlines()[-1] == (
        'hidegl: hidegl.toml has comments or tables of yours, so it is not written anew: add effort = "quick"'
    )
    assert Path("hidegl.toml").read_text().startswith("# the column of our team")


def test_options_of_a_command_that_failed_are_not_saved():
    hidegl("label points.csv --labels nothing --save-options", 2)
    assert not Path("hidegl.toml").exists()


def test_commands_without_such_options_need_no_file(capfd):
    Path("hidegl.toml").write_text("acept = 1")
    hidegl("--help")
    hidegl("mcp nowhere", 2)
    assert "no folder" in capfd.readouterr().err
