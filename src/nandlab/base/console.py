# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and styles on a terminal, by rich: it styles texts that are escaped before."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich import console, markup
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from nandlab.base.printable import make_lines_printable, make_printable
from nandlab.base.printer import find_inner_stream


class Console(console.Console):
    """A console to which no text brings a control character; those of its own styles pass."""

    def __init__(self, **settings: Any) -> None:
        stream = sys.stderr if settings.get("stderr") else sys.stdout
        super().__init__(**{"file": find_inner_stream(stream), "emoji": False, **settings})

    def render_str(self, text: str, **settings: Any) -> Text:
        """See rich: a string as it is laid out."""
        return super().render_str(make_lines_printable(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """See rich: whatever is laid out, in pieces of text; of control pieces rich has its own."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=make_lines_printable(piece.text))


def escape_rich_markup(text: str) -> str:
    """A text as one line within rich's markup."""
    return markup.escape(make_printable(text))
