"""Marks that several tests share."""

from __future__ import annotations

import sys

import pytest

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="signals, links and devices are those of Unix")
