# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns that a study may name: boards, chips, file systems, workloads.

Each is one TOML file below ``catalog/``, named after it; adding one edits no other file. The
models here are the files' schema: every field has a sentence, unknown keys are refused, and every
mistake of a file is reported at once.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Formatter
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from nandlab.errors import UsageError
from nandlab.noun import Noun, Strict
from nandlab.paths import CATALOG

M = TypeVar("M", bound=Noun)
MIB = 1 << 20


class BoardModel(Noun):
    """A board: the machine that the kernel sees."""

    arch: Literal["amd64"] = Field(description="Debian architecture of kernel and programs")
    release: str = Field(description="Debian release that the kernel comes from")
    kernel: str = Field(description="kernel flavour: the package is linux-image-KERNEL")
    cpu: str = Field(description="QEMU's CPU model; one without rdrand, or runs do not repeat")
    ram_mib: int = Field(ge=32, le=3072, description="RAM that the kernel uses, MiB")
    chip_store_mib: int = Field(
        ge=16, description="memory outside the kernel's that holds the chip's cells, MiB"
    )
    icount_shift: int = Field(
        ge=0, le=10, description="an instruction takes 2^shift ns of the board's clock"
    )
    wait: Literal["warp", "sleep", "spin"] = Field(
        default="warp", description="how the chip's time passes: docs/time.md"
    )
    cmdline: str = Field(default="", description="further words for the kernel's command line")
    boot_deadline_s: int = Field(default=180, ge=1, description="limit of a boot, host seconds")
    trial_deadline_s: int = Field(
        default=3600, ge=1, description="limit of a trial, host seconds; past it the board is lost"
    )

    @property
    def store_start(self) -> int:
        """Where the chip's cells begin in physical memory, bytes.

        Past the kernel's RAM at a whole 64 MiB: an x86 kernel reserves what lies between.
        """
        return -(-self.ram_mib // 64) * 64 * MIB


class Geometry(Strict):
    """Shape of a chip, in MTD's own words."""

    writesize: int = Field(ge=512, description="bytes of a page, without its OOB")
    oobsize: int = Field(ge=0, description="bytes of a page's OOB (spare) area")
    erasesize: int = Field(ge=1024, description="bytes of an erase block, without OOB")
    blocks: int = Field(ge=1, description="erase blocks of the chip")
    bus_bits: Literal[8, 16] = Field(default=8, description="width of the data bus")
    nop: int = Field(default=1, ge=1, description="partial programs that a page stands")
    in_order: bool = Field(
        default=False, description="pages of a block must be programmed in ascending order"
    )


Latency = Literal["typical", "maximum"]
"""Which of a data sheet's figures the array's operations take."""
ARRAY_TERMS = ("t_r", "t_prog", "t_bers")
"""The array's latencies, as keys of Timing without their endings."""


class Timing(Strict):
    """Latencies of a chip, ns: typical ones, the array's longest, and the bus's cycles."""

    t_r_ns: int = Field(ge=0, description="tR: array to page register, typical")
    t_prog_ns: int = Field(ge=0, description="tPROG: page register to array, typical")
    t_bers_ns: int = Field(ge=0, description="tBERS: erase of a block, typical")
    t_r_max_ns: int | None = Field(
        default=None, ge=0, description="tR at most, as the data sheet says; null: not known"
    )
    t_prog_max_ns: int | None = Field(
        default=None, ge=0, description="tPROG at most, as the data sheet says; null: not known"
    )
    t_bers_max_ns: int | None = Field(
        default=None, ge=0, description="tBERS at most, as the data sheet says; null: not known"
    )
    t_rc_ns: int = Field(ge=0, description="tRC: one data cycle out of the chip")
    t_wc_ns: int = Field(ge=0, description="tWC: one command, address or data cycle into it")

    def array_ns(self, latency: Latency) -> dict[str, int]:
        """The array's latencies, by simnand's parameters; UsageError names what is not known."""
        ending = "_max_ns" if latency == "maximum" else "_ns"
        found = {f"{term}_ns": getattr(self, term + ending) for term in ARRAY_TERMS}
        unknown = [term + ending for term in ARRAY_TERMS if found[f"{term}_ns"] is None]
        if unknown:
            raise UsageError(
                f'latency = "{latency}" needs {", ".join(unknown)}, not known of this chip: add '
                'what its data sheet says to its catalog file, or take latency = "typical"'
            )
        return found

    @model_validator(mode="after")
    def _no_maximum_is_below_its_typical(self) -> Timing:
        figures = ((t, getattr(self, f"{t}_ns"), getattr(self, f"{t}_max_ns")) for t in ARRAY_TERMS)
        below = [f"{t}_max_ns" for t, usual, most in figures if most is not None and most < usual]
        if below:
            raise ValueError(f"{', '.join(below)}: a maximum below the typical figure")
        return self


class Ecc(Strict):
    """What the chip demands of its controller."""

    strength: int = Field(ge=0, description="bits to be corrected in a step; 0: none demanded")
    step: int = Field(ge=256, description="bytes of a step")


class Endurance(Strict):
    """How long blocks last."""

    pe_cycles: int = Field(ge=1, description="program/erase cycles that the maker promises")
    spread_percent: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description="how far a block's own limit may be from it, either way; null: not known",
    )


class Energy(Strict):
    """What an operation of the array costs, nJ; null where the data sheet says nothing."""

    e_read_nj: int | None = Field(default=None, ge=0, description="array read")
    e_prog_nj: int | None = Field(default=None, ge=0, description="page program")
    e_erase_nj: int | None = Field(default=None, ge=0, description="block erase")


class BadBlocks(Strict):
    """Blocks that leave the factory bad."""

    max_blocks: int | None = Field(
        default=None, ge=0, description="blocks less those guaranteed to be valid; null: not known"
    )
    mark_pages: list[Literal["first", "second", "last"]] | None = Field(
        default=None,
        description="pages of a bad block that carry the marker; null: where the kernel looks for "
        "this maker's",
    )


MARK_PAGES = {"first": 1, "second": 2, "last": 4}
"""Bits of simnand's parameter bad_mark_pages."""


class ChipModel(Noun):
    """A NAND part: shape, latencies, demands, and where each figure is from."""

    vendor: str = Field(description="maker of the part")
    cell: Literal["SLC", "MLC"] = Field(description="bits of a cell: SLC one, MLC two")
    id: list[int] = Field(min_length=2, description="bytes that READ ID gives")
    geometry: Geometry
    timing: Timing
    ecc: Ecc
    endurance: Endurance | None = Field(default=None, description="absent: not known")
    energy: Energy = Field(default=Energy(), description="absent: not known")
    bad_blocks: BadBlocks = Field(default=BadBlocks(), description="absent: not known")
    sources: dict[str, str] = Field(description="for each figure, by dotted key: where it is from")

    def block_bytes(self) -> int:
        return self.geometry.erasesize

    def pages_per_block(self) -> int:
        return self.geometry.erasesize // self.geometry.writesize

    def partition_blocks(self, mib: float | None) -> int:
        """Blocks of a partition of so many MiB (None: all of the chip), or UsageError."""
        g = self.geometry
        blocks = g.blocks if mib is None else mib * MIB / g.erasesize
        if blocks > g.blocks:
            raise UsageError(f"{mib:g} MiB of a chip of {g.blocks * g.erasesize / MIB:g} MiB")
        if blocks != int(blocks):
            step = f"{g.erasesize / MIB:g} MiB"
            raise UsageError(f"a partition is whole blocks: a multiple of {step}")
        return int(blocks)

    def cells_bytes(self, blocks: int) -> int:
        """Bytes of the cells of so many blocks, spare areas included."""
        g = self.geometry
        return blocks * self.pages_per_block() * (g.writesize + g.oobsize)

    def figures(self, partition_blocks: int) -> dict[str, int]:
        """What a file system may bound, for a partition of so many blocks."""
        g = self.geometry
        return {
            "writesize": g.writesize,
            "oobsize": g.oobsize,
            "erasesize": g.erasesize,
            "nop": g.nop,
            "in_order": int(g.in_order),
            "partition_blocks": partition_blocks,
            "partition_per_1024": partition_blocks * 1024 // g.blocks,
        }

    def optional_parameters(self) -> dict[str, int]:
        """simnand's parameters for the figures that a chip file may leave out."""
        found = {k: v for k, v in self.energy.model_dump().items() if v is not None}
        if self.bad_blocks.mark_pages:
            found["bad_mark_pages"] = sum(MARK_PAGES[p] for p in set(self.bad_blocks.mark_pages))
        return found

    @model_validator(mode="after")
    def _id_tells_the_cell(self) -> ChipModel:
        """The kernel takes SLC or MLC from bits 2 and 3 of the third byte of READ ID."""
        says_mlc = len(self.id) > 2 and bool(self.id[2] & 0x0C)
        if says_mlc != (self.cell == "MLC"):
            raise ValueError(f"cell is {self.cell}, but the third byte of id says otherwise")
        return self


Scalar = bool | int | float | str


class Parameter(Strict):
    """A number or word that a study may set for a workload."""

    help: str = Field(description="in a sentence with unit: what it is")
    default: Scalar = Field(description="the value when a study names none; its type is the type")
    min: float | None = Field(default=None, description="least value")
    max: float | None = Field(default=None, description="greatest value")

    def check(self, value: object) -> str | None:
        """What is wrong with a value, or None."""
        wanted = type(self.default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            return f"must be of type {wanted.__name__}, is {value!r}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.min is not None and value < self.min:
                return f"must be at least {self.min:g}, is {value!r}"
            if self.max is not None and value > self.max:
                return f"must be at most {self.max:g}, is {value!r}"
        return None


class WorkloadModel(Noun):
    """A program that exercises a file system, and how to write its configuration.

    ``command`` and ``config`` may use the parameters by name, and ``{seed}``, ``{mountpoint}``,
    ``{valid_percent}``, ``{invalid_percent}``, ``{mix}``.
    """

    command: str = Field(description="the command, a template, run where the configuration file is")
    config_file: str = Field(description="the configuration file's name")
    config: str = Field(description="the configuration file's text, a template")
    parameters: dict[str, Parameter]

    def words(self) -> set[str]:
        """The words that its templates use."""
        parts = (part for t in (self.command, self.config) for part in Formatter().parse(t))
        return {name for _, name, _, _ in parts if name}

    def chosen(self, given: dict[str, Scalar], where: str) -> dict[str, Scalar]:
        """Every parameter with its value; UsageError lists what is wrong."""
        wrong = [
            f"{where}: {self.name} has no parameter {key!r}; it has: {', '.join(self.parameters)}"
            for key in given
            if key not in self.parameters
        ]
        for key, value in given.items():
            what = self.parameters[key].check(value) if key in self.parameters else None
            if what:
                wrong.append(f"{where}: {self.name}: {key} {what}")
        if wrong:
            raise UsageError("\n".join(wrong))
        return {key: given.get(key, p.default) for key, p in self.parameters.items()}


def load(kind: str, name: str, model: type[M]) -> M:
    """The catalog's entry ``name`` of a kind ("boards", "chips", ...); UsageError if it is bad."""
    path = CATALOG / kind / f"{name}.toml"
    if not path.exists():
        raise UsageError(f"no {name!r} in catalog/{kind}; there are: {', '.join(names(kind))}")
    entry = parse(path, model)
    if entry.name != name:
        raise UsageError(f"{path}: its name is {entry.name!r} but the file's is {name!r}")
    return entry


def names(kind: str) -> list[str]:
    """The names of a kind's entries, sorted."""
    return sorted(p.stem for p in (CATALOG / kind).glob("*.toml"))


def parse(path: Path, model: type[M]) -> M:
    """A TOML file as its model; UsageError lists every mistake with its place."""
    return validate(read_toml(path), model, str(path))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as e:
        raise UsageError(f"{path}: cannot be read: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: not TOML: {e}") from None


V = TypeVar("V", bound=BaseModel)


def validate(data: Any, model: type[V], where: str) -> V:
    """Data as a model; UsageError lists every mistake with its place."""
    try:
        return model.model_validate(data)
    except ValidationError as e:
        raise UsageError("\n".join(f"{where}: {m}" for m in mistakes(e))) from None


def mistakes(error: ValidationError) -> list[str]:
    """Each mistake as ``place: what is wrong``."""
    return [
        f"{'.'.join(str(part) for part in e['loc']) or 'the file'}: {e['msg']}"
        for e in error.errors()
    ]
