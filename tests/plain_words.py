"""Words that we do not use: `make lint` looks for them in docstrings, comments, messages and documents.

People read these in a hurry, and many of them learned English late. Each word below had several senses here, or a
technical term that says the same more precisely. A phrase in which a word is right is named with it.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Word(NamedTuple):
    """A pattern, what to write instead, and patterns in which the word is right."""

    pattern: str
    instead: str
    allowed: str = ""


WORDS = [
    Word("tell|tells|telling|told", "print, show, explain, distinguish, reveal: it had six senses"),
    Word(
        "beside|besides", "next to, compared with, together with, in addition to: it had four senses", "<!-- beside -->"
    ),
    Word(
        "hold|holds|held|holding",
        "contain, have, store, apply",
        "held[- ]out|hold out|holds? for|intervals? (holds?|held)|held down",
    ),
    Word(
        "is kept|are kept|was kept|were kept|be kept|keep|keeps",
        "store, cache, retain, use",
        "keep-?alive|keep up with|keep the label|be kept apart",
    ),
    Word("surer|surest|how sure", "more confident, most confident, how confident"),
    Word("so many|so often|so manieth|every so", "this number of, as often as, every n-th"),
    Word("mend|mends|mended", "fix, repair"),
    Word("strange|strangely", "atypical, unusual, improbable"),
    Word("witness|witnesses", "fingerprint, sample"),
    Word("vanish|vanishes|vanished", "is removed, underflows, is negligible"),
    Word("made good|make good|makes good", "correct, recompute"),
    Word("take over|takes over|taken over|took over", "import, replace, read"),
    Word("any more", "no longer", "in the table any more"),
    Word("see to|sees to", "ensure"),
    Word("alike", "similar, equal", "case alike"),
    Word("as it stands|as they stand", "unchanged, of the paper"),
    Word("settle|settles|settled", "converge, decide"),
    Word("what it says|what they say|says nothing|say nothing", "name what it contains, or what is missing"),
]

SKIPPED = ("docs/paper/", "src/hidegl/paper/prose/", "docs/auto_examples/", "docs/reference/", "CODE_OF_CONDUCT.md")
"""Pages that are rendered from stored results, and a text for people only."""

LEFT_OUT = re.compile(r"`[^`]*`|https?://\S+|^\s*[|]?\s*hidegl: .*|<[a-z!][^>]*>")
"""Code, addresses and tags inside of a line."""


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that people read, with their numbers: for Python those of texts and comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        yield from ((i, line[line.find("//") :]) for i, line in enumerate(text.splitlines(), 1) if "// " in line)
    elif path.suffix != ".py":
        yield from enumerate(
            re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.S).splitlines(), 1
        )
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield from enumerate(node.value.splitlines(), node.lineno)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def words_in(line: str) -> Iterator[Word]:
    line = LEFT_OUT.sub("", line)
    for word in WORDS:
        rest = re.sub(word.allowed, "", line, flags=re.I) if word.allowed else line
        if re.search(rf"\b({word.pattern})\b", rest, re.I):
            yield word


def files() -> Iterator[Path]:
    for pattern in (
        "src/**/*.py",
        "src/**/*.js",
        "src/**/*.html",
        "src/**/*.jinja",
        "docs/**/*.md",
        "examples/*.py",
        "*.md",
    ):
        for path in sorted(ROOT.glob(pattern)):
            if not path.relative_to(ROOT).as_posix().startswith(SKIPPED):
                yield path


def findings() -> list[str]:
    """One line for each word that is found."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {re.search(rf'({word.pattern})', line, re.I)[0]!r}: write {word.instead}"
        for path in files()
        for number, line in sentences(path)
        for word in words_in(line)
    ]


if __name__ == "__main__":
    found = findings()
    sys.exit("\n".join(found) or 0)
