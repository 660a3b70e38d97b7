"""How a campaign runs: in a process of its own, so that a crash or a hang is a finding and not the end."""

from __future__ import annotations

import importlib
import os
import select
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

CAMPAIGNS = (
    *("matrices", "models", "checkpoints", "commands", "requests", "labels", "databases", "caches", "sheets"),
    *("kills", "exports"),
)

HANGS = 60.0
"""A case that takes more seconds than this hangs."""

STARTS = 240.0
"""The most seconds until the first case begins."""


@dataclass
class Outcome:
    """How many cases were tried, and what was found wrong."""

    tried: int = 0
    findings: list[str] = field(default_factory=list)


def run(name: str, seed: int, *, seconds: float, cases: int | None = None, first: int = 0) -> Outcome:
    """Try cases of a campaign for some seconds, or this number of them."""
    outcome, number, end = Outcome(), first, time.monotonic() + seconds
    last = None if cases is None else first + cases
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end and (last is None or number < last):
            left = end - time.monotonic()
            arguments = [name, str(seed), str(number), str(last if last is not None else -1), str(left), folder]
            number = watch([sys.executable, "-m", "fuzz.running", *arguments], number, outcome)
    return outcome


def watch(command: list[str], number: int, outcome: Outcome) -> int:
    """Run cases from a number on until the process ends, and return the number of the next case."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "bufsize": 0}
    with subprocess.Popen(command, cwd=Path(__file__).parent.parent, **pipes) as process:
        assert process.stdout is not None
        running, rest, patience = False, b"", STARTS
        while True:
            ready, _, _ = select.select([process.stdout], [], [], patience)
            if not ready:
                process.kill()
                outcome.findings.append(f"case {number} hangs")
                return number + 1
            some = process.stdout.read(65536)
            if not some:
                break
            *lines, rest = (rest + some).split(b"\n")
            for line in lines:
                word, _, text = line.decode(errors="replace").partition(" ")
                if word == "case":
                    number, running, patience = int(text), True, HANGS
                elif word == "found":
                    outcome.findings.append(f"case {number}: {text}")
                elif word == "tried":
                    outcome.tried, number, running = outcome.tried + 1, number + 1, False
    if running or process.returncode:
        outcome.findings.append(f"case {number} ends the process with {process.returncode}")
        return number + 1
    return number


def rng_of(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, number])


def work(name: str, seed: int, first: int, last: int, seconds: float, folder: Path) -> None:
    """Try the cases, and say so line by line."""
    end = time.monotonic() + seconds
    campaign = importlib.import_module(f"fuzz.{name}" if name in CAMPAIGNS else name)
    if not (folder / "prepared").exists():
        campaign.prepare(folder)
        (folder / "prepared").touch()
    number = first
    while time.monotonic() < end and number != last:
        say("case", number)
        try:
            found = campaign.case(folder, rng_of(seed, number))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        if found is not None:
            say("found", " ".join(found.split())[:500])
        say("tried", number)
        number += 1


def say(word: str, what: object) -> None:
    sys.__stdout__.write(f"{word} {what}\n")
    sys.__stdout__.flush()


if __name__ == "__main__":
    name, seed, first, last, seconds, folder = sys.argv[1:]
    work(name, int(seed), int(first), int(last), float(seconds), Path(folder))
    os._exit(0)  # threads of a session that nobody stops may have labels left to learn from
