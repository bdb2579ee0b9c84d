# SPDX-License-Identifier: GPL-2.0-or-later
"""All targets in turn, a batch each, as many at once as there are jobs."""

from __future__ import annotations

import itertools
import selectors
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from fuzz import batch, corpus
from fuzz.batch import Batch, Finding, Label
from fuzz.target import targets

BATCH_S = 5.0
"""How long a batch takes further cases."""
BATCH = 1 << 20
"""Seeds set aside for a batch; most stay unused."""
LOOK_S = 1.0

Work = tuple[str, Sequence[Label]]


class Rounds:
    """What was tried of each target, and what was found."""

    def __init__(self, names: list[str], first: int, jobs: int) -> None:
        self.names = names
        self.first = first
        self.jobs = jobs
        self.done: Counter[str] = Counter()
        self.seconds = dict.fromkeys(names, 0.0)
        self._again: list[Work] = []
        self.found: dict[str, tuple[Finding, int]] = {}
        """The first finding of each kind, and how many there were."""

    def once(self) -> None:
        """The kept cases, and the first of each target."""
        few = ((n, range(self.first, self.first + targets()[n].cases)) for n in self.names)
        self._work(itertools.chain(self._kept(), few), None)

    def for_seconds(self, seconds: float) -> None:
        """The kept cases, then seeds, until the time is over or Ctrl-C."""
        starts = itertools.count(self.first, BATCH)
        drawn = ((n, range(at, at + BATCH)) for at in starts for n in self.names)
        try:
            self._work(itertools.chain(self._kept(), drawn), time.monotonic() + seconds)
        except KeyboardInterrupt:
            print("interrupted")

    def _kept(self) -> Iterator[Work]:
        for name in self.names:
            if labels := [p.name.removesuffix(".tar.xz") for p in corpus.kept(name)]:
                yield name, labels

    def _work(self, work: Iterator[Work], until: float | None) -> None:
        running: list[tuple[Batch, float]] = []
        try:
            while until is None or time.monotonic() < until:
                while len(running) < self.jobs and (more := self._next(work)):
                    left = until - time.monotonic() if until else float("inf")
                    budget = float("inf") if until is None else min(BATCH_S, left)
                    running.append((batch.begin(*more, budget), time.monotonic()))
                if not running:
                    return
                running = [(b, began) for b, began in self._heard(running)]
        finally:
            for late, began in running:
                late.abandon()
                self._take(late, began)

    def _next(self, work: Iterator[Work]) -> Work | None:
        return self._again.pop() if self._again else next(work, None)

    def _heard(self, running: list[tuple[Batch, float]]) -> Iterator[tuple[Batch, float]]:
        """The batches that go on."""
        with selectors.DefaultSelector() as selector:
            for one, _ in running:
                selector.register(one.out, selectors.EVENT_READ)
            ready = {key.fd for key, _ in selector.select(LOOK_S)}
        for one, began in running:
            if one.hangs:
                one.stop()
            if one.out not in ready or one.hear():
                yield one, began
            else:
                self._take(one, began)

    def _take(self, ended: Batch, began: float) -> None:
        self.done[ended.target] += ended.done
        self.seconds[ended.target] += time.monotonic() - began
        if ended.rest:
            self._again.append((ended.target, ended.rest))
        for finding in ended.findings:
            key = f"{ended.target}: {finding.kind}"
            first, count = self.found.get(key, (finding, 0))
            self.found[key] = first, count + 1

    def counts(self) -> Iterator[str]:
        """A line per target."""
        yield f"{'target':16} {'cases':>9} {'a minute':>9} {'kept':>5} {'found':>6}"
        for name in self.names:
            minutes = self.seconds[name] / 60
            found = sum(n for f, n in self.found.values() if f.target == name)
            pace = f"{self.done[name] / minutes:,.0f}" if minutes else ""
            kept = len(corpus.kept(name))
            yield f"{name:16} {self.done[name]:9,} {pace:>9} {kept:5} {found:6}"
        yield f"{'all':16} {sum(self.done.values()):9,}"
