"""Short versions of the campaigns of `make fuzz`."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fuzz import labels
from fuzz.running import CAMPAIGNS, rng_of, run

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


def test_memory_that_grows_with_labels_is_a_finding(tmp_path, monkeypatch):
    """Such as a session that never frees 4 MB of each state."""
    monkeypatch.setattr(labels, "LABELLED", 30)
    monkeypatch.setattr(labels, "MEASURED", 1)
    labels.prepare(tmp_path)
    session, kept = labels.labelled.session, []
    try:
        assert labels.case(tmp_path, rng_of(0, 0)) is None
        assert labels.case(tmp_path, rng_of(0, 1)) is None
        assert labels.labelled.n_full >= 1
        state = session.state
        monkeypatch.setattr(session, "state", lambda: (kept.append(np.ones(500_000)), state())[1])
        assert "memory grew by" in labels.case(tmp_path, rng_of(0, 2))
    finally:
        session.stop()
        labels.labelled = None
