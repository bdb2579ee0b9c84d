# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration of a kernel that is built from a tree: nandlab's lean one, the user's lines.

catalog/kernels has the lean one: everything that it does not name is off. A fragment of the user's
goes before it, symbol by symbol. The kernel's own rules then decide what a symbol becomes, so what
came out is compared with what the user asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_text
from nandlab.base.paths import CATALOG
from nandlab.board.kit.ownkernel import check_kernel_settings

KERNELS = "kernels"
"""The catalog's folder of fragments."""
LEAN = "lean"
SUFFIX = ".config"
FRAGMENT_BYTES_MAX = 1 << 20
"""Of a fragment; the whole configuration of a distribution's kernel has 280 KB."""
LINE = re.compile(
    r"(?:(CONFIG_\w+)=(y|m|n|-?\d+|0[xX][0-9a-fA-F]+|\"[^\"\\]*\")|# (CONFIG_\w+) is not set)"
)
"""A line of a fragment that sets a symbol, or turns it off."""
OFF = "n"
MISTAKES_SHOWN_MAX = 12


def read_config_fragment(path: Path) -> dict[str, str]:
    """The values of a fragment by symbol, OFF where it is turned off; UsageError if it is none."""
    settings: dict[str, str] = {}
    for number, line in enumerate(read_text(path, FRAGMENT_BYTES_MAX).splitlines(), 1):
        word = line.strip()
        match = LINE.fullmatch(word)
        if match:
            settings[match[1] or match[3]] = match[2] or OFF
        elif word and not word.startswith("#"):
            raise UsageError(
                f"{path}: line {number}: no setting of a kernel: expected CONFIG_NAME=VALUE or "
                f"`# CONFIG_NAME is not set`: {word[:80]!r}"
            )
    if not settings:
        raise UsageError(f"{path}: it sets nothing: expected lines CONFIG_NAME=VALUE")
    return settings


def find_config_fragment(word: str) -> Path:
    """A fragment that the user names: a file, or one of nandlab's by its name, such as kasan."""
    shipped = CATALOG / KERNELS / f"{word}{SUFFIX}"
    is_name = re.fullmatch(r"[a-z][a-z0-9]*", word) is not None
    return shipped if is_name and not Path(word).exists() and shipped.is_file() else Path(word)


def read_lean_config(arch: str) -> dict[str, str]:
    """The lean configuration for boards of an architecture."""
    folder = CATALOG / KERNELS
    common = read_config_fragment(folder / f"{LEAN}{SUFFIX}")
    return {**common, **read_config_fragment(folder / f"{LEAN}-{arch}{SUFFIX}")}


def format_kernel_config(settings: Mapping[str, str]) -> str:
    """Settings as the kernel's own programs read them, sorted."""
    lines = [
        f"# {symbol} is not set" if value == OFF else f"{symbol}={value}"
        for symbol, value in sorted(settings.items())
    ]
    return "".join(f"{line}\n" for line in lines)


def check_built_config(
    requested_settings: Mapping[str, str], settings: Mapping[str, str], arch: str, where: str
) -> None:
    """UsageError if the kernel's rules left a value out, or a board cannot run the kernel.

    requested_settings: the user's lines. settings: what the kernel made of all. where: what an
    error calls it.
    """
    lost = {
        symbol: value
        for symbol, value in sorted(requested_settings.items())
        if settings.get(symbol, OFF) != value
    }
    if lost:
        lines = [
            f"{where}: {symbol}={value} is not to be had: the kernel has it "
            f"{'off' if symbol not in settings else f'as {settings[symbol]}'}"
            for symbol, value in lost.items()
        ]
        raise UsageError(
            *lines[:MISTAKES_SHOWN_MAX],
            "the tree does not know it, or another option forbids it: name what it depends on too "
            "(`depends on` in the tree's Kconfig files)",
        )
    check_kernel_settings(settings, arch, where)
