"""A report to look at (extra: report): one HTML file that needs nothing else, made of tables and a map to explore."""

from __future__ import annotations

from hidegl.showing.report.settings import described_settings
from hidegl.showing.report.writing import write_report

__all__ = ["described_settings", "write_report"]
