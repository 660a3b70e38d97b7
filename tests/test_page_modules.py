"""Modules of Studio's page, run by node: what older states and lost requests lead to."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")

PAGE = """
const listeners = {};
const element = { dataset: {}, classList: { contains: () => false }, addEventListener() {}, textContent: "" };
globalThis.document = { documentElement: element, getElementById: () => element, addEventListener() {} };
globalThis.addEventListener = () => {};
globalThis.Image = class {};
globalThis.localStorage = { getItem: () => null };
"""
"""As much of a browser as the modules ask for when they are imported."""


def run_module(folder, script):
    """What a script prints that imports modules of the page."""
    shutil.copytree(str(files("hidegl.browser") / "page"), folder / "page")
    shutil.copy(str(files("hidegl.showing") / "map_names.js"), folder / "page")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "page" / "before.js").write_text(PAGE)
    (folder / "test.js").write_text('import "./page/before.js";\n' + script)
    done = subprocess.run([NODE, "test.js"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_node
def test_an_older_state_does_not_replace_a_newer_one(tmp_path):
    script = """
import { model, take } from "./page/model.js";
for (const [number, name] of [[1, "first"], [3, "third"], [2, "second"], [3, "again"]])
  { take({ number, classes: [{ number: 1, name }] }); console.log(model.classes.get(1).name); }
"""
    assert run_module(tmp_path, script) == ["first", "third", "third", "again"]


@needs_node
def test_a_card_that_cannot_be_completed_is_said(tmp_path):
    """The server has ended: a message, and no error that nobody catches."""
    script = """
process.on("unhandledRejection", (error) => { console.log("unhandled"); process.exit(0); });
globalThis.fetch = () => Promise.reject(new Error("down"));
const { model } = await import("./page/model.js");
const { gather } = await import("./page/card.js");
model.state = { classes: [], kind: "text" };
model.cards = [{ row: 5, likely: [], point: 1 }];
gather();
model.cards = [];
model.colours = { version: 1 };
gather();
await new Promise((done) => setTimeout(done, 50));
console.log(document.getElementById("said").textContent);
"""
    assert run_module(tmp_path, script)[:5] == ["Studio", "does", "not", "answer.", "If"]


@needs_node
def test_a_card_proposes_what_the_map_shows(tmp_path):
    """Newer proposals replace those of the card in view, and a key that was meant for the old one does nothing."""
    script = """
import { acceptCard, currentCard, gather } from "./page/card.js";
import { model } from "./page/model.js";
const sent = [];
globalThis.fetch = (_, { body }) => { sent.push(body); return new Promise(() => {}); };
model.state = { classes: [], kind: "text", stars: [], skipped: [] };
model.classes = new Map([[1, { name: "a" }], [2, { name: "b" }], [3, { name: "c" }]]);
model.cards = [{ row: 5, likely: [[1, 0.9], [2, 0.1], [3, 0.005]], point: 1 }];
gather();
model.cards = [{ row: 5, likely: [[2, 0.8], [1, 0.2]], point: 1 }];
gather();
console.log(currentCard().likely[0][0]);
acceptCard();
console.log(sent.filter((one) => JSON.parse(one).class).length);
await new Promise((done) => setTimeout(done, 500));
acceptCard();
await new Promise((done) => setTimeout(done, 10));
console.log(sent.map((one) => JSON.parse(one).class).find((one) => one !== undefined));
process.exit(0);
"""
    assert run_module(tmp_path, script) == ["2", "0", "2"]


@needs_node
def test_screen_readers_hear_a_phase_once_and_not_its_numbers(tmp_path):
    script = """
import { spokenPhase } from "./page/parts.js";
const phases = ["learning a better model", "points: stage 1 of 3", "points: stage 2 of 3", "embedding 3 of 40", ""];
console.log(JSON.stringify(phases.map(spokenPhase)));
"""
    (said,) = [" ".join(run_module(tmp_path, script))]
    assert said == '["learning a better model","points","points","embedding",""]'
