# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials in groups: a setting holds the configurations that may be compared.

Setting: one workload with its parameters on one chip with its faults. Subject: a file system with
its options. Ensemble: a subject in one state, all its seeds and phase offsets. A state is that of
the flash, with the values of parameters that are circumstances: a product meets all of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nandlab.analysis.figures import members, workloadwords
from nandlab.analysis.figures.figure import Figure, FigureReader
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.spread import Spread, compute_spread, compute_spread_with_lower_bounds
from nandlab.analysis.figures.workloadwords import Words
from nandlab.results.record import Trial
from nandlab.results.recordparts import TrialChip

PARAMETER_LETTERS_MAX = 48
"""Letters of a parameter in a title."""


class StateKey(NamedTuple):
    """A flash state as the study asks for it, and the circumstance that a trial was run in."""

    name: str
    valid: float
    invalid: float
    mix: float
    of: str = "chip"
    circumstance: str = ""


@dataclass(frozen=True)
class Ensemble:
    """The trials of one configuration, failed ones included."""

    subject: str
    """File system and the options in which it differs from others of its kind in this setting."""
    state: str
    """Its flash state and circumstance, as far as those of the setting differ."""
    reference: bool
    """Whether the state asked for neither valid nor invalid data."""
    trials: tuple[Trial, ...]
    circumstance: str = ""
    """``before=work``: the parameters that are circumstances; empty: the workload has none."""

    @property
    def first(self) -> Trial:
        return self.trials[0]

    @cached_property
    def ok(self) -> tuple[Trial, ...]:
        """Those that ended well; of those that are one trial the first."""
        return tuple(members.list_distinct_trials(t for t in self.trials if t.ok))

    @property
    def failed(self) -> int:
        """How many did not end well."""
        return sum(not t.ok for t in self.trials)

    @property
    def alike(self) -> int:
        """How many are one trial with an earlier one, and tell nothing."""
        return len(self.trials) - self.failed - len(self.ok)

    def spread(self, figure: Figure) -> Spread | None:
        """Spread of a figure over the trials that ended well."""
        if figure not in self._spreads:
            self._spreads[figure] = self.compute_spread(figure.compute, figure.open_ended)
        return self._spreads[figure]

    def compute_spread(self, read: FigureReader, open_ended: bool) -> Spread | None:
        """The same of a figure that is read so, which is not kept.

        open_ended: whether it is a lower bound for a trial whose load was stopped early.
        """
        if open_ended:
            return compute_spread_with_lower_bounds((read(t), t.open_ended) for t in self.ok)
        return compute_spread(read(t) for t in self.ok)

    @cached_property
    def _spreads(self) -> dict[Figure, Spread | None]:
        """Those that were asked for, by figure: tables and sentences ask for the same ones."""
        return {}

    @property
    def label(self) -> str:
        return f"{self.subject}, {self.state}"


@dataclass(frozen=True)
class Setting:
    """One workload on one chip, and every ensemble measured there."""

    slug: str
    title: str
    workload: str
    chip: TrialChip
    words: Words
    ensembles: tuple[Ensemble, ...]

    def figure(self, name: str) -> Figure:
        """A figure of the registry, in the words of this workload."""
        if name not in self._figures:
            self._figures[name] = find_workload_figure(name, self.words)
        return self._figures[name]

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        """Those that were asked for, by name."""
        return {}

    @property
    def headline(self) -> Figure:
        """What subjects are ranked and advised by."""
        return self.figure(self.words.headline.figure)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(t for e in self.ensembles for t in e.trials)

    def has_measurements(self, instrument: str) -> bool:
        """Whether an instrument measured anything here."""
        return any(instrument in t.measured for t in self.trials)

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.state for e in self.ensembles))

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.subject for e in self.ensembles))

    def find(self, subject: str, state: str) -> Ensemble | None:
        found = (e for e in self.ensembles if (e.subject, e.state) == (subject, state))
        return next(found, None)

    def find_reference(self, ensemble: Ensemble) -> Ensemble | None:
        """The same subject in the same circumstance, in the state that asked for no data."""
        place = (ensemble.subject, ensemble.circumstance)
        references = (
            e for e in self.ensembles if e.reference and (e.subject, e.circumstance) == place
        )
        return next(references, None)


def group_trials_into_settings(trials: Iterable[Trial]) -> list[Setting]:
    """Settings and their subjects in the order of the plan, states by how much they hold.

    A member whose RAM was measured in a trial apart is one trial.
    """
    by_setting: dict[tuple[str, ...], list[Trial]] = {}
    for trial in members.join_memory_trials(trials):
        by_setting.setdefault(_make_setting_key(trial), []).append(trial)
    titles = _make_setting_titles([setting_trials[0] for setting_trials in by_setting.values()])
    slugs: dict[str, int] = {}
    settings = []
    for title, setting_trials in zip(titles, by_setting.values(), strict=True):
        first = setting_trials[0]
        slug = "".join(c if c.isalnum() else "-" for c in first.workload.lower())
        slugs[slug] = slugs.get(slug, 0) + 1
        slug = slug if slugs[slug] == 1 else f"{slug}-{slugs[slug]}"
        settings.append(
            Setting(
                slug,
                title,
                first.workload,
                first.chip,
                workloadwords.make_workload_words_for_trials(setting_trials),
                _make_ensembles(setting_trials),
            )
        )
    return settings


def _make_setting_key(trial: Trial) -> tuple[str, ...]:
    chip = trial.chip
    geometry = f"{chip.partition_mib:g} {chip.blocks} {chip.pages_per_block} {chip.writesize}"
    faults = json.dumps(chip.faults, sort_keys=True)
    return (
        trial.workload,
        json.dumps(_drop_circumstances(trial), sort_keys=True),
        chip.part,
        geometry,
        chip.latency,
        faults,
        chip.spinand.text if chip.spinand else "",
        chip.layout,
    )


def _list_circumstances(trial: Trial) -> list[str]:
    """The names of a trial's parameters that are circumstances; a run of another nandlab may have
    other words for them, and then has none."""
    declared = trial.find_source("workload").get("parameters")
    entries = declared.items() if isinstance(declared, dict) else ()
    return [k for k, entry in entries if isinstance(entry, dict) and entry.get("circumstance")]


def _drop_circumstances(trial: Trial) -> dict[str, object]:
    """A trial's parameters that tell settings apart."""
    circumstances = _list_circumstances(trial)
    return {k: v for k, v in trial.parameters.items() if k not in circumstances}


def _format_circumstance(trial: Trial) -> str:
    """``before=work``; empty: its workload has no circumstance."""
    names = (name for name in sorted(_list_circumstances(trial)) if name in trial.parameters)
    return ", ".join(f"{name}={trial.parameters[name]}" for name in names)


def _make_setting_titles(firsts: list[Trial]) -> list[str]:
    """Workload, chip, its faults; and the parameters that vary among settings of one workload."""
    short = [_make_setting_title(t, firsts, shorten_parameter_text) for t in firsts]
    return [
        title if short.count(title) == 1 else _make_setting_title(trial, firsts, str)
        for title, trial in zip(short, firsts, strict=True)
    ]


def _make_setting_title(trial: Trial, firsts: list[Trial], form: Callable[[str], str]) -> str:
    alike = [_drop_circumstances(t) for t in firsts if t.workload == trial.workload]
    varying = [form(text) for text in _list_varying_items(_drop_circumstances(trial), alike)]
    note = f" ({', '.join(varying)})" if varying else ""
    return f"{trial.workload}{note} on {', '.join(_describe_chip(trial.chip))}"


def shorten_parameter_text(text: str) -> str:
    """A parameter as a title has it: a list of points is long."""
    return text if len(text) <= PARAMETER_LETTERS_MAX else f"{text[: PARAMETER_LETTERS_MAX - 1]}…"


def _describe_chip(chip: TrialChip) -> list[str]:
    slow = ["maximum latencies"] if chip.latency == "maximum" else []
    bus = [f"spinand, {chip.spinand.text}"] if chip.spinand else []
    layout = [chip.layout] if chip.layout else []
    words = [*slow, *bus, *layout, *_describe_faults(chip.faults)]
    return [chip.part, f"{chip.partition_mib:g} MiB", *words]


def _describe_faults(faults: dict[str, int]) -> list[str]:
    """``endurance 50 ± 20 %`` first, every other one as ``key=value``."""
    endurance, around = faults.get("endurance"), faults.get("endurance_spread")
    joint = {"endurance", "endurance_spread"} if endurance else set()
    others = [f"{k}={v}" for k, v in sorted(faults.items()) if k not in joint]
    if not endurance:
        return others
    return [f"endurance {endurance} ± {around} %" if around else f"endurance {endurance}", *others]


def _list_varying_items(
    own: dict[str, object], alike: list[dict[str, object]] | list[dict[str, str]]
) -> list[str]:
    """``key=value`` for each key of own that another one lacks or has with another value."""
    return [f"{k}={v}" for k, v in sorted(own.items()) if any(o.get(k) != v for o in alike)]


def _make_ensembles(trials: list[Trial]) -> tuple[Ensemble, ...]:
    option_sets = _collect_option_sets(trials)
    trials_by_key: dict[tuple[str, StateKey], list[Trial]] = {}
    for trial in trials:
        subject = _make_subject_name(trial, option_sets[trial.filesystem])
        trials_by_key.setdefault((subject, _make_state_key(trial)), []).append(trial)
    subjects = list(dict.fromkeys(subject for subject, _ in trials_by_key))
    names = _name_states([key for _, key in trials_by_key])

    def find_place(member: tuple[str, StateKey]) -> tuple[int, float, str]:
        subject, state = member
        return subjects.index(subject), state.valid + state.invalid, names[state]

    return tuple(
        Ensemble(
            subject,
            names[state],
            _holds_nothing(state),
            tuple(trials_by_key[subject, state]),
            state.circumstance,
        )
        for subject, state in sorted(trials_by_key, key=find_place)
    )


def _collect_option_sets(trials: list[Trial]) -> dict[str, list[dict[str, str]]]:
    """By file system, the options that trials have, each set of them once."""
    found: dict[str, dict[frozenset[tuple[str, str]], dict[str, str]]] = {}
    for trial in trials:
        options = frozenset(trial.options.items())
        found.setdefault(trial.filesystem, {}).setdefault(options, trial.options)
    return {name: [*sets.values()] for name, sets in found.items()}


def _make_subject_name(trial: Trial, alike: list[dict[str, str]]) -> str:
    """``UBIFS compr=none``: only options that vary for this file system are named.

    An image is always named: ``UBIFS from rootfs.nand``.
    alike: the options of its file system's trials.
    """
    begun = f"from {trial.image.name}" if trial.image else ""
    words = [
        trial.filesystem_title,
        begun,
        ", ".join(_list_varying_items(dict(trial.options), alike)),
    ]
    return " ".join(filter(None, words))


def _make_state_key(trial: Trial) -> StateKey:
    state, circumstance = trial.state, _format_circumstance(trial)
    return StateKey(
        state.name, state.valid, state.invalid, state.mix, state.of, circumstance=circumstance
    )


def _name_states(keys: list[StateKey]) -> dict[StateKey, str]:
    """The flash state's own name, with its shares where one name stands for several; where there
    are several circumstances, with its circumstance, or that alone if all begin on like flash."""
    flash_states = {k._replace(circumstance="") for k in keys}
    flash_names = [k.name for k in flash_states]
    several = len({k.circumstance for k in keys}) > 1

    def format_name(key: StateKey) -> str:
        flash = key.name if flash_names.count(key.name) == 1 else _format_state_shares(key)
        if not several:
            return flash
        return f"{flash}, {key.circumstance}" if flash_names[1:] else key.circumstance

    return {key: format_name(key) for key in keys}


def _format_state_shares(k: StateKey) -> str:
    free = " of the free bytes" if k.of == "free" else ""
    return f"{k.name} ({k.valid:g}/{k.invalid:g}/{k.mix:g}{free})"


def _holds_nothing(state: StateKey) -> bool:
    return state.valid == 0 and state.invalid == 0
