# SPDX-License-Identifier: GPL-2.0-or-later
"""Points that were judged in other ways too: alone on a fresh board, and by the host's checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_json_lines
from nandlab.base.strings import FreeText, Line, Point
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel

POINT_HELD = "held"
SAMPLE_FILES = "sample-*.jsonl"
"""In a campaign's folder."""
VERDICT_DIFFERS_ALONE = "another verdict alone"
CHECKERS_DISAGREE = "checkers disagree"
HOST_CHECK_FAILS = "check fails on this machine"
"""Classes of finding: alone a point has another class than among others; the board's program says
another thing than the host's decoders; so one of them is wrong, and no verdict of the campaign is
sure. Or the file system's own check fails, which only this machine can run."""


class SampledPoint(StrictModel):
    """A point, and what each says of it."""

    load: Line
    point: Point
    campaign: Line
    """"held", or the class of finding there."""
    alone: FreeText
    """The same, on a fresh board."""
    host: FreeText
    """"holds", what is wrong, or why the host cannot read it."""
    host_agrees: bool | None
    """None: it cannot read it."""
    same_recording: bool = True
    """Whether the load was recorded alone as in the campaign. UBIFS has the time of day to the ns
    in its nodes, which is another after other loads."""

    check: FreeText = ""
    """What the file system's own check on this machine says is wrong."""

    @property
    def agreed(self) -> bool:
        return not self.findings()

    def findings(self) -> list[tuple[str, str]]:
        """Classes of finding, each with what it is."""
        classes = []
        if self.campaign != self.alone:
            classes.append((VERDICT_DIFFERS_ALONE, f"there: {self.campaign}; alone: {self.alone}"))
        if self.host_agrees is False:
            classes.append((CHECKERS_DISAGREE, f"board: {self.alone}; host: {self.host}"))
        if self.check:
            classes.append((HOST_CHECK_FAILS, self.check))
        return classes


class SampleFile:
    """The file of what was tried, a JSON line each; a line that was cut short is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.points: dict[tuple[str, str], SampledPoint] = {}
        for number, line in enumerate(read_json_lines(path) if path.exists() else (), 1):
            one = _parse_sampled_point(line, f"{path}:{number}")
            self.points[one.load, one.point] = one

    def add(self, one: SampledPoint) -> None:
        """Keeps one more, after all that is whole."""
        self.points[one.load, one.point] = one
        lines = (each.model_dump_json() + "\n" for each in self.points.values())
        write_whole_file(self.path, "".join(lines).encode())


def _parse_sampled_point(told: object, where: str) -> SampledPoint:
    """What a line of the file tells; UsageError if it is damaged, or of an older form."""
    try:
        return validate_data(told, SampledPoint, where)
    except UsageError as e:
        raise UsageError(
            f"{e}\nremove the folder's {SAMPLE_FILES}, and try --sample again"
        ) from None


def list_sample_disagreements(folder: Path) -> Iterator[tuple[SampledPoint, str, str]]:
    """What does not agree of all samples of a campaign: a point, the class, and what it is."""
    points = {}
    for path in sorted(folder.glob(SAMPLE_FILES)):
        points.update(SampleFile(path).points)
    for one in points.values():
        for name, what in one.findings():
            yield one, name, what
