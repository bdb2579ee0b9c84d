# SPDX-License-Identifier: GPL-2.0-or-later
"""Under which conditions a verdict holds: options of the file systems, what the states were asked
to hold, and what a product meets and no trial had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.verdicts import promises
from nandlab.analysis.verdicts.criteria import Criterion, VerdictScope
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.results.record import Trial
from nandlab.results.sources import describe_filesystem_core

ALWAYS = ("compression",)
"""Options that are told where they are the default too: they decide most."""
UNLIKE = "unlike"
"""The figure of a recorded load's calls that returned otherwise than in its recording."""
DEFAULT, KERNELS = "default", " (the kernel's)"
"""The value of an option that leaves it to the kernel, and what is told of it."""
AGED_FLASH, FAILING_CHIP = "aged flash", "failing blocks and pages"
AGED_SHARES = "valid = 0.5, invalid = 0.25, mix = 1"
"""The shares of an aged state, where a study is to have one."""


def format_options_beside_name(trial: Trial, name: str) -> str:
    """What a trial's file system is that its name does not tell: the year of its core, the options
    of :data:`ALWAYS`, and those that are not the default. An option that the trial's own catalog
    did not have yet was no choice of it."""
    core = describe_filesystem_core(trial.filesystem, trial.find_source("board"))
    known = trial.find_source("filesystem").get("options")
    entries = known if isinstance(known, dict) else {}
    options = (
        f"{text}{KERNELS if value == DEFAULT else ''}"
        for key, value in sorted(trial.options.items())
        if (text := f"{key}={value}") not in name
        and (key in ALWAYS or _is_chosen(entries, key, value))
    )
    return ", ".join([*filter(None, [core]), *options])


def _is_chosen(entries: dict[str, Any], key: str, value: str) -> bool:
    """Whether an option has another value than its default in the trial's own catalog."""
    entry = entries.get(key)
    known = entry.get("default") if isinstance(entry, dict) else None
    return known != value and (not entries or key in entries)


def list_load_and_state_conditions(scope: VerdictScope) -> dict[str, None]:
    """How many calls a recorded load has, and what each state with data in it was asked to hold,
    each once."""
    states = (
        f"{e.state}: {_holds(e.first)}"
        for s in scope.settings
        for e in s.ensembles
        if not e.reference
    )
    return dict.fromkeys([*filter(None, map(_recording, scope.settings)), *states])


def _recording(setting: Setting) -> str:
    """How many calls were replayed, and how many returned otherwise at most; empty: of a load that
    is no recording."""
    replayed = [t for t in setting.trials if t.ok and UNLIKE in t.figures]
    if not replayed:
        return ""
    calls = sum(replayed[0].operations.values())
    unlike = max(int(t.figures[UNLIKE]) for t in replayed)
    return f"{setting.workload}: one recording of {calls:,} calls, {unlike:,} returned otherwise"


def _holds(trial: Trial) -> str:
    """What a state was asked to hold when the load begins."""
    state = trial.state
    of = "free bytes" if state.of == "free" else "pages"
    return f"{100 * state.valid:g} % of the {of} valid, {100 * state.invalid:g} % invalid"


def format_cell_rule(scope: VerdictScope, criteria: Sequence[Criterion]) -> str:
    """What a cell is of the flash states and of the runs; empty: there is but one run."""
    states = dict.fromkeys(state for s in scope.settings for state in s.states)
    spreads = [e.spread(s.headline) for s in scope.settings for e in s.ensembles]
    runs = sorted({spread.n for spread in spreads if spread})
    names = [*states]
    worst = "worst" if names[2:] else "worse"
    clauses = [f"cells: the {worst} of {format_name_list(names)}"] if names[1:] else []
    if runs and runs[-1] > 1:
        n = f"{' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs"
        limited = any(c.limit for c in criteria)
        clauses.append(
            f"under a limit the worst of {n}, else their median" if limited else f"median of {n}"
        )
    return ", ".join(clauses)


def list_absent_filesystems(setting: Setting, run_settings: Sequence[Setting]) -> list[str]:
    """File systems of a run's other settings that have no trial in this one, and why, where the
    chip is the reason."""
    present = {t.filesystem for t in setting.trials}
    absent = {
        t.filesystem: t
        for s in reversed(run_settings)
        for t in reversed(s.trials)
        if t.filesystem not in present
    }
    return [
        f"{t.filesystem_title} was not run here{_explain_unfit(t, setting.trials[0])}."
        for t in absent.values()
    ]


def _explain_unfit(trial: Trial, chip_trial: Trial) -> str:
    """Why a trial's file system cannot be on the chip of another trial; empty: it can, or that is
    not known."""
    try:
        system = FilesystemModel.model_validate(trial.find_source("filesystem"))
        chip = ChipModel.model_validate(chip_trial.find_source("chip"))
        unfit = system.list_hindrances(trial.options, chip.figures(chip_trial.chip.blocks))
    except (ValidationError, KeyError):
        return ""  # of another nandlab, whose words are not ours
    return f": {unfit[0].partition(': ')[2] or unfit[0]}" if unfit else ""


def list_untested_product_conditions(scope: VerdictScope) -> Iterator[tuple[str, str]]:
    """What a product meets and no trial of a load that writes had, with the edit or command."""
    trials = [t for s in scope.settings if not promises.is_read_only_load(s) for t in s.trials]
    if not trials:
        return
    if not any(t.state.valid or t.state.invalid or t.image for t in trials):
        edit = f'add {{ name = "aged", {AGED_SHARES} }} to states'
        yield AGED_FLASH, scope.naming.format_study_edit("[matrix]", edit)
    if not any(t.own_board or t.chip.faults for t in trials):
        yield FAILING_CHIP, scope.naming.faults_command
