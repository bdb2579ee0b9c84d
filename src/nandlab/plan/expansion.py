# SPDX-License-Identifier: GPL-2.0-or-later
"""From one matrix to its trials: each workload, file system, chip, state and member crossed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nandlab.catalog.board import BoardModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.instrument import Measure
from nandlab.catalog.remote import RemoteModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan import readonly, states
from nandlab.plan.fit import check_files_fit_partition, check_workload_needs
from nandlab.plan.lookup import Lookup, MatrixChip, MatrixSystem
from nandlab.plan.matrix import Matrix
from nandlab.plan.start import check_image_start, check_tree_start
from nandlab.plan.trialspec import MemorySeries, PartsTrace, ReadsTrace, TrialSpec


@dataclass(frozen=True)
class MeasureSet:
    """What else is measured in trials of a study."""

    measure: list[Measure]
    memory_series: MemorySeries | None
    parts: PartsTrace | None
    reads: ReadsTrace | None
    members_max: int | None = None
    """How many members have a trial of their own for it; None: all trials measure it."""

    def takes(self, system: FilesystemModel) -> bool:
        """Whether it is measured on a file system: RAM of one of whose modules it can be told."""
        return self.members_max is None or bool(system.memory_of)


def expand_matrix(
    c: Lookup,
    m: Matrix,
    board: BoardModel | RemoteModel | None,
    measure_sets: list[MeasureSet],
    matrix_field: str,
) -> list[TrialSpec]:
    """The trials of one matrix, a field of the study; the lookup keeps its mistakes."""
    workloads = [c.workload(w, f"{matrix_field}.workloads.{i}") for i, w in enumerate(m.workloads)]
    systems = [c.system(f, f"{matrix_field}.filesystems.{i}") for i, f in enumerate(m.filesystems)]
    places = [c.chip(ch, board, f"{matrix_field}.chips.{i}") for i, ch in enumerate(m.chips)]
    pairs = _pair_systems(c, m, systems, places, board, matrix_field)
    for i, loaded in enumerate(filter(None, workloads)):
        where = f"{matrix_field}.workloads.{i}"
        for place in filter(None, places):
            wrong = check_files_fit_partition(*loaded, place.chip, place.blocks)
            c.refuse(where, *([wrong] if wrong else []))
            c.refuse(where, *check_age_matters(loaded[0], place))
        for system, place in pairs:
            c.refuse(where, *check_workload_needs(*loaded, system.model, place.chip, place.blocks))
            c.refuse(where, *readonly.check_workload_writes(loaded[0], system.model))
    for i, state in enumerate(m.states):
        models = [system.model for system, _ in pairs]
        c.refuse(f"{matrix_field}.states.{i}", *readonly.check_state_fill(state, models))
        c.refuse(
            f"{matrix_field}.states.{i}",
            *states.check_state_ages_flash(state, filter(None, systems)),
        )
        mistakes = states.check_state_beside_volumes(state, filter(None, systems))
        c.refuse(f"{matrix_field}.states.{i}", *mistakes)
    if c.wrong or board is None:
        return []
    return [
        TrialSpec(
            board=board,
            workload=workload,
            parameters=parameters,
            filesystem=system.model,
            options=system.options,
            image=system.start,
            chip=place.chip,
            partition_blocks=place.blocks,
            latency=place.choice.latency,
            faults=place.faults,
            spinand=place.spinand,
            layout=place.layout,
            mtd=place.layout.chosen if place.layout else 0,
            state=state,
            seed=seed,
            phase_offset_ms=offset,
            setup_seed=m.setup_seed,
            measure=measure_set.measure,
            memory_series=measure_set.memory_series,
            parts=measure_set.parts,
            reads=measure_set.reads,
        )
        for workload, parameters in filter(None, workloads)
        for system, place in pairs
        for state, measure_set in product(m.states, measure_sets)
        if measure_set.takes(system.model)
        for seed, offset in m.members()[: measure_set.members_max]
    ]


def check_age_matters(workload: WorkloadModel, place: MatrixChip) -> Iterator[str]:
    """Why days would pass for nothing on a chip; nothing: they do not, or bits rot there."""
    ages = next((s for s in workload.steps if s.do == "age"), None)
    if ages is not None and not place.faults.age_matters:
        how = (
            "give it bit_rot = true"
            if place.chip.retention
            else f"{place.chip.name} has no [retention]: give faults flip_day_ppt, flip_read_ppt"
        )
        yield (
            f"{workload.name}: step {ages.phase}: no bit of {place.chip.name} goes wrong with "
            f"days or reads; {how}"
        )


def _pair_systems(
    c: Lookup,
    m: Matrix,
    systems: list[MatrixSystem | None],
    places: list[MatrixChip | None],
    board: BoardModel | RemoteModel | None,
    matrix_field: str,
) -> list[tuple[MatrixSystem, MatrixChip]]:
    """Each file system on each of its chips; the lookup keeps the pairs that do not fit."""
    pairs = []
    for i, (choice, system) in enumerate(zip(m.filesystems, systems, strict=True)):
        where = f"{matrix_field}.filesystems.{i}"
        part_names = ", ".join(ch.part for ch in m.chips)
        absent = set(choice.on) - {ch.part for ch in m.chips}
        c.refuse(
            where,
            *(f"on: no {p!r} among the matrix's chips ({part_names})" for p in sorted(absent)),
        )
        for place in places:
            if system is None or place is None or not choice.takes(place.chip):
                continue
            chip, blocks, bad_blocks = place.chip, place.blocks, place.choice.faults.bad_blocks
            unfit = system.model.list_hindrances(
                system.options,
                chip.figures(blocks),
                without_reserve=system.image is not None or not isinstance(board, BoardModel),
            )
            c.refuse(where, *(f"{choice.name} cannot live on {chip.name}: {u}" for u in unfit))
            if system.image:
                virtual = board if isinstance(board, BoardModel) else None
                wrong = check_image_start(system.image.head, chip, blocks, bad_blocks, virtual)
                c.refuse(where, *(f"image: {w}" for w in wrong))
            if system.tree:
                wrong = check_tree_start(
                    system.tree, system.model, system.options, chip, blocks, bad_blocks
                )
                c.refuse(where, *(f"tree: {w}" for w in wrong))
            pairs.append((system, place))
    return pairs
