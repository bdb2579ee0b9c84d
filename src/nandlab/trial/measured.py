# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload tells of itself: the last line that it prints, one object of JSON.

:func:`read` is the only reader of it. Whatever is wrong there is :class:`Unreadable`, with its
place: a workload is a program on the board, and what it prints may be anything.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from nandlab.catalog.files import mistakes
from nandlab.measure.instrument import Unreadable
from nandlab.results import format1
from nandlab.results.record import (
    Count,
    Counts,
    EraseSpread,
    Latency,
    PerBlock,
    Phase,
    Series,
    Shares,
)

T = TypeVar("T")
MISTAKES_TOLD = 3


class _Told(BaseModel):
    """Members that nandlab has no use for are left aside."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _State(_Told):
    obtained: Shares | None = None


class Measured(_Told):
    """What a workload may tell, all of it by choice: docs/workloads.md."""

    phases: list[Phase] = []
    operations: dict[str, Count] = {}
    bytes: dict[str, Count] = {}
    latency_ns: dict[str, Latency | None] = {}
    figures: dict[str, int | float] = {}
    texts: dict[str, str] = {}
    series: list[Series] = []
    open_ended: bool = False
    erases_per_block: EraseSpread | None = None
    per_block: PerBlock | None = None
    state: _State = _State()
    warnings: list[str] = []

    @property
    def obtained(self) -> Shares | None:
        """What the chip held when the phases that count began."""
        return self.state.obtained

    def fields(self) -> dict[str, Any]:
        """As fields of a result."""
        return {k: getattr(self, k) for k in type(self).model_fields if k not in OTHERWISE}

    def called(self, prefix: str) -> Measured:
        """The same, each name of its own after a prefix: two programs may use one name."""

        def named(told: dict[str, T]) -> dict[str, T]:
            return {f"{prefix}_{name}": value for name, value in told.items()}

        def name(of: str) -> dict[str, str]:
            return {"name": f"{prefix}_{of}"}

        own = ("figures", "texts", "latency_ns", "operations")
        phases = [p.model_copy(update=name(p.name)) for p in self.phases]
        series = [s.model_copy(update=name(s.name)) for s in self.series]
        more = {key: named(getattr(self, key)) for key in own}
        return self.model_copy(update={"phases": phases, "series": series, **more})

    def with_(self, more: Measured) -> Measured:
        """Both together; bytes add up, wear per block is the later one's."""
        ways = {**self.bytes, **more.bytes}
        moved = {way: self.bytes.get(way, 0) + more.bytes.get(way, 0) for way in ways}
        own = ("figures", "texts", "latency_ns", "operations")
        both = {key: {**getattr(self, key), **getattr(more, key)} for key in own}
        series = [*self.series, *more.series]
        return more.model_copy(update={"bytes": moved, "series": series, **both})

    @property
    def nothing(self) -> bool:
        """Whether no figure can be had from it."""
        return not (self.phases or self.figures or self.series or self.latency_ns)


OTHERWISE = ("state", "warnings")
"""Members that a result has in another place."""


class _Flash(_Told):
    phases: dict[str, Counts | None]
    sync: dict[str, Counts | None]
    erases_per_block: EraseSpread | None
    per_block: PerBlock | None


class _Load(_Told):
    """A load in phases as FFSMark prints it: docs/ffsmark.md."""

    phase_ns: dict[str, Count | None]
    sync_ns: dict[str, Count | None]
    ops: dict[str, dict[str, Count]]
    bytes: dict[str, Count]
    latency_ns: dict[str, Latency | None]
    flash: _Flash | None
    state: _State = _State()
    warnings: list[str]

    def measured(self) -> Measured:
        told = self.model_dump()
        flash = told.pop("flash") or {}
        told |= {"flash": flash.get("phases"), "flash_sync": flash.get("sync")}
        blocks = {key: flash.get(key) for key in ("erases_per_block", "per_block")}
        more = {**blocks, "state": told["state"], "warnings": self.warnings}
        return Measured.model_validate({**format1.fields(told), **more})


class _Round(_Told):
    t_ns: Count
    bytes_written: Count
    programs: Count
    erases: Count
    dead_blocks: Count


class _Life(_Told):
    """Rounds of a load until it failed, as the program lifetime prints them."""

    rounds: list[_Round]
    end: _Round
    gave_up: str | None
    per_block: PerBlock
    warnings: list[str]

    def measured(self) -> Measured:
        told = self.model_dump()
        more = {"per_block": told["per_block"], "warnings": self.warnings}
        return Measured.model_validate({**format1.life(told), **more})


class _Settled(_Told):
    settled: bool


M = TypeVar("M", bound=_Told)


def read(printed: str) -> Measured:
    """The result of a workload, by all that it printed; Unreadable if there is none."""
    line = _last_line(printed)
    told = _object(line)
    if "rounds" in told:
        return _as(_Life, line).measured()
    if "phase_ns" in told:
        return _as(_Load, line).measured()
    found = _as(Measured, line)
    if found.nothing:
        raise Unreadable("it has no phases, figures, series or latencies")
    return found


def settled(printed: str) -> bool:
    """Whether the chip came to rest, by what settle printed; Unreadable if it does not say."""
    return _as(_Settled, _last_line(printed)).settled


def _last_line(printed: str) -> bytes:
    """As it was printed, but for what is no UTF-8 and so cannot stand in JSON."""
    line = printed.rstrip("\n").rpartition("\n")[2]
    text = line.encode(errors="surrogateescape").decode(errors="replace")
    return text.encode()


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = from_json(line)
    except ValueError as e:
        shown = line[:40].decode(errors="replace")
        raise Unreadable(f"the last line is not JSON: {e}: {shown!r}") from None
    if not isinstance(found, dict):
        raise Unreadable(f"the last line is {type(found).__name__}, not an object of JSON")
    return found


def _as(model: type[M], line: bytes) -> M:
    """Strictly: a text is no number, a number no text."""
    try:
        return model.model_validate_json(line, strict=True)
    except ValidationError as e:
        wrong = mistakes(e)
        more = [f"and {len(wrong) - MISTAKES_TOLD} more"] if len(wrong) > MISTAKES_TOLD else []
        raise Unreadable("; ".join([*wrong[:MISTAKES_TOLD], *more])) from None
