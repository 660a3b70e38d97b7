"""The tests of the core: less than a minute, with hidegl and its extra `quick` alone. `make test-quick` runs them.

python tests/quick.py [options of pytest]
"""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CORE = ("bad_input", "datasets", "estimator", "graph", "house", "labels", "persistence", "points", "settings", "tree")

if __name__ == "__main__":
    files = [str(TESTS / f"test_{name}.py") for name in CORE]
    sys.exit(pytest.main(["-q", "-n", "2", *sys.argv[1:], *files]))
