# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: what each folder of tests costs, printed at the end of a run.

A line a folder: tests, boards (QEMU processes that a test's own process began), seconds of the
host's clock, and seconds of a processor, those of ended child processes too. With xdist, seconds
are summed over the workers. A fixture's cost counts for the test that it was set up for. What it
costs itself: two system calls a test.

SPENT=FILE in the environment: the same of each test too, a line each, the dearest first.
"""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nandlab.board.virtual.vm import Vm

FEW = 1.0
"""Folders that took less of a processor, in seconds, share a line."""


@dataclass
class Spent:
    """The sum over tests."""

    tests: int = 0
    boards: int = 0
    seconds: float = 0
    processor_s: float = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.tests + other.tests,
            self.boards + other.boards,
            self.seconds + other.seconds,
            self.processor_s + other.processor_s,
        )


@dataclass
class Elsewhere:
    """What processes have used that others wait for, as these tell."""

    processor_s: float = 0


elsewhere = Elsewhere()


def processor_s() -> float:
    """Seconds of a processor that this process, its ended children, and those elsewhere used."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return elsewhere.processor_s + sum(used.ru_utime + used.ru_stime for used in each)


def folder_of(node: str) -> str:
    """A test's folder, by its node ID: at most two deep."""
    return "/".join(node.partition("::")[0].split("/")[:-1][:2]) or "."


def sum_by_folder(spent: dict[str, Spent]) -> dict[str, Spent]:
    """What folders cost, of what tests did by their node IDs."""
    folders = defaultdict[str, Spent](Spent)
    for node, each in spent.items():
        folders[folder_of(node)] += each
    return folders


def lines_of_tests(spent: dict[str, Spent]) -> str:
    """A line a test: seconds of a processor, boards, seconds, node ID; between them a tab."""
    rows = sorted(spent.items(), key=lambda row: (-row[1].processor_s, row[0]))
    return "".join(f"{s.processor_s:.2f}\t{s.boards}\t{s.seconds:.2f}\t{n}\n" for n, s in rows)


def table(spent: dict[str, Spent]) -> list[str]:
    """Lines of a table, the dearest folder first; what is cheap has a line together."""
    dear = {name: each for name, each in spent.items() if each.processor_s >= FEW or each.boards}
    rows = sorted(dear.items(), key=lambda row: -row[1].processor_s)
    cheap = [each for name, each in spent.items() if name not in dear]
    if cheap:
        rows.append((f"{len(cheap)} others", sum(cheap, Spent())))
    rows.append(("all", sum(spent.values(), Spent())))
    wide = max(len(name) for name, _ in rows)
    head = f"{'folder':{wide}}  {'tests':>6} {'boards':>6} {'seconds':>8} {'processor s':>11}"
    return [
        head,
        *(
            f"{name:{wide}}  {s.tests:6} {s.boards:6} {s.seconds:8.0f} {s.processor_s:11.0f}"
            for name, s in rows
        ),
    ]


class Counting:
    """Counts in the process that runs tests, and sums up in the one that reports."""

    def __init__(self) -> None:
        self.boards = 0
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        self._before = (0, 0.0)

    def count(self) -> None:
        self.boards += 1

    def _now(self) -> tuple[int, float]:
        return self.boards, processor_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._before = self._now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = self._now()
        # xdist takes to the process that reports whatever a report has
        vars(report)["boards"] = now[0] - self._before[0]
        vars(report)["processor_s"] = now[1] - self._before[1]
        self._before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.spent[report.nodeid] += Spent(
            tests=report.when == "call" or (report.when == "setup" and not report.passed),
            boards=getattr(report, "boards", 0),
            seconds=report.duration,
            processor_s=getattr(report, "processor_s", 0),
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.spent:
            terminalreporter.section("spent by folder")
            for line in table(sum_by_folder(self.spent)):
                terminalreporter.write_line(line)
        if path := os.environ.get("SPENT"):
            Path(path).write_text(lines_of_tests(self.spent))


def pytest_configure(config: pytest.Config) -> None:
    """Counts from here on; each process of tests has one counter."""
    counting = Counting()
    begin = Vm.__init__

    def counted(*words: Any) -> None:
        counting.count()
        begin(*words)

    setattr(Vm, begin.__name__, counted)
    config.pluginmanager.register(counting, "spent-counting")
