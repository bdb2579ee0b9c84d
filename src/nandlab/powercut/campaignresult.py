# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign found, from its folder: operations, points, classes with their first point."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab.base.errors import UsageError
from nandlab.powercut import campaignfolder, pointcounts, samplefile
from nandlab.powercut.pointcounts import PointCounts
from nandlab.results.cutsummaries import TWO_NAMES_CLASS, UNSTABLE_SUFFIX, CutSummary

FAULT_PROGRAM = "faultcheck"
"""The board's program of faults."""
VERDICT_VARIES = "another verdict again"
RECOVERY_MARK = " recovery "
"""Of a point's name, before what was cut of the recovery after it."""
CONTRADICTION = "the load contradicts its oracle"
ERRORS = ("unmountable", "unreadable", "not writable")
LETTERS = {
    samplefile.POINT_HELD: ".",
    "unmountable": "M",
    "lost": "L",
    "wrong content": "W",
    "stale bytes": "S",
    "another second mount": "D",
    "unreadable": "E",
    "resurrected": "R",
    "unknown name": "U",
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
    point: str
    """operation:variant:seed there."""
    what: str


@dataclass
class CampaignResult:
    """All that a campaign's folder has."""

    head: dict[str, Any]
    done: int = 0
    """Pieces that are done."""
    points: int = 0
    recovery_points: int = 0
    second_points: int = 0
    held: int = 0
    cpu_s: float = 0
    cut: dict[str, int] = field(default_factory=dict)
    """Operations of each load that were cut, by its title."""
    recorded: dict[str, int] = field(default_factory=dict)
    """Operations that each load has."""
    recordings: dict[str, set[str]] = field(default_factory=dict)
    """Digests of each load's recordings: each piece makes one."""
    refused: dict[str, str] = field(default_factory=dict)
    """Loads that the file system does not take, and why."""
    classes: dict[str, FindingClass] = field(default_factory=dict)
    outcomes: dict[str, dict[str, str]] = field(default_factory=dict)
    """A letter for each operation, by load and variant."""
    kinds: dict[str, str] = field(default_factory=dict)
    """A letter for what each operation is, by load: p program, o of spare bytes, e erase, b mark"""
    counted: dict[str, PointCounts] = field(default_factory=dict)
    """What its points are, by load, where that was counted."""

    @property
    def whole(self) -> bool:
        return bool(self.done == self.head["pieces"])

    @property
    def faulty(self) -> bool:
        """Whether the chip failed, instead of its power."""
        return bool(self.head.get("program") == FAULT_PROGRAM)

    @property
    def nothing(self) -> bool:
        """Whether no load has a flash operation, so that there was nothing to try."""
        return self.whole and not any(self.recorded.values()) and not self.classes

    @property
    def in_brief(self) -> str:
        """How much was tried, and how much of it did not hold, unstable cells apart."""
        cut, recorded = sum(self.cut.values()), sum(self.recorded.values())
        at = f"at {cut:,} of {recorded:,} flash operations"
        where = f"in {len(self.recorded):,} loads" if self.faulty else at
        unstable = sum(c.count for c in self.faults if c.name.endswith(UNSTABLE_SUFFIX))
        bad = sum(c.count for c in self.faults) - unstable
        more = f", {unstable:,} more with unstable cells" if unstable else ""
        return f"{self.points:,} points {where}: {bad:,} did not hold{more}"

    @property
    def faults(self) -> list[FindingClass]:
        """The classes that nothing excuses."""
        return [each for name, each in self.classes.items() if not name.endswith(READ_ERROR_SUFFIX)]

    def again(self, one: FindingClass) -> str:
        """The command that repeats a class's first point alone on a fresh board."""
        head = self.head
        verb = "faults" if self.faulty else "powercut"
        words = ["nandlab", verb, "--fs", head["filesystem"], "--load", head["load"]]
        words += ["--chip", head["chip"], "--partition-mib", f"{head['partition_mib']:g}"]
        words += ["--board", head["board"]]
        for option in head["changed"].items():
            words += ["--set", "=".join(option)]
        if bad := head.get("points", {}).get("bad"):
            words += ["--bad-blocks", ",".join(map(str, bad))]
        words += ["--title", one.load, "--point", one.point.split()[0]]
        if RECOVERY_MARK in one.point:
            words += ["--recovery"]
        if one.name.startswith(VERDICT_VARIES):
            words += ["--repeat", str(head["points"]["repeat"])]
        return shlex.join(words)


def read_campaign_result(out: Path) -> CampaignResult:
    """What is in a campaign's folder; UsageError if it is none."""
    found = CampaignResult(campaignfolder.read_campaign_head(out))
    for told in campaignfolder.read_pieces(out):
        found.done += 1
        found.cpu_s += told["cpu_s"]
        for load in told["loads"]:
            _add_load(found, load)
    found.counted = pointcounts.read_point_counts(out)
    for one, name, what in samplefile.list_sample_findings(out):
        point = {"class": name, "count": 1, "first": one.point, "what": what}
        _count_finding(found, one.load, point)
    return found


def summarize_campaigns(folder: Path) -> list[CutSummary]:
    """The campaigns of a folder in numbers."""
    return [
        _summarize_result(read_campaign_result(path.parent))
        for path in sorted(folder.glob(f"*/{campaignfolder.HEAD}"))
    ]


def _summarize_result(found: CampaignResult) -> CutSummary:
    head = found.head
    points = head.get("points", {})
    seed = points.get("seed", 1)
    grave = {each.name for each in found.faults if not each.name.endswith(UNSTABLE_SUFFIX)}
    return CutSummary(
        **{name: head[name] for name in ("filesystem", "chip", "kernel", "load")},
        options=head.get("options", {}),
        faulty=found.faulty,
        variants=list(points.get("variants", ())),
        seeds=list(range(seed, seed + points.get("seeds", 1))),
        pieces=head.get("pieces", 0),
        done=found.done,
        operations=sum(found.recorded.values()),
        cut=sum(found.cut.values()),
        points=found.points,
        distinct=pointcounts.count_distinct_states(found.counted)
        if _has_all_counts(found)
        else None,
        unphysical=_sum_counts(found, "unphysical") if _has_all_counts(found) else None,
        excused={n: c.count for n, c in found.classes.items() if n not in grave},
        lost={n: c.count for n, c in found.classes.items() if n in grave},
        first={n: f"{c.load}: {c.point}" for n, c in found.classes.items()},
    )


def _add_load(found: CampaignResult, load: dict[str, Any]) -> None:
    title = load["load"]
    if "refused" in load:
        found.refused[title] = load["refused"]
        return
    found.points += load.get("points", 0)
    found.recovery_points += load.get("recovery_points", 0)
    found.second_points += load.get("second_points", 0)
    found.held += load.get("held", 0)
    for told in load.get("findings", ()):
        for one in _split_unstable_findings(told, load.get("outcomes", {})):
            _count_finding(found, title, one)
    if "operations" not in load:
        return
    _add_contradiction(found, load)
    found.recorded[title] = load["operations"]
    found.kinds[title] = load.get("kinds", "")
    found.recordings.setdefault(title, set()).add(load.get("recording", ""))
    mine = found.outcomes.setdefault(title, {})
    for variant, letters in load.get("outcomes", {}).items():
        mine[variant] = _merge_outcomes(title, mine.get(variant, " " * len(letters)), letters)
    found.cut[title] = sum(
        any(letters[k] != " " for letters in mine.values()) for k in range(load["operations"])
    )


def _split_unstable_findings(
    told: dict[str, Any], outcomes: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """A load's findings of a class, which the board tells together by their first point: those of
    unstable cells, and the others, as many as the outcomes have letters."""
    letter = LETTERS.get(told["class"], "?")
    seen = [(k, v) for v, letters in outcomes.items() for k, c in enumerate(letters) if c == letter]
    unstable = [f"{k}:{v}" for k, v in seen if v == "unstable"]
    others = [f"{k}:{v}" for k, v in sorted(seen) if v != "unstable"]
    if not unstable or not others:
        yield told
        return
    seed = told["first"].split()[0].rpartition(":")[2]
    counts = len(unstable), told["count"] - len(unstable)
    for points, count in zip((unstable, others), counts, strict=True):
        first = f"{points[0]}:{seed}"
        yield told | {"count": count, "first": first}


def _add_contradiction(found: CampaignResult, load: dict[str, Any]) -> None:
    """A class of its own where a load that no cut disturbs does not leave what its oracle says."""
    whole = load["operations"]
    letter = load.get("outcomes", {}).get("before", "")[whole : whole + 1]
    if found.faulty or letter in ("", " ", LETTERS[samplefile.POINT_HELD]):
        return
    what = "nothing was cut, and what is there is not what the oracle of this load says"
    seed = found.head.get("points", {}).get("seed", 1)
    point = {"class": CONTRADICTION, "count": 1, "first": f"{whole}:before:{seed}", "what": what}
    _count_finding(found, load["load"], point)


def _merge_outcomes(title: str, one: str, other: str) -> str:
    if len(one) != len(other):
        raise UsageError(f"two pieces of {title} have not as many operations: of two campaigns")
    return "".join(b if a == " " else a for a, b in zip(one, other, strict=True))


def _count_finding(found: CampaignResult, title: str, told: dict[str, Any]) -> None:
    point, name = told["first"], _name_finding_class(told)
    if name in found.classes:
        found.classes[name].count += told["count"]
    else:
        found.classes[name] = FindingClass(name, told["count"], title, point, told["what"])


def _name_finding_class(told: dict[str, Any]) -> str:
    """The class, and whether only a chip whose cells are unstable shows it, or an error was told
    of a page that cannot be read."""
    unread = ":beyond:" in told["first"] or ":disturb:" in told["first"]
    if unread and told["class"] in ERRORS:
        return f"{told['class']}{READ_ERROR_SUFFIX}"
    unstable = ":unstable:" in told["first"]
    return f"{told['class']}{UNSTABLE_SUFFIX}" if unstable else str(told["class"])


def _has_all_counts(found: CampaignResult) -> bool:
    return bool(found.recorded) and found.counted.keys() >= found.recorded.keys()


def _sum_counts(found: CampaignResult, name: str) -> int:
    return sum(getattr(each, name) for each in found.counted.values())


def _format_states(found: CampaignResult) -> Iterator[str]:
    """How many points are states of their own, where that was counted."""
    if not found.counted:
        return
    if not _has_all_counts(found):
        yield f"states: counted for {len(found.counted)} of {len(found.recorded)} loads"
    points, every = _sum_counts(found, "points"), pointcounts.count_distinct_states(found.counted)
    apart = sum(len(each.states) for each in found.counted.values())
    yield f"distinct states: {every} of {points} points, {apart} with the load told apart"
    same = sum(c.recording in found.recordings.get(n, ()) for n, c in found.counted.items())
    yield f"recordings: the same where they were counted for {same} of {len(found.counted)} loads"


def _format_unphysical_points(found: CampaignResult) -> Iterator[str]:
    """What the part's data sheet forbids, and the cuts that stand for nothing on such a part."""
    forbids = found.head.get("forbids", {})
    if forbids:
        yield f"{found.head['chip']}'s data sheet forbids: {'; '.join(forbids.values())}"
    if _has_all_counts(found):
        yield _format_forbidden_programs(found)
        return
    apart = sum(kinds.count("o") for kinds in found.kinds.values())
    if found.head.get("nop") == 1 and apart:
        yield (
            f"not physical: cuts at {apart} programs of spare areas apart, which the part forbids; "
            "on another part they are"
        )


def _format_forbidden_programs(found: CampaignResult) -> str:
    """Of how many programs the data sheet forbids, by which of its figures."""
    programs, broken = _sum_counts(found, "programs"), _sum_counts(found, "broken")
    if not broken:
        return f"not physical: none of the loads' {programs} programs is one that the part forbids"
    names = sorted({name for each in found.counted.values() for name in each.forbidden})
    by = {name: sum(c.forbidden.get(name, 0) for c in found.counted.values()) for name in names}
    why = ", ".join(f"{count} by {name}" for name, count in by.items())
    return (
        f"not physical: {_sum_counts(found, 'unphysical')} points, within {broken} of "
        f"{programs} programs "
        f"that the part forbids ({why}); on another part they are"
    )


def format_campaign_result(found: CampaignResult) -> Iterator[str]:
    """What was found, in lines for people."""
    head = found.head
    where = f"{head['filesystem']} on {head['partition_mib']:g} MiB of {head['chip']}"
    yield f"{where}, kernel {head['kernel']}, load {head['load']}"
    if not found.whole:
        yield f"incomplete: {found.done} of {head['pieces']} pieces are done; run it again"
    if bad := head.get("points", {}).get("bad"):
        yield f"bad from the maker: blocks {', '.join(map(str, bad))}"
    if found.faulty:
        kinds = ", ".join(head["points"]["variants"])
        yield f"points: {found.points}, in {len(found.recorded)} loads ({kinds})"
    else:
        cut, recorded = sum(found.cut.values()), sum(found.recorded.values())
        yield f"operations cut: {cut}/{recorded}, in {len(found.recorded)} loads"
        more = f"{found.recovery_points} in the recoveries after them"
        yield f"points: {found.points}, {more}, {found.second_points} in those after these"
    yield f"held: {found.held}"
    same = sum(len(each) == 1 for each in found.recordings.values())
    yield f"recordings: the same in all pieces for {same} of {len(found.recordings)} loads"
    yield from _format_states(found)
    yield "the chip, spare area included: after all points of a load as before them"
    yield from _format_unphysical_points(found)
    if found.refused:
        why = ", ".join(sorted(set(found.refused.values())))
        yield f"loads that it does not take: {len(found.refused)} ({why})"
    if found.nothing:
        yield NOTHING_TRIED
    for one in sorted(found.classes.values(), key=lambda each: -each.count):
        yield f"{one.name}: {one.count}; first: {one.load}: {one.point}: {one.what}"
        yield f"  {found.again(one)}"
