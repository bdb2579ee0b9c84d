# SPDX-License-Identifier: GPL-2.0-or-later
"""The matrix of a study file: what is crossed with what, and what each of its entries may say."""

from __future__ import annotations

import math
from collections.abc import Sized
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from nandlab.base.strings import WORD, Line, Word
from nandlab.catalog.chip import (
    CLOCK_MHZ_MAX,
    CONTROLLER_NS_MAX,
    ChipModel,
    Latency,
    SpiBus,
)
from nandlab.catalog.noun import Scalar, StrictModel
from nandlab.plan.layout import PARTITIONS_MAX, PartitionChoice

SEED_MAX = 2**31 - 1
"""The greatest seed that every program of the board takes."""
PPB = 10**9
ERASES_MAX = 10**9
SECOND_MS = 1000
OFFSET_STEP_MS = 307.0
"""From one seed's phase offset to the next one's: a thousand seeds have all their own, and each is
at another moment of the kernel's ticks, 4 ms apart, than the two before."""
UINT = 2**32 - 1
"""The most that a parameter of simnand holds."""


class NamedChoice(BaseModel):
    """A catalog entry by name, and the values chosen for its options or parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Word

    def choices(self) -> dict[str, Any]:
        """The values that the study file gives beside the name."""
        return dict(self.__pydantic_extra__ or {})


class WorkloadChoice(NamedChoice):
    """A workload and the parameters that differ from its defaults."""

    __pydantic_extra__: dict[Line, Scalar] = Field(init=False)


def _number_to_text(value: Any) -> Any:
    """A whole number as a file system's options have it: ``128`` and ``"128"`` are one value."""
    if isinstance(value, bool | float):
        raise ValueError(f"{value!r} is neither text nor a whole number")
    return str(value) if isinstance(value, int) else value


OptionText = Annotated[Line, BeforeValidator(_number_to_text, json_schema_input_type=str | int)]


class FilesystemChoice(NamedChoice):
    """A file system, the options that differ from its defaults, and which chips it is put on."""

    __pydantic_extra__: dict[Line, OptionText] = Field(init=False)

    on: list[Word] = Field(
        default=[], description="part names of the matrix's chips that it is put on; absent: all"
    )

    image: Line | None = Field(
        default=None,
        description="path of an image of it, from the study file's folder: what the chip holds "
        "before the first mount, instead of an empty file system; options that are not named are "
        "the image's",
    )

    tree: Word | None = Field(
        default=None,
        description="a root file system of the catalog's trees: the chip holds an image of it "
        "before the first mount, which is made when the run begins",
    )

    @model_validator(mode="after")
    def _begins_in_one_way(self) -> FilesystemChoice:
        if self.image is not None and self.tree is not None:
            raise ValueError("image and tree: both say what the chip holds; give one of them")
        return self

    def takes(self, chip: ChipModel) -> bool:
        """Whether the study puts it on this chip."""
        return not self.on or chip.name in self.on


class Faults(StrictModel):
    """A chip's faults, as parameters of simnand; they are drawn with the trial's seed."""

    bad_blocks: int = Field(default=0, ge=0, description="blocks that are bad from the factory")
    endurance: int = Field(
        default=0, ge=0, le=ERASES_MAX, description="erases that a block survives; 0: no limit"
    )
    endurance_spread: int = Field(
        default=0, ge=0, le=100, description="spread of endurance over the blocks, +- percent"
    )
    program_fail_ppb: int = Field(
        default=0, ge=0, le=PPB, description="chance that a program fails, in billionths"
    )
    erase_fail_ppb: int = Field(
        default=0, ge=0, le=PPB, description="chance that an erase fails, in billionths"
    )
    flip_ppt: int = Field(default=0, ge=0, le=UINT, description="bits in 10^12 that read wrong")
    flip_wear_ppt: int = Field(
        default=0,
        ge=0,
        le=UINT,
        description="further bits in 10^12 at the rated endurance; grows with wear",
    )
    flip_read_ppt: int = Field(
        default=0, ge=0, le=UINT, description="further bits in 10^12 for each read of the block"
    )
    flip_day_ppt: int = Field(
        default=0,
        ge=0,
        le=UINT,
        description="further bits in 10^12 for each day since the page was programmed; a "
        "workload's step age lets days pass",
    )
    flip_day_wear_ppt: int = Field(
        default=0,
        ge=0,
        le=UINT,
        description="the same at the rated endurance; grows with wear",
    )

    @model_validator(mode="after")
    def _wear_has_its_measure(self) -> Faults:
        worn = [k for k in ("flip_wear_ppt", "flip_day_wear_ppt") if getattr(self, k)]
        if worn and not self.endurance:
            raise ValueError(f"{worn[0]} is at the rated endurance: give endurance too")
        return self

    @property
    def age_matters(self) -> bool:
        """Whether bits rot with days or with reads."""
        return bool(self.flip_day_ppt or self.flip_day_wear_ppt or self.flip_read_ppt)

    def parameters(self, seed: int) -> dict[str, int]:
        """The parameters that are not zero, and the seed if there are any."""
        asked = {k: v for k, v in self.model_dump().items() if v}
        return {**asked, "seed": seed} if asked else {}


class SpinandChoice(StrictModel):
    """A chip behind SPI that the kernel's own driver drives, and how its bus differs."""

    lines: Literal[1, 2, 4] | None = Field(
        default=None, description="lines that carry data at most; absent: the part's"
    )
    clock_mhz: int | None = Field(
        default=None, ge=1, le=CLOCK_MHZ_MAX, description="clock of the bus; absent: the part's"
    )
    controller_ns: int | None = Field(
        default=None,
        ge=0,
        le=CONTROLLER_NS_MAX,
        description="time that the controller takes for each operation, beside its bits; absent: "
        "the part's",
    )

    def select_bus(self, part: SpiBus) -> SpiBus:
        """The part's bus with what differs."""
        return part.model_copy(update=self.model_dump(exclude_none=True))


class ChipChoice(StrictModel):
    """A chip and the partition of it that the file system gets."""

    part: Word = Field(description="the chip's name in the catalog")
    partition_mib: float | None = Field(
        default=None, gt=0, description="MiB from the chip's start; absent: the whole chip"
    )
    partitions: list[PartitionChoice] = Field(
        default=[],
        max_length=PARTITIONS_MAX,
        description="all MTD partitions of the chip in their order, instead of partition_mib; "
        "absent: one",
    )
    filesystem_on: Word | None = Field(
        default=None, description="which of partitions has the file system"
    )
    latency: Latency = Field(
        default="typical", description="which array times of the data sheet: typical or maximum"
    )
    faults: Faults = Field(default=Faults(), description="the chip's faults; absent: none")
    bit_rot: bool = Field(
        default=False,
        description="whether bits go wrong with days, reads and erases as the part's file says "
        "under [retention]",
    )
    spinand: SpinandChoice | None = Field(
        default=None,
        description="the kernel's own driver of SPI-NAND chips drives it; absent: the raw NAND "
        "layer does, and the part's data cycles stand for its bus",
    )

    @model_validator(mode="after")
    def _has_one_place(self) -> ChipChoice:
        if self.partitions and self.partition_mib is not None:
            raise ValueError("partitions have their sizes: leave partition_mib out")
        if bool(self.partitions) != (self.filesystem_on is not None):
            raise ValueError("partitions and filesystem_on go together: give both or neither")
        names = [part.name for part in self.partitions]
        if len(set(names)) < len(names):
            raise ValueError("partitions: two have one name")
        return self


class StateChoice(StrictModel):
    """The flash state that a trial starts from, as shares of the flash."""

    name: str = Field(
        pattern=WORD,
        max_length=60,
        description="what reports call it, such as fresh or aged; files are named after it",
    )
    valid: float = Field(default=0.0, ge=0, lt=1, description="share that holds live data")
    invalid: float = Field(default=0.0, ge=0, lt=1, description="share that holds dead data")
    mix: float = Field(
        default=0.0, ge=0, le=1, description="0: whole blocks of one kind; 1: mixed within blocks"
    )
    of: Literal["chip", "free"] = Field(
        default="chip",
        description="what the shares are of: chip: the partition's pages, as the chip counts them; "
        "free: the bytes that statvfs tells to be free, before any data is synced",
    )

    @model_validator(mode="after")
    def _leaves_room(self) -> StateChoice:
        if self.valid + self.invalid >= 1:
            raise ValueError("valid and invalid together must leave room: keep their sum under 1")
        if self.of == "free" and self.mix:
            raise ValueError('of = "free" writes one file after the other: leave mix out')
        return self


Seed = Annotated[int, Field(ge=0, le=SEED_MAX, strict=True)]
Offset = Annotated[float, Field(ge=0, lt=1000, allow_inf_nan=False)]


def _relax_required(schema: dict[str, Any]) -> None:
    """A file may leave out chips and workloads where its study has a product."""
    schema["required"] = [key for key in schema["required"] if key not in ("chips", "workloads")]


class Matrix(StrictModel):
    """What is crossed with what: every combination is a trial."""

    model_config = ConfigDict(json_schema_extra=_relax_required)

    workloads: list[WorkloadChoice] = Field(min_length=1)
    filesystems: list[FilesystemChoice] = Field(min_length=1)
    chips: list[ChipChoice] = Field(min_length=1)
    states: list[StateChoice] = Field(min_length=1)
    seeds: list[Seed] = Field(min_length=1, description="seeds of the workload, 0 to 2147483647")
    phase_offsets_ms: list[Offset] | None = Field(
        default=None,
        min_length=1,
        description="starts relative to a whole second of the board's clock, ms; absent: seed 1 "
        "at 0, each other one at an offset of its own, for a seed may draw nothing but bytes; with "
        "setup_seed all at 0",
    )
    ensemble: Literal["crossed", "paired"] = Field(
        default="crossed",
        description="crossed: every seed at every offset; paired: the first seed at the first "
        "offset, the second at the second",
    )

    setup_seed: Seed | None = Field(
        default=None,
        description="seed of faults and ageing in all members: these then begin after one setup of "
        "each configuration, whose state is saved; absent: each has a setup of its own",
    )

    @model_validator(mode="after")
    def _pairs_are_whole(self) -> Matrix:
        offsets = self.phase_offsets_ms
        if self.ensemble == "paired" and offsets and len(self.seeds) != len(offsets):
            raise ValueError('ensemble = "paired" needs as many phase_offsets_ms as seeds')
        return self

    def size(self) -> int:
        """Trials at the most: a file system may be on some of the chips alone."""
        paired = self.ensemble == "paired"
        ensemble = len(self.seeds) * (1 if paired else len(self.phase_offsets_ms or [0]))
        crossed: tuple[Sized, ...] = (self.workloads, self.filesystems, self.chips, self.states)
        return ensemble * math.prod(len(each) for each in crossed)

    def members(self) -> list[Member]:
        """The members of the ensemble, in order."""
        if self.phase_offsets_ms is None:
            step = 0.0 if self.setup_seed is not None else OFFSET_STEP_MS
            return [(seed, (seed - 1) * step % SECOND_MS) for seed in self.seeds]
        if self.ensemble == "paired":
            return list(zip(self.seeds, self.phase_offsets_ms, strict=True))
        return list(product(self.seeds, self.phase_offsets_ms))


Member = tuple[int, float]
"""A seed and a phase offset in ms: what tells the members of an ensemble apart."""


class FurtherMatrix(StrictModel):
    """Combinations beside the matrix: what it leaves out is taken from the matrix."""

    workloads: list[WorkloadChoice] | None = Field(default=None, min_length=1)
    filesystems: list[FilesystemChoice] | None = Field(default=None, min_length=1)
    chips: list[ChipChoice] | None = Field(default=None, min_length=1)
    states: list[StateChoice] | None = Field(default=None, min_length=1)

    def within(self, matrix: Matrix) -> Matrix:
        """The matrix, with what is named here instead of its own."""
        named = {k: v for k in type(self).model_fields if (v := getattr(self, k)) is not None}
        return matrix.model_copy(update=named)
