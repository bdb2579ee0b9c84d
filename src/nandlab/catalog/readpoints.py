# SPDX-License-Identifier: GPL-2.0-or-later
"""The points of the workload ``readbench``: lists as a study has them, expanded for its program.

The grammar is in docs/readbench.md, and is parsed here alone: the board's program reads the
expanded form, a point a line with every column, and knows neither lists nor defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from nandlab.base import amounts
from nandlab.base.errors import UsageError

PATTERNS = {
    "seq": "sequential",
    "sequential": "sequential",
    "backward": "backward",
    "random": "random",
    "random-replace": "random_replace",
    "random-unaligned": "random_unaligned",
}
NUMBERED_PATTERNS = {"stride": 65536, "head": 100}
"""Patterns written with a number, as ``stride=8``, and the greatest of it."""
ACCESS = ("read", "pread", "mmap")
ADVICE = ("none", "normal", "random", "sequential", "willneed")
DROPS = ("1", "3")
REOPEN = "reopen"
"""The word of a point whose file is opened for each request."""
COUNT_MAX = 1_000_000
SIZE_MAX = 16 << 20
PAUSE_US_MAX = 3_600_000_000
POINTS_MAX = 1000
COLUMNS = "name pattern n count size access advice pause_us drop reopen"
NEEDED_PARAMETERS = ("files", "file_bytes", "file_bytes_min", "file_bytes_max")
"""Parameters that a workload with points must have."""

WordLists = dict[str, list[str]]
"""What a point's words may be, by what they are of; lists are crossed."""


@dataclass(frozen=True)
class ReadPoint:
    """Requests of one size after one pattern: a phase of the trial."""

    pattern: str
    n: int
    """Of a stride or a head; else 0."""
    count: int
    """Requests; 0: a head, whose files decide."""
    size: int
    """Bytes of a request."""
    access: str
    advice: str
    pause_us: int
    drop: int
    reopen: int = 0
    """1: the file is opened for each request."""

    @property
    def name(self) -> str:
        """Its phase's name."""
        parts = [
            self.pattern,
            str(self.n) if self.n else "",
            f"{self.count}x{self.size}" if self.count else str(self.size),
            self.access if self.access != "read" else "",
            self.advice if self.advice != "none" else "",
            f"pause_{self.pause_us}" if self.pause_us else "",
            f"drop_{self.drop}" if self.drop != 1 else "",
            "reopen" if self.reopen else "",
        ]
        return "_".join(filter(None, parts))

    @property
    def needs(self) -> int:
        """Bytes that the file must have."""
        if self.pattern == "head":
            return 1
        if self.pattern in ("random_replace", "random_unaligned"):
            return self.size
        return ((self.count - 1) * (self.n or 1) + 1) * self.size

    @property
    def line(self) -> str:
        """Its line in the program's file of points."""
        return " ".join(str(getattr(self, column)) for column in COLUMNS.split())


class FilePool(NamedTuple):
    """The files that are read."""

    files: int
    least: int
    """Bytes of the smallest file."""
    most: int


def check_read_points(text: str) -> str | None:
    """What is wrong with a text of points, with its place; None: nothing."""
    try:
        parse_read_points(text)
    except UsageError as e:
        return str(e)
    return None


def expand_read_points(text: str) -> str:
    """The program's file of points."""
    return "\n".join([f"# {COLUMNS}", *(point.line for point in parse_read_points(text))])


def parse_read_points(text: str) -> list[ReadPoint]:
    """The points in their order, lists crossed; UsageError tells the place of the mistake."""
    places = [p for p in re.split(r"[;\n]", text) if p.strip()]
    points: dict[str, ReadPoint] = {}
    for i, place in enumerate(places, 1):
        try:
            for point in _cross_lists(re.sub(r"\s*,\s*", ",", place).split()):
                if point.name in points:
                    raise UsageError(f"{point.name} is there before: leave it out once")
                points[point.name] = point
                if len(points) > POINTS_MAX:
                    raise UsageError(f"more than {POINTS_MAX} points in all: split the study")
        except UsageError as e:
            raise UsageError(
                f"has a mistake in part {i}, '{' '.join(place.split())}': {e}"
            ) from None
    if not points:
        raise UsageError("has no point: give some, such as 8,16x4K seq; 64x4K random")
    return list(points.values())


def check_points_fit_files(text: str, parameters: Mapping[str, object]) -> list[str]:
    """Which points the files cannot hold, and what is wrong with the files themselves."""
    try:
        pool = make_file_pool(parameters)
    except UsageError as e:
        return [str(e)]
    single = pool.files == 1 and pool.least == pool.most
    mistakes = []
    for point in parse_read_points(text):
        if point.pattern != "head" and not single:
            mistakes.append(
                f"{point.name}: only a head is of a pool: give files = 1 and leave file_bytes_min "
                "and file_bytes_max out"
            )
        elif point.needs > pool.least:
            mistakes.append(
                f"{point.name} needs a file of {point.needs} bytes, and file_bytes is "
                f"{pool.least}: lower its count or size, or raise file_bytes"
            )
    return mistakes


def make_file_pool(parameters: Mapping[str, object]) -> FilePool:
    """The files that a workload's parameters ask for; UsageError if they contradict."""
    files, size, least, most = (int(str(parameters[name])) for name in NEEDED_PARAMETERS)
    if not least and not most:
        return FilePool(files, size, size)
    if not least or not most or least > most:
        raise UsageError(
            f"file_bytes_min {least} and file_bytes_max {most}: give both, the least first, or "
            "leave both out for files of file_bytes"
        )
    return FilePool(files, least, most)


def _cross_lists(words: list[str]) -> Iterator[ReadPoint]:
    """Every point of one part of the text."""
    if len(words) < 2:
        raise UsageError("give COUNTSxSIZES PATTERN, such as 64x4K seq, or SIZES head=PERCENT")
    requests, pattern, *more = words
    patterns = _parse_patterns(pattern)
    counts, lengths = _parse_requests(requests, heads=patterns[0][0] == "head")
    word_lists = _parse_words([word for word in more if word != REOPEN])
    reopen = more.count(REOPEN)
    if reopen > 1:
        raise UsageError(f"{REOPEN} is given twice: leave it out once")
    pauses = [_parse_pause_us(p) for p in word_lists["pause"]]
    ways = product(
        patterns, word_lists["access"], _list_advices(word_lists), pauses, word_lists["drop"]
    )
    for (name, n), access, advice, pause, drop in ways:
        for size, count in product(lengths, counts):
            yield ReadPoint(name, n, count, size, access, advice, pause, int(drop), reopen)


def _parse_patterns(word: str) -> list[tuple[str, int]]:
    """Each pattern of a list, with its number."""
    key, given, numbers = word.partition("=")
    if key in NUMBERED_PATTERNS and given:
        return [
            (key, _parse_whole_number(n, NUMBERED_PATTERNS[key], key)) for n in numbers.split(",")
        ]
    unknown = [p for p in word.split(",") if p not in PATTERNS]
    if unknown:
        there = ", ".join([*PATTERNS, "stride=N", "head=PERCENT"])
        raise UsageError(f"unknown pattern {unknown[0]!r}; there are: {there}")
    return [(PATTERNS[p], 0) for p in word.split(",")]


def _parse_requests(word: str, *, heads: bool) -> tuple[list[int], list[int]]:
    """The counts and the sizes of COUNTSxSIZES."""
    counts, times, lengths = word.replace("X", "x").rpartition("x")
    if heads and times:
        raise UsageError(f"{word!r}: a head's files decide how many requests: give SIZES only")
    if not heads and not times:
        raise UsageError(f"{word!r}: give COUNTSxSIZES without blanks, such as 8,16x4K")
    sizes = [amounts.parse_size(size, "size") for size in lengths.split(",")]
    if max(sizes) > SIZE_MAX:
        raise UsageError(f"size {max(sizes)}: at most {SIZE_MAX} bytes")
    return (
        [0] if heads else [_parse_whole_number(c, COUNT_MAX, "count") for c in counts.split(",")]
    ), sizes


def _parse_words(words: list[str]) -> WordLists:
    """The words behind the pattern, by what they are of, with the defaults of the others."""
    lists: WordLists = {}
    values_by_key = {"fadv": ADVICE, "madv": ADVICE, "drop": DROPS, "pause": None}
    for word in words:
        key, equals, values = word.partition("=")
        if not equals:
            key, values = "access", word
        allowed = ACCESS if key == "access" else values_by_key.get(key, ())
        if allowed == () or (key == "access" and not set(values.split(",")) <= set(ACCESS)):
            choices = ", ".join([*ACCESS, *(f"{k}=" for k in values_by_key), REOPEN])
            raise UsageError(f"unknown word {word!r}; there are: {choices}")
        if key in lists:
            raise UsageError(f"{word!r}: {key} is given twice; give a list, such as drop=1,3")
        lists[key] = values.split(",")
        wrong = [v for v in lists[key] if allowed is not None and v not in allowed]
        if wrong:
            raise UsageError(f"{word!r}: {key} is one of {', '.join(allowed or ())}")
    return {"access": ["read"], "pause": ["0"], "drop": ["1"], **lists}


def _list_advices(lists: WordLists) -> list[str]:
    """The advices, as the program has them: none, fadv_random."""
    if "madv" in lists and "fadv" in lists:
        raise UsageError("fadv and madv together: give them as two parts")
    if "madv" in lists and lists["access"] != ["mmap"]:
        raise UsageError("madv is advice on a map: give mmap as the access")
    key = next((k for k in ("fadv", "madv") if k in lists), "")
    return [f"{key}_{v}" if v != "none" else v for v in lists.get(key, ["none"])]


def _parse_pause_us(word: str) -> int:
    """Whole microseconds of ``1ms``, ``1000us`` or ``0``."""
    if word in ("0", "0us"):
        return 0
    us = amounts.parse_amount(word, "time", "pause") / 1000
    if us != round(us) or us > PAUSE_US_MAX:
        raise UsageError(f"pause {word!r}: give whole us, an hour at most")
    return round(us)


def _parse_whole_number(word: str, most: int, what: str) -> int:
    """A whole number of 1 to ``most``."""
    if not re.fullmatch(r"[0-9]+", word) or not 1 <= int(word) <= most:
        raise UsageError(f"{what} {word!r}: give a whole number of 1 to {most}")
    return int(word)
