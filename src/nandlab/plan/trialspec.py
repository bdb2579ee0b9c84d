# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a trial is, and its id, which depends on that and on nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from nandlab.base.digest import digest_json_value
from nandlab.base.strings import Word
from nandlab.catalog.instrument import Measure
from nandlab.catalog.noun import Scalar, StrictModel, dump_noun_identity
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.matrix import Member, StateChoice
from nandlab.plan.medium import Medium
from nandlab.plan.start import ImageStart, TreeStart

VALUE_SHOWN = 24
"""Letters of a parameter's value in a title."""


class MemorySeries(StrictModel):
    """How often the series of RAM is sampled, and how many samples the board has room for."""

    interval_ms: int = Field(
        default=100, ge=1, le=3_600_000, description="of the board's time, from sample to sample"
    )
    samples: int = Field(
        default=16384,
        ge=2,
        le=131_072,
        description="room on the board, 24 bytes each; a time at which RAM is as at the sample "
        "before takes none",
    )
    slots_log2: int = Field(
        default=17,
        ge=8,
        le=24,
        description="room on the board for 7/8 of 2 to this many allocations that are held at a "
        "time, 16 bytes for each of these slots",
    )


class PartsTrace(StrictModel):
    """How much of a load's trace the board has room for."""

    records: int = Field(
        default=1 << 17, ge=1, description="room on the board, 64 bytes of its RAM each"
    )


class ReadsTrace(PartsTrace):
    """That, and by which steps the tracing paper's overhead is found."""

    calibrate: dict[Word, list[Word]] = Field(
        default={},
        description="by a name of yours: steps whose mean overheads' mean is that of the paper's "
        "formula for all steps",
    )


class TrialSpec(Medium):
    """All that a trial is. Two trials with equal specs are the same trial."""

    workload: WorkloadModel
    parameters: dict[Word, Scalar]
    image: ImageStart | TreeStart | None = None
    """What the chip holds before the first mount; None: it is erased."""
    state: StateChoice
    phase_offset_ms: float
    setup_seed: int | None = None
    """Seed of faults and ageing; what they lead to is shared by the members of an ensemble, whose
    seeds and offsets begin there. None: each member has a setup of its own."""
    measure: list[Measure] = Field(default=[])
    memory_series: MemorySeries | None = None
    """None: no series is measured."""
    parts: PartsTrace | None = None
    """None: time in parts is not measured."""
    reads: ReadsTrace | None = None
    """None: reads are not scored."""

    @property
    def member(self) -> Member:
        return self.seed, self.phase_offset_ms

    @property
    def aged(self) -> bool:
        """Whether the flash is to hold data before the workload."""
        return bool(self.state.valid or self.state.invalid)

    def at_setup(self) -> TrialSpec:
        """The trial as its setup has it, whose seed may not be the load's."""
        if self.setup_seed is None:
            return self
        return self.model_copy(update={"seed": self.setup_seed})

    def configuration(self) -> str:
        """An id that the members of one ensemble share, and no other trial has."""
        return self.model_copy(update={"seed": 0, "phase_offset_ms": 0.0}).id

    @property
    def id(self) -> str:
        """A stable id: it depends on what the study names, not on wording or built artefacts."""
        defaults = {name: p.default for name, p in self.workload.parameters.items()}
        identity = {
            "board": self.board.name,
            "workload": self.workload.name,
            "parameters": {k: v for k, v in self.parameters.items() if v != defaults[k]},
            "filesystem": self.filesystem.name,
            "options": self.filesystem.select_changed_options(self.options),
            "chip": self.chip.name,
            "faults": self.faults.parameters(self.at_setup().seed),
            "image": self.image and self.image.sha256,
        }
        key = dump_noun_identity(self, "mtd", *identity) | identity
        return f"{self.filesystem.name}-{self.state.name}-{digest_json_value(key)[:10]}"

    def _list_changed_parameters(self) -> list[str]:
        """The workload's parameters that are not at their defaults, each cut to fit a line."""
        usual = {name: p.default for name, p in self.workload.parameters.items()}
        texts = {k: " ".join(str(v).split()) for k, v in self.parameters.items() if v != usual[k]}
        return [
            f"{k}={v if len(v) <= VALUE_SHOWN else v[: VALUE_SHOWN - 3] + '...'}"
            for k, v in texts.items()
        ]

    def _options(self) -> list[str]:
        """The file system's options that are not at their defaults."""
        return [f"{k}={v}" for k, v in self.filesystem.select_changed_options(self.options).items()]

    def _begin(self) -> list[str]:
        """How the trial begins beside its state: latencies, setup, member."""
        words = ["maximum latencies"] if self.latency == "maximum" else []
        words += [f"spinand, {self.spinand.text}"] if self.spinand else []
        words += [self.layout_text] if self.layout else []
        words += [f"setup of seed {self.setup_seed}"] if self.setup_seed is not None else []
        return [*words, f"seed {self.seed}", f"+{self.phase_offset_ms:g} ms"]

    def title(self) -> str:
        """What sets this trial apart from others of its study, in words, for people."""
        chip = f"{self.partition_mib:g} MiB of {self.chip.name}"
        words = [
            self.workload.name,
            *self._list_changed_parameters(),
            self.filesystem.title,
            *self._options(),
        ]
        words += ["on", chip]
        words += [f"from {self.image.name}"] if self.image else []
        return " ".join([*words, self.state.name, *self._begin()])

    def list_title_parts(self) -> list[str]:
        """What sets it apart beside its file system and state, in pieces."""
        image = [self.image.name] if self.image else []
        chip = [self.chip.name, f"{self.partition_mib:g} MiB"]
        load = [self.workload.name, *self._list_changed_parameters()]
        return [*self._options(), *image, *chip, *load, *self._begin()]


def make_trial_labels(specs: Sequence[TrialSpec]) -> dict[str, str]:
    """A short title of each trial, by id: its file system and state, then what not all trials of
    this file system share.
    """
    every: dict[str, list[set[str]]] = {}
    for spec in specs:
        every.setdefault(spec.filesystem.title, []).append(set(spec.list_title_parts()))
    shared = {name: set.intersection(*of) for name, of in every.items()}
    found = {}
    for spec in specs:
        apart = [p for p in spec.list_title_parts() if p not in shared[spec.filesystem.title]]
        found[spec.id] = " ".join([spec.filesystem.title, spec.state.name, *apart])
    return found
