# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between two runs, field by field, to the nanosecond.

Trials are matched by id. Two things are left out. One is what depends on the host: ``host`` of a
trial, and any ``host`` in the provenance. The other is the commit of nandlab that began a run: most
commits move no figure, and what does is in the board's parts and the trials' steps. Of the catalog
only what a trial used is compared (used.py). Two runs of one study on one board that repeats give
an empty list, though the catalog have gained options between them.

Of a run that only its figures file is left of, the figures are compared, and the hash of all else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from operator import ne
from typing import Any, Final, NamedTuple

from nandlab.analysis.differences import catalogusage
from nandlab.base.digest import digest_json_value
from nandlab.base.printable import make_printable
from nandlab.results.figuresfile import FailedTrial, select_trial_figures
from nandlab.results.folder import RunFolder
from nandlab.results.record import Origin, Run, Trial

OTHER_PARTS_NOTE: Final = (
    "all figures that the file names are equal, but other parts of the trial differ: counts per "
    "block, series, texts, warnings, the kernel's log, the steps' commands"
)
HOST_FIELD: Final = "host"
ORIGIN_FIELDS: Final = {"run", "origin", "key"}
"""Fields that say where a trial was run, or that follow from its other fields."""
COMPARED_FIELDS: Final = tuple(
    name for name in Trial.model_fields if name not in {*ORIGIN_FIELDS, HOST_FIELD}
)
"""Fields of a trial that are compared."""
LATER_STEP_FIELDS: Final = {"steps": {"__all__": {"register_hits", "usage"}}}
"""Counts that older results lack; a hit more or less would move a time by tR."""
LATER_PHASE_DEFAULTS: Final[dict[str, object]] = {"usage": None, "at": {}}
"""What older results' phases lack, as it is where a workload does not tell it."""

BITS: Final = "bits"
"""Figures that older results lack: wrong bits, which are none unless a study asks for them."""


PLAIN_TYPES: Final = {int, float, str, bool, type(None)}
"""Of values without others in them."""


class _Absent:
    """Stands for a value that one side has and the other lacks; not the same as null."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = _Absent()


class Difference(NamedTuple):
    """One value that is not the same: dotted path from the run, and the value of each side."""

    path: str
    a: object
    b: object
    note: str = ""
    """What a reader must know of it, in words; empty: nothing."""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.path}: {self.a!r} / {self.b!r}{note}"

    def values(self) -> tuple[str, str]:
        """Each side's value in words."""
        return repr(self.a), repr(self.b)


class CountDifferences(NamedTuple):
    """Two lists of as many counts, some of which are not the same.

    A trial has thousands of blocks: no difference of each is made before one asks for it.
    """

    path: str
    a: list[int]
    b: list[int]

    def list_differences(self) -> list[Difference]:
        """Each count that is not the same."""
        make = tuple.__new__  # half the time of the class's own
        return [
            make(Difference, (f"{self.path}.{i}", x, y, ""))
            for i, (x, y) in enumerate(zip(self.a, self.b, strict=True))
            if x != y
        ]

    def format_lines(self) -> list[str]:
        """A line for each of them, with its end, as format_difference_lines() has it."""
        path = make_printable(self.path)
        return [
            f"{path}.{i}: {x} / {y}\n"
            for i, (x, y) in enumerate(zip(self.a, self.b, strict=True))
            if x != y
        ]


class DifferenceCollection(Collection[Difference]):
    """What differs, in order; counts of thousands of blocks are kept as they came."""

    def __init__(self) -> None:
        self.parts: list[Difference | CountDifferences] = []
        self._count = 0

    def add(self, path: str, a: object, b: object) -> None:
        """Adds a value that is not the same."""
        self.parts.append(tuple.__new__(Difference, (path, a, b, "")))
        self._count += 1

    def add_counts(self, path: str, a: list[int], b: list[int]) -> None:
        """Adds those of two lists of as many counts that are not the same."""
        if count := sum(map(ne, a, b)):
            self.parts.append(CountDifferences(path, a, b))
            self._count += count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Difference]:
        for part in self.parts:
            if isinstance(part, CountDifferences):
                yield from part.list_differences()
            else:
                yield part

    def __contains__(self, difference: object) -> bool:
        return difference in list(self)


def format_difference_lines(differences: Iterable[Difference]) -> str:
    """A line for each, as str() has it but for control characters, which are escaped."""
    parts = differences.parts if isinstance(differences, DifferenceCollection) else differences
    lines: list[str] = []
    for part in parts:
        if isinstance(part, CountDifferences):
            lines += part.format_lines()
        else:
            path, a, b, note = part
            line = f"{path}: {a!r} / {b!r} ({note})" if note else f"{path}: {a!r} / {b!r}"
            lines.append(f"{make_printable(line)}\n")
    return "".join(lines)


def compare_runs(run_a: RunFolder, run_b: RunFolder) -> list[Difference]:
    """Everything that differs: the runs' heads, then their trials in the order of a's plan.

    A trial that only one run has finished is one difference, ``trials.<id>``.
    """
    head_a, head_b = run_a.head(), run_b.head()
    found = list(compare_run_heads(head_a, head_b))
    for trial_id in dict.fromkeys([*head_a.trials, *head_b.trials]):
        found += compare_trials(run_a.load(trial_id), run_b.load(trial_id), trial_id)
    return found


def compare_run_heads(a: Run, b: Run) -> Iterator[Difference]:
    """The differences of two runs' heads, but for their trials and the commits that began them."""
    drop = {"trials", "commit"}
    found = list_value_differences(a.model_dump(exclude=drop), b.model_dump(exclude=drop), "run")
    return (d for d in found if not (d.path.startswith("run.spec.") and _is_newer_empty_key(d)))


def _is_newer_empty_key(found: Difference) -> bool:
    """Whether one side lacks a key of a study that is empty on the other: it is newer than that."""
    sides = found.a, found.b
    return ABSENT in sides and any(s is not ABSENT and not s for s in sides)


def compare_trials(
    a: Trial | None, b: Trial | None, trial_id: str, *, has_setup: bool = True
) -> Collection[Difference]:
    """The differences of two trials of one id; None is a trial that has not been run.

    has_setup: whether those of what the two ran with are among them.
    """
    path = f"trials.{trial_id}"
    if a is None and b is None:
        return []
    if a is None or b is None:
        return [Difference(path, _summarize_trial(a), _summarize_trial(b))]
    if are_trials_alike(a, b):
        return []
    a_fields, b_fields = dump_compared_trial_fields(a, b), dump_compared_trial_fields(b, a)
    if has_setup and (a.provenance != b.provenance or a.options != b.options):
        a_fields, b_fields = (
            fields | {"provenance": catalogusage.select_used_catalog_entries(trial)}
            for fields, trial in ((a_fields, a), (b_fields, b))
        )
    return collect_value_differences(a_fields, b_fields, path)


def compare_trial_figures(a: Trial, b: Trial, digests: tuple[str, str]) -> list[Difference]:
    """The differences of the figures of two trials of one id, and else of the digests of all that
    each gave. Of one that failed only how it ended is known.
    """
    path = f"trials.{a.id}"
    if not a.ok or not b.ok:
        return list_value_differences(describe_trial_ending(a), describe_trial_ending(b), path)
    side_figures = [
        {
            k: index_items_by_name(v)
            for k, v in drop_errorless_bits(select_trial_figures(side)).items()
        }
        for side in (a, b)
    ]
    differences = list_value_differences(side_figures[0], side_figures[1], path)
    if not differences and digests[0] != digests[1]:
        return [Difference(f"{path}.sha256", *digests, OTHER_PARTS_NOTE)]
    return differences


def drop_errorless_bits(figures: dict[str, Any]) -> dict[str, Any]:
    """A trial's fields without its figures of wrong bits if all of them are 0."""
    measured = figures["measured"]
    if any(measured.get(BITS, {}).values()):
        return figures
    return figures | {"measured": {k: v for k, v in measured.items() if k != BITS}}


def describe_trial_ending(trial: Trial | FailedTrial) -> dict[str, str | None]:
    """How a trial ended; the rest of a failed one may end where the host noticed."""
    return {"status": trial.status, "error": trial.error}


def compute_trial_digest(trial: Trial) -> str:
    """SHA-256 of all that a trial was asked and gave."""
    return digest_json_value(dump_compared_trial_fields(trial))


def are_trials_alike(a: Trial, b: Trial) -> bool:
    """Whether two trials are the same in all that is compared: most are, and this is quick.

    Only a parameter may be of any type, so only there may 1 be told from True.
    """
    same = all(getattr(a, name) == getattr(b, name) for name in COMPARED_FIELDS)
    return same and repr(a.parameters) == repr(b.parameters)


def dump_compared_trial_fields(trial: Trial, compared_trial: Trial | None = None) -> dict[str, Any]:
    """All that a trial was asked and gave, without the catalog's entries, which have words too.

    compared_trial: options that it lacks may be left out. None: for a hash, which later catalogs
    must give too: all options that do nothing are left out.
    """
    left_out: dict[str, Any] = dict.fromkeys(ORIGIN_FIELDS | {HOST_FIELD, "provenance"}, True)
    fields = drop_errorless_bits(trial.model_dump(exclude=left_out | LATER_STEP_FIELDS))
    fields["phases"] = [
        {
            k: v
            for k, v in p.items()
            if k not in LATER_PHASE_DEFAULTS or v != LATER_PHASE_DEFAULTS[k]
        }
        for p in fields["phases"]
    ]
    # that a mirror had not the locked packages is no figure; which it had is in the board's lock
    fields["warnings"] = [w for w in fields["warnings"] if w["code"] != "not_locked"]
    fields["options"] = catalogusage.select_effective_options(trial, compared_trial)
    return {key: index_items_by_name(value) for key, value in fields.items()}


def index_items_by_name(value: Any) -> Any:
    """A list of things that each have a name of their own as a map; any other value as it is."""
    if not isinstance(value, list) or not all(isinstance(v, dict) and "name" in v for v in value):
        return value
    named = {v["name"]: v for v in value}
    return named if len(named) == len(value) else value


def list_value_differences(a: object, b: object, path: str) -> list[Difference]:
    """Depth first through dictionaries and lists; 1 and True differ, 1 and 1.0 do not."""
    return [*collect_value_differences(a, b, path)]


def collect_value_differences(a: object, b: object, path: str) -> DifferenceCollection:
    """The same, for whoever need not look at each of them."""
    differences = DifferenceCollection()
    _add_value_differences(a, b, path, differences)
    return differences


def _add_value_differences(a: object, b: object, path: str, to: DifferenceCollection) -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a if a.keys() == b.keys() else dict.fromkeys([*a, *b]):
            if key == HOST_FIELD:
                continue
            x, y = a.get(key, ABSENT), b.get(key, ABSENT)
            if not (type(x) is type(y) in PLAIN_TYPES):
                _add_value_differences(x, y, f"{path}.{key}", to)
            elif x != y:  # most are alike: no path is made
                to.add(f"{path}.{key}", x, y)
    elif isinstance(a, list) and isinstance(b, list):
        _add_list_differences(a, b, path, to)
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        to.add(path, a, b)


def _add_list_differences(a: list[Any], b: list[Any], path: str, to: DifferenceCollection) -> None:
    """Counts of thousands of blocks take the short way."""
    if len(a) == len(b) and {*map(type, a)} == {*map(type, b)} == {int}:
        to.add_counts(path, a, b)
        return
    for i, (x, y) in enumerate(zip_longest(a, b, fillvalue=ABSENT)):
        _add_value_differences(x, y, f"{path}.{i}", to)


def _summarize_trial(trial: Trial | None) -> object:
    return ABSENT if trial is None else trial.status


def format_source_runs_of_trials(trials: Iterable[Trial]) -> list[str]:
    """A line for each other run that a run's trials were taken from: how many, and from which."""
    return format_source_runs_of_origins(t.origin for t in trials)


def format_source_runs_of_origins(origins: Iterable[Origin | None]) -> list[str]:
    """The same of the trials' origins."""
    each = Counter((origin.study, origin.run) for origin in origins if origin)
    return [
        f"{n} of its trials were run in {study}, run {run}"
        for (study, run), n in sorted(each.items())
    ]
