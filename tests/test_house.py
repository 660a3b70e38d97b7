"""The house stays in order: short modules, functions and classes, and model files of earlier versions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import hidegl
import plain_words

SOURCE = Path(hidegl.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
KERNELS = ("kernels.py", "fused.py", "simplex.py")
"""Compiled loops, which cannot be cut into small functions at no cost."""


def nodes(kind):
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kind):
                yield path, node


def body_lines(function):
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_modules_are_short():
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: n for name, n in lengths.items() if n > 350} == {}


def test_functions_are_short():
    lengths = {
        f"{path.name}:{node.name}": body_lines(node)
        for path, node in nodes(ast.FunctionDef)
        if path.name not in KERNELS
    }
    assert {name: n for name, n in lengths.items() if n > 40} == {}


def test_classes_have_few_methods():
    counts = {
        f"{path.name}:{node.name}": sum(isinstance(part, ast.FunctionDef) for part in node.body)
        for path, node in nodes(ast.ClassDef)
    }
    assert {name: n for name, n in counts.items() if n > 25} == {}


def test_modules_and_classes_have_names_of_their_own():
    paths = [path for path in MODULES if not path.stem.startswith("__")]
    modules = Counter(path.stem for path in paths)
    classes = Counter(node.name for _, node in nodes(ast.ClassDef))
    assert [name for name, n in (modules + classes).items() if n > 1] == []


def codes_of_errors():
    """The code of each error that is raised in the package, and the places of those without a constant code."""
    codes, without = set(), []
    for path, node in nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("UsageError", "OperationError", "RowsError"):
            code = node.args[1] if len(node.args) > 1 else None
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                codes.add(code.value)
            else:
                without.append(f"{path.name}:{node.lineno}")
    return codes, without


def test_every_error_has_a_code_that_is_documented():
    codes, without = codes_of_errors()
    assert without == []
    page = (SOURCE.parents[1] / "docs" / "errors.md").read_text().partition("## Errors for programs")[2]
    assert sorted(codes) == sorted(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", page.partition("| code |")[2]))


def test_words_that_we_do_not_use_are_not_there():
    assert plain_words.findings() == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("The labels tell which class is meant.", ["tell"]),
        ("a folder beside the data, which is kept", ["beside", "is kept"]),
        ("scores of held-out labels", []),
        ("`held` is the name of a variable", []),
    ],
)
def test_such_words_are_found_where_people_read_them(line, found):
    assert [word.pattern.split("|")[0] for word in plain_words.words_in(line)] == found


# Model files of version 0.1

STORED = Path(__file__).parent / "stored"
MADE = {"hidegl": (200, 6, 4), "auto": (200, 6, 4), "auto_with_head": (200, 110, 8)}
"""Rows, columns and classes of the data that each was fitted to."""

SINGLE = 2e-6
"""Probabilities are computed in single precision since version 0.3."""


def clouds(n, d, c):
    """The data of the stored models; RandomState's numbers are the same in every version of numpy."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % c
    X = rng.normal(size=(c, d))[y] * (3 if d < 100 else 1.2) + rng.normal(size=(n, d))
    if d > 100:  # topics that have nothing to do with the classes: a linear classifier sees through them
        X += rng.normal(size=(n, 8)) @ rng.normal(size=(8, d))
    return X.round(3), np.where(np.arange(n) < (24 if d < 100 else 83), y, -1)


@pytest.mark.parametrize("name", MADE)
def test_models_of_version_0_1_load_and_answer_as_they_did(name, tmp_path):
    X, y = clouds(*MADE[name])
    with np.load(STORED / "expected-0.1.npz") as archive:
        expected = {key.removeprefix(f"{name}."): archive[key] for key in archive.files if key.startswith(f"{name}.")}
    model = hidegl.load(STORED / f"{name}-0.1.hidegl")
    for _ in range(2):  # as it was stored, and stored again in today's format
        np.testing.assert_allclose(model.label_distributions_, expected["P"], atol=SINGLE)
        np.testing.assert_allclose(model.predict_proba(X + 0.1), expected["new"], atol=SINGLE)
        assert len(set(model.suggest(5)) - set(np.flatnonzero(y >= 0))) == 5  # today it chooses otherwise
        suspicion = np.array([label.suspicion for label in model.audit()])
        assert suspicion.mean() < expected["suspicion"].mean() + 0.01  # today a hidden label is made good
        assert model.summary()
        model.save(tmp_path / "model")
        model = hidegl.load(tmp_path / "model")
    if name == "auto_with_head":  # without its rows, a loaded model has no linear classifier to learn
        return
    names = np.array([None, *"abcdefgh"], dtype=object)[y + 1]
    assert model.relabel(names).score(X[y >= 0], names[y >= 0]) > 0.95


@pytest.mark.parametrize("name", ["auto", "auto_with_head"])
def test_models_of_version_0_2_load_and_answer_as_they_did(name, tmp_path):
    with np.load(STORED / "expected-0.2.npz") as archive:
        X, P = (archive[f"{part}_{'head' if 'head' in name else 'auto'}"] for part in "XP")
    model = hidegl.load(STORED / f"{name}-0.2.hidegl")
    for _ in range(2):  # as it was stored, and stored again in today's format
        np.testing.assert_allclose(model.predict_proba(X), P, atol=SINGLE)
        assert 0 < model.expected_accuracy_.low < model.expected_accuracy_.mean < model.expected_accuracy_.high <= 1
        assert model.acceptance(0.5).n_rows > 0
        model.save(tmp_path / "model")
        model = hidegl.load(tmp_path / "model")


def test_a_model_of_version_0_1_without_labels_takes_some():
    _, y = clouds(200, 6, 4)
    model = hidegl.load(STORED / "hidegl_without_labels-0.1.hidegl")
    assert not hasattr(model, "transduction_")
    assert np.mean(model.relabel(y).transduction_ == np.arange(200) % 4) > 0.95
