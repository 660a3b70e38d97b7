"""Studio: labels under kill -9, latency in a browser, and a scripted person beside random rows.

    python benchmarks/studio.py kills            # 100 kills under 20 labels a second
    python benchmarks/studio.py latency mnist    # key to next card and to recoloured map, in chromium; also: million
    python benchmarks/studio.py person trec6     # accuracy against keys pressed
    python benchmarks/studio.py                  # all of it

Each part is stored in results/studio.json as soon as it is measured, and seeds of the person that are stored are not
run again. Latencies depend on what else the machine does:
the number of other processes that wait for a core is stored beside them.
"""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from harness import DOCS, data, store, stored, with_tables
from hidegl import AutoHiDeGL
from hidegl.annotation.label_files import read_labels
from hidegl.annotation.row_keys import RowKeys
from hidegl.files.opening import open_table

KILLS, PER_SECOND = 100, 20
SETS = ("optdigits", "banking77", "mnist")
PERSONS = ("optdigits", "banking77", "trec6")
LABELS, PAUSE = 60, 0.4
"""Labels that are timed, and the seconds between them: people are not faster."""

STEPS = (10, 20, 40, 60, 100, 150, 200, 300, 400)
"""After how many labels the person is judged."""

AT_ONCE = 3
"""Cards that the person answers while the model learns."""

SEEDS = 3


@contextmanager
def studio(path: Path, *options: str):
    """Studio as a process of its own, and its address."""
    command = [sys.executable, "-m", "hidegl", "studio", str(path), "--no-browser", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    address = next((found[0] for line in process.stderr if (found := re.search(r"http://\S+", line))), None)
    assert address, "Studio did not start"
    try:
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.stderr.close()
        process.wait()


def client_of(address: str) -> httpx.Client:
    base, token = re.fullmatch(r"(http://[\d.:]+)/\?token=(.*)", address).groups()
    client = httpx.Client(base_url=base, headers={"origin": base}, timeout=30)
    client.get("/", params={"token": token}).raise_for_status()
    return client


# Kills


def kills() -> dict[str, Any]:
    """Kill the server at random moments, and compare what the file holds with what was acknowledged."""
    rng, n_asked, seconds = random.Random(0), 0, 0.0
    acknowledged: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.csv"
        write_digits(path)
        table = open_table(path)
        for number in range(KILLS):
            lives = rng.uniform(0.05, 1.4)
            names = {row: f"class {rng.randrange(10)}" for row in range(n_asked, n_asked + int(lives * PER_SECOND) + 1)}
            with studio(path, "--effort", "quick") as (process, address):
                acknowledged |= label_until_killed(process, address, names, lives)
            found = read_labels(path.with_name("digits.csv.labels.db"), RowKeys.of(table))
            lost = sum(found.get(row) != name for row, name in acknowledged.items())
            n_asked, seconds = n_asked + len(names), seconds + lives
            print(f"kill {number + 1}: {n_asked} labels asked for, {len(acknowledged)} acknowledged, {lost} lost")
    return {
        "kills": KILLS,
        "labels_asked_for": n_asked,
        "labels_acknowledged": len(acknowledged),
        "labels_a_second": round(n_asked / seconds, 1),
        "acknowledged_labels_lost": lost,
    }


def label_until_killed(
    process: subprocess.Popen[str], address: str, names: dict[int, str], seconds: float
) -> dict[int, str]:
    """Give labels at equal distances, however long each takes, until the process is killed: those it acknowledged."""
    acknowledged: dict[int, str] = {}

    def label(row: int, name: str) -> None:
        with suppress(httpx.HTTPError):
            client.post("/api/label", json={"rows": [row], "name": name}).raise_for_status()
            acknowledged[row] = name

    with closing(client_of(address)) as client, ThreadPoolExecutor(16) as pool:
        begun = time.monotonic()
        for number, (row, name) in enumerate(names.items()):
            time.sleep(max(begun + number / PER_SECOND - time.monotonic(), 0))
            pool.submit(label, row, name)
        time.sleep(max(begun + seconds - time.monotonic(), 0))
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return acknowledged


def write_digits(path: Path) -> None:
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([f"pixel_{number}" for number in range(64)])
        lines.writerows(load_digits().data.astype(int).tolist())


# Latency

PRESS = """async (number) => {
    const root = document.documentElement, card = () => document.querySelector("article.card")?.dataset.row;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const before = card(), target = Number(root.dataset.version) + 1, begun = performance.now();
    document.querySelector(`#choices [data-class="${number}"]`).click();
    while (card() === before || card() === undefined) await frame();
    await frame();
    const next = performance.now() - begun;
    while (Number(root.dataset.version) < target) await frame();
    const saved = performance.now() - begun;
    while (!(Number(root.dataset.colours) >= target)) await frame();
    await frame();
    return [next, saved, performance.now() - begun];
}"""
"""Press the button of a class, as its key does: how long until the next card, the answer and the colours are there."""


def latency(name: str) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    X, y = million() if name == "million" else data(name)
    classes, effort = np.unique(y), "default"
    rng = np.random.default_rng(0)
    given = np.concatenate([rng.choice(np.flatnonzero(y == c), 2, replace=False) for c in classes])
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder:
        path, labels = Path(folder) / f"{name}.npy", Path(folder) / "labels.csv"
        np.save(path, X)
        with labels.open("w", newline="") as file:
            csv.writer(file).writerows([["row", "label"], *([int(row), f"class {y[row]}"] for row in given)])
        begun = time.monotonic()
        with (
            studio(path, "--labels", str(labels), "--effort", effort) as (process, address),
            sync_playwright() as playwright,
        ):
            started = time.monotonic() - begun
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            tab = browser.new_page(viewport={"width": 1360, "height": 860})
            tab.goto(address)
            tab.wait_for_selector("article.card", timeout=600_000)
            first = time.monotonic() - begun
            tab.wait_for_selector("html[data-colours]:not([data-colours=''])", timeout=600_000)
            coloured = time.monotonic() - begun
            tab.wait_for_selector("#phase:not(.busy)", state="attached", timeout=1_800_000)
            best = time.monotonic() - begun
            tab.wait_for_timeout(6000)
            numbers = {one["name"]: one["number"] for one in tab.evaluate(STATE)["classes"]}
            taken = []
            for _ in range(LABELS):
                tab.wait_for_selector("article.card")
                row = int(tab.get_attribute("article.card", "data-row"))
                taken.append(tab.evaluate(PRESS, numbers[f"class {y[row]}"]))
                tab.wait_for_timeout(1000 * PAUSE)
            memory = psutil.Process(process.pid).memory_info().rss / 2**20
            steps = tab.evaluate(STATE)["seconds"]
            browser.close()
    cards, saved, colours = np.array(taken).T
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "classes": len(classes),
        "effort": effort,
        "labels": LABELS + len(given),
        "next_card_ms": spread(cards),
        "answer_ms": spread(saved),
        "recoloured_map_ms": spread(colours),
        "server_s": round(started, 1),
        "first_card_s": round(first, 1),
        "first_colours_s": round(coloured, 1),
        "best_model_s": round(best, 1),
        "memory_mb": round(memory),
        "steps_s": steps,
        "load": round(os.getloadavg()[0], 1),
    }


STATE = """() => fetch("/api/state", {method: "POST", body: "{}"}).then((answer) => answer.json())"""


def spread(values: np.ndarray) -> dict[str, float]:
    return {name: round(float(np.percentile(values, q)), 1) for name, q in (("median", 50), ("p95", 95), ("max", 100))}


def million() -> tuple[np.ndarray, np.ndarray]:
    """A million rows in twenty overlapping heaps."""
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=1_000_000)
    X = rng.normal(size=(20, 32)).astype(np.float32)[y] + rng.normal(0, 0.8, (len(y), 32)).astype(np.float32)
    return X, y


# A person


def person(name: str, seed: int) -> list[dict[str, Any]]:
    """Accuracy on the rows without a label, against the number of keys, for Studio and for random rows."""
    X, y = data(name)
    found = []
    for way, run in (("studio", with_studio), ("random rows, logistic regression", at_random)):
        for labels, keys, right in run(X, y, seed):
            found.append({"way": way, "seed": seed, "labels": labels, "keys": keys, "accuracy": round(right, 4)})
            print(name, found[-1], flush=True)
    return found


class Keys:
    """How many keys a person presses: one for a proposal or a class with a key, more to name or to find a class."""

    WITH_KEY = 33

    def __init__(self, names: list[str]) -> None:
        self.names, self.known, self.pressed = names, [], 0

    def label(self, code: int, proposed: int | None) -> None:
        name = self.names[code]
        if code == proposed:
            self.pressed += 1
        elif code not in self.known:
            self.pressed += 2 + len(name)  # N, the name, Enter
            self.known.append(code)
        elif self.known.index(code) < self.WITH_KEY:
            self.pressed += 1
        else:  # /, as much of the name as no other class has, Enter
            others = [self.names[other] for other in self.known if other != code]
            typed = next((n for n in range(1, len(name)) if not any(name[:n] in o for o in others)), len(name))
            self.pressed += 2 + typed


def names_of(y: np.ndarray) -> list[str]:
    """Names as long as those that people give: three letters and a number."""
    return [f"cls{code}" for code in range(int(y.max()) + 1)]


def with_studio(X: Any, y: np.ndarray, seed: int):
    """What Studio's learner does: a model without labels, then relabelling, a few cards at a time."""
    model, keys, given = AutoHiDeGL(random_state=seed).fit(X), Keys(names_of(y)), {}
    while len(given) < STEPS[-1]:
        goal = next(step for step in STEPS if step > len(given))
        asked = model.suggestions(min(AT_ONCE, goal - len(given)), answered=list(given))
        for one in asked:
            keys.label(int(y[one.row]), int(one.likely[0][0]) if one.likely else None)
            given[one.row] = int(y[one.row])
        if len(set(given.values())) > 1:
            labels = np.full(len(y), -1)
            labels[list(given)] = list(given.values())
            model.relabel(labels)
            if len(given) == goal:
                yield goal, keys.pressed, accuracy(model.transduction_, y, given)


def at_random(X: Any, y: np.ndarray, seed: int):
    rng, keys = np.random.default_rng(seed), Keys(names_of(y))
    order = rng.permutation(len(y))
    X = np.asarray(X, dtype=np.float32)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9) if X.shape[1] > 100 else X / X.max()
    for step in STEPS:
        keys.known, keys.pressed = [], 0
        for row in order[:step]:
            keys.label(int(y[row]), None)
        chosen = order[:step]
        if len(set(y[chosen].tolist())) > 1:
            fitted = LogisticRegression(C=10, max_iter=500).fit(X[chosen], y[chosen])
            yield step, keys.pressed, accuracy(fitted.predict(X), y, dict.fromkeys(chosen.tolist()))


def accuracy(labels: np.ndarray, y: np.ndarray, given: dict[int, Any]) -> float:
    rest = np.ones(len(y), dtype=bool)
    rest[list(given)] = False
    return float(np.mean(labels[rest] == y[rest]))


# The page


def tables() -> dict[str, str]:
    """The tables of docs/studio.md."""
    results = stored("studio")
    found = {}
    if results["kills"]:
        k = results["kills"]
        found["kills"] = (
            f"The server was killed (`kill -9`) {k['kills']} times while a script labelled {k['labels_a_second']:.0f} "
            f"rows a second, {k['labels_asked_for']:,} in all. {k['labels_acknowledged']:,} labels were acknowledged: "
            f"{k['acknowledged_labels_lost'] or 'none'} of them was lost, and the file opened each time."
        )
    lines = [
        "| data | rows | classes | key to next card, p95 | key to recoloured map, p95 | first card | memory | load |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results["latency"].items():
        lines.append(
            f"| {name} | {r['rows']:,} | {r['classes']} | {r['next_card_ms']['p95']:.0f} ms | "
            f"{r['recoloured_map_ms']['p95']:.0f} ms | {r['first_card_s']} s | {r['memory_mb']:,} MB | {r['load']} |"
        )
    found["latency"] = "\n".join(lines)
    lines = [
        "| data | way | " + " | ".join(f"{step} labels" for step in STEPS) + " |",
        "|---|---|" + "---|" * len(STEPS),
    ]
    for name, records in results["person"].items():
        for way in dict.fromkeys(record["way"] for record in records):
            cells = []
            for step in STEPS:
                own = [record for record in records if record["way"] == way and record["labels"] == step]
                right, keys = (np.mean([record[what] for record in own]) for what in ("accuracy", "keys"))
                cells.append(f"{100 * right:.1f} % ({keys:.0f})" if own else "")
            lines.append(f"| {name} | {way} | " + " | ".join(cells) + " |")
    found["person"] = "\n".join(lines)
    return found


def main(part: str = "all", *names: str) -> None:
    warnings.simplefilter("ignore")

    def keep(what: str, name: str, result: Any) -> None:
        before = {key: stored("studio").get(key, {}) for key in ("kills", "latency", "person")}
        before[what] = {**before[what], name: result} if name else result
        store("studio", before)

    if part in ("kills", "all"):
        keep("kills", "", kills())
    for name in names or SETS:
        if part in ("latency", "all"):
            keep("latency", name, latency(name))
    for seed in range(SEEDS):
        for name in names or PERSONS:
            known = stored("studio").get("person", {}).get(name, [])
            if part in ("person", "all") and all(record["seed"] != seed for record in known):
                keep("person", name, [*known, *person(name, seed)])
    page = DOCS / "studio.md"
    page.write_text(with_tables(page.read_text(), tables()))


if __name__ == "__main__":
    main(*sys.argv[1:])
