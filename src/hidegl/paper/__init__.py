"""The experiments of the paper's Section 4: its tables and figures, from stored trials.

quoted.py     the paper's own numbers          problems.py   data, draws of labels, and small stand-ins
methods.py    the systems and their grids      tuning.py     HiDeGL's grids, many draws at a time (labelling.py)
trials.py     what is fitted, as tasks         store.py      every trial as a line of JSON
results.py    trials to cells of tables        pages.py, figures.py   cells to pages: they never fit
commands.py   `hidegl paper …`, or `python -m hidegl.paper …`
"""

from hidegl.paper.quoted import quoted_cells

__all__ = ["quoted_cells"]
