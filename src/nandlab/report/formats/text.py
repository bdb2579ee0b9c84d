# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of words, for a terminal."""

from __future__ import annotations

from nandlab.report.tables.sheets import SheetFormat, render_text_sheets

FORMAT = SheetFormat(lambda content: render_text_sheets(content.sheets, content.before))
