# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts as people write them, with their units: 50ms, 8M, 5%."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nandlab.base.errors import UsageError

BYTES = {"": 1.0, "b": 1.0, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40}
TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
ENERGIES = {"nj": 1e-9, "uj": 1e-6, "µj": 1e-6, "mj": 1e-3, "j": 1.0, "wh": 3600.0}
NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"


@dataclass(frozen=True)
class AmountKind:
    """How amounts of a quantity are written."""

    unit: str
    """A pattern of what follows the number."""
    sizes: dict[str, float]
    example: str


PLAIN = AmountKind("", {"": 1.0}, "a number, such as 12.5")
AMOUNT_KINDS = {
    "time": AmountKind("(ns|us|µs|ms|s)", TIMES, "a time with its unit, such as 20ms or 1.5s"),
    "energy": AmountKind(
        "(nj|uj|µj|mj|j|wh)", ENERGIES, "an energy with its unit, such as 50uJ, 2mJ or 1.5J"
    ),
    "bytes": AmountKind("([kmgt]?)(?:i?b)?", BYTES, "bytes, such as 4096, 512K, 8M or 1G"),
    "bytes_per_s": AmountKind(
        "([kmgt]?)(?:i?b)?(?:/s)?", BYTES, "bytes a second, such as 512K/s or 8M/s"
    ),
    "share": AmountKind("(%?)", {"": 1.0, "%": 0.01}, "a share, such as 5% or 0.05"),
}
"""By the quantity's name; all others are plain numbers. Units of bytes are binary."""


def parse_amount(text: str, quantity: str, where: str) -> float:
    """The amount above 0 of a text, in the quantity's base unit; UsageError if it is none."""
    kind = AMOUNT_KINDS.get(quantity, PLAIN)
    match = re.fullmatch(rf"{NUMBER}\s*{kind.unit}", text.strip().lower())
    if match:
        unit = match[2] if match.lastindex == 2 else ""
        found = float(match[1]) * kind.sizes[unit]
        if 0 < found < math.inf and not (quantity == "share" and found > 1):
            return found
    raise UsageError(f"{where} {text!r}: give {kind.example}, above 0")


def parse_size(text: str, where: str) -> int:
    """Whole bytes of ``8M``, ``512KiB`` or ``4096``."""
    return max(1, round(parse_amount(text, "bytes", where)))
