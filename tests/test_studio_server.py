"""Studio's server: who may talk to it, what it refuses, and that it learns and goes on."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hidegl
from hidegl import AutoHiDeGL
from hidegl.basics.errors import UsageError
from hidegl.cli.running import run
from hidegl.cli.screen import Screen
from hidegl.intake.input_options import InputOptions
from hidegl.intake.sources import Source
from hidegl.intake.tasks import Task
from marks import on_unix
from studio import EVIL, open_session, wait_for, write_digits, write_texts

starlette = pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")
from starlette.testclient import TestClient  # noqa: E402

from hidegl.browser.pixel_images import png, shape_of_pixels  # noqa: E402
from hidegl.browser.preview import corrected  # noqa: E402
from hidegl.browser.row_contents import RowContents, table_of_texts  # noqa: E402
from hidegl.browser.security import LARGEST_BODY, address_of, with_port  # noqa: E402
from hidegl.browser.server import news, studio_app  # noqa: E402
from hidegl.browser.serving import names_of, serve  # noqa: E402
from hidegl.browser.snapshots import Trust  # noqa: E402

HOST = "127.0.0.1:8000"
TOKEN = "a-token-for-tests"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A session on digits, and what they are."""
    path = tmp_path_factory.mktemp("digits") / "digits.csv"
    truth = write_digits(path)
    session = open_session(path)
    session.start()
    session.truth = truth
    yield session
    session.stop()


def client_of(session, token=TOKEN):
    app = studio_app(session, TOKEN, {HOST, "localhost:8000"}, lambda: None)
    client = TestClient(app, base_url=f"http://{HOST}", headers={"origin": f"http://{HOST}"})
    if token:
        assert client.get("/", params={"token": token}).status_code == 200
    return client


@pytest.fixture
def client(studio):
    return client_of(studio)


def post(client, what, **fields):
    response = client.post(f"/api/{what}", json=fields)
    assert response.status_code == 200, response.text
    return response.json()


# Who may talk


def test_without_the_token_nothing_is_told(studio):
    client = client_of(studio, token=None)
    for path in ("/", "/?token=wrong", "/?token=", "/page/app.js", "/events", "/image/0", "/api/figure"):
        assert client.get(path).status_code == 401, path
    assert client.post("/api/state", json={}).status_code == 401
    shown = client.get("/?token=of-an-earlier-start")
    assert shown.headers["content-type"].startswith("text/html")
    assert "Open the address that Studio prints" in shown.text
    assert client.get("/page/app.js", params={"token": TOKEN}).status_code == 401  # it opens the page and nothing else
    assert client.get("/", headers={"cookie": "hidegl_8000=wrong"}).status_code == 401


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(studio):
    answer = client_of(studio, token=None).get("/", params={"token": TOKEN})
    assert re.fullmatch(rf"hidegl_8000={TOKEN}; HttpOnly; SameSite=Strict; Path=/", answer.headers["set-cookie"])
    assert TOKEN not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:9000", "", "localhost"])
def test_another_host_is_refused(client, host):
    """A site whose name was rebound to this machine still sends its own name."""
    assert client.get("/api/figure", headers={"host": host}).status_code == 400
    assert client.post("/api/state", json={}, headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1:9000", "null", ""]
)
def test_another_origin_is_refused(client, origin):
    assert client.post("/api/state", json={}, headers={"origin": origin}).status_code == 403


def test_a_change_must_name_its_origin_and_come_from_the_page(client):
    del client.headers["origin"]
    assert client.post("/api/state", json={}).status_code == 403
    for site in ("cross-site", "same-site"):
        assert client.get("/events", headers={"sec-fetch-site": site}).status_code == 403
        assert client.get("/image/0", headers={"sec-fetch-site": site}).status_code == 403


def test_answers_carry_a_strict_policy(client):
    for path in ("/", "/page/app.js", "/image/0", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


# What is refused


def test_large_bodies_are_refused_before_they_are_read(client):
    assert client.post("/api/label", content=b"x" * (LARGEST_BODY + 1)).status_code == 413

    def pieces():
        for _ in range(100):  # 100 MB without a length
            yield b" " * 1_000_000

    assert client.post("/api/label", content=pieces()).status_code == 413
    assert client.post("/api/label", headers={"content-length": str(10**8)}, content=b"{}").status_code == 413
    assert client.post("/api/label", headers={"content-length": "many"}, content=b"{}").status_code == 413
    assert post(client, "state")["n_rows"] == 400


@pytest.mark.parametrize("body", [b"{", b"[1]", b"3", b'"x"', b"null", b"\xff\xfe", b"[" * 100_000, b"{'a': 1}"])
def test_broken_json_is_refused(client, body):
    answer = client.post("/api/label", content=body)
    assert answer.status_code == 400
    assert "error" in answer.json()


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("label", {"rows": [400], "name": "x"}),
        ("label", {"rows": [-1], "name": "x"}),
        ("label", {"rows": [10**30], "name": "x"}),
        ("label", {"rows": [], "name": "x"}),
        ("label", {"rows": ["0"], "name": "x"}),
        ("label", {"rows": [True], "name": "x"}),
        ("label", {"rows": 3, "name": "x"}),
        ("label", {"rows": [0], "class": 999}),
        ("label", {"rows": [0], "class": "1"}),
        ("label", {"rows": [0], "name": ""}),
        ("label", {"rows": [0], "name": "x" * 5000}),
        ("label", {"rows": [0], "name": "x", "source": "elsewhere"}),
        ("label", {"labels": {"zero": 1}}),
        ("label", {"labels": {"0": "one"}}),
        ("label", {"labels": {}}),
        ("label", {"words": "1", "name": "x", "without": "all"}),
        ("skip", {"row": 400}),
        ("skip", {}),
        ("card", {"row": 400}),
        ("rows", {"rows": [5000]}),
        ("rows", {"points": [10**7]}),
        ("rows", {"words": 7}),
        ("rows", {"words": "x" * 300}),
        ("merge", {"number": 1, "into": 999}),
        ("delete", {"number": 999}),
        ("class", {"number": 1, "colour": "red;}"}),
        ("class", {"number": 1, "key": "s"}),
        ("class", {"number": 1, "key": "§"}),
        ("class", {}),
        ("unsure", {"precision": 7}),
        ("unsure", {"precision": "high"}),
        ("export", {"kind": "../../etc/passwd"}),
        ("export", {"kind": 3}),
    ],
)
def test_what_does_not_exist_is_refused_and_the_server_goes_on(studio, client, what, fields):
    wait_for(lambda: studio.learner.now.layout)
    before = studio.store.labels()
    answer = client.post(f"/api/{what}", json=fields)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]
    assert studio.store.labels() == before
    assert client.get("/image/3").status_code == 200


def test_paths_never_come_from_the_page(client):
    for path in (
        "/page/../security.py",
        "/page/%2e%2e/security.py",
        "/page/nothing.js",
        "/etc/passwd",
        "/image/x",
        "/image/400",
    ):
        assert client.get(path).status_code == 404, path


# What it does


def label_all(session, client, rows):
    for row in rows:
        post(client, "label", rows=[int(row)], name=str(session.truth[row]))


@pytest.fixture
def labelled(studio, client):
    """The session with labels of several classes, also where no test before this one has given any."""
    if len(studio.store.labels()) < 60:
        label_all(studio, client, range(60))
    wait_for(lambda: (s := post(client, "state"))["trust"] and s["trust"]["version"] == s["version"] and s)
    return studio


def test_labels_spread_over_all_rows(studio, client):
    wait_for(lambda: post(client, "cards")["cards"])
    for _ in range(60):
        card = wait_for(lambda: post(client, "cards")["cards"])[0]
        label_all(studio, client, [card["row"]])
    state = wait_for(lambda: (s := post(client, "state"))["trust"] and s["trust"]["version"] == s["version"] and s)
    numbers = {one["name"]: one["number"] for one in state["classes"]}
    right = studio.learner.now.trust.numbers == [numbers[name] for name in studio.truth]
    assert np.mean(right) > 0.9
    assert state["trust"]["low"] <= state["trust"]["mean"] <= state["trust"]["high"]
    card = post(client, "cards")["cards"][0]
    assert len(card["likely"]) == 3
    assert card["why"]
    assert {"x", "y", "heads", "tails", "mass"} <= set(studio.map())
    assert studio.colours()["preview"] in (False, True)
    colours = wait_for(lambda: (c := studio.colours()) and not c["preview"] and c)
    assert len(colours["classes"]) == len(studio.map()["x"])
    listed = post(client, "rows", points=[0, 1], around=True)
    assert listed["total"] >= len(listed["rows"]) > 0
    assert post(client, "unsure", precision=0.99)["total"] > 0
    assert isinstance(post(client, "groups")["groups"], list)
    assert post(client, "rows", words="12")["rows"][0]["row"] == 12


def test_doubts_are_kept_or_corrected(labelled, client):
    label_all(labelled, client, range(150, 250))
    state = post(client, "state")
    row = next(row for row in range(150, 250) if labelled.truth[row] == "0")
    wrong = next(one["number"] for one in state["classes"] if one["name"] == "1")
    post(client, "label", rows=[row], **{"class": wrong})
    doubts = wait_for(lambda: [one for one in post(client, "doubts")["doubts"] if one["row"] == row])
    assert doubts[0]["given"] == wrong
    post(client, "label", rows=[row], **{"class": wrong}, source="doubts")  # keep
    assert [one for one in post(client, "doubts")["doubts"] if one["row"] == row] == []
    undone = post(client, "undo")
    assert undone["row"] == row
    post(client, "undo")


def test_an_export_is_what_the_command_writes(labelled, client, monkeypatch):
    folder = labelled.store.path.parent
    monkeypatch.chdir(folder)
    for kind in ("csv", "parquet", "model", "report"):
        (wrote,) = post(client, "export", kind=kind)["wrote"]
        assert os.path.exists(wrote)  # noqa: PTH110
        assert post(client, "export", kind=kind) == {"exists": [wrote]}
        assert post(client, "export", kind=kind, replace=True) == {"wrote": [wrote]}
    command = ["label", "digits.csv", "--labels", str(labelled.store.path), "--effort", "quick", "-o"]
    assert run([*command, "again.csv"]) == 0
    assert (folder / "again.csv").read_bytes() == (folder / "digits.labelled.csv").read_bytes()
    assert run([*command, "again.parquet"]) == 0
    assert pq.read_table("again.parquet").equals(pq.read_table("digits.labelled.parquet"))
    assert hidegl.load("digits.hidegl").n_rows_ == 400
    assert run([*command, "sure.csv", "--accept", "0.97", "--force"]) == 0
    both = [str(folder / "digits.labelled.csv"), str(folder / "digits.review.csv")]  # as `hidegl label` names them
    assert post(client, "export", kind="csv", precision=0.97, replace=True) == {"wrote": both}
    assert (folder / "sure.csv").read_bytes() == (folder / "digits.labelled.csv").read_bytes()
    assert (folder / "digits.review.csv").read_bytes() == (folder / "sure.review.csv").read_bytes()


def test_the_page_accepts_as_many_rows_as_an_export(tmp_path):
    """Classes are named in another order than that of their names."""
    path = tmp_path / "digits.csv"
    truth = write_digits(path, 600)
    session = open_session(path)
    session.start()
    client = client_of(session)
    for row in np.random.default_rng(1).permutation(600)[:70]:
        post(client, "label", rows=[int(row)], name="dbefjcgiha"[int(truth[row])])
    state = wait_for(lambda: (s := post(client, "state"))["trust"] and s["trust"]["version"] == s["version"] and s)
    shown = {round(share, 2): rows for share, rows, *_ in state["trust"]["accepted"]}
    for precision in (0.99, 0.97, 0.95, 0.9):
        wrote = post(client, "export", kind="parquet", precision=precision, replace=True)["wrote"][0]
        found = pq.read_table(wrote, columns=["label", "given"]).to_pydict()
        accepted = sum(label is not None and not given for label, given in zip(*found.values(), strict=True))
        assert accepted == shown[precision]
    names, trust = {one["number"]: one["name"] for one in state["classes"]}, session.learner.now.trust
    every = pq.read_table(post(client, "export", kind="parquet", replace=True)["wrote"][0])
    assert [names[number] for number in trust.numbers.tolist()] == every["label"].to_pylist()
    np.testing.assert_allclose(every["confidence"].to_numpy(), trust.confidence, atol=1e-4)  # it is written rounded
    session.stop()


def test_an_export_asks_before_it_replaces_rows_that_a_person_reviews(labelled, client):
    folder = labelled.store.path.parent
    for name in ("digits.labelled.csv", "digits.labelled.parquet"):
        (folder / name).unlink(missing_ok=True)
    review = folder / "digits.review.csv"
    review.write_text("row,label\n3,filled in by hand\n")
    for kind in ("csv", "parquet"):
        assert post(client, "export", kind=kind, precision=0.97) == {"exists": [str(review)]}
    assert "by hand" in review.read_text()
    assert len(post(client, "export", kind="csv")["wrote"]) == 1  # all labels: there is nothing to review
    assert "by hand" in review.read_text()


def test_an_export_never_replaces_what_was_read(tmp_path):
    table = pyarrow.table({"a": list(range(40)), "b": [i % 7 for i in range(40)]})
    for name in ("my.labelled.csv", "two.csv", "two.labelled.csv", "two.review.csv"):
        pyarrow.csv.write_csv(table, tmp_path / name)
    session = open_session(tmp_path / "my.labelled.csv")
    paths = session._exports.paths("csv", 0.9)
    assert [path.name for path in paths] == ["my.labelled.labelled.csv", "my.labelled.review.csv"]
    assert session._exports.paths("model", None) == [tmp_path / "my.labelled.hidegl"]
    session.store.close()
    session = open_session(tmp_path / "two.csv", tmp_path / "two.labelled.csv", tmp_path / "two.review.csv")
    found = {path.name for kind in ("csv", "parquet") for path in session._exports.paths(kind, 0.9)}
    assert found.isdisjoint({"two.csv", "two.labelled.csv", "two.review.csv"})
    session.store.close()


def test_what_was_done_is_there_after_a_restart(tmp_path):
    path = tmp_path / "texts.csv"
    truth = write_texts(path)
    session = open_session(path, embedder="words")
    session.start()
    client = client_of(session)
    for row in range(12):
        post(client, "label", rows=[row], name=truth[row])
    post(client, "undo")
    wait_for(lambda: post(client, "state")["trust"])
    before = post(client, "state")
    session.stop()
    again = open_session(path, embedder="words")
    again.start()
    client = client_of(again)
    state = wait_for(lambda: (s := post(client, "state"))["trust"] and s)
    for name in ("n_labels", "undo", "redo"):
        assert state[name] == before[name]
    assert [one["name"] for one in state["classes"]] == [one["name"] for one in before["classes"]]
    assert len(state["progress"]) >= len(before["progress"]) > 0
    assert post(client, "redo")["n_labels"] == 12
    found = post(client, "rows", words="WHEEL")
    assert found["total"] == 30
    assert found["open"] == 30 - 4
    assert post(client, "label", words="wheel", name="car", source="search")["n_labels"] == 12 + 30 - 4
    assert post(client, "undo")["n_labels"] == 12
    without = {"without": [found["rows"][-1]["row"], found["rows"][-2]["row"]]}
    some = post(client, "label", words="wheel", name="car", source="search", **without)
    assert some["n_labels"] == 12 + 30 - 4 - 2
    assert post(client, "undo")["n_labels"] == 12
    card = post(client, "card", row=0)["card"]
    assert EVIL in card["text"]  # as it is: the page sets it as text
    assert ["price", "0"] in card["cells"]
    again.stop()


def test_labels_of_one_class_are_enough_to_go_on(tmp_path):
    path = tmp_path / "digits.csv"
    write_digits(path, 60)
    session = open_session(path)
    session.start()
    client = client_of(session)
    wait_for(lambda: post(client, "cards")["cards"])
    post(client, "label", rows=[0], name="a")
    state = post(client, "state")
    assert state["trust"] is None
    assert wait_for(lambda: post(client, "cards")["cards"])
    post(client, "label", rows=[1], name="b")
    wait_for(lambda: post(client, "state")["trust"])
    post(client, "undo")
    wait_for(lambda: post(client, "state")["trust"] is None)
    assert {card["row"] for card in wait_for(lambda: post(client, "cards")["cards"])}.isdisjoint({0})
    for row in range(60):
        post(client, "label", rows=[row], name="ab"[row % 2])
    wait_for(lambda: post(client, "state")["n_labels"] == 60 and post(client, "cards")["cards"] == [])
    session.stop()


def test_labels_are_taken_also_where_nothing_can_be_learned(tmp_path, monkeypatch):
    path = tmp_path / "digits.csv"
    write_digits(path, 60)
    session = open_session(path)

    def fails(self, y):
        raise FloatingPointError("no")

    monkeypatch.setattr("hidegl.estimators.auto.AutoHiDeGL.relabel", fails)
    session.start()
    client = client_of(session)
    post(client, "label", rows=[0, 1], name="a")
    post(client, "label", rows=[2], name="b")
    wait_for(lambda: "could not be learned" in post(client, "state")["phase"])
    assert post(client, "label", rows=[3], name="b")["n_labels"] == 4
    monkeypatch.undo()
    assert post(client, "label", rows=[4], name="a")["n_labels"] == 5
    wait_for(lambda: post(client, "state")["trust"])  # other labels may do better
    session.stop()


def test_news_come_as_events(studio):
    async def first(n):
        async with aclosing(news(studio, asyncio.Event())) as stream:
            return [await anext(stream) for _ in range(n)]

    wait_for(lambda: studio.learner.now.layout)
    found = asyncio.run(first(4))
    kinds = [re.match(r"event: (\w+)\ndata: (.*)\n\n$", text, flags=re.DOTALL) for text in found]
    assert all(kinds), found
    assert [kind[1] for kind in kinds] == ["state", "map", "colours", "queue"]
    assert json.loads(kinds[0][2])["title"] == "digits.csv"


# The command


def test_other_machines_need_a_flag(tmp_path, capsys):
    write_digits(tmp_path / "digits.csv", 30)
    assert run(["studio", str(tmp_path / "digits.csv"), "--host", "0.0.0.0", "--no-browser"]) == 2
    assert "--allow-network" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "first"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("10.0.0.7", "10.0.0.7"), ("fe80::1", "[fe80::1]")],
)
def test_names_under_which_it_may_be_asked_for(host, first):
    assert address_of({"server": (host, 80)}) == with_port(first)
    assert address_of({"server": ("::ffff:10.0.0.7", 8000)}) == "10.0.0.7:8000"
    assert names_of(host)[0] == first
    assert {socket.gethostname(), "127.0.0.1"} <= set(names_of("0.0.0.0"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.1 is the only loopback address")
def test_it_is_reached_under_every_address_of_the_machine(tmp_path):
    write_digits(tmp_path / "digits.csv", 60)
    session, told = open_session(tmp_path / "digits.csv"), []
    how = {"host": "0.0.0.0", "open_browser": False, "tell": told.append}
    thread = threading.Thread(target=serve, args=(session,), kwargs=how)
    thread.start()
    port, token = re.fullmatch(r"http://.*:(\d+)/\?token=(.*)", wait_for(lambda: told and told[0])).groups()
    base = f"http://127.0.0.2:{port}"
    with httpx.Client(base_url=base, headers={"origin": base}) as browser:
        assert browser.get("/", params={"token": token}).status_code == 200
        assert browser.get("/", headers={"host": f"127.0.0.3:{port}"}).status_code == 400
        assert browser.post("/api/end", json={}).status_code == 200
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_parquet_is_shown_and_searched_on_disk(tmp_path):
    write_texts(tmp_path / "texts.csv")
    path = tmp_path / "texts.parquet"
    pq.write_table(pyarrow.csv.read_csv(tmp_path / "texts.csv"), path, row_group_size=20)
    session = open_session(path, embedder="words")
    assert [content["row"] for content in session.contents.of([85, 3, 41])] == [85, 3, 41]
    assert "wave fish ship 41 " in session.contents.of([85, 3, 41])[2]["text"]
    assert len(session.contents.search("WHEEL")) == 30
    session.store.close()


@on_unix
def test_the_command_prints_the_address_and_ends_quietly(tmp_path):
    write_digits(tmp_path / "digits.csv", 60)
    command = [sys.executable, "-m", "hidegl", "studio", "digits.csv", "--no-browser"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "http://" in line:
            break
    found = re.search(r"http://([\d.]+):(\d+)/\?token=[\w-]{20,}", lines[-1])
    assert found, lines
    host, port = found.groups()
    assert host == "127.0.0.1"
    socket.create_connection((host, int(port)), timeout=10).close()
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert second.returncode == 2
    assert "another Studio" in second.stderr
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(timeout=20) == 0
    assert "Traceback" not in rest
    process.stderr.close()


@pytest.mark.parametrize("in_notebook", [False, True])
def test_from_python(in_notebook):
    X, y = np.repeat(np.eye(4), 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (80, 4)), np.full(80, None)
    y[[0, 20, 40]] = ["a", "b", "c"]
    found = []

    def person():
        import httpx

        address = wait_for(lambda: ADDRESSES and ADDRESSES.pop())
        base, token = re.fullmatch(r"(http://[\d.:]+)/\?token=(.*)", address).groups()
        with httpx.Client(base_url=base, headers={"origin": base}) as client:
            client.get("/", params={"token": token})
            found.append(client.post("/api/label", json={"rows": [60], "name": "d"}).json()["n_labels"])
            client.post("/api/end", json={})

    from hidegl.browser import notebook

    ADDRESSES = []
    before, notebook.print_address = notebook.print_address, ADDRESSES.append
    thread = threading.Thread(target=person)
    thread.start()
    try:
        texts = [f"text {i}" for i in range(80)]
        if in_notebook:

            async def cell():
                return hidegl.studio(X, labels=y, texts=texts, effort="quick", open_browser=False)

            labels = asyncio.run(cell())
        else:
            labels = hidegl.studio(X, labels=y, texts=texts, effort="quick", open_browser=False)
    finally:
        notebook.print_address = before
        thread.join()
    assert found == [4]
    assert {row: label for row, label in enumerate(labels) if label is not None} == {0: "a", 20: "b", 40: "c", 60: "d"}


# Parts


def test_images_are_recognised_by_a_stated_rule():
    from sklearn.datasets import load_digits

    X = load_digits().data[:200]
    names = [f"pixel_{i}" for i in range(64)]
    assert shape_of_pixels(names, X) == (8, 8)
    assert shape_of_pixels(None, X) == (8, 8)
    assert shape_of_pixels([f"income {i} of" for i in range(64)], X) is None
    assert shape_of_pixels(names[:63], X[:, :63]) is None
    assert shape_of_pixels(names, X + 0.5) is None
    shuffled = X[:, np.random.default_rng(0).permutation(64)]
    assert shape_of_pixels(names, shuffled) is None  # neighbours are not alike


def test_a_png_has_the_pixels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(60, dtype=np.uint8).reshape(6, 10)
    (tmp_path / "x.png").write_bytes(png(pixels))
    with image.open(tmp_path / "x.png") as read:
        assert np.array_equal(np.asarray(read), pixels)


def test_vectors_are_shown_by_their_nearest_labelled_rows():
    X = np.random.default_rng(0).normal(size=(30, 6))
    X[7] = 3 * X[3]
    contents = RowContents(None, X)
    assert contents.kind == "vector"
    assert contents.nearest(3, np.array([1, 7, 9]))[0] == 7
    assert contents.search("row 12").tolist() == [12]
    texts = RowContents(table_of_texts(["Alpha", "beta"] * 15), X, texts=["text"])
    assert texts.kind == "text"
    assert len(texts.search("ALPHA")) == 15


def test_a_preview_changes_only_what_labels_change():
    P = np.array([[0.9, 0.1], [0.5, 0.5]])
    before = np.array([[0.8, 0.2], [0.5, 0.5]])
    after = np.array([[0.8, 0.2, 0.0], [0.1, 0.2, 0.7]])
    found = corrected(P, before, after, np.array([1, 2]), np.array([1, 2, 5]))
    np.testing.assert_allclose(found[0], [0.9, 0.1, 0], atol=1e-9)
    assert found[1].argmax() == 2
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_tables_are_shown_without_the_labels(tmp_path):
    path = tmp_path / "houses.csv"
    table = {"area": list(range(40)), "rooms": [i % 5 for i in range(40)], "label": ["old", "new"] * 20}
    pyarrow.csv.write_csv(pyarrow.table(table), path)
    session = open_session(path)
    assert session.contents.kind == "table"
    assert session.contents.of([3])[0]["cells"] == [["area", "3"], ["rooms", "3"]]
    assert len(session.store.labels()) == 40
    session.store.close()


def test_labels_that_were_taken_over_from_a_column_are_never_learned_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stars = ["good" if i % 2 else "bad" for i in range(40)]
    table = pyarrow.table(
        {"area": [(7 * i) % 31 for i in range(40)], "rooms": [i % 5 for i in range(40)], "stars": stars}
    )
    pyarrow.csv.write_csv(table, "houses.csv")
    session = open_session(tmp_path / "houses.csv", labels="stars")
    session.store.undo()
    session.store.label_named([3], "good", "card")
    session.store.label_named([4], "bad", "card")
    session.store.close()
    again = open_session(tmp_path / "houses.csv")
    assert again.contents.of([3])[0]["cells"] == [["area", "21"], ["rooms", "3"]]
    assert again._exports.task.columns.features == ["area", "rooms"]
    again.store.close()
    assert run(["label", "houses.csv", "--labels", "houses.csv.labels.db", "--model", "m.hidegl", "-o", "o.csv"]) == 0
    assert hidegl.load("m.hidegl").n_features_in_ == 2


def test_progress_pairs_an_accuracy_with_the_labels_that_it_was_learned_from(tmp_path):
    """Labels that come while the model looks at all rows are not those that its accuracy is about."""
    truth = write_digits(tmp_path / "digits.csv", 60)
    session = open_session(tmp_path / "digits.csv")
    for row in range(12):
        session.label_named([row], "even" if int(truth[row]) % 2 == 0 else "odd", "card")
    model = AutoHiDeGL("quick", random_state=0).fit(session.contents.vectors(np.arange(60)))
    version, labels = session._task.version, session._task.labels
    model.relabel([labels.given[row] if row < 12 else -1 for row in range(60)])
    session.label_named([20], "odd", "card")  # a newer version, which nobody has learned from
    trust = Trust.of(version, model, labels.classes)
    session.learner._published = replace(session.learner.now, trust=trust)
    session._learned("trust")
    assert session.state()["progress"] == [(12, *trust.expected)]
    assert session.store.progress() == [(12, *trust.expected)]
    session.stop()


def test_states_are_numbered_in_the_order_in_which_they_were_read(tmp_path):
    write_digits(tmp_path / "digits.csv", 60)
    session = open_session(tmp_path / "digits.csv")
    numbers = [session.state()["number"], session.label_named([3], "3", "card")["number"], session.state()["number"]]
    assert numbers == sorted(set(numbers))
    session.stop()


def test_labels_follow_their_rows_when_the_table_changes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = pyarrow.table({"area": [i % 13 for i in range(40)], "name": [f"house {i}" for i in range(40)]})
    pyarrow.csv.write_csv(table, "houses.csv")
    with open_session(tmp_path / "houses.csv").store as store:
        store.label_named([3], "good", "card")
        store.label_named([4, 30], "bad", "card")
    more = pyarrow.table({"area": [1, 2], "name": ["a new house", "another one"]})
    pyarrow.csv.write_csv(
        pyarrow.concat_tables([table.slice(20, 10), table.slice(31), table.slice(0, 20), more]), "houses.csv"
    )
    options = InputOptions(["houses.csv.labels.db"])
    notes = Screen(quiet=True).notes
    y = Task.read(Source.of([Path("houses.csv")]), notes, options).y
    changes = "1 row more than before; 2 rows with answers are at another place; 1 labelled row is gone"
    assert any(changes in note.text for note in notes)
    assert {row: name for row, name in enumerate(y) if name} == {22: "good", 23: "bad"}
    session = open_session(tmp_path / "houses.csv")
    assert session.names() == {22: "good", 23: "bad"}
    session.store.close()
    pyarrow.csv.write_csv(table, "houses.csv")  # the row is back, and its label with it
    session = open_session(tmp_path / "houses.csv")
    assert session.names() == {3: "good", 4: "bad", 30: "bad"}
    session.store.undo()
    assert session.names() == {3: "good"}
    session.store.close()


def test_a_name_that_is_refused_is_named_with_its_file_and_row(tmp_path):
    names = ["x" * 300 if i == 17 else "short" for i in range(40)]
    pyarrow.csv.write_csv(pyarrow.table({"area": [(7 * i) % 31 for i in range(40)], "kind": names}), tmp_path / "a.csv")
    with pytest.raises(UsageError, match=r"a\.csv, the column 'kind': row 17 .*at most 200 characters, not 300"):
        open_session(tmp_path / "a.csv", labels="kind")
    open_session(tmp_path / "a.csv").store.close()  # the file of labels is free again


def test_mixed_tables_and_folders_of_images_are_shown(tmp_path):
    path = tmp_path / "shop.csv"
    kinds = ["red", "blue", "green"]
    table = {
        "size": [i % 7 for i in range(60)],
        "colour": [kinds[i % 3] for i in range(60)],
        "day": ["2024-01-02"] * 60,
    }
    pyarrow.csv.write_csv(pyarrow.table(table), path)
    session = open_session(path)
    assert session.contents.kind == "table"
    assert session.contents.of([4])[0]["cells"] == [["size", "4"], ["colour", "blue"], ["day", "2024-01-02"]]
    assert session.learner._how["preprocess"] == "mixed"
    session.store.close()
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(30):
        pixels = np.full((9, 9, 3), 8 * number, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02}.png")
    session = open_session(folder, embedder="pixels")
    assert session.contents.kind == "image"
    content, media = session.contents.image_of(3)
    assert (media, content[:4]) == ("image/webp", b"RIFF")
    assert session.contents.of([3])[0]["text"] == "03.png"
    assert session.store.path == tmp_path / "photos.labels.db"
    session.store.close()
