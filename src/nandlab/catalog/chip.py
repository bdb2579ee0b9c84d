# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip of the catalog: a NAND part, and where each of its figures is from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.strings import Line, Lines, Word
from nandlab.catalog.noun import Noun, StrictModel

MIB = 1 << 20
PAGE_MAX = 1 << 16
BLOCK_MAX = 1 << 28
BLOCKS_MAX = 1 << 24
"""Bytes of a page and of a block, and blocks, well above those of any NAND part of today."""
LATENCY_MAX_NS = 10**12
ID_BYTES_MAX = 8
"""As many as the kernel reads (NAND_MAX_ID_LEN)."""
Byte = Annotated[int, Field(ge=0, le=255)]


class Geometry(StrictModel):
    """Shape of a chip, in MTD's own words."""

    writesize: int = Field(ge=512, le=PAGE_MAX, description="bytes of a page, without its OOB")
    oobsize: int = Field(ge=0, le=PAGE_MAX, description="bytes of a page's OOB (spare) area")
    erasesize: int = Field(
        ge=1024, le=BLOCK_MAX, description="bytes of an erase block, without OOB"
    )
    blocks: int = Field(ge=1, le=BLOCKS_MAX, description="erase blocks of the chip")
    bus_bits: Literal[8, 16] = Field(default=8, description="width of the data bus")
    nop: int = Field(
        default=1, ge=1, description="partial programs that a page allows between two erases"
    )
    in_order: bool = Field(
        default=False, description="pages of a block must be programmed in ascending order"
    )


Latency = Literal["typical", "maximum"]
"""Which of a data sheet's figures the array's operations take."""

ARRAY_TERMS = ("t_r", "t_prog", "t_bers")
"""The array's latencies, as keys of Timing without their endings."""


class Timing(StrictModel):
    """Latencies of a chip, ns: typical and maximum ones of the array, and the bus's cycles."""

    t_r_ns: int = Field(ge=0, le=LATENCY_MAX_NS, description="tR: array to page register, typical")
    t_prog_ns: int = Field(
        ge=0, le=LATENCY_MAX_NS, description="tPROG: page register to array, typical"
    )
    t_bers_ns: int = Field(ge=0, le=LATENCY_MAX_NS, description="tBERS: erase of a block, typical")
    t_r_max_ns: int | None = Field(
        default=None,
        ge=0,
        le=LATENCY_MAX_NS,
        description="tR at most, as the data sheet says; null: not known",
    )
    t_prog_max_ns: int | None = Field(
        default=None,
        ge=0,
        le=LATENCY_MAX_NS,
        description="tPROG at most, as the data sheet says; null: not known",
    )
    t_bers_max_ns: int | None = Field(
        default=None,
        ge=0,
        le=LATENCY_MAX_NS,
        description="tBERS at most, as the data sheet says; null: not known",
    )
    t_rc_ns: int = Field(ge=0, le=LATENCY_MAX_NS, description="tRC: one data cycle out of the chip")
    t_wc_ns: int = Field(
        ge=0, le=LATENCY_MAX_NS, description="tWC: one command, address or data cycle into it"
    )

    def array_ns(self, latency: Latency) -> dict[str, int]:
        """The array's latencies, by simnand's parameters; UsageError names what is not known."""
        ending = "_max_ns" if latency == "maximum" else "_ns"
        terms = {f"{term}_ns": getattr(self, term + ending) for term in ARRAY_TERMS}
        unknown = [term + ending for term in ARRAY_TERMS if terms[f"{term}_ns"] is None]
        if unknown:
            raise UsageError(
                f'latency = "{latency}" needs {", ".join(unknown)}, not known of this chip: add '
                'what its data sheet says to its catalog file, or take latency = "typical"'
            )
        return terms

    @model_validator(mode="after")
    def _no_maximum_is_below_its_typical(self) -> Timing:
        figures = ((t, getattr(self, f"{t}_ns"), getattr(self, f"{t}_max_ns")) for t in ARRAY_TERMS)
        below = [f"{t}_max_ns" for t, usual, most in figures if most is not None and most < usual]
        if below:
            raise ValueError(f"{', '.join(below)}: a maximum below the typical figure")
        return self


class Ecc(StrictModel):
    """What the chip demands of its controller."""

    strength: int = Field(ge=0, description="bits to be corrected in a step")
    step: int = Field(ge=256, description="bytes of a step")


ECC_STRENGTH_MAX = 127
HAMMING_BYTES = 3
"""ECC bytes of a step of which one bit is corrected; more bits take a BCH code's."""
SMALL_OOB = {8: (3, 3), 16: (5, 6)}
"""ECC bytes of a page, least and most, that the kernel's layout of a small OOB has room for."""
SMALL_PAGE, SMALL_PAGE_OOB = 512, 16
KERNEL_STEP = 256
SMALL_PAGES = (
    f"the kernel corrects a bit in each {KERNEL_STEP} bytes of such a page, which is more than the "
    f"data sheet's bit in each {SMALL_PAGE}: it is taken as step = {KERNEL_STEP}"
)
OOB_TAKEN = 10
"""Bytes of a larger OOB that are not the ECC's: two of the bad-block mark, eight left free."""


class Endurance(StrictModel):
    """How long blocks last."""

    pe_cycles: int = Field(
        ge=1, le=10**9, description="program/erase cycles that the maker promises"
    )
    spread_percent: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description="how far a block's own limit may be from it, either way; null: not known",
    )


CURRENTS = ("read", "program", "erase")
"""What the chip works at, as keys of Energy without their endings."""


class Energy(StrictModel):
    """What the chip draws, typical and at most; null: not read in a data sheet."""

    supply_mv: int | None = Field(default=None, ge=1, description="supply that it is run at")
    read_ma: float | None = Field(
        default=None, ge=0, description="while the array or the bus reads, typical"
    )
    read_max_ma: float | None = Field(default=None, ge=0, description="the same at most")
    program_ma: float | None = Field(
        default=None, ge=0, description="while a page is programmed, typical"
    )
    program_max_ma: float | None = Field(default=None, ge=0, description="the same at most")
    erase_ma: float | None = Field(
        default=None, ge=0, description="while a block is erased, typical"
    )
    erase_max_ma: float | None = Field(default=None, ge=0, description="the same at most")
    standby_ua: float | None = Field(
        default=None, ge=0, description="while it waits, its levels CMOS, typical"
    )
    standby_max_ua: float | None = Field(default=None, ge=0, description="the same at most")

    def list_known_figures(self) -> list[str]:
        """The keys that have a figure."""
        return [key for key, value in self.model_dump().items() if value is not None]

    @model_validator(mode="after")
    def _no_maximum_is_below_its_typical(self) -> Energy:
        pairs = [(f"{c}_max_ma", f"{c}_ma") for c in CURRENTS]
        for most, usual in (*pairs, ("standby_max_ua", "standby_ua")):
            high, low = getattr(self, most), getattr(self, usual)
            if high is not None and low is not None and high < low:
                raise ValueError(f"{most}: a maximum below the typical figure")
        return self


PPT_MAX = 1 << 31
"""Bits in 10^12 that simnand takes at the most."""


class Retention(StrictModel):
    """How fast bits go wrong: bits in 10^12, which add up. Each figure has its source."""

    day_ppt: int = Field(
        ge=0, le=PPT_MAX, description="for each day since the page was programmed, on a new block"
    )
    day_wear_ppt: int = Field(
        ge=0,
        le=PPT_MAX,
        description="further ones for each such day at the rated endurance, in proportion to the "
        "block's erases",
    )
    read_ppt: int = Field(
        ge=0, le=PPT_MAX, description="for each read of the block since its erase"
    )


class BadBlocks(StrictModel):
    """Blocks that leave the factory bad."""

    max_blocks: int | None = Field(
        default=None, ge=0, description="blocks less those guaranteed to be valid; null: not known"
    )
    mark_pages: list[Literal["first", "second", "last"]] | None = Field(
        default=None,
        description="pages of a bad block that carry the marker; null: where the kernel looks for "
        "this maker's",
    )


CLOCK_MHZ_MAX = 1000
CONTROLLER_NS_MAX = 10**9


class SpiBus(StrictModel):
    """The bus of a chip behind SPI, and its controller."""

    lines: Literal[1, 2, 4] = Field(description="lines that carry data at most")
    clock_mhz: int = Field(ge=1, le=CLOCK_MHZ_MAX, description="clock of the bus, MHz")
    controller_ns: int = Field(
        default=0,
        ge=0,
        le=CONTROLLER_NS_MAX,
        description="time that the controller takes for each operation, beside its bits",
    )

    def parameters(self) -> dict[str, int]:
        """As spi_simnand has them."""
        clock_khz = 1000 * self.clock_mhz
        found = {"lines": self.lines, "clock_khz": clock_khz, "controller_ns": self.controller_ns}
        return {key: int(value) for key, value in found.items()}

    @property
    def text(self) -> str:
        """In words, for people."""
        took = f", {self.controller_ns} ns an operation" if self.controller_ns else ""
        return f"{self.lines} line{'s' * (self.lines > 1)} at {self.clock_mhz} MHz{took}"


SPI_PAGE_MIN = 2048
"""Bytes of a page, the least that a chip behind SPI has."""

CELL_BITS = {"SLC": 1, "MLC": 2}

MARK_PAGES = {"first": 1, "second": 2, "last": 4}
"""Bits of simnand's parameter bad_mark_pages."""


class ChipModel(Noun):
    """A NAND part: shape, latencies, demands, and where each figure is from."""

    vendor: Line = Field(description="maker of the part")
    cell: Literal["SLC", "MLC"] = Field(description="bits of a cell: SLC one, MLC two")
    id: list[Byte] = Field(
        min_length=2, max_length=ID_BYTES_MAX, description="bytes that READ ID gives"
    )
    bus: Literal["parallel", "spi"] = Field(
        default="parallel", description="what it is reached by; spi: it takes a table spi"
    )
    spi: SpiBus | None = Field(
        default=None,
        description="its bus, where the kernel's own driver of SPI-NAND chips drives it; "
        "timing.t_rc_ns and timing.t_wc_ns stand for it elsewhere",
    )
    geometry: Geometry
    timing: Timing
    ecc: Ecc
    endurance: Endurance | None = Field(default=None, description="absent: not known")
    retention: Retention | None = Field(default=None, description="absent: not known")
    energy: Energy = Field(default=Energy(), description="absent: not known")
    bad_blocks: BadBlocks = Field(default=BadBlocks(), description="absent: not known")
    sources: dict[Word, Lines] = Field(
        description="for each figure, by dotted key: where it is from"
    )

    def block_bytes(self) -> int:
        return self.geometry.erasesize

    def pages_per_block(self) -> int:
        return self.geometry.erasesize // self.geometry.writesize

    def partition_blocks(self, mib: float | None) -> int:
        """Blocks of a partition of ``mib`` MiB (None: the whole chip), or UsageError."""
        g = self.geometry
        blocks = g.blocks if mib is None else mib * MIB / g.erasesize
        if not blocks > 0:
            raise UsageError(f"{mib:g} MiB has no block; give more than 0")
        if blocks > g.blocks:
            raise UsageError(f"{mib:g} MiB of a chip of {g.blocks * g.erasesize / MIB:g} MiB")
        if blocks != int(blocks):
            step = f"{g.erasesize / MIB:g} MiB"
            raise UsageError(f"a partition is whole blocks: a multiple of {step}")
        return int(blocks)

    def cells_bytes(self, blocks: int) -> int:
        """Bytes of the cells of ``blocks`` blocks, spare areas included."""
        g = self.geometry
        return blocks * self.pages_per_block() * (g.writesize + g.oobsize)

    def figures(self, partition_blocks: int) -> dict[str, int]:
        """The figures that a file system may bound, for a partition of ``partition_blocks``."""
        g = self.geometry
        return {
            "writesize": g.writesize,
            "oobsize": g.oobsize,
            "erasesize": g.erasesize,
            "nop": g.nop,
            "in_order": int(g.in_order),
            "cell_bits": CELL_BITS[self.cell],
            "partition_blocks": partition_blocks,
            "partition_per_1024": partition_blocks * 1024 // g.blocks,
            "chip_blocks": g.blocks,
        }

    def forbids(self) -> dict[str, str]:
        """What its data sheet forbids a controller to do, by the figure of the geometry; a chip
        file's source for that figure says where it is read, or that it is assumed."""
        g, times = self.geometry, "once" if self.geometry.nop == 1 else f"{self.geometry.nop} times"
        rules = {"nop": f"programming a page more than {times} between two erases"}
        if g.nop == 1:
            rules["nop"] += ", so also its spare area apart from its data"
        if g.in_order:
            rules["in_order"] = "programming a page after a later page of its block"
        return rules

    def optional_parameters(self) -> dict[str, int]:
        """simnand's parameters for the figures that a chip file may leave out."""
        found: dict[str, int] = {}
        if self.bad_blocks.mark_pages:
            found["bad_mark_pages"] = sum(MARK_PAGES[p] for p in set(self.bad_blocks.mark_pages))
        return found

    def rot_parameters(self) -> dict[str, int]:
        """simnand's parameters for bits that go wrong with days, reads and erases."""
        if self.retention is None or self.endurance is None:
            return {}
        return {
            "flip_day_ppt": self.retention.day_ppt,
            "flip_day_wear_ppt": self.retention.day_wear_ppt,
            "flip_read_ppt": self.retention.read_ppt,
            "endurance": self.endurance.pe_cycles,
        }

    @model_validator(mode="after")
    def _retention_has_its_sources(self) -> ChipModel:
        if self.retention is None:
            return self
        if self.endurance is None:
            raise ValueError("retention: it goes by the rated endurance: give endurance too")
        keys = [f"retention.{key}" for key in Retention.model_fields]
        if lacking := [key for key in keys if key not in self.sources]:
            raise ValueError(
                f"{', '.join(lacking)}: no source: say under [sources] where it is from, or that "
                "it is assumed"
            )
        return self

    @model_validator(mode="after")
    def _every_current_has_its_source(self) -> ChipModel:
        lacking = [
            key
            for k in self.energy.list_known_figures()
            if (key := f"energy.{k}") not in self.sources
        ]
        if lacking:
            raise ValueError(
                f"{', '.join(lacking)}: no source: say under [sources] which document, revision "
                "and table has it, or leave it out"
            )
        return self

    @property
    def kernel_ecc(self) -> Ecc:
        """What the board's kernel corrects: of small pages more than their data sheet asks for."""
        g, ecc = self.geometry, self.ecc
        small = g.writesize == SMALL_PAGE and g.oobsize == SMALL_PAGE_OOB
        if small and (ecc.strength, ecc.step) == (1, SMALL_PAGE):
            return Ecc(strength=1, step=KERNEL_STEP)
        return ecc

    @property
    def ecc_note(self) -> str:
        """How the kernel's ECC differs from the data sheet's; empty: it does not."""
        return SMALL_PAGES if self.kernel_ecc != self.ecc else ""

    @model_validator(mode="after")
    def _spare_area_holds_the_ecc(self) -> ChipModel:
        """What simnand and the kernel's layouts of the OOB ask for, said before a board says it."""
        g, ecc = self.geometry, self.kernel_ecc
        if g.writesize % ecc.step:
            raise ValueError(f"ecc.step: {ecc.step} must divide geometry.writesize, {g.writesize}")
        if not 1 <= ecc.strength <= ECC_STRENGTH_MAX:
            raise ValueError(f"ecc.strength: must be from 1 to {ECC_STRENGTH_MAX}")
        bits = (8 * ecc.step).bit_length()
        each = HAMMING_BYTES if ecc.strength == 1 else -(-ecc.strength * bits // 8)
        total = each * (g.writesize // ecc.step)
        least, most = SMALL_OOB.get(g.oobsize, (0, g.oobsize - OOB_TAKEN))
        if not least <= total <= most:
            room = f"{least} to {most}" if least else f"at most {most}"
            raise ValueError(
                f"ecc: strength {ecc.strength} in steps of {ecc.step} takes {total} bytes of a "
                f"page's OOB, and an oobsize of {g.oobsize} has room for {room}"
            )
        return self

    @model_validator(mode="after")
    def _bus_has_its_table(self) -> ChipModel:
        if (self.bus == "spi") != (self.spi is not None):
            raise ValueError('bus = "spi" and a table [spi] go together: give both or neither')
        g = self.geometry
        if self.spi and (g.writesize < SPI_PAGE_MIN or g.bus_bits != 8):
            raise ValueError(
                f"bus: a chip behind SPI has geometry.writesize of {SPI_PAGE_MIN} or more, and "
                "geometry.bus_bits = 8"
            )
        return self

    @model_validator(mode="after")
    def _id_tells_the_cell(self) -> ChipModel:
        """The kernel takes SLC or MLC from bits 2 and 3 of the third byte of READ ID."""
        says_mlc = len(self.id) > 2 and bool(self.id[2] & 0x0C)
        if says_mlc != (self.cell == "MLC"):
            raise ValueError(f"cell is {self.cell}, but the third byte of id says otherwise")
        return self
