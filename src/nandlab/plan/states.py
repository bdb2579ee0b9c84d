# SPDX-License-Identifier: GPL-2.0-or-later
"""Flash states whose name says another thing than their shares."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nandlab.analysis.verdicts.conditions import AGED_SHARES
from nandlab.plan.lookup import MatrixSystem
from nandlab.plan.matrix import StateChoice

AGED_WORDS = ("aged", "filled", "mixed")
"""Words of a state's name that say that the flash holds data."""


def check_state_ages_flash(state: StateChoice, systems: Iterable[MatrixSystem]) -> list[str]:
    """Why a state would be called aged in every table and be fresh, or fresh and hold data; empty:
    neither.

    A chip that begins from an image holds what the image has.
    """
    words = re.split(r"[^a-z0-9]+", state.name.lower())
    if (state.valid or state.invalid) and words == ["fresh"]:
        return ["fresh: its shares of the flash hold data: call it aged, or leave the shares out"]
    erased = [system for system in systems if system.start is None]
    if state.valid or state.invalid or not erased or not set(words) & set(AGED_WORDS):
        return []
    name = state.name
    return [
        f"{name}: no share of the flash would hold data, so its trials would be fresh: "
        f'write {{ name = "{name}", {AGED_SHARES} }}, or call it fresh'
    ]


def check_state_beside_volumes(state: StateChoice, systems: Iterable[MatrixSystem]) -> list[str]:
    """Why shares of the chip's pages cannot be reached; empty: they can.

    The chip counts the pages of further UBI volumes too.
    """
    if not (state.valid or state.invalid) or state.of == "free":
        return []
    layouts = [each for s in systems for each in s.model.list_layouts(s.options)]
    return [
        f"{state.name}: the chip counts the pages of the volumes {layout!r} among its shares too: "
        'take shares of what is free, of = "free" with mix = 0'
        for layout in layouts[:1]
    ]
