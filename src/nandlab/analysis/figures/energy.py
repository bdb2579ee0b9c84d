# SPDX-License-Identifier: GPL-2.0-or-later
"""The energy of a stretch of a trial, by consumer: worked out from counts, no board time.

    E = sum of P(state) x t(state)

*Processor*: cpu_active_mw while it runs, cpu_idle_mw while it idles; while it waits for flash the
one or the other, as the board's flash_wait says. *RAM*: ram_mw, or ram_idle_mw while it idles.
*Chip*: supply x current x time. The time of reads is tR and the bytes over the bus, of programs
likewise, of erases tBERS; what the chip was busy beyond that (commands, addresses, status, spare
areas alone) counts as reading. The rest is standby. docs/energy.md has it all.

What is not known makes its consumer not known, and the total; :func:`format_missing_energy_inputs`
says what to give. A consumer that had no time took nothing, whatever it draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nandlab.analysis.figures import chiptime, powerdraw, timeparts
from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.analysis.figures.timeparts import TrialSpan
from nandlab.catalog.board import Power
from nandlab.results.record import Trial

CONSUMER_TITLES = {
    "cpu": "processor",
    "waiting": "waiting for flash",
    "idle": "processor idle",
    "ram": "RAM",
    "chip.read": "chip, reading",
    "chip.program": "chip, programming",
    "chip.erase": "chip, erasing",
    "chip.standby": "chip, standby",
}
"""What takes energy, each with its title."""
CONSUMERS_OF_SUM = {
    "total": tuple(CONSUMER_TITLES),
    "chip": tuple(c for c in CONSUMER_TITLES if c.startswith("chip.")),
    **{c: (c,) for c in CONSUMER_TITLES},
}
"""What an energy may be of, by name: the consumers that it sums."""
NO_IDLE_TIME = (
    'the processor\'s idle time: let the study have measure = ["cpu"], or take a workload whose '
    "phases tell their usage"
)
NO_CHIP_COUNTS = "the chip's counts"
PER_MILLI = 1e-3
J_PER_MW_NS = 1e-12
"""J of a mW for a ns."""


@dataclass(frozen=True)
class EnergyUse:
    """J of each consumer, null: not known; and what it would take to know it."""

    joules: dict[str, float | None]
    missing_inputs: tuple[str, ...] = ()

    def sum_joules(self, name: str) -> float | None:
        """The J of one of :data:`CONSUMERS_OF_SUM`; None where a part of it is not known."""
        found = [self.joules[c] for c in CONSUMERS_OF_SUM[name]]
        known = [j for j in found if j is not None]
        return sum(known) if len(known) == len(found) else None


def sum_energy_uses(uses: Sequence[EnergyUse]) -> EnergyUse | None:
    """Several stretches as one; None of none."""
    if not uses:
        return None
    joules: dict[str, float | None] = {}
    for consumer in CONSUMER_TITLES:
        amounts = [use.joules[consumer] for use in uses]
        known_amounts = [j for j in amounts if j is not None]
        joules[consumer] = sum(known_amounts) if len(known_amounts) == len(amounts) else None
    return EnergyUse(
        joules, tuple(dict.fromkeys(text for use in uses for text in use.missing_inputs))
    )


@dataclass
class _EnergyBill:
    """Adds up what was spent, and notes what is not known."""

    joules: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(CONSUMER_TITLES))
    unknown: list[str] = field(default_factory=list)

    def add(self, consumer: str, *uses: tuple[float, float | None, str]) -> None:
        """A consumer's uses: ns, mW (None: not known), and the key that would tell the mW."""
        lacking = [key for ns, mw, key in uses if ns > 0 and mw is None]
        self.unknown += lacking
        if not lacking:
            self.joules[consumer] = sum(ns * (mw or 0) * J_PER_MW_NS for ns, mw, _ in uses)


def compute_span_energy(trial: Trial, span: TrialSpan, *, most: bool = False) -> EnergyUse:
    """What a stretch of a trial took. most: by the chip's maximum currents, not the typical."""
    board, of_chip = _EnergyBill(), _EnergyBill()
    power, gaps = powerdraw.find_board_power(trial), []
    found = timeparts.split_span_time(span)
    if found is None:
        gaps.append(NO_IDLE_TIME)
    else:
        _add_board_energy(board, power or Power(sources={}), found)
    if _add_chip_energy(of_chip, trial, span, most) is None:
        gaps.append(NO_CHIP_COUNTS)
    gaps += _format_missing_keys(board.unknown, "power", "boards", powerdraw.find_board_name(trial))
    gaps += _format_missing_keys(of_chip.unknown, "energy", "chips", trial.chip.part)
    of = {c: (of_chip if c.startswith("chip.") else board).joules[c] for c in CONSUMER_TITLES}
    return EnergyUse(of, tuple(gaps))


def _add_board_energy(bill: _EnergyBill, power: Power, parts: timeparts.ProcessorTimeParts) -> None:
    active = (power.cpu_active_mw, "cpu_active_mw")
    idle = (power.cpu_idle_mw, "cpu_idle_mw")
    waits = {"polling": active, "interrupt": idle}
    waiting = waits[power.flash_wait] if power.flash_wait else (None, "flash_wait")
    quiet = power.ram_mw if power.ram_idle_mw is None else power.ram_idle_mw
    bill.add("cpu", (parts.cpu_ns, *active))
    bill.add("waiting", (parts.waiting_ns, *waiting))
    bill.add("idle", (parts.idle_ns, *idle))
    awake = parts.cpu_ns + parts.waiting_ns
    bill.add("ram", (awake, power.ram_mw, "ram_mw"), (parts.idle_ns, quiet, "ram_mw"))


@dataclass(frozen=True)
class ChipStateTimes:
    """What the chip did in a stretch, ns."""

    read: float
    program: float
    erase: float
    standby: float


def compute_span_chip_times(trial: Trial, span: TrialSpan) -> ChipStateTimes | None:
    """By counts and bytes, with the latencies that were simulated; None: not counted.

    Where the bytes were not counted, a page counts as a whole one with its spare area.
    """
    chip: dict[str, Any] = trial.find_source("chip")
    if span.counts is None or "timing" not in chip:
        return None
    g, t, n, u = chip["geometry"], chip["timing"], span.counts, span.usage
    ending = "_max_ns" if trial.chip.latency == "maximum" else "_ns"
    page = g["writesize"] + g["oobsize"]
    out = n.reads * page if u.bytes_read is None else u.bytes_read
    into = n.programs * page if u.bytes_written is None else u.bytes_written
    out_ns, into_ns = chiptime.compute_bus_byte_times(trial)
    read = n.reads * t["t_r" + ending] + out * out_ns
    program = n.programs * t["t_prog" + ending] + into * into_ns
    erase = n.erases * t["t_bers" + ending]
    more = max(0.0, (u.busy_ns or 0) - read - program - erase)
    rest = max(0.0, span.ns - read - program - erase - more)
    return ChipStateTimes(read + more, program, erase, rest)


def _add_chip_energy(
    bill: _EnergyBill, trial: Trial, span: TrialSpan, most: bool
) -> ChipStateTimes | None:
    times = compute_span_chip_times(trial, span)
    if times is None:
        return None
    draw, ending = powerdraw.find_chip_energy_parameters(trial), "_max" if most else ""
    volts = None if draw.supply_mv is None else draw.supply_mv * PER_MILLI
    for what, ns in (("read", times.read), ("program", times.program), ("erase", times.erase)):
        key = f"{what}{ending}_ma"
        bill.add(f"chip.{what}", (ns, *_compute_milliwatts(volts, getattr(draw, key), key)))
    key = f"standby{ending}_ua"
    ua = getattr(draw, key)
    ma = None if ua is None else ua * PER_MILLI
    bill.add("chip.standby", (times.standby, *_compute_milliwatts(volts, ma, key)))
    return times


def _compute_milliwatts(
    volts: float | None, ma: float | None, key: str
) -> tuple[float | None, str]:
    """Power, and the key that it takes to know it."""
    if volts is None:
        return None, "supply_mv" if ma is not None else f"supply_mv, {key}"
    return (None if ma is None else volts * ma), key


def _format_missing_keys(keys: Sequence[str], table: str, kind: str, name: str) -> list[str]:
    """What to add to which file; empty: nothing lacks."""
    flat = dict.fromkeys(k for key in keys for k in key.split(", "))
    where = f"catalog/{kind}/{name}.toml" if name else f"the file of its {kind[:-1]}"
    return [f"{', '.join(flat)} in [{table}] of {where}"] if flat else []


def compute_load_energy(trial: Trial, *, most: bool = False) -> EnergyUse | None:
    """What the load took: :func:`timeparts.load`; None where nothing is known of it."""
    return _compute_maximum_load_energy(trial) if most else _compute_typical_load_energy(trial)


@memoize_by_trial
def _compute_typical_load_energy(trial: Trial) -> EnergyUse | None:
    return sum_energy_uses(
        [compute_span_energy(trial, span) for span in timeparts.list_load_spans(trial)]
    )


@memoize_by_trial
def _compute_maximum_load_energy(trial: Trial) -> EnergyUse | None:
    return sum_energy_uses(
        [compute_span_energy(trial, span, most=True) for span in timeparts.list_load_spans(trial)]
    )


def compute_phases_energy(
    trial: Trial, names: Iterable[str], *, most: bool = False
) -> EnergyUse | None:
    """What these phases took; None where one was not run."""
    spans = [timeparts.make_phase_span(trial.phase(name)) for name in names]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return None
    return sum_energy_uses([compute_span_energy(trial, span, most=most) for span in known])


def is_idle_power_excluded(trial: Trial) -> bool:
    """Whether the energies are above the board's idle power, which is not known."""
    power = powerdraw.find_board_power(trial)
    return power is not None and power.above_idle


def format_missing_energy_inputs(trial: Trial, *, most: bool = False) -> str:
    """What the energy of the load lacks, in a clause; empty: nothing."""
    found = compute_load_energy(trial, most=most)
    return "; ".join((NO_CHIP_COUNTS,) if found is None else found.missing_inputs)
