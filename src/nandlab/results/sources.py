# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial ran with, as its run keeps it: the keys that are read, and of which kind they are.

A run's folder has the board's identity and the catalog's entries in full, as they were. Another
release has other keys, so a key that nobody reads may hold anything, and one that is read may lack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from nandlab.base.strings import FreeText, FreeValue, Line, Word
from nandlab.catalog.part import PACKAGE
from nandlab.results.recordparts import Count

Divisor = Annotated[int, Field(ge=1, lt=1 << 32)]
"""What something is divided by."""


class KeptContent(BaseModel):
    """Part of such a content."""

    __pydantic_extra__: dict[Line, FreeValue] = Field(init=False)
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)


class KeptBoard(KeptContent):
    """The identity of a board; the user's own has a name in place of a virtual board's model."""

    kind: Word | None = None
    board: dict[Word, FreeValue] | Line | None = None
    yaffs2_core: dict[Word, FreeValue] | None = None


class KeptGeometry(KeptContent):
    """Of a chip: bytes of a page and of its spare area, width of the bus, blocks."""

    writesize: Count | None = None
    oobsize: Count | None = None
    bus_bits: Divisor | None = None
    blocks: Count | None = None


class KeptTiming(KeptContent):
    """Of a chip, ns; null: not known."""

    t_r_ns: Count
    t_prog_ns: Count
    t_bers_ns: Count
    t_r_max_ns: Count | None = None
    t_prog_max_ns: Count | None = None
    t_bers_max_ns: Count | None = None
    t_rc_ns: Count
    t_wc_ns: Count


class KeptEndurance(KeptContent):
    """What a data sheet promises of a block."""

    pe_cycles: Count | None = None


class KeptEcc(KeptContent):
    """Bits that are corrected in so many bytes."""

    strength: Count = 1
    step: Divisor = 512


class KeptChip(KeptContent):
    """A chip's entry."""

    geometry: KeptGeometry | None = None
    timing: KeptTiming | None = None
    endurance: KeptEndurance | None = None
    ecc: KeptEcc = KeptEcc()
    energy: dict[Word, FreeValue] | None = None
    sources: dict[Line, FreeText] = {}

    @model_validator(mode="after")
    def _times_are_of_a_page(self) -> KeptChip:
        shape = self.geometry or KeptGeometry()
        if self.timing and None in (shape.writesize, shape.oobsize, shape.bus_bits):
            raise ValueError("timing needs writesize, oobsize and bus_bits in geometry")
        return self


class KeptOption(KeptContent):
    """An option of a file system."""

    default: Line | None = None
    values: dict[Line, dict[Word, FreeValue]] = {}


class KeptFilesystem(KeptContent):
    """A file system's entry."""

    title: Line = ""
    options: dict[Word, KeptOption] = {}


class KeptParameter(KeptContent):
    """A parameter of a workload."""

    default: FreeValue = None


class KeptWorkload(KeptContent):
    """A workload's entry; analysis/figures/workloadwords.py reads its words."""

    parameters: dict[Word, KeptParameter] = {}


MODELS: dict[str, type[KeptContent]] = {
    "board": KeptBoard,
    "chip": KeptChip,
    "filesystem": KeptFilesystem,
    "workload": KeptWorkload,
}
"""By name in a trial's provenance; whatever else is there is an object of any keys."""


FOLDER_WORD = "FOLDER"
"""What stands for a folder that the user names again."""
U_BOOT = "u-boot "
"""How the origin of YAFFS2's core begins where it is that of U-Boot, of any version until 2025."""
PATCHED = ", patched"
"""How the origin of a core ends to which a patch was applied."""
U_BOOT_CORE, OWN_CORE = "core of 2012", "core of the user's own"


def describe_filesystem_core(filesystem: str, board: Mapping[str, Any]) -> str:
    """Which YAFFS2 a result is of, since no kernel has one; empty: another file system, or unknown.

    board: the identity of the virtual board that it ran on.
    """
    origin = _find_core_origin(board) if filesystem == "yaffs2" else ""
    if not origin:
        return ""
    base = U_BOOT_CORE if origin.startswith(U_BOOT) else OWN_CORE
    return base + PATCHED if origin.endswith(PATCHED) else base


def _find_core_origin(board: Mapping[str, Any]) -> str:
    """Where YAFFS2's core is from; empty: not known."""
    core = board.get("yaffs2_core")
    origin = core.get("origin") if isinstance(core, Mapping) else None
    return origin if isinstance(origin, str) else ""


def list_source_words(board: Mapping[str, Any]) -> list[str]:
    """The parts of a board's kernel from another source, as words of ``--source``.

    board: the identity of the virtual board. It does not have the place of a folder.
    """
    return [
        ",".join(
            [
                f"{name}={PACKAGE if source['tree'] == PACKAGE else FOLDER_WORD}",
                *(f"{key}={str(value).lower()}" for key, value in source["options"].items()),
            ]
        )
        for name, source in board.get("sources", {}).items()
    ]


def has_patched_source(board: Mapping[str, Any]) -> bool:
    """Whether a part of a board's kernel, or YAFFS2's core, was built with a patch."""
    patches = [source["patches"] for source in board.get("sources", {}).values()]
    return any(patches) or _find_core_origin(board).endswith(PATCHED)


def find_provenance_model(what: str) -> type[KeptContent]:
    """The model of what a trial's provenance calls so."""
    return MODELS.get(what, KeptContent)
