"""The experiments of the paper's Section 4: its tables and figures, from stored trials.

quoted.py     the paper's own numbers          problems.py   data, draws of labels, and small substitutes
methods.py    the methods and their grids      tuning.py     HiDeGL's grids, many draws at a time (labelling.py)
trials.py     the fits, as tasks               store.py      every trial as a line of JSON
results.py    trials to cells of tables        pages.py, figures.py   cells to pages, without fitting
commands.py   `hidegl paper …`, or `python -m hidegl.paper …`
"""
