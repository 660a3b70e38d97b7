"""The server for agents: what its tools answer, and that they stay below their folder."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import sys
from pathlib import Path

import pytest

from commands import hidegl, refused
from hidegl.basics import confinement
from hidegl.basics.errors import UsageError
from hidegl.cli.agent_tools import AgentTools
from hidegl.files.own_files import Mark

MONEY = ("the fee was charged twice", "give my money back", "refund this fee please", "money back for the fee")
CARDS = ("my card is lost", "where is the new card", "the card was stolen", "a card does not arrive")
TEXTS = [f"{(MONEY, CARDS)[i % 2][i // 2 % 4]}, case {i}" for i in range(60)]
TRUTH = ["refund" if i % 2 == 0 else "card" for i in range(60)]


@pytest.fixture
def folder(tmp_path):
    """A folder for agents with a table, and a secret next to it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    with (inside / "tickets.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["question", "topic"])
        lines.writerows([text, TRUTH[i] if i < 12 else ""] for i, text in enumerate(TEXTS))
    (tmp_path / "secret.csv").write_text("row,label\n0,password\n1,key\n")
    return inside


@pytest.fixture
def tools(folder, monkeypatch):
    monkeypatch.setattr(confinement.CONFINEMENT, "folder", None)  # and again at the end
    monkeypatch.chdir(folder)
    yield AgentTools(folder)
    confinement.CONFINEMENT.folder = None


WORDS = {"embedder": "words"}


def test_an_agent_goes_from_a_table_to_labels(folder):
    """Over standard input and output, with the client of the SDK."""
    mcp = pytest.importorskip("mcp", reason="the SDK is in the extra mcp")
    from mcp.client.stdio import StdioServerParameters

    async def talk():
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "hidegl", "mcp", str(folder)], env=dict(os.environ)
        )
        answers = {}
        async with mcp.Client(command) as client:
            answers["tools"] = [tool.name for tool in (await client.list_tools()).tools]

            async def call(name, **arguments):
                result = await client.call_tool(name, arguments)
                text = result.content[0].text
                return text if result.is_error else json.loads(text)

            answers["inspect"] = await call("inspect", data="tickets.csv", **WORDS)
            answers["suggest"] = await call("suggest", data="tickets.csv", n=3, labels=["topic"], **WORDS)
            given = {"data": "tickets.csv", "labels": ["topic"], "answers": {"20": "refund", "21": "card"}, **WORDS}
            answers["label"] = await call("label", output="labelled.csv", **given)
            answers["accept"] = await call("accept", output="accepted.csv", review="review.csv", precision=0.9, **given)
            answers["again"] = await call("label", output="labelled.csv", **given)
            answers["over"] = await call("label", output="tickets.csv", **given)
            answers["out"] = await call("inspect", data="../secret.csv")
            answers["audit"] = await call("audit", **given)
            answers["report"] = await call("report", output="report.html", **given)
        return answers

    answers = asyncio.run(talk())
    assert answers["tools"] == ["inspect", "suggest", "label", "accept", "audit", "report"]
    assert answers["inspect"]["rows"] == 60
    assert [column["column"] for column in answers["inspect"]["columns"]] == ["question", "topic"]
    assert len(answers["suggest"]["rows"]) == 3
    assert {"row", "question", "why"} <= answers["suggest"]["rows"][0].keys()
    labelled = answers["label"]
    assert (labelled["rows"], labelled["labels_given"], labelled["wrote"]) == (60, 14, ["labelled.csv"])
    assert {one["label"]: one["rows"] for one in labelled["classes"]} == {"card": 30, "refund": 30}
    assert answers["accept"]["wrote"] == ["accepted.csv", "review.csv"]
    assert "labelled.csv exists already" in answers["again"]
    assert "exists already" in answers["over"]
    assert answers["out"].endswith("is outside the folder of this server")
    assert answers["audit"]["judged"] > 0
    assert (folder / "report.html").stat().st_size > 100_000
    assert max(len(json.dumps(one)) for one in answers.values()) < 4000  # answers are small
    assert sorted(path.name for path in folder.iterdir()) == [
        *("accepted.csv", "labelled.csv", "report.html", "review.csv", "tickets.csv"),
    ]


OUTSIDE = [
    "../secret.csv",
    "/etc/passwd",
    "../../etc/passwd",
    "sub/../../secret.csv",
    "link.csv",
    "folder_link/secret.csv",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_tool_reads_outside_the_folder(path, tools, folder):
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "folder_link").symlink_to(folder.parent)
    for call in (
        lambda: tools.inspect(path),
        lambda: tools.suggest(path, 3),
        lambda: tools.label("tickets.csv", "out.csv", labels=[path], **WORDS),
        lambda: tools.audit("tickets.csv", 3, labels=["topic", path], **WORDS),
    ):
        with refused("outside-folder"):
            call()


@pytest.mark.parametrize("path", ["../new.csv", "/tmp/new_of_hidegl.csv", "folder_link/new.csv", "dangling.csv"])
def test_no_tool_writes_outside_the_folder(path, tools, folder):
    (folder / "folder_link").symlink_to(folder.parent)
    for ending in ("csv", "html"):
        (folder / f"dangling.{ending}").symlink_to(folder.parent / f"new.{ending}")
    given = {"labels": ["topic"], **WORDS}
    for call in (
        lambda: tools.label("tickets.csv", path, **given),
        lambda: tools.accept("tickets.csv", "a.csv", 0.9, path, **given),
        lambda: tools.suggest("tickets.csv", 3, output=path, **given),
        lambda: tools.report("tickets.csv", path.replace(".csv", ".html"), **given),
    ):
        with refused("outside-folder"):
            call()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["inside", "secret.csv"]
    assert sorted(path.name for path in folder.iterdir()) == [
        *("dangling.csv", "dangling.html", "folder_link", "tickets.csv"),
    ]


@pytest.mark.parametrize("path", ["", "-", "*.csv", "a\0b", "hf://owner/name", "https://example.org/a.csv"])
def test_names_that_are_no_files_of_the_folder(path, tools):
    with pytest.raises(UsageError):
        tools.inspect(path)


def test_outputs_replace_nothing(tools, folder):
    before = (folder / "tickets.csv").read_text()
    with refused("exists"):
        tools.label("tickets.csv", "tickets.csv", labels=["topic"], **WORDS)
    os.link(folder / "tickets.csv", folder / "other_name.csv")
    with refused("exists"):
        tools.label("tickets.csv", "other_name.csv", labels=["topic"], **WORDS)
    with refused("same-file"):
        tools.accept("tickets.csv", "out.csv", 0.9, "out.csv", labels=["topic"], **WORDS)
    assert (folder / "tickets.csv").read_text() == before


def test_a_file_that_remembers_labels_elsewhere_does_not_open_them(tools, folder):
    """A file for people names where the other labels are; a hostile one names a path outside."""
    mark = Mark(60, None, ("topic",), (("file", "../secret.csv"),))
    cells = mark.cells(["0" * 16, "1" * 16])
    (folder / "filled.csv").write_text("row,label,hidegl\n" + "".join(f"{i},card,{c}\n" for i, c in enumerate(cells)))
    with refused("no-such-file", "filled.csv") as caught:
        tools.label("tickets.csv", "out.csv", labels=["filled.csv"], **WORDS)
    assert "outside the folder of this server" in str(caught.value)


def test_a_folder_of_images_with_a_link_to_the_outside_is_refused(tools, folder):
    (folder / "photos").mkdir()
    (folder / "photos" / "a.png").symlink_to("/etc/hostname")
    with refused("outside-folder"):
        tools.inspect("photos")


def test_an_embedder_that_would_run_code_or_load_a_model_is_refused(tools):
    for name in ("os:getcwd", "someone/some-model", "no_functions:none"):
        with pytest.raises(UsageError, match=r"^embedder must be minilm, "):
            tools.label("tickets.csv", "out.csv", labels=["topic"], embedder=name)


def test_answers_of_the_agent_add_to_the_labels_of_the_data(tools):
    with refused("no-labels"):
        tools.label("tickets.csv", "out.csv", **WORDS)
    found = tools.label("tickets.csv", "out.csv", answers={"0": "refund", "1": "card"}, **WORDS)
    assert found["labels_given"] == 2
    both = tools.label("tickets.csv", "out2.csv", labels=["topic"], answers={"30": "refund"}, **WORDS)
    assert both["labels_given"] == 13
    with pytest.raises(UsageError, match="answers must have numbers of rows as names, got 'first'"):
        tools.label("tickets.csv", "out3.csv", answers={"first": "refund"}, **WORDS)
    with refused("no-such-row"):
        tools.label("tickets.csv", "out3.csv", answers={"99": "refund"}, **WORDS)


def test_a_column_of_labels_is_not_learned_from(tools):
    tools.inspect("tickets.csv", **WORDS)
    tools.label("tickets.csv", "out.csv", labels=["topic"], **WORDS)
    assert tools._result[1].task.columns.features == ["question"]
    assert tools._result[1].task.left_out == {"topic": "the label"}


def test_records_of_a_tool_go_through_an_agent(tools, folder):
    lines = [{"text": text, "label": [TRUTH[i]] if i < 12 else [], "x": i} for i, text in enumerate(TEXTS)]
    (folder / "export.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = tools.label("export.jsonl", "out.jsonl", answers={"40": "refund"}, **WORDS)
    assert found["labels_given"] == 13
    out = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [line["x"] for line in out] == list(range(60))


def test_the_server_needs_a_folder(tmp_path, capfd):
    hidegl(f"mcp {tmp_path / 'nowhere'}", 2)
    assert capfd.readouterr().err == f"hidegl: {tmp_path / 'nowhere'} is no folder: name the one that agents may use\n"


def test_long_texts_are_cut_in_answers(tools, folder):
    (folder / "long.csv").write_text("text,label\n" + "".join(f"{'word ' * 400}{i},{TRUTH[i]}\n" for i in range(20)))
    found = tools.inspect("long.csv", **WORDS)
    assert len(json.dumps(found)) < 3000


def test_confinement_is_off_unless_a_server_runs():
    assert confinement.CONFINEMENT.folder is None
    assert not confinement.CONFINEMENT.excludes(Path("/etc/passwd"))
