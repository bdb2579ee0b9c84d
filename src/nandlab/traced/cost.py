# SPDX-License-Identifier: GPL-2.0-or-later
"""What tracing itself cost: a trace's events by kind, each at its measured price.

The prices are in ``catalog/tracer-costs.toml`` and nowhere else; ``bench/tracer_events`` measures
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from nandlab.base.gate import read_toml
from nandlab.base.paths import CATALOG
from nandlab.base.strings import Line, Lines, Word
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel
from nandlab.traced.records import EventType

COSTS_FILE = CATALOG / "tracer-costs.toml"
Probe = Literal["detour", "kretprobe", "kprobe", "hook"]


class EventKind(StrictModel):
    """Events of the same cost."""

    what: Line = Field(description="what the events are, in words for people")
    events: list[Line] = Field(description="types of records")
    by: Lines = Field(description="the known work that it was measured on")

    @model_validator(mode="after")
    def _events_are_there(self) -> EventKind:
        unknown = set(self.events) - {t.name for t in EventType}
        if unknown:
            raise ValueError(f"no such events: {sorted(unknown)}")
        return self


class EventPrice(StrictModel):
    """What an event of a kind costs on a kernel."""

    instructions: int
    probe: Probe = Field(description="the probe that it was seen by; another costs more or less")


class TracingCosts(StrictModel):
    """The catalog's file."""

    kinds: dict[Word, EventKind]
    kernels: dict[Word, dict[Word, EventPrice]] = Field(
        description="by the kernel's series, by kind"
    )

    @model_validator(mode="after")
    def _a_kernel_has_all_kinds(self) -> TracingCosts:
        for kernel, prices in self.kernels.items():
            if set(prices) != set(self.kinds):
                raise ValueError(f"kernels {kernel}: {sorted(set(prices) ^ set(self.kinds))}")
        return self

    def find_kind(self, event: str) -> str | None:
        """The kind of an event; None: it has none."""
        return next((name for name, kind in self.kinds.items() if event in kind.events), None)

    def price(self, kernel: str, event: str, probe: str | None) -> int | None:
        """Instructions of an event; None: not measured. probe None: the one it always has."""
        found = self.kernels.get(kernel, {}).get(self.find_kind(event) or "")
        return found.instructions if found and probe in (found.probe, None) else None


def compute_tracing_cost(
    requests: Iterable[Mapping[str, Any]],
    probes: Mapping[str, str],
    board: Mapping[str, Any],
    trace_ns: int,
) -> dict[str, Any]:
    """What tracing cost, by kind; ``requests`` and ``trace_ns`` are those of a summary.

    board: the identity of the board that was traced. Marks are left out: they are the user's own.
    """
    costs = read_tracing_costs()
    kernel = parse_kernel_series(str(board["kernel"]))
    counts: Counter[tuple[str, int]] = Counter()
    unpriced: Counter[str] = Counter()
    for row in requests:
        event, count = str(row["event"]), int(row["count"])
        kind, price = costs.find_kind(event), costs.price(kernel, event, probes.get(event))
        if kind is not None and price is not None:
            counts[kind, price] += count
        elif event != EventType.MARK.name:
            unpriced[event] += count
    rows = [
        {
            "kind": costs.kinds[kind].what,
            "count": count,
            "instructions_each": price,
            "instructions": count * price,
        }
        for (kind, price), count in sorted(counts.items(), key=lambda c: -c[1] * c[0][1])
    ]
    instructions = sum(count * price for (_, price), count in counts.items())
    ns_each = find_board_instruction_ns(board)
    ns = None if ns_each is None else instructions * ns_each
    return {
        "kernel": kernel,
        "kinds": rows,
        "instructions": instructions,
        "ns": ns,
        "share": round(ns / trace_ns, 6) if ns is not None and trace_ns else None,
        "unpriced": dict(unpriced),
        "source": str(COSTS_FILE.relative_to(CATALOG.parent)),
    }


def find_board_instruction_ns(board: Mapping[str, Any]) -> int | None:
    """Board time of an instruction, ns; None: the board's clock does not count instructions."""
    if board.get("accel") != "tcg":
        return None
    return 1 << int(board["board"]["icount_shift"])


def read_tracing_costs() -> TracingCosts:
    """The file, checked."""
    return validate_data(read_toml(COSTS_FILE), TracingCosts, str(COSTS_FILE))


def parse_kernel_series(kernel: str) -> str:
    """``6.1.0-44-amd64`` is of the series ``6.1``."""
    return ".".join(kernel.split(".")[:2])


def parse_kernel_arch(kernel: str) -> str:
    """``6.1.0-44-armmp`` is a kernel of Debian's architecture armhf, ``6.1.0-44-amd64`` of
    amd64."""
    return "armhf" if kernel.endswith("-armmp") else "amd64"


def parse_probe_kinds(status: str) -> dict[str, str]:
    """How each event is seen, from /proc/tracers/status; one without a probe there is hooked."""
    split = (line.split() for line in status.splitlines())
    return {words[1]: words[3] for words in split if len(words) == 6 and words[0] == "probe"}
