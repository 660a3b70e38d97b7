"""Short versions of the campaigns of `make fuzz`."""

from __future__ import annotations

import sys

import pytest

from fuzz.running import CAMPAIGNS, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals are those of Unix")

CASES = {
    "matrices": 30,
    "models": 60,
    "checkpoints": 60,
    "commands": 15,
    "requests": 200,
    "labels": 2,
    "databases": 40,
    "caches": 30,
    "sheets": 80,
    "kills": 6,
    "exports": 2,
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_finds_nothing(name):
    if name in ("kills", "exports") and sys.platform != "linux":
        pytest.skip("forks processes that have threads")
    outcome = run(name, 1, seconds=120, cases=CASES[name])
    assert outcome.findings == []
    assert outcome.tried == CASES[name]


def test_crashes_hangs_and_errors_are_findings(tmp_path, monkeypatch):
    package = tmp_path / "fuzz_of_tests.py"
    package.write_text(
        "import os, time\n"
        "def prepare(folder): pass\n"
        "def case(folder, rng):\n"
        "    tried = len(list(folder.glob('tried*')))\n"
        "    (folder / f'tried{tried}').touch()\n"
        "    if tried == 1: os._exit(3)\n"
        "    if tried == 2: time.sleep(60)\n"
        "    if tried == 3: return 'wrong'\n"
        "    if tried == 4: raise OSError('raw')\n"
    )
    monkeypatch.setattr("fuzz.running.HANGS", 0.5)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    outcome = run("fuzz_of_tests", 0, seconds=60, cases=6)
    assert outcome.findings == [
        "case 1 ends the process with 3",
        "case 2 hangs",
        "case 3: wrong",
        "case 4: OSError: raw (fuzz_of_tests.py:9)",
    ]
