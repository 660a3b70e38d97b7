"""Run the campaigns: `python -m fuzz`, or for long `python -m fuzz --long`."""

from __future__ import annotations

import argparse
import sys
import time

from fuzz.running import CAMPAIGNS, run

SHARES = {
    "matrices": 0.15,
    "models": 0.2,
    "checkpoints": 0.08,
    "commands": 0.15,
    "requests": 0.06,
    "labels": 0.04,
    "databases": 0.08,
    "caches": 0.04,
    "sheets": 0.04,
    "kills": 0.1,
    "exports": 0.06,
}
"""Of the time that each campaign gets."""

LONG = {
    "matrices": 10_000,
    "models": 8_000,
    "checkpoints": 2_000,
    "commands": 3_000,
    "requests": 30_000,
    "labels": 1000,
    "databases": 5_000,
    "caches": 5_000,
    "sheets": 20_000,
    "kills": 600,
    "exports": 300,
}
"""How many cases a long run tries."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="The same seed tries the same cases.")
    parser.add_argument("--seconds", type=float, default=270, help="For all campaigns together.")
    parser.add_argument("--only", choices=CAMPAIGNS, help="One campaign, with all the time.")
    parser.add_argument("--case", type=int, help="One case of it.")
    parser.add_argument("--cases", type=int, help="This number of cases of each campaign, however long it takes.")
    parser.add_argument("--long", action="store_true", help=f"Try {LONG}, however long it takes.")
    asked = parser.parse_args()
    names = CAMPAIGNS if asked.only is None else (asked.only,)
    findings = 0
    for name in names:
        seconds = asked.seconds * (SHARES[name] if asked.only is None else 1)
        begun = time.monotonic()
        if asked.case is not None:
            outcome = run(name, asked.seed, seconds=1e6, cases=1, first=asked.case)
        elif asked.cases or asked.long:
            outcome = run(name, asked.seed, seconds=1e6, cases=asked.cases or LONG[name])
        else:
            outcome = run(name, asked.seed, seconds=seconds)
        taken = time.monotonic() - begun
        print(f"{name}: {outcome.tried:,} tried in {taken:.0f} s, {len(outcome.findings)} findings", flush=True)
        for finding in outcome.findings:
            print(f"  {finding}", flush=True)
        findings += len(outcome.findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
