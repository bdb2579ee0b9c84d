# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study cannot answer, as far as that is known before anything runs, each with its edit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from nandlab.analysis.figures.figures import FIGURE_FAMILIES
from nandlab.analysis.figures.members import MEMORY_INSTRUMENTS, RAM_PREFIX
from nandlab.analysis.verdicts import wearsteadiness
from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.limits import Limits, make_limits_from_spec
from nandlab.base.errors import NandlabError
from nandlab.catalog.chip import MIB
from nandlab.catalog.instrument import list_measures
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec

YEARS = "years"
TRIAL_S, PAGE_S = 5.0, 0.001
"""Processor seconds of the host for a trial, and for each page that its load is to program: 61 were
seen of six trials of `logger` with 66,000 records, and the collecting after that takes more."""
UNKNOWN_S = 10.0
"""What a load takes at the least, for the sum, of which it is not known how much it writes."""
DRAWS_BYTES = ("logwriter", "replay")
"""Programs whose seed draws nothing but the bytes that they write."""
SEEDS_MIN = 3


def find_verdict_gaps(study: Study, specs: Sequence[TrialSpec]) -> list[VerdictGap]:
    """What the trials of a plan cannot answer; each once."""
    limits = make_limits_from_spec(study.model_dump(mode="json"))
    gaps = [*_find_member_gaps(study, specs), *_find_ram_gaps(study, specs, limits)]
    gaps += [
        gap for limit in limits.figures for gap in _find_figure_gaps(study, specs, limit.figure)
    ]
    if limits.years is not None:
        gaps += [gap for spec in _list_loads(specs) if (gap := _find_years_gap(spec)) is not None]
    return list(dict.fromkeys(gaps))


def format_plan_outlook(study: Study, specs: Sequence[TrialSpec], jobs: int) -> list[str]:
    """The count of trials, what they take, and what they cannot answer, a line each."""
    open_ = [
        f"not answered: {g.what}{_format_who(g)}: {g.why}: {g.do}"
        for g in find_verdict_gaps(study, specs)
    ]
    return [_format_size(specs, jobs), *open_]


def _format_who(gap: VerdictGap) -> str:
    return f" ({', '.join(gap.who)})" if gap.who else ""


def _format_size(specs: Sequence[TrialSpec], jobs: int) -> str:
    apart = sum(bool(MEMORY_INSTRUMENTS & set(s.measure)) for s in specs)
    ram = f", {apart} of them for RAM" if 0 < apart < len(specs) else ""
    minutes = math.ceil(sum(map(_estimate_seconds, specs)) / max(1, jobs) / 60)
    word = "trial" if len(specs) == 1 else "trials"
    size = f"{len(specs)} {word}{ram}; "
    unknown = dict.fromkeys(s.workload.name for s in specs if _estimate_pages(s) is None)
    if not unknown:
        return f"{size}about {minutes} min with {jobs} at once"
    why = f"how much {', '.join(unknown)} writes is not known"
    return f"{size}at the least {minutes} min with {jobs} at once: {why}"


def _estimate_seconds(spec: TrialSpec) -> float:
    """What a trial takes of the host's processor, about."""
    pages = _estimate_pages(spec)
    return TRIAL_S + (UNKNOWN_S if pages is None else PAGE_S * pages)


def _list_loads(specs: Sequence[TrialSpec]) -> list[TrialSpec]:
    """A trial of each load on each chip in each state: the first."""
    first: dict[tuple[object, ...], TrialSpec] = {}
    for s in specs:
        loads = (s.workload.name, *sorted((k, str(v)) for k, v in s.parameters.items()))
        key = (*loads, s.chip.name, s.partition_blocks, s.state.name, s.latency)
        first.setdefault(key, s)
    return list(first.values())


def _find_member_gaps(study: Study, specs: Sequence[TrialSpec]) -> Iterator[VerdictGap]:
    m = study.matrix
    if len(m.members()) == 1:
        why = "how far figures spread is not known, so there is no order"
        seeds = [*range(m.seeds[0], m.seeds[0] + SEEDS_MIN)]
        yield VerdictGap("one member", (), why, f"seeds = {seeds}")
    elif len(m.seeds) > 1 and len({offset for _, offset in m.members()}) == 1:
        alike = [s.workload.name for s in specs if set(s.workload.programs) & {*DRAWS_BYTES}]
        if alike:
            why = "its seeds only draw bytes: without a compressor all members are one trial"
            do = "leave phase_offsets_ms out, and each seed has an offset of its own"
            do = "give phase_offsets_ms" if m.setup_seed is not None else do
            yield VerdictGap("members", (*dict.fromkeys(alike),), why, do)


def _find_ram_gaps(
    study: Study, specs: Sequence[TrialSpec], limits: Limits
) -> Iterator[VerdictGap]:
    ram_limits = [limit for limit in limits.figures if limit.figure.startswith(RAM_PREFIX)]
    if not ram_limits and not MEMORY_INSTRUMENTS & set(study.measure):
        return
    if ram_limits and any(s.is_own_board for s in specs):
        yield VerdictGap(
            "RAM", (), "a board of your own has no instrument of memory", "take the limit out"
        )
        return
    without = dict.fromkeys(s.filesystem.title for s in specs if not s.filesystem.memory_of)
    if without:
        why = "no module is known whose allocations are its own"
        yield VerdictGap("RAM", (*without,), why, "memory_of in the file system's file")
    weighed = [s for s in specs if MEMORY_INSTRUMENTS & set(s.measure)]
    if ram_limits and not weighed and not without:
        yield VerdictGap("RAM", (), "no trial measures it", 'leave memory_trials = "all" out')
    if weighed and study.memory_trials == "all":
        why = "memory is measured in every trial, and takes time"
        yield VerdictGap("times without a doubt", (), why, 'leave memory_trials = "all" out')


def _find_figure_gaps(
    study: Study, specs: Sequence[TrialSpec], figure: str
) -> Iterator[VerdictGap]:
    """Why no trial would tell a limit's figure, but for RAM."""
    family = figure.partition(".")[0]
    if family in list_measures() and family not in (
        *FIGURE_FAMILIES,
        *MEMORY_INSTRUMENTS,
        *study.measure,
    ):
        yield VerdictGap(figure, (), "nothing measures it", f"measure = {[*study.measure, family]}")
    if family != "energy" or figure.startswith("energy.profile"):
        return
    of_chip = figure.startswith("energy.chip")
    if not of_chip and any(getattr(s.board, "power", None) is None for s in specs):
        board = specs[0].board.name
        why = f"what board {board} draws is not known"
        yield VerdictGap("energy", (), why, "[power] in the board's file (docs/energy.md)")
    for chip in {s.chip.name: s.chip for s in specs if not s.chip.energy.list_known_figures()}:
        why = f"what {chip} draws is not known"
        yield VerdictGap("energy", (), why, "[energy] in the chip's file (docs/energy.md)")


def _find_years_gap(spec: TrialSpec) -> VerdictGap | None:
    """Why the trials of a load would not tell how long the chip lasts; None: they should."""
    who, workload = (spec.workload.name,), spec.workload
    if spec.chip.endurance is None and not spec.faults.endurance:
        why = f"how often a block of {spec.chip.name} may be erased is not known"
        return VerdictGap(YEARS, (), why, "[endurance] pe_cycles in the chip's file")
    if workload.view == "lifetime":
        return None
    uncounted = bool(workload.steps) or not workload.programs
    if uncounted and "wear" not in spec.measure:
        why = "no program of it tells the erases of each block"
        return VerdictGap(YEARS, who, why, 'measure = ["wear"]')
    pages = _estimate_pages(spec)
    if pages is None:
        why = "how much it writes is told by its trials: the load may be too short"
        return VerdictGap(
            YEARS, who, why, "run --members 1 first: the verdict then says how much it takes"
        )
    need = _count_needed_pages(spec)
    if pages >= need:
        return None
    why = f"some {pages:,} pages programmed, and steady wear takes {need:,}"
    return VerdictGap(YEARS, who, f"the load is too short: {why}", _suggest_longer_load(spec, need))


def _estimate_pages(spec: TrialSpec) -> int | None:
    """Page programs of a load, about; None: its file does not tell."""
    told = spec.workload.written
    return told.pages(spec.parameters, spec.chip.geometry.writesize) if told else None


def _count_needed_pages(spec: TrialSpec) -> int:
    """Page programs after which each block was erased FEW times: the first content of a block that
    is erased when the load begins takes no erase."""
    pages = spec.partition_blocks * spec.chip.pages_per_block()
    before = spec.workload.before
    held = before.least(spec.parameters) // spec.chip.geometry.writesize if before else 0
    held += round(pages * (spec.state.valid + spec.state.invalid))
    return (wearsteadiness.STEADY_ERASES_MIN + 1) * pages - min(held, pages)


def _suggest_longer_load(spec: TrialSpec, need: int) -> str:
    """The one edit that makes the load long enough, or the partition small enough."""
    written, writesize = spec.workload.written, spec.chip.geometry.writesize
    assert written is not None
    if written.count is not None:
        name, value = written.count, int(spec.parameters[written.count])
        while written.pages({**spec.parameters, name: value}, writesize) < need:
            value = math.ceil(value * 1.05) + 1
        return f"{name} = {_round_up(value)}"
    block = spec.chip.geometry.erasesize
    most = (
        written.pages(spec.parameters, writesize)
        // (wearsteadiness.STEADY_ERASES_MIN + 1)
        * writesize
        // block
        * block
    )
    try:
        spec.chip.partition_blocks(most / MIB)
    except NandlabError:
        return "record the program for longer"
    return f"partition_mib = {most / MIB:g}, or record the program for longer"


def _round_up(value: int) -> int:
    """To two figures, never less."""
    step: int = 10 ** max(0, len(str(value)) - 2)
    return -(-value // step) * step
