"""Label mountains of vectors from a handful of labels: graph structure learning over high-dense points (HiDeGL)."""

from hidegl._version import __version__
from hidegl.auto import AutoHiDeGL
from hidegl.estimator import HiDeGL
from hidegl.files.models import load
from hidegl.files.reading import read_rows

__all__ = ["AutoHiDeGL", "HiDeGL", "__version__", "load", "read_rows"]
