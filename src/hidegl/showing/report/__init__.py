"""The report (extra: report): one self-contained HTML file with tables and an interactive map."""

from __future__ import annotations

from hidegl.showing.report.contents import write_report
from hidegl.showing.report.settings import described_settings

__all__ = ["described_settings", "write_report"]
