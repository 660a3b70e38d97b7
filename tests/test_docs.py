"""The documents name things that exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMES = re.findall(r"`(hidegl\.[\w.]+|tests/\w+\.py::\w+)`", (ROOT / "docs" / "paper_map.md").read_text())


def test_paper_map_names_many_things():
    assert len(set(NAMES)) > 30


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_name_in_the_paper_map_exists(name):
    if name.startswith("tests/"):
        file, test = name.split("::")
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        return
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    pytest.fail(f"{name} is no module")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_links_and_files_in_the_documents_exist(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target
