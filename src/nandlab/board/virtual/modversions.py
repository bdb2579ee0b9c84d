# SPDX-License-Identifier: GPL-2.0-or-later
"""Versions of symbols: whether a kernel's modules fit together, before a board loads them.

A module has, for each symbol that it takes, the checksum of the symbol's type (CONFIG_MODVERSIONS);
who exports a symbol has it in Module.symvers. The kernel refuses a module whose checksums differ.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.part import KIND, PartModel

SECTION = b"__versions"
ENTRY_BYTES = 64
"""Of the kernel's struct modversion_info: a long, and the symbol's name in the rest."""


def read_module_versions(module: bytes) -> dict[str, int]:
    """The symbols that a module takes, with their checksums; empty: it was built without."""
    wide = module[4:5] == b"\2"
    table = _find_section(module, wide)
    versions = {}
    for offset in range(0, len(table) - ENTRY_BYTES + 1, ENTRY_BYTES):
        entry = table[offset : offset + ENTRY_BYTES]
        checksum, name = (entry[:8], entry[8:]) if wide else (entry[:4], entry[4:])
        versions[name.partition(b"\0")[0].decode()] = int.from_bytes(checksum, "little")
    return versions


def _find_section(module: bytes, wide: bool) -> bytes:
    """The content of the section with the versions, of a little-endian ELF file."""
    place, sizes = ("<Q", (0x28, 0x3A)) if wide else ("<I", (0x20, 0x2E))
    (start,) = struct.unpack_from(place, module, sizes[0])
    entry, count, names = struct.unpack_from("<HHH", module, sizes[1])
    form = "<II8x8xQQ" if wide else "<II4x4xII"
    headers = [struct.unpack_from(form, module, start + i * entry) for i in range(count)]
    table = headers[names][2]
    for name, _, offset, size in headers:
        end = module.index(b"\0", table + name)
        if module[table + name : end] == SECTION:
            return module[offset : offset + size]
    return b""


def parse_symvers(text: str) -> dict[str, tuple[int, str]]:
    """By symbol: its checksum and who exports it, as Module.symvers has them."""
    rows = (line.split("\t") for line in text.splitlines())
    return {row[1]: (int(row[0], 16), row[2].rpartition("/")[2]) for row in rows if len(row) > 2}


def refuse_unlike_versions(
    folder: Path, names: Iterable[str], kernel: str, built: Mapping[str, str]
) -> None:
    """UsageError if a module takes a symbol in another version than the board's kernel has it.

    folder: has NAME.ko for each. kernel: the text of the kernel's Module.symvers. built: those of
    parts that were built, by the part's name.
    """
    exports = parse_symvers(kernel)
    before = dict(exports)
    owners: dict[str, str] = {}
    for part, text in built.items():
        new = parse_symvers(text)
        made = {module for _, module in new.values()}
        exports = {s: e for s, e in exports.items() if e[1] not in made} | new
        owners |= dict.fromkeys(made, part)
    for name in sorted(names):
        try:
            versions = read_module_versions((folder / f"{name}.ko").read_bytes())
        except (struct.error, ValueError, IndexError):
            raise UsageError(
                f"module {name} of the board's kernel is no module that nandlab reads: build or "
                "fetch the kernel's packages again"
            ) from None
        for symbol, checksum in versions.items():
            known = symbol in exports or symbol in before  # else a module of ours exports it
            if known and exports.get(symbol, (None, ""))[0] != checksum:
                raise UsageError(_format_refusal(name, symbol, {**before, **exports}, owners))


def _format_refusal(
    name: str, symbol: str, exports: Mapping[str, tuple[int, str]], owners: Mapping[str, str]
) -> str:
    part = owners.get(exports[symbol][1])
    if part is None:
        return f"module {name} was built for another kernel: {symbol} has another type there"
    what = f"module {name} was built for another {part}: {symbol} is not there, or has another type"
    mine = _find_part_of_module(name)
    if mine is None:
        return f"{what}; name a source of {part} that is nearer to the board's kernel"
    return f"{what}; build both from one tree: --source {part}=TREE --source {mine}=TREE"


def _find_part_of_module(module: str) -> str | None:
    """The part that a module is of; None: of none that can be built from another source."""
    parts = (load_noun(KIND, name, PartModel) for name in list_noun_names(KIND))
    return next((part.name for part in parts if module in part.modules), None)
