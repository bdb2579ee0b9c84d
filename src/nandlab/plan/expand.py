# SPDX-License-Identifier: GPL-2.0-or-later
"""From one matrix to its trials: each workload, file system, chip, state and member crossed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from nandlab.catalog.board import BoardModel
from nandlab.plan import lookup
from nandlab.plan.fit import refused, without_room
from nandlab.plan.lookup import Collector, Place, System
from nandlab.plan.matrix import Matrix
from nandlab.plan.start import cannot_begin
from nandlab.plan.trialspec import Measure, TrialSpec


def _expand(
    c: Collector, study: Study, m: Matrix, board: BoardModel | None, at: str
) -> list[TrialSpec]:
    """The trials of one matrix; the collector keeps its mistakes."""
    workloads = [_workload(c, w, f"{at}.workloads.{i}") for i, w in enumerate(m.workloads)]
    systems = [
        _system(c, f, study._folder, f"{at}.filesystems.{i}") for i, f in enumerate(m.filesystems)
    ]
    places = [_chip(c, ch, board, f"{at}.chips.{i}") for i, ch in enumerate(m.chips)]
    pairs = _pairs(c, m, systems, places, board, at)
    for i, loaded in enumerate(filter(None, workloads)):
        where = f"{c.where}: {at}.workloads.{i}"
        for place in filter(None, places):
            wrong = without_room(*loaded, place.chip, place.blocks)
            c.wrong += [f"{where}: {wrong}"] if wrong else []
        for system, place in pairs:
            told = refused(*loaded, system.model, place.chip, place.blocks)
            c.wrong += [f"{where}: {text}" for text in told]
    if c.wrong or board is None:
        return []
    return [
        TrialSpec(
            board=board,
            workload=workload,
            parameters=parameters,
            filesystem=system.model,
            options=system.options,
            image=system.image.start if system.image else None,
            chip=place.chip,
            partition_blocks=place.blocks,
            latency=place.choice.latency,
            faults=place.choice.faults,
            state=state,
            seed=seed,
            phase_offset_ms=offset,
            measure=study.measure,
        )
        for workload, parameters in filter(None, workloads)
        for system, place in pairs
        for state, (seed, offset) in product(m.states, m.members())
    ]


def _pairs(
    c: Collector,
    m: Matrix,
    systems: list[System | None],
    places: list[Place | None],
    board: BoardModel | None,
    at: str,
) -> list[tuple[System, Place]]:
    """Each file system on each of its chips; the collector keeps the pairs that do not fit."""
    pairs = []
    for i, (choice, system) in enumerate(zip(m.filesystems, systems, strict=True)):
        where = f"{c.where}: {at}.filesystems.{i}"
        here = ", ".join(ch.part for ch in m.chips)
        absent = set(choice.on) - {ch.part for ch in m.chips}
        c.wrong += [
            f"{where}: on: no {p!r} among the matrix's chips ({here})" for p in sorted(absent)
        ]
        for place in places:
            if system is None or place is None or not choice.takes(place.chip):
                continue
            chip, blocks, bad_blocks = place.chip, place.blocks, place.choice.faults.bad_blocks
            unfit = system.model.unfit(system.options, chip.figures(blocks))
            c.wrong += [f"{where}: {choice.name} cannot live on {chip.name}: {u}" for u in unfit]
            if system.image:
                wrong = cannot_begin(system.image.head, chip, blocks, bad_blocks, board)
                c.wrong += [f"{where}: image: {w}" for w in wrong]
            pairs.append((system, place))
    return pairs
