"""What every benchmark shares: the machine, the store of results, and a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from hidegl.basics.archives import replacing
from hidegl.paper.machine import PACKAGES, environment

RESULTS = Path(__file__).parent / "results"
PEERS = ("graphlearning", "annoy", "dask", "distributed", "pyarrow", "torch", "triton")


def memory(field: str) -> float:
    """Megabytes, from Linux's account of this process (`getrusage` would count the parent's peak in)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def summary(values: list[float]) -> dict[str, float]:
    return {"mean": round(mean(values), 2), "std": round(stdev(values), 2)}


def store(name: str, results: dict[str, Any]) -> None:
    """Write results/NAME.json, with the command and the machine."""
    RESULTS.mkdir(exist_ok=True)
    command = f"python benchmarks/{Path(sys.argv[0]).name}"
    text = json.dumps({"command": command, "environment": environment(PACKAGES + PEERS), **results}, indent=1)
    with replacing(RESULTS / f"{name}.json") as file:
        file.write(text.encode() + b"\n")
