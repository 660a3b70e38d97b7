"""Campaigns against hidegl: hostile rows, mutated files, wrong inputs and kills. `make fuzz` runs them.

Each campaign is a module with `prepare(folder)`, which makes what the cases start from, and `case(folder, rng)`, which
tries one thing and returns what it found wrong, or None. A case follows from the seed and its number, so that a finding
can be tried again: `python -m fuzz --only models --seed 0 --case 17`.
"""
