# SPDX-License-Identifier: GPL-2.0-or-later
"""A summary of each campaign of power cuts in a folder, such as that beside a run's trials.

``nandlab powercut`` writes it after each campaign, from the campaign's own folder, which has all of
it. A trial knows the campaigns of its file system, options and chip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_json
from nandlab.base.strings import Line, Word

CUTS_FOLDER = "powercut"
SUMMARY_FILE = "summary.json"
UNSTABLE_SUFFIX = " (unstable cells)"
"""What follows the class of a point at which cells were unstable."""
TWO_NAMES_CLASS = "two names after a rename"
"""A class that breaks no promise: Linux's rename(2) has both names of a file for a while."""
TWO_FOLDERS_CLASS = "two names of a folder"
"""A fault: who removes one of the names loses what was synced under the other."""
METADATA_CLASS = "metadata"
"""Mode, owner, time, an extended attribute, a count of links, or what statfs says."""


class CutSummary(BaseModel):
    """A campaign in numbers."""

    model_config = ConfigDict(frozen=True)

    filesystem: Word
    options: dict[Word, Line]
    chip: Word
    """Its part."""
    kernel: Line
    load: Line
    faulty: bool
    """Whether the chip failed, instead of its power."""
    variants: list[Line] = []
    """Ways to tear an operation, or faults."""
    seeds: list[int] = []
    pieces: int = 0
    done: int = 0
    """Pieces of the campaign that are done."""
    operations: int
    """Flash operations of the loads."""
    cut: int
    """Those at which the power was cut."""
    points: int
    distinct: int | None = None
    """States of the chip that these points are; None: not counted."""
    unphysical: int | None = None
    """Points within programs that the part's data sheet forbids; None: not counted."""
    unstable_points: int | None = None
    """Points at which cells were unstable; None: not counted."""
    excused: dict[Line, int]
    """Points that did not hold by class: of unstable cells, or pages that cannot be read."""
    lost: dict[Line, int]
    """Points that did not hold by class, and nothing excuses."""

    first: dict[Line, Line] = {}
    """Where a class was first seen: its load and its point."""


@dataclass(frozen=True)
class Tally:
    """Campaigns of power cuts on one medium in numbers: how much was tried, what did not hold."""

    loads: tuple[Line, ...]
    operations: int
    """Flash operations of the loads."""
    cut: int
    """Those at which the power was cut."""
    points: int
    failed: dict[Line, int]
    """Points that did not hold by class, and nothing excuses."""
    unstable: dict[Line, int]
    """The same of points that only a chip with unstable cells shows."""
    unstable_points: int | None
    """Points with unstable cells; None: not counted, and points are those of every variant."""
    two_names: int
    """Points with both names of a rename, which breaks no promise."""
    unfinished: int
    """Campaigns that did not come to their end."""
    places: dict[Line, Line]
    """Where the only point of a class was, of the failed ones."""
    has_known_failures: bool
    """Whether it is known how many failed: a campaign came to its end, or one failed."""

    @property
    def stable_points(self) -> int:
        """Points without unstable cells; all, where those with are not counted."""
        return self.points - (self.unstable_points or 0)

    @property
    def text(self) -> str:
        """How many of the points failed, those of unstable cells apart."""
        failed, unstable = sum(self.failed.values()), sum(self.unstable.values())
        more = f", +{unstable:,} unstable" if unstable else ""
        if self.unstable_points:
            more = f", {unstable:,}/{self.unstable_points:,} unstable"
        return f"{failed:,} of {self.stable_points:,} fail{more}"

    def format_tried_points(self, load_operations: int | None = None) -> str:
        """How many points there were, at how many of how many flash operations.

        load_operations: those of the load that the campaign's is a short form of; None: not told.
        """
        sample = load_operations is not None and load_operations > self.operations
        notes = [f"a sample: a trial's load makes {load_operations:,}"] if sample else []
        notes += [f"{self.unfinished} unfinished"] if self.unfinished else []
        loads = "; ".join([", ".join(self.loads), *notes])
        operations_text = f"{self.cut:,} of {self.operations:,} flash operations"
        return f"{self.points:,} points at {operations_text} ({loads})"

    @property
    def outcome(self) -> str:
        """How many points did not hold, each class with its own."""
        failed, unstable = sum(self.failed.values()), sum(self.unstable.values())
        classes = format_class_counts(self.failed, self.places)
        clauses = [f"{failed:,} did not hold: {classes}"] if failed else []
        if unstable:
            classes = format_class_counts(self.unstable)
            total_text = f" of {self.unstable_points:,}" if self.unstable_points else ""
            clauses.append(f"{unstable:,}{total_text} with unstable cells did not hold: {classes}")
        if self.two_names:
            clauses.append(f"{self.two_names:,} had both names of a rename, which is allowed")
        return "; ".join(clauses) or "each held"


def format_class_counts(classes: Mapping[str, int], places: Mapping[str, str] | None = None) -> str:
    """Each class with its points, and with the place of its only one, if that is given."""
    known = places or {}
    return ", ".join(
        f"{name} {n:,}{f' ({known[name]})' if name in known else ''}"
        for name, n in sorted(classes.items())
    )


def _list_places_of_single_points(tried: Iterable[CutSummary]) -> dict[str, str]:
    """Of each class that one campaign saw once: at which flash operation of which load."""
    places_by_class: dict[str, list[str]] = {}
    for campaign in tried:
        for name, n in campaign.lost.items():
            place = _format_first_place(campaign, name) if n == 1 else ""
            places_by_class.setdefault(name, []).append(place)
    return {
        name: places[0]
        for name, places in places_by_class.items()
        if places[1:] == [] and places[0]
    }


def _format_first_place(campaign: CutSummary, name: str) -> str:
    """Where a campaign saw a class first; empty: it does not tell."""
    at = campaign.first.get(name, "").rpartition(": ")[2].partition(":")[0]
    if not at.isdigit():
        return ""
    operation = "the first flash operation" if at == "0" else f"flash operation {int(at) + 1:,}"
    return f"at {operation} of {campaign.load}"


def _sum_known(counts: Sequence[int | None]) -> int | None:
    """The sum; None if a count is not known."""
    known = [n for n in counts if n is not None]
    return sum(known) if len(known) == len(counts) else None


def tally_power_cuts(cuts: Iterable[CutSummary]) -> Tally | None:
    """The campaigns of power cuts that tried anything; None: there is none."""
    tried = [c for c in cuts if not c.faulty and (c.operations or c.lost or c.excused)]
    if not tried:
        return None
    failed, unstable = Counter[str](), Counter[str]()
    for each in tried:
        failed.update(each.lost)
        unstable.update({n.removesuffix(UNSTABLE_SUFFIX): m for n, m in each.excused.items()})
    two_names = failed.pop(TWO_NAMES_CLASS, 0)
    ended = [c.done == c.pieces for c in tried]
    return Tally(
        tuple(dict.fromkeys(c.load for c in tried)),
        sum(c.operations for c in tried),
        sum(c.cut for c in tried),
        sum(c.points for c in tried),
        dict(failed),
        dict(unstable),
        _sum_known([c.unstable_points for c in tried]),
        two_names,
        ended.count(False),
        _list_places_of_single_points(tried),
        any(ended) or bool(failed),
    )


SUMMARY_LIST = TypeAdapter(list[CutSummary])


def read_cut_summaries(run: Path) -> list[CutSummary]:
    """The campaigns beside a run; UsageError if their summary is damaged."""
    path = run / CUTS_FOLDER / SUMMARY_FILE
    if not path.exists():
        return []
    try:
        return SUMMARY_LIST.validate_python(read_json(path))
    except ValidationError:
        raise UsageError(
            f"{path}: damaged: remove it, and run nandlab powercut {run} again"
        ) from None


def write_cut_summaries(folder: Path, cuts: list[CutSummary]) -> None:
    """Keeps the summary of the campaigns in a folder."""
    write_whole_file(folder / SUMMARY_FILE, SUMMARY_LIST.dump_json(cuts, indent=1))
