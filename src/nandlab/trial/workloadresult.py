# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload's result: the last line that it prints, one JSON object.

Only :func:`parse_workload_result` reads it. A workload is a program on the board and may print
anything, so each mistake is :class:`UnreadableOutput`, with its place.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json, to_json

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.mistakes import list_validation_mistakes
from nandlab.results.recordparts import (
    Count,
    EraseSpread,
    Latency,
    PageShares,
    PerBlock,
    Phase,
    Series,
)
from nandlab.trial.instruments.instrument import UnreadableOutput

T = TypeVar("T")
MISTAKES_SHOWN = 3


class _PrintedModel(BaseModel):
    """A part of what a program printed; members that nandlab does not know are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _PrintedState(_PrintedModel):
    obtained: PageShares | None = None


class WorkloadResult(_PrintedModel):
    """A workload's result; every member is optional: docs/workloads.md."""

    phases: list[Phase] = []
    operations: dict[Line, Count] = {}
    bytes: dict[Line, Count] = {}
    latency_ns: dict[Line, Latency | None] = {}
    figures: dict[Line, int | float] = {}
    texts: dict[Line, FreeText] = {}
    series: list[Series] = []
    open_ended: bool = False
    erases_per_block: EraseSpread | None = None
    per_block: PerBlock | None = None
    state: _PrintedState = _PrintedState()
    warnings: list[FreeText] = []

    @property
    def obtained(self) -> PageShares | None:
        """The shares that the chip held when the timed phases began."""
        return self.state.obtained

    def fields(self) -> dict[str, Any]:
        """The members as fields of a trial's result, but for :data:`FIELDS_ELSEWHERE`."""
        return {k: getattr(self, k) for k in type(self).model_fields if k not in FIELDS_ELSEWHERE}

    def add_prefix(self, prefix: str) -> WorkloadResult:
        """A copy with a prefix to each name that is its own: two programs may use one name."""

        def named(told: dict[str, T]) -> dict[str, T]:
            return {f"{prefix}_{name}": value for name, value in told.items()}

        def name(of: str) -> dict[str, str]:
            return {"name": f"{prefix}_{of}"}

        own = ("figures", "texts", "latency_ns", "operations")
        phases = [p.model_copy(update=name(p.name)) for p in self.phases]
        series = [s.model_copy(update=name(s.name)) for s in self.series]
        more = {key: named(getattr(self, key)) for key in own}
        return self.model_copy(update={"phases": phases, "series": series, **more})

    def merge_later(self, later: WorkloadResult) -> WorkloadResult:
        """This result and a later one together; bytes add up, wear per block is the last told."""
        directions = {**self.bytes, **later.bytes}
        byte_counts = {way: self.bytes.get(way, 0) + later.bytes.get(way, 0) for way in directions}
        keys = ("figures", "texts", "latency_ns", "operations")
        merged: dict[str, Any] = {
            key: {**getattr(self, key), **getattr(later, key)} for key in keys
        }
        merged["series"] = [*self.series, *later.series]
        wear = {
            key: getattr(later, key) or getattr(self, key)
            for key in ("erases_per_block", "per_block")
        }
        return later.model_copy(update={"bytes": byte_counts, **merged, **wear})

    @property
    def nothing(self) -> bool:
        """Whether it has no figures at all."""
        return not (self.phases or self.figures or self.series or self.latency_ns)


FIELDS_ELSEWHERE = ("state", "warnings")
"""Members that a trial's result has in another place."""


class _SettleResult(_PrintedModel):
    settled: bool


M = TypeVar("M", bound=_PrintedModel)


def parse_workload_result(printed: str) -> WorkloadResult:
    """The result in what a workload printed; UnreadableOutput if there is none."""
    line = _find_last_line(printed)
    _require_object(line)
    found = _parse_line(WorkloadResult, line)
    if found.nothing:
        raise UnreadableOutput("it has no phases, figures, series or latencies")
    return found


def parse_settle_result(printed: str) -> bool:
    """Whether the chip came to rest, as settle printed; UnreadableOutput if it does not say."""
    line = _find_last_line(printed)
    _require_object(line)
    return _parse_line(_SettleResult, line).settled


def _find_last_line(printed: str) -> bytes:
    """The last line; bytes that are not UTF-8, which JSON does not allow, are replaced."""
    line = printed.rstrip("\n").rpartition("\n")[2]
    text = line.encode(errors="surrogateescape").decode(errors="replace")
    return text.encode()


def _require_object(line: bytes) -> None:
    try:
        value = from_json(line)
    except ValueError as e:
        shown = line[:40].decode(errors="replace")
        raise UnreadableOutput(f"the last line is not JSON: {e}: {shown!r}") from None
    if not isinstance(value, dict):
        raise UnreadableOutput(f"the last line is {type(value).__name__}, not an object of JSON")


def _parse_line(model: type[M], line: bytes) -> M:
    """A line as a model, checked strictly: text is not taken for a number, nor the reverse."""
    try:
        return model.model_validate_json(line, strict=True)
    except ValidationError as e:
        told = from_json(line)
        if _drop_nulls(told, e):
            return _parse_line(model, to_json(told))
        wrong = list_validation_mistakes(e, model, told)
        more = [f"and {len(wrong) - MISTAKES_SHOWN} more"] if len(wrong) > MISTAKES_SHOWN else []
        raise UnreadableOutput("; ".join([*wrong[:MISTAKES_SHOWN], *more])) from None


def _drop_nulls(data: Any, error: ValidationError) -> bool:
    """Takes away members that are null where no null may be: what is not known is then missing.

    False if there are none, as where a list has a null in it.
    """
    has_dropped = False
    for e in error.errors(include_url=False):
        node = data if e["input"] is None else None
        for part in e["loc"]:
            if not isinstance(node, dict | list):
                break
            if isinstance(node, dict) and node.get(str(part), node) is None:
                del node[str(part)]
                has_dropped = True
                break
            node = node.get(str(part)) if isinstance(node, dict) else node[int(part)]
    return has_dropped
