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
"""
"""As much of a browser as the modules ask for when they are imported."""


def run_module(folder, script):
    """What a script prints that imports modules of the page."""
    shutil.copytree(str(files("hidegl.browser") / "page"), folder / "page")
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
