"""§3.1–3.2: from rows to high-dense points, their tree, and the assignments of rows to points. Nothing here depends on
labels.
"""
