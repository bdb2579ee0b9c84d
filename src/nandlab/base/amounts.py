# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts as people write them, with their units: 50ms, 8M, 5%."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nandlab.base.errors import UsageError

BYTES = {"": 1.0, "b": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}
TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
ENERGIES = {"nJ": 1e-9, "uJ": 1e-6, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0, "Wh": 3600.0}
GREEK_MU, MICRO_SIGN = "\u03bc", "µ"
"""Two characters of one look."""
BYTE_UNIT = "(?![KMGT]i?b)([kmgtKMGT]?)(?:[iI]?[bB])?"
"""Mb and Gb are bits, as data sheets have them; of the rest capitals do not matter."""
NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"


@dataclass(frozen=True)
class AmountKind:
    """How amounts of a quantity are written."""

    unit: str
    """A pattern of what follows the number."""
    sizes: dict[str, float]
    example: str
    capitals: str = ""
    """What they mean in the unit, in brackets."""


PLAIN = AmountKind("", {"": 1.0}, "a number, such as 12.5")
AMOUNT_KINDS = {
    "time": AmountKind(
        "(ns|us|µs|ms|s)",
        TIMES,
        "a time with its unit, such as 20ms or 1.5s",
        " (in small letters)",
    ),
    "energy": AmountKind(
        "(nJ|uJ|µJ|mJ|J|Wh)",
        ENERGIES,
        "an energy with its unit, such as 50uJ, 2mJ or 1.5J",
        " (MJ is not mJ)",
    ),
    "bytes": AmountKind(BYTE_UNIT, BYTES, "bytes, such as 4096, 512K, 8M or 1G", " (Mb are bits)"),
    "bytes_per_s": AmountKind(
        f"{BYTE_UNIT}(?:/s)?", BYTES, "bytes a second, such as 512K/s or 8M/s", " (Mb are bits)"
    ),
    "share": AmountKind("(%?)", {"": 1.0, "%": 0.01}, "a share, such as 5% or 0.05"),
}
"""By the quantity's name; all others are plain numbers. Units of bytes are binary. Capitals count
in all others: Ms are not ms, nor is MJ mJ."""


def parse_amount(text: str, quantity: str, where: str) -> float:
    """The amount above 0 of a text, in the quantity's base unit; UsageError if it is none."""
    kind = AMOUNT_KINDS.get(quantity, PLAIN)
    pattern = rf"{NUMBER}\s*{kind.unit}"
    match = re.fullmatch(pattern, text.strip().replace(GREEK_MU, MICRO_SIGN))
    if match:
        unit = match[2] if match.lastindex == 2 else ""
        unit = unit.lower() if kind.sizes is BYTES else unit
        found = float(match[1]) * kind.sizes[unit]
        if 0 < found < math.inf and not (quantity == "share" and found > 1):
            return found
    raise UsageError(f"{where} {text!r}: give {kind.example}, above 0{kind.capitals}")


def parse_size(text: str, where: str) -> int:
    """Whole bytes of ``8M``, ``512KiB`` or ``4096``."""
    return max(1, round(parse_amount(text, "bytes", where)))
