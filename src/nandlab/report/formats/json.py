# SPDX-License-Identifier: GPL-2.0-or-later
"""A JSON list of records."""

from __future__ import annotations

from nandlab.base.printer import format_json
from nandlab.report.tables.sheets import SheetFormat

FORMAT = SheetFormat(lambda content: format_json(list(content.records)), of_records=True)
