# SPDX-License-Identifier: GPL-2.0-or-later
"""How far models hold on a real board's traces, as far as no state of its flash need be known.

Four scores of a load. Each is pure: from the rows of its runs to a model of boardscores.py, which
has what was fitted, on which run, and what is not known. Runs of two tracers are paired in the
order of their names, and bursts in their order; no time of one is set beside a time of another.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.flash.reading import pagecache
from nandlab.flash.reading.boardscores import (
    BoardLoad,
    BurstErrors,
    BurstRun,
    BurstTimes,
    Collector,
    CollectorCounts,
    CollectorRun,
    FlashKind,
    NotScored,
    PageTimes,
    Pauses,
    ReadCalls,
    ReadCallsRun,
)
from nandlab.traced.boardtraces import (
    STEP_S,
    BoardTraces,
    FlashStart,
    FunctionCall,
)

READ_PAGE = "jffs2_readpage"
WRITE_BEGIN = "jffs2_write_begin"
GAP_S = 0.020
"""A pause that is longer begins a burst."""
FLASH_KINDS: tuple[FlashKind, ...] = ("R", "W", "E")
TABLE_US = {"R": 182.66, "W": 413.55, "E": 532.88}
"""The tracing paper's table 1: what an operation takes at the driver, in us."""
PAPER_OVERHEAD_US = 45.06
"""Its table 2: what a call takes beside its flash pages, in us."""
PAGES_OF_A_BLOCK = 64
PAUSES_MIN = 10
"""Of an operation, so many pauses to the next start are needed for its time."""


# Calls of jffs2_readpage that follow from the system calls


def score_read_calls(traces: BoardTraces) -> ReadCalls:
    """Calls of jffs2_readpage foretold from the system calls, run by run, for each choice of the
    cache; the choice that comes nearest on the first run, bursts before totals where totals are
    equal, is scored on the others."""
    pairs = list(zip(traces.calls, traces.functions, strict=False))
    foretold = {
        cache: [pagecache.count_page_reads_per_call(calls.rows, cache) for calls, _ in pairs]
        for cache in pagecache.CACHE_CHOICES
    }
    traced = [[b.calls for b in find_call_bursts(functions.rows)] for _, functions in pairs]
    off = {
        cache: (abs(sum(runs[0]) - sum(traced[0])), runs[0] != traced[0])
        for cache, runs in foretold.items()
    }
    chosen = min(off, key=lambda cache: off[cache])
    runs = [
        ReadCallsRun(
            calls_of=calls.name,
            functions_of=functions.name,
            foretold=sum(foretold_bursts),
            traced=sum(traced_bursts),
            bursts_equal=foretold_bursts == traced_bursts,
            of_choices={cache.words: sum(foretold[cache][i]) for cache in foretold},
            writes_foretold=pagecache.count_page_writes(calls.rows),
            writes_traced=sum(f.function == WRITE_BEGIN for f in functions.rows),
        )
        for i, ((calls, functions), foretold_bursts, traced_bursts) in enumerate(
            zip(pairs, foretold[chosen], traced, strict=True)
        )
    ]
    return ReadCalls(
        fitted=f"one of {len(off)} choices of the cache: {chosen.words}",
        fitted_on=runs[0].calls_of,
        as_good_there=[c.words for c in off if c != chosen and off[c] == off[chosen]],
        scored_on=len(runs) - 1,
        exact=sum(r.foretold == r.traced for r in runs[1:]),
        bursts_exact=sum(r.bursts_equal for r in runs[1:]),
        writes_exact=sum(r.writes_foretold == r.writes_traced for r in runs),
        runs=runs,
        not_paired=abs(len(traces.calls) - len(traces.functions)),
        not_known=[
            "the files' sizes: the least that agrees with the reads",
            f"the kernel: read-ahead as {pagecache.READ_AHEAD_RULE.summary}",
            "what else the kernel dropped from its cache",
        ],
    )


# Time of a burst, given how many flash pages it reads


@dataclass(frozen=True)
class CallBurst:
    """Calls of jffs2_readpage one after the other."""

    calls: int
    us: float
    """Of all of them, without the pauses between."""


@dataclass(frozen=True)
class PagedBurst:
    """The same, with the flash pages that the chip read for it."""

    calls: int
    us: float
    pages: int

    def compute_predicted_us(self, overhead_us: float) -> float:
        """The paper's formula."""
        return self.pages * TABLE_US["R"] + self.calls * overhead_us

    @property
    def impossible(self) -> bool:
        """Whether its pages take longer than all its calls, by more than the clock's steps: some
        of them were read for something else."""
        return self.us + self.calls * STEP_S * 1e6 < self.compute_predicted_us(0)


def find_call_bursts(rows: Sequence[FunctionCall]) -> list[CallBurst]:
    """The bursts of calls of jffs2_readpage, in order."""
    calls = [r for r in rows if r.function == READ_PAGE]
    return [
        CallBurst(len(some), sum(c.end_s - c.start_s for c in some) * 1e6)
        for some in _split_bursts(calls, [(c.start_s, c.end_s) for c in calls])
    ]


def count_burst_pages(rows: Sequence[FlashStart]) -> list[int]:
    """Flash pages of each burst of reads, in order: those of the task that reads the most among the
    tasks that erase nothing, which is the load."""
    collectors = {r.task for r in rows if r.kind == "E"}
    tasks = Counter(r.task for r in rows if r.kind == "R" and r.task not in collectors)
    if not tasks:
        return []
    ((task, _),) = tasks.most_common(1)
    reads = [r for r in rows if r.kind == "R" and r.task == task]
    return [len(some) for some in _split_bursts(reads, [(r.start_s, r.start_s) for r in reads])]


def _split_bursts(rows: Sequence[Any], times: Sequence[tuple[float, float]]) -> list[list[Any]]:
    """Rows in bursts: a new one begins more than :data:`GAP_S` after the end of the row before."""
    bursts: list[list[Any]] = []
    for i, row in enumerate(rows):
        if not i or times[i][0] - times[i - 1][1] > GAP_S:
            bursts.append([])
        bursts[-1].append(row)
    return bursts


def pair_call_and_flash_bursts(
    functions: Sequence[FunctionCall], flash: Sequence[FlashStart]
) -> list[PagedBurst] | None:
    """A run's bursts of calls with the flash pages of each, both from the last one back: what the
    flash has more came before the first call, as a look-up's reads do. None: it has fewer."""
    calls, pages = find_call_bursts(functions), count_burst_pages(flash)
    if not calls or len(pages) < len(calls):
        return None
    last = pages[-len(calls) :]
    return [PagedBurst(c.calls, c.us, n) for c, n in zip(calls, last, strict=True)]


def score_burst_times(traces: BoardTraces) -> BurstTimes | NotScored:
    """T = N x T_page + calls x overhead for each burst of a load that only reads: the overhead is
    that of the first run without an impossible burst, and is scored on all others."""
    if any(c.call == "write" for run in traces.calls for c in run.rows):
        return NotScored(
            not_scored="the load writes, so a flash page may be read by other calls than these"
        )
    pairs = list(zip(traces.functions, traces.flash, strict=False))
    runs = [(a.name, b.name, pair_call_and_flash_bursts(a.rows, b.rows)) for a, b in pairs]
    paired = [(a, b, some) for a, b, some in runs if some is not None]
    if not paired:
        return NotScored(not_scored="no run has as many bursts of flash reads as of calls")
    possible = [run for run in paired if not any(b.impossible for b in run[2])]
    chosen = (possible or paired)[0]
    first, _, fit = chosen
    over = sum(b.us - b.pages * TABLE_US["R"] for b in fit) / sum(b.calls for b in fit)
    scored = [b for run in paired if run is not chosen for b in run[2]]
    everything = [b for _, _, some in paired for b in some]
    return BurstTimes(
        fitted=f"an overhead of {over:.2f} us a call",
        fitted_on=first,
        overhead_us=round(over, 3),
        t_page_us=TABLE_US["R"],
        impossible=sum(b.impossible for b in everything),
        scored_on=len(paired) - 1,
        fitted_overhead=_compute_errors(scored, over),
        paper_overhead=_compute_errors(everything, PAPER_OVERHEAD_US),
        runs=[
            BurstRun(
                functions_of=functions,
                flash_of=flash,
                n=sum(s.pages for s in some),
                calls=sum(s.calls for s in some),
                bursts=len(some),
                measured_us=round(sum(s.us for s in some), 1),
                errors=_compute_errors(some, over),
            )
            for functions, flash, some in paired
        ],
        not_paired=len(traces.functions) + len(traces.flash) - 2 * len(paired),
        not_known=[
            "hits in the NAND core's buffer, which flashmon does not tell",
            "which burst of one tracer is which of the other: taken in order, from the last back",
            f"times within a step of {STEP_S * 1e6:.1f} us a call",
        ],
    )


def _compute_errors(some: Sequence[PagedBurst], overhead_us: float) -> BurstErrors | None:
    """Errors of the times as shares of the traced ones; None of no burst."""
    if not some or not all(b.us for b in some):
        return None
    each = [abs(b.compute_predicted_us(overhead_us) / b.us - 1) for b in some]
    total = sum(b.compute_predicted_us(overhead_us) for b in some) / sum(b.us for b in some) - 1
    return BurstErrors(
        total=round(total, 6), median=round(statistics.median(each), 6), max=round(max(each), 6)
    )


# T_page, as far as starts allow


def score_page_times(traces: BoardTraces) -> PageTimes:
    """From the start of an operation to the same task's next start, beside the paper's table 1.

    The most frequent pause of each kind, in steps of the clock, and the mean of those within a step
    of it: the operation's time and what the software did before the next one. Nothing is fitted.
    """
    steps: dict[str, Counter[int]] = {kind: Counter() for kind in FLASH_KINDS}
    for run in traces.flash:
        for row, following in zip(run.rows, run.rows[1:], strict=False):
            pause = following.start_s - row.start_s
            if row.task == following.task and pause <= GAP_S:
                steps[row.kind][round(pause / STEP_S)] += 1
    return PageTimes(
        fitted=None,
        kinds={kind: _summarise_pauses(steps[kind], TABLE_US[kind]) for kind in FLASH_KINDS},
        not_known=[
            "when an operation ends: a pause is the operation and the software after it",
            f"pauses within a step of {STEP_S * 1e6:.1f} us",
        ],
    )


def _summarise_pauses(steps: Counter[int], table_us: float) -> Pauses:
    if steps.total() < PAUSES_MIN:
        return Pauses(
            pauses=steps.total(),
            mode_us=None,
            us=None,
            near_mode=None,
            too_short=None,
            table_us=table_us,
            off=None,
        )
    mode = max(steps, key=lambda step: (steps[step], -step))
    near = {step: count for step, count in steps.items() if abs(step - mode) <= 1}
    us = sum(step * count for step, count in near.items()) / sum(near.values()) * STEP_S * 1e6
    return Pauses(
        pauses=steps.total(),
        mode_us=round(mode * STEP_S * 1e6, 2),
        us=round(us, 2),
        near_mode=round(sum(near.values()) / steps.total(), 4),
        too_short=sum(n for step, n in steps.items() if (step + 1) * STEP_S * 1e6 < table_us),
        table_us=table_us,
        off=round(us / table_us - 1, 4),
    )


# The collector's reads of erased blocks


def score_garbage_collector(traces: BoardTraces) -> Collector | NotScored:
    """JFFS2 reads each block that it erased, all its pages in order: 64 reads an erase foretold, by
    the tasks that erase. Nothing is fitted."""
    runs = [
        CollectorRun(flash_of=run.name, **dict(_count_collector_reads(run.rows)))
        for run in traces.flash
    ]
    if not any(r.erases for r in runs):
        return NotScored(not_scored="nothing was erased")
    return Collector(
        fitted=None,
        exact=sum(r.foretold == r.traced for r in runs),
        scored_on=len(runs),
        erases=sum(r.erases for r in runs),
        in_order=sum(r.in_order for r in runs),
        foretold=sum(r.foretold for r in runs),
        traced=sum(r.traced for r in runs),
        runs=runs,
        not_known=["how many blocks are erased: the traced erases are taken"],
    )


def _count_collector_reads(rows: Sequence[FlashStart]) -> CollectorCounts:
    by_task: dict[str, list[FlashStart]] = {r.task: [] for r in rows if r.kind == "E"}
    for row in rows:
        if row.task in by_task:
            by_task[row.task].append(row)
    erases = sum(r.kind == "E" for r in rows)
    return CollectorCounts(
        erases=erases,
        in_order=sum(
            _is_block_read(mine, i) for mine in by_task.values() for i in range(len(mine))
        ),
        foretold=erases * PAGES_OF_A_BLOCK,
        traced=sum(r.kind == "R" for mine in by_task.values() for r in mine),
    )


def _is_block_read(rows: Sequence[FlashStart], index: int) -> bool:
    """Whether a row is an erase after which its task at once reads the block's pages in order."""
    if rows[index].kind != "E":
        return False
    first = rows[index].number * PAGES_OF_A_BLOCK
    operations = [(r.kind, r.number) for r in rows[index + 1 : index + 1 + PAGES_OF_A_BLOCK]]
    return operations == [("R", first + i) for i in range(PAGES_OF_A_BLOCK)]


def score_traced_load(traces: BoardTraces) -> BoardLoad:
    """All four scores of a load."""
    return BoardLoad(
        load=traces.name,
        runs={
            "syscalls": len(traces.calls),
            "ffs_tracer": len(traces.functions),
            "flashmon": len(traces.flash),
        },
        read_calls=score_read_calls(traces),
        burst_times=score_burst_times(traces),
        page_times=score_page_times(traces),
        collector=score_garbage_collector(traces),
    )
