# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of words, as GitHub and GitLab draw them."""

from __future__ import annotations

from nandlab.report.tables.sheets import SheetFormat, render_markdown_sheets

FORMAT = SheetFormat(lambda content: render_markdown_sheets(content.sheets, content.before))
