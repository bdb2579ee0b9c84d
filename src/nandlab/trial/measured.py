# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload tells of itself: the last line that it prints, one object of JSON.

:func:`read` is the only reader of it. Whatever is wrong there is :class:`Unreadable`, with its
place: a workload is a program on the board, and what it prints may be anything.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from nandlab.base.errors import NandlabError
from nandlab.catalog.files import mistakes
from nandlab.results.record import (
    Count,
    Counts,
    EraseSpread,
    Latency,
    Lifetime,
    PerBlock,
    Round,
    Shares,
)

MISTAKES_TOLD = 3


class Unreadable(NandlabError):
    """A program's line is not what it should be; says at which place, and why."""


class _Told(BaseModel):
    """Members that nandlab has no use for are left aside."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Flash(_Told):
    phases: dict[str, Counts | None]
    sync: dict[str, Counts | None]
    erases_per_block: EraseSpread | None
    per_block: PerBlock | None


class _State(_Told):
    obtained: Shares | None = None


class Load(_Told):
    """A load in phases, as docs/ffsmark.md has it."""

    phase_ns: dict[str, Count | None]
    sync_ns: dict[str, Count | None]
    ops: dict[str, dict[str, Count]]
    bytes: dict[str, Count]
    latency_ns: dict[str, Latency | None]
    flash: _Flash | None
    state: _State = _State()
    warnings: list[str]

    @property
    def obtained(self) -> Shares | None:
        """What the chip held when the timed phases began."""
        return self.state.obtained

    def figures(self) -> dict[str, Any]:
        """As fields of a result."""
        names = ("phase_ns", "sync_ns", "ops", "bytes", "latency_ns")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.flash:
            found["flash"] = self.flash.phases
            found["flash_sync"] = self.flash.sync
            found["erases_per_block"] = self.flash.erases_per_block
            found["per_block"] = self.flash.per_block
        return found


class Life(_Told):
    """Rounds of a load until it failed."""

    rounds: list[Round]
    end: Round
    gave_up: str | None
    per_block: PerBlock
    warnings: list[str]
    obtained: None = None

    def figures(self) -> dict[str, Any]:
        """As fields of a result."""
        life = Lifetime(rounds=self.rounds, end=self.end, gave_up=self.gave_up)
        return {"lifetime": life, "per_block": self.per_block}


class _Settled(_Told):
    settled: bool


M = TypeVar("M", bound=_Told)


def read(printed: str) -> Load | Life:
    """The result of a workload, by all that it printed; Unreadable if there is none."""
    line = _last_line(printed)
    return _as(Life, line) if "rounds" in _object(line) else _as(Load, line)


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
