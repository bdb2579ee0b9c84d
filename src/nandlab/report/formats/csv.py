# SPDX-License-Identifier: GPL-2.0-or-later
"""Comma-separated values, a line a record."""

from __future__ import annotations

from nandlab.report.tables.sheets import SheetFormat, render_csv

FORMAT = SheetFormat(lambda content: render_csv(content.head, content.records), of_records=True)
