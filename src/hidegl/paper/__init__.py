"""The paper's own numbers, as printed."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def quoted_cells() -> list[dict[str, Any]]:
    """Tables 2 to 5, a dict for each cell: table, data, quantity, method, labels, mean, std."""
    return json.loads((files("hidegl.paper") / "quoted.json").read_text())["cells"]
