# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verdict lacks, each with the one edit of the study or the one command that closes it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures import doubts
from nandlab.analysis.figures.doubts import FigureKind
from nandlab.analysis.figures.groups import Ensemble
from nandlab.analysis.figures.workloadwords import Words
from nandlab.analysis.verdicts import forecast, limitsyntax, sweep, wearsteadiness
from nandlab.base.strings import FreeText
from nandlab.results.naming import Naming
from nandlab.results.record import Trial

INSTRUMENT_BY_FAMILY = {
    "memory": "memory",
    "space": "space",
    "wear": "wear",
    "ready.durable": "restart",
}
"""Figures that an instrument measures, or whole families of them, and its name in a study."""
ASSUMED_SOURCE_LEAD = "Assumed:"
"""What a chip file's source begins with where the figure was not read."""
ARRAY_TIMES = ("timing.t_r_ns", "timing.t_prog_ns", "timing.t_bers_ns")
ENDURANCE = ("endurance.pe_cycles",)
LONGER_LOAD_FACTOR = 2
"""How many times as long a load is asked to be where nobody knows how long is enough."""


@dataclass(frozen=True)
class VerdictGap:
    """Something that is not known."""

    what: FreeText
    who: tuple[FreeText, ...]
    """The file systems that it is not known of."""
    why: FreeText
    do: FreeText
    """The edit or command that closes it."""


def find_instrument_of_figure(figure: str) -> str | None:
    """The instrument that measures a figure; None: none does."""
    family = figure.partition(".")[0]
    return INSTRUMENT_BY_FAMILY.get(figure) or INSTRUMENT_BY_FAMILY.get(family)


def suggest_may_lose_edit(naming: Naming) -> str:
    """The edit for a product of which a power cut may take synced data."""
    edit = f'{limitsyntax.NO_LOSS_LIMIT.name} = "{limitsyntax.MAY_LOSE_TEXT}"'
    return naming.format_study_edit("[limits]", edit)


def suggest_instruments_edit(instruments: Iterable[str], naming: Naming) -> str:
    """The line of a study that asks for these instruments, each once."""
    return naming.format_study_edit("", f"measure = {json.dumps(sorted(set(instruments)))}")


def suggest_figure_instrument_edit(figure: str, naming: Naming) -> str:
    """The edit that has a figure measured; empty: none does."""
    instrument = find_instrument_of_figure(figure)
    return suggest_instruments_edit([instrument], naming) if instrument else ""


def suggest_power_cut_command(trial: Trial, naming: Naming) -> str:
    """The command that tries power cuts."""
    if trial.own_board:
        return "power is cut on the virtual board only: run the study there too"
    return naming.power_cut_command


def suggest_longer_load_edit(trials: Sequence[Trial], of: Words, naming: Naming) -> tuple[str, str]:
    """Why loads are too short for their wear to tell anything, and the edit that mends it."""
    short = wearsteadiness.find_least_steady_wear(trials)
    edits = [edit for t in trials if (edit := _scale_load_parameter(t, of)) is not None]
    if edits:
        longest = max(edits, key=lambda e: e[1])[0]
        text = naming.format_study_edit(trials[0].workload, longest)
        return (short.advice if short else ""), text
    return (short.advice if short else ""), f"write at least {_format_mib(short)}" if short else ""


def suggest_lifetime_edit(trials: Sequence[Trial], words: Words, naming: Naming) -> str:
    """The edit after which it is known how long the chip lasts."""
    unknown = [t.chip.part for t in trials if forecast.find_block_endurance(t) is None]
    if unknown:
        return f"in catalog/chips/{unknown[0]}.toml, [endurance]: pe_cycles"
    longer = suggest_longer_load_edit(trials, words, naming)[1]
    return longer or suggest_instruments_edit(["wear"], naming)


def _format_mib(short: wearsteadiness.WearSteadiness) -> str:
    return "more" if short.at_least is None else f"{math.ceil(short.at_least / 2**20):,} MiB"


def _scale_load_parameter(trial: Trial, words: Words) -> tuple[str, float] | None:
    """The parameter that counts the load's work, at the value that suffices.

    The work of other phases, such as making the files, does not grow with it.
    """
    steadiness = wearsteadiness.assess_wear_steadiness(trial)
    written = trial.bytes.get("written")
    if steadiness is None or not written:
        return None
    target = steadiness.at_least if not steadiness.reached else LONGER_LOAD_FACTOR * written
    names = [f.parameter for f in words.figures.values() if f.parameter]
    value = trial.parameters.get(names[0]) if names else None
    if target is None or isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return None
    counted = next(f for f in words.figures.values() if f.parameter)
    phase = trial.phase(counted.over.removeprefix("phase."))
    of_work = (phase.bytes.get("written") if phase else None) or written
    needed = value * (target - (written - of_work)) / of_work
    return f"{names[0]} = {_round_up(needed)}", needed


def _round_up(value: float) -> int:
    """To two figures, never less."""
    step = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / step) * step)


def list_verdict_gaps_of_doubts(ensemble: Ensemble, *kinds: FigureKind) -> list[VerdictGap]:
    """The doubts of an ensemble's trials that concern figures of these kinds."""
    gaps = []
    codes = Counter(
        code for of in doubts.list_ensemble_doubts_by_trial(ensemble, *kinds) for code in of
    )
    for code, n in sorted(codes.items()):
        why = f"{ensemble.state}: {n} of {len(ensemble.ok)} trials carry the doubt {code}"
        do = doubts.format_doubt_advice(code, ensemble.ok).rstrip(".")
        gaps.append(VerdictGap(f"doubt {code}", (ensemble.subject,), why, do))
    return gaps


def list_assumed_chip_gaps(ensemble: Ensemble, kind: FigureKind) -> list[VerdictGap]:
    """What the chip's file assumes of its array's times; of its endurance, for counts."""
    figures = ARRAY_TIMES if kind == "times" else ENDURANCE if kind == "counts" else ()
    chip = ensemble.first.find_source("chip")
    sources: dict[str, str] = chip.get("sources", {})
    assumed = [
        figure.partition(".")[2]
        for figure in figures
        if sources.get(figure, "").startswith(ASSUMED_SOURCE_LEAD)
    ]
    if not assumed:
        return []
    why = f"the chip's {', '.join(assumed)}: assumed, not read in a data sheet"
    do = "give the data sheet's figures in a chip file of your own (docs/own/chip.md)"
    return [VerdictGap("the chip's figures are assumed", (ensemble.subject,), why, do)]


def list_verdict_gaps_of_ensemble(
    ensemble: Ensemble, spec: Mapping[str, Any], naming: Naming
) -> list[VerdictGap]:
    """What an ensemble lacks to be enough to say."""
    gaps = []
    who, state = (ensemble.subject,), ensemble.state
    if unmeasured := [t for t in ensemble.trials if t.status == "not_measured"]:
        n = f"{len(unmeasured)} of {len(ensemble.trials)} trials"
        why = f"{state}: {n} could not be measured: {sweep.shorten_error(unmeasured[0].error)}"
        gaps.append(
            VerdictGap("the workload failed", who, why, "mend the workload, and run it again")
        )
    if len(ensemble.ok) == 1:
        why = f"{state}: a single trial: how far its figures spread is not known"
        alike = "leave out phase_offsets_ms, for its members are one trial"
        do = (
            naming.format_study_edit("[matrix]", alike)
            if ensemble.alike
            else suggest_second_member(spec, naming)
        )
        gaps.append(VerdictGap("a single trial", who, why, do))
    return gaps


def suggest_second_member(spec: Mapping[str, Any], naming: Naming) -> str:
    """A second member: of the study if it has some more, else the edit that gives it one."""
    seeds = (spec.get("matrix") or {}).get("seeds")
    if not isinstance(seeds, list) or len(seeds) > 1 or not seeds:
        return naming.run_command
    return naming.format_study_edit("[matrix]", f"seeds = {[*seeds, max(seeds) + 1]}")


def merge_verdict_gaps(gaps: Sequence[VerdictGap]) -> list[VerdictGap]:
    """Each gap once, with all whom it is of; edits of one kind become the last and largest."""
    by_kind: dict[tuple[str, str], list[VerdictGap]] = {}
    for gap in gaps:
        by_kind.setdefault((gap.what, _find_edit_kind(gap.do)), []).append(gap)
    merged = []
    for (what, _), of in by_kind.items():
        who = tuple(dict.fromkeys(name for gap in of for name in gap.who))
        why = "; ".join(dict.fromkeys(gap.why for gap in of))
        merged.append(
            VerdictGap(what, who, why, max((gap.do for gap in of), key=_parse_edit_amount))
        )
    return merged


def _find_edit_kind(do: str) -> str:
    """What two edits share that differ in a number only."""
    name, equals, value = do.partition(" = ")
    return name if equals and value.isdigit() else do


def _parse_edit_amount(do: str) -> int:
    value = do.partition(" = ")[2]
    return int(value) if value.isdigit() else 0
