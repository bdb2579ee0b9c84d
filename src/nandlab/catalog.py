# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns that a study may name: boards, chips, file systems, workloads.

Each is one TOML file below ``catalog/``, named after it; adding one edits no other file. The
models here are the files' schema: every field has a sentence, unknown keys are refused, and every
mistake of a file is reported at once.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nandlab.errors import UsageError
from nandlab.paths import CATALOG

M = TypeVar("M", bound="Noun")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Noun(_Model):
    """What every catalog file has."""

    name: str = Field(description="the file's own name, without .toml")
    summary: str = Field(description="in a sentence: what it is and where it is met")


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


class Geometry(_Model):
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


class Timing(_Model):
    """Typical latencies of a chip, ns."""

    t_r_ns: int = Field(ge=0, description="tR: array to page register")
    t_prog_ns: int = Field(ge=0, description="tPROG: page register to array")
    t_bers_ns: int = Field(ge=0, description="tBERS: erase of a block")
    t_rc_ns: int = Field(ge=0, description="tRC: one data cycle out of the chip")
    t_wc_ns: int = Field(ge=0, description="tWC: one command, address or data cycle into it")


class Ecc(_Model):
    """What the chip demands of its controller."""

    strength: int = Field(ge=0, description="bits to be corrected in a step; 0: none demanded")
    step: int = Field(ge=256, description="bytes of a step")


class Endurance(_Model):
    """How long blocks last."""

    pe_cycles: int = Field(ge=1, description="program/erase cycles that the maker promises")
    spread_percent: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description="how far a block's own limit may be from it, either way; null: not known",
    )


class Energy(_Model):
    """What an operation of the array costs, nJ; null where the data sheet says nothing."""

    e_read_nj: int | None = Field(default=None, ge=0, description="array read")
    e_prog_nj: int | None = Field(default=None, ge=0, description="page program")
    e_erase_nj: int | None = Field(default=None, ge=0, description="block erase")


class BadBlocks(_Model):
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


class Option(_Model):
    """A choice that a file system offers, and what each value adds to its mount options."""

    help: str = Field(description="in a sentence: what it changes")
    default: str = Field(description="the value when a study names none")
    values: dict[str, str] = Field(description="value -> words for mount -o; may be empty")

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Option:
        if self.default not in self.values:
            raise ValueError(f"default {self.default!r} is none of {sorted(self.values)}")
        return self


class Settle(_Model):
    """How to know that the work that goes on in the background after a mount has ended."""

    quiet_ms: int = Field(ge=1, description="the chip has done nothing for so long, ms")
    limit_s: int = Field(ge=1, description="stop waiting after this, board seconds, and say so")


FileOperation = Literal[
    "read_page", "readahead", "write_begin", "write_end", "write_page", "write_pages"
]
Cause = Literal[
    "garbage_collection",
    "wear_leveling",
    "commit",
    "checkpoint",
    "write_buffer",
    "erase",
    "mount_scan",
]
FILE_OPERATIONS: tuple[str, ...] = get_args(FileOperation)
"""What the kernel asks of a file system for a file's pages; vfsmon knows their arguments."""
CAUSES: tuple[str, ...] = get_args(Cause)
"""What a file system does of its own; funcmon times it, and flash operations belong to it."""
Symbol = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:]*$", max_length=63)]


class FilesystemModel(Noun):
    """A file system: how to make, mount and unmount it on an MTD partition.

    Commands run in the board's shell; ``{mtd}`` is the partition's number, ``{mountpoint}`` where
    to mount, ``{options}`` the words for ``mount -o``.
    """

    title: str = Field(description="as people write it")
    modules: list[str] = Field(description="kernel modules it needs, in order")
    format: list[str] = Field(description="commands that make it on an erased partition")
    mount: str = Field(description="the command that mounts it")
    unmount: list[str] = Field(description="commands that take it away")
    settle: Settle
    options: dict[str, Option] = Field(default_factory=dict)
    kernel_type: str = Field(default="", description="in /proc/filesystems; empty: its name")
    symbols: dict[FileOperation | Cause, list[Symbol]] = Field(
        default_factory=dict,
        description="operation -> kernel functions that may do it, the first that is there is it",
    )

    @model_validator(mode="before")
    @classmethod
    def _type_is_its_name(cls, data: Any) -> Any:
        return {"kernel_type": data.get("name", ""), **data} if isinstance(data, dict) else data

    def chosen(self, given: dict[str, str], where: str) -> dict[str, str]:
        """Every option with its value; UsageError for what this file system does not offer."""
        wrong = [
            f"{where}: {self.name} has no option {key!r}; it has: {', '.join(self.options) or '-'}"
            for key in given
            if key not in self.options
        ]
        wrong += [
            f"{where}: {self.name}: {key} = {value!r} is none of "
            f"{', '.join(self.options[key].values)}"
            for key, value in given.items()
            if key in self.options and value not in self.options[key].values
        ]
        if wrong:
            raise UsageError("\n".join(wrong))
        return {key: given.get(key, option.default) for key, option in self.options.items()}

    def mount_options(self, chosen: dict[str, str]) -> str:
        """The words for ``mount -o``."""
        words = [self.options[key].values[value] for key, value in chosen.items()]
        return ",".join(["rw", *(w for w in words if w)])


Scalar = bool | int | float | str


class Parameter(_Model):
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
