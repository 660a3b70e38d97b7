"""The report (extra: report): one self-contained HTML file with tables and an interactive map."""

from __future__ import annotations

from hidegl.showing.report.settings import described_settings
from hidegl.showing.report.writing import write_report

__all__ = ["described_settings", "write_report"]
