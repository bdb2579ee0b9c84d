# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign found, from its folder: operations, points, classes with their first point."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.strings import PointName
from nandlab.flash.chip.mishaps import FAULT_PROGRAM, read_fault_kinds, read_tear_ways
from nandlab.powercut import campaignfolder, pointcounts, samplefile
from nandlab.powercut.campaignfolder import UNSTABLE_MOUNTS, CampaignHead, Finding, LoadReport
from nandlab.powercut.pointcounts import PointCounts
from nandlab.results.cutsummaries import (
    METADATA_CLASS,
    TWO_FOLDERS_CLASS,
    TWO_NAMES_CLASS,
    UNSTABLE_SUFFIX,
    CutSummary,
)

VERDICT_VARIES = "another verdict again"
CALL_FAILS = "call fails"
"""A load that could not be played beside a sync; it has no points."""
CONTRADICTION = "the load contradicts its oracle"
ERRORS = ("unmountable", "unreadable", "not writable")
LETTERS = {
    samplefile.POINT_HELD: ".",
    "unmountable": "M",
    "never mounts again": "N",
    "lost": "L",
    "wrong content": "W",
    "stale bytes": "S",
    "another second mount": "D",
    "unreadable": "E",
    "resurrected": "R",
    "unknown name": "U",
    TWO_FOLDERS_CLASS: "F",
    CALL_FAILS: "B",
    METADATA_CLASS: "X",
    TWO_NAMES_CLASS: "2",
    "not writable": "A",
    "kernel warning": "K",
    "check fails": "C",
    VERDICT_VARIES: "V",
}
"""Of outcomes: of what held, and of the classes (device/programs/lib/cuts/verdict.c)."""
CLASSES = {letter: name for name, letter in LETTERS.items()}
"""What each letter of outcomes stands for."""
NOTHING_TRIED = (
    "nothing was tried: no load makes a flash operation, so nothing is known: give a load that the "
    "file system takes, and that writes"
)
READ_ERROR_SUFFIX = " (an error of a page that cannot be read)"
"""Ends the name of a class that is no loss in silence."""


@dataclass
class FindingClass:
    """A kind of finding."""

    name: str
    count: int
    load: str
    """Where it was first seen."""
    point: PointName
    """The first one there."""
    message: str


@dataclass
class CampaignResult:
    """All that a campaign's folder has."""

    head: CampaignHead
    pieces_done: int = 0
    """Pieces that are done."""
    points: int = 0
    unstable_points: int | None = 0
    """Points with unstable cells; None: outcomes of several seeds are one letter."""
    recovery_points: int = 0
    second_points: int = 0
    points_told: int = 0
    """Points of a fault at which a call of the load failed: an error was told."""
    points_read_only: int = 0
    """Points of a fault after which the file system was read-only."""
    struck: dict[str, Counter[str]] = field(default_factory=dict)
    """Of what a kind of fault struck of pages, such as a node's field: points by class."""
    points_held: int = 0
    cpu_s: float = 0
    cut_operations: dict[str, int] = field(default_factory=dict)
    """Operations of each load that were cut, by its title."""
    recorded_operations: dict[str, int] = field(default_factory=dict)
    """Operations that each load has."""
    recordings: dict[str, set[str]] = field(default_factory=dict)
    """Digests of each load's recordings: each piece makes one."""
    refused: dict[str, str] = field(default_factory=dict)
    """Loads that the file system does not take, and why."""
    failed: set[str] = field(default_factory=set)
    """Loads of which a call fails."""
    classes: dict[str, FindingClass] = field(default_factory=dict)
    outcomes: dict[str, dict[str, str]] = field(default_factory=dict)
    """A letter for each operation, by load and variant."""
    kinds: dict[str, str] = field(default_factory=dict)
    """A letter for what each operation is, by load: p program, o of spare bytes, e erase, b mark"""
    point_counts: dict[str, PointCounts] = field(default_factory=dict)
    """What its points are, by load, where that was counted."""

    @property
    def is_complete(self) -> bool:
        return self.pieces_done == self.head.pieces

    @property
    def is_fault_campaign(self) -> bool:
        """Whether the chip failed, instead of its power."""
        return self.head.program == FAULT_PROGRAM

    @property
    def has_no_operations(self) -> bool:
        """Whether no load has a flash operation, so that there was nothing to try."""
        return self.is_complete and not any(self.recorded_operations.values()) and not self.classes

    @property
    def summary(self) -> str:
        """How much was tried, and how much of it did not hold, unstable cells apart."""
        cut, recorded = sum(self.cut_operations.values()), sum(self.recorded_operations.values())
        at = f"at {cut:,} of {recorded:,} flash operations"
        where = f"in {len(self.recorded_operations):,} loads" if self.is_fault_campaign else at
        unstable = sum(c.count for c in self.faults if c.name.endswith(UNSTABLE_SUFFIX))
        bad = sum(c.count for c in self.faults) - unstable
        more = f", {unstable:,} more with unstable cells" if unstable else ""
        return f"{self.points:,} points {where}: {bad:,} did not hold{more}"

    @property
    def faults(self) -> list[FindingClass]:
        """The classes that nothing excuses."""
        return [each for name, each in self.classes.items() if not name.endswith(READ_ERROR_SUFFIX)]

    def format_repeat_command(self, finding_class: FindingClass) -> str:
        """The command that repeats a class's first point alone on a fresh board."""
        head = self.head
        verb = "faults" if self.is_fault_campaign else "powercut"
        words = ["nandlab", verb, "--fs", head.filesystem, "--load", head.load]
        words += ["--chip", head.chip, "--partition-mib", f"{head.partition_mib:g}"]
        words += ["--board", head.board]
        for source in head.sources:
            words += ["--source", source]
        words += ["--patch", "FILE"] if head.patched else []
        for option in head.changed.items():
            words += ["--set", "=".join(option)]
        if head.points.bad:
            words += ["--bad-blocks", ",".join(map(str, head.points.bad))]
        words += ["--title", finding_class.load]
        words += ["--point", f"{finding_class.point.without_recovery}"]
        if finding_class.point.recovery:
            words += ["--recovery"]
        if head.points.mounts != UNSTABLE_MOUNTS and _is_unstable(finding_class.point.variant):
            words += ["--mounts", str(head.points.mounts)]
        if finding_class.name.startswith(VERDICT_VARIES):
            words += ["--repeat", str(head.points.repeat)]
        return shlex.join(words)


def read_campaign_result(out: Path) -> CampaignResult:
    """What is in a campaign's folder; UsageError if it is none."""
    result = CampaignResult(campaignfolder.read_campaign_head(out))
    for piece in campaignfolder.read_campaign_pieces(out):
        result.pieces_done += 1
        result.cpu_s += piece.cpu_s
        for load in piece.loads:
            _add_load(result, load)
    result.point_counts = pointcounts.read_point_counts(out)
    for one, name, what in samplefile.list_sample_disagreements(out):
        _count_finding(result, one.load, Finding(name=name, count=1, first=one.point, what=what))
    return result


def summarize_campaigns(folder: Path) -> list[CutSummary]:
    """The campaigns of a folder in numbers."""
    return [
        _summarize_result(read_campaign_result(path.parent))
        for path in sorted(folder.glob(f"*/{campaignfolder.HEAD}"))
    ]


def _summarize_result(result: CampaignResult) -> CutSummary:
    head = result.head
    points = head.points
    grave = {each.name for each in result.faults if not each.name.endswith(UNSTABLE_SUFFIX)}
    return CutSummary(
        filesystem=head.filesystem,
        chip=head.chip,
        kernel=head.kernel,
        load=head.load,
        options=head.options,
        faulty=result.is_fault_campaign,
        variants=points.variants,
        seeds=list(range(points.seed, points.seed + points.seeds)),
        pieces=head.pieces,
        done=result.pieces_done,
        operations=sum(result.recorded_operations.values()),
        cut=sum(result.cut_operations.values()),
        points=result.points,
        unstable_points=result.unstable_points,
        distinct=pointcounts.count_distinct_states(result.point_counts)
        if _has_all_counts(result)
        else None,
        unphysical=_sum_counts(result, "unphysical") if _has_all_counts(result) else None,
        excused={n: c.count for n, c in result.classes.items() if n not in grave},
        lost={n: c.count for n, c in result.classes.items() if n in grave},
        first={n: f"{c.load}: {c.point}" for n, c in result.classes.items()},
    )


def _add_load(result: CampaignResult, load: LoadReport) -> None:
    title = load.load
    if load.refused is not None:
        result.refused[title] = load.refused
        return
    if any(finding.name == CALL_FAILS for finding in load.findings):
        if title in result.failed:
            return  # each piece of a load records it
        result.failed.add(title)
    result.points += load.points
    counts = {v: len(s) - s.count(" ") for v, s in load.outcomes.items()}
    if result.unstable_points is not None and sum(counts.values()) == load.points:
        result.unstable_points += sum(n for v, n in counts.items() if _is_unstable(v))
    else:
        result.unstable_points = None
    result.recovery_points += load.recovery_points
    result.second_points += load.second_points
    result.points_held += load.held
    for note in load.notes:
        name, _, what = note.partition("\t")
        result.struck.setdefault(what, Counter())[name] += 1
    result.points_told += load.told
    result.points_read_only += load.read_only
    for finding in load.findings:
        for one in _split_unstable_findings(finding, load.outcomes):
            _count_finding(result, title, one)
    if load.operations is None:
        return
    _add_contradiction(result, load, load.operations)
    result.recorded_operations[title] = load.operations
    result.kinds[title] = load.kinds
    result.recordings.setdefault(title, set()).add(load.recording)
    mine = result.outcomes.setdefault(title, {})
    for variant, letters in load.outcomes.items():
        mine[variant] = _merge_outcomes(title, mine.get(variant, " " * len(letters)), letters)
    result.cut_operations[title] = sum(
        any(letters[k] != " " for letters in mine.values()) for k in range(load.operations)
    )


def _is_unstable(variant: str) -> bool:
    """Whether cells are unstable at points of a way to tear, or of a kind of fault (never)."""
    return variant in read_tear_ways() and read_tear_ways()[variant].is_unstable


def _is_unreadable(variant: str) -> bool:
    """Whether a page cannot be read at points of a kind of fault, or of a way to tear (never)."""
    kind = read_fault_kinds().get(variant)
    return kind is not None and kind.is_unreadable


def _split_unstable_findings(finding: Finding, outcomes: dict[str, str]) -> Iterator[Finding]:
    """A load's findings of a class, which the board tells together by their first point: those of
    unstable cells, and the others, as many as the outcomes have letters."""
    letter = LETTERS.get(finding.name, "?")
    seed = finding.point.seed
    points = [
        PointName(k, variant, seed)
        for variant, letters in outcomes.items()
        for k, mark in enumerate(letters)
        if mark == letter
    ]
    unstable = [point for point in points if _is_unstable(point.variant)]
    others = [point for point in points if not _is_unstable(point.variant)]
    if not unstable or not others:
        yield finding
        return
    first = min(others, key=lambda point: (point.operation, point.variant))
    counts = len(unstable), finding.count - len(unstable)
    for point, count in zip((unstable[0], first), counts, strict=True):
        yield finding.model_copy(update={"count": count, "first": f"{point}"})


def _add_contradiction(result: CampaignResult, load: LoadReport, operations: int) -> None:
    """A class of its own where a load that no cut disturbs does not leave what its oracle says."""
    letter = load.outcomes.get("before", "")[operations : operations + 1]
    if result.is_fault_campaign or letter in ("", " ", LETTERS[samplefile.POINT_HELD]):
        return
    what = "nothing was cut, and what is there is not what the oracle of this load says"
    point = PointName(operations, "before", result.head.points.seed)
    finding = Finding(name=CONTRADICTION, count=1, first=f"{point}", what=what)
    _count_finding(result, load.load, finding)


def _merge_outcomes(title: str, one: str, other: str) -> str:
    if len(one) != len(other):
        raise UsageError(f"two pieces of {title} have not as many operations: of two campaigns")
    return "".join(b if a == " " else a for a, b in zip(one, other, strict=True))


def _count_finding(result: CampaignResult, title: str, finding: Finding) -> None:
    name = _name_finding_class(finding)
    if name in result.classes:
        result.classes[name].count += finding.count
    else:
        point = finding.point
        result.classes[name] = FindingClass(name, finding.count, title, point, finding.what)


def _name_finding_class(finding: Finding) -> str:
    """The class, and whether only a chip whose cells are unstable shows it, or an error was told
    of a page that cannot be read."""
    variant = finding.point.variant
    if _is_unreadable(variant) and finding.name in ERRORS:
        return f"{finding.name}{READ_ERROR_SUFFIX}"
    return f"{finding.name}{UNSTABLE_SUFFIX}" if _is_unstable(variant) else finding.name


def _has_all_counts(found: CampaignResult) -> bool:
    return (
        bool(found.recorded_operations)
        and found.point_counts.keys() >= found.recorded_operations.keys()
    )


def _sum_counts(found: CampaignResult, name: str) -> int:
    return sum(getattr(each, name) for each in found.point_counts.values())


def _format_states(result: CampaignResult) -> Iterator[str]:
    """How many points are states of their own, where that was counted."""
    if not result.point_counts:
        return
    if not _has_all_counts(result):
        yield (
            f"states: counted for {len(result.point_counts)} of "
            f"{len(result.recorded_operations)} loads"
        )
    points, distinct_states = (
        _sum_counts(result, "points"),
        pointcounts.count_distinct_states(result.point_counts),
    )
    states_by_load = sum(len(counts.states) for counts in result.point_counts.values())
    yield (
        f"distinct states: {distinct_states} of {points} points, "
        f"{states_by_load} with the load told apart"
    )
    same = sum(c.recording in result.recordings.get(n, ()) for n, c in result.point_counts.items())
    yield (
        f"recordings: the same where they were counted for {same} of "
        f"{len(result.point_counts)} loads"
    )


def _format_unphysical_points(result: CampaignResult) -> Iterator[str]:
    """What the part's data sheet forbids, and the cuts that stand for nothing on such a part."""
    head = result.head
    if head.forbids:
        yield f"{head.chip}'s data sheet forbids: {'; '.join(head.forbids.values())}"
    if _has_all_counts(result):
        yield _format_forbidden_programs(result)
        return
    apart = sum(kinds.count("o") for kinds in result.kinds.values())
    if head.nop == 1 and apart:
        yield (
            f"not physical: cuts at {apart} programs of spare areas apart, which the part forbids; "
            "on another part they are"
        )


def _format_forbidden_programs(result: CampaignResult) -> str:
    """Of how many programs the data sheet forbids, by which of its figures."""
    programs, broken = _sum_counts(result, "programs"), _sum_counts(result, "broken")
    if not broken:
        return f"not physical: none of the loads' {programs} programs is one that the part forbids"
    names = sorted({name for each in result.point_counts.values() for name in each.forbidden})
    by = {
        name: sum(c.forbidden.get(name, 0) for c in result.point_counts.values()) for name in names
    }
    why = ", ".join(f"{count} by {name}" for name, count in by.items())
    return (
        f"not physical: {_sum_counts(result, 'unphysical')} points, within {broken} of "
        f"{programs} programs "
        f"that the part forbids ({why}); on another part they are"
    )


def format_campaign_result(result: CampaignResult) -> Iterator[str]:
    """What was found, in lines for people."""
    head = result.head
    core = f" ({head.core})" if head.core else ""
    where = f"{head.filesystem}{core} on {head.partition_mib:g} MiB of {head.chip}"
    yield f"{where}, kernel {head.kernel}, load {head.load}"
    if not result.is_complete:
        yield f"incomplete: {result.pieces_done} of {head.pieces} pieces are done; run it again"
    if head.points.bad:
        yield f"bad from the maker: blocks {', '.join(map(str, head.points.bad))}"
    if result.is_fault_campaign:
        kinds = ", ".join(head.points.variants)
        yield f"points: {result.points}, in {len(result.recorded_operations)} loads ({kinds})"
        yield (
            f"a call of the load failed: {result.points_told}; "
            f"read-only after it: {result.points_read_only}"
        )
    else:
        cut, recorded = (
            sum(result.cut_operations.values()),
            sum(result.recorded_operations.values()),
        )
        yield f"operations cut: {cut}/{recorded}, in {len(result.recorded_operations)} loads"
        yield (
            f"points: {result.points}, {result.recovery_points} in the recoveries after them, "
            f"{result.second_points} in those after these"
        )
    yield f"held: {result.points_held}"
    for kind, classes in sorted(result.struck.items()):
        yield f"{kind}: {', '.join(f'{n} {name}' for name, n in classes.most_common())}"
    same = sum(len(digests) == 1 for digests in result.recordings.values())
    yield f"recordings: the same in all pieces for {same} of {len(result.recordings)} loads"
    yield from _format_states(result)
    yield "the chip, spare area included: after all points of a load as before them"
    yield from _format_unphysical_points(result)
    if result.refused:
        why = ", ".join(sorted(set(result.refused.values())))
        yield f"loads that it does not take: {len(result.refused)} ({why})"
    if result.has_no_operations:
        yield NOTHING_TRIED
    for finding_class in sorted(result.classes.values(), key=lambda c: -c.count):
        first = f"{finding_class.load}: {finding_class.point}: {finding_class.message}"
        yield f"{finding_class.name}: {finding_class.count}; first: {first}"
        yield f"  {result.format_repeat_command(finding_class)}"
