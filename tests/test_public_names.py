"""Every public name of version 0.2 still works: those in its API reference, with their attributes and parameters."""

import importlib
import inspect
import json
import re
import warnings
from pathlib import Path

import pytest

NAMES = json.loads((Path(__file__).parent / "stored" / "public-names-0.2.json").read_text())
"""For each name of the reference of 0.2: attributes, parameters "(p)" of a call, and parameters "method(p)"."""


def lost(found, wanted):
    """The attributes and parameters that an object lacks."""
    for text in wanted:
        name, parameter = re.fullmatch(r"(\w*)(?:\((\w+)\))?", text).groups()
        own = getattr(found, name, None) if name else found
        has_it = own is not None or hasattr(found, name)
        if not has_it or (parameter and parameter not in inspect.signature(own).parameters):
            yield text


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_of_version_0_2_works(name):
    place, _, last = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a name that has moved, which names its new place
        found = getattr(importlib.import_module(place), last)
    assert list(lost(found, NAMES[name].split())) == []


def test_a_lost_attribute_or_parameter_is_found():
    assert list(lost(Path, ["exists", "gone", "rename(target)", "rename(gone)", "(gone)"])) == [
        "gone",
        "rename(gone)",
        "(gone)",
    ]
