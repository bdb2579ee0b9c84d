# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab advise``: reads limits from the command line and prints advice."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.base.errors import UsageError

if TYPE_CHECKING:
    from nandlab.analysis.advice import Advice

SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
TIMES_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}


def size(text: str, option: str) -> int:
    """Bytes of ``8M``, ``512KiB`` or ``4096``; units are binary."""
    match = re.fullmatch(r"([0-9.]+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    try:
        if match:
            found = round(float(match[1]) * SIZES[match[2]])
            if found > 0:
                return found
    except ValueError:
        pass
    raise UsageError(f"{option} {text!r}: give bytes above 0, such as 4096, 512K, 8M or 1G")


def time_ns(text: str, option: str) -> int:
    """Nanoseconds of ``20ms``."""
    match = re.fullmatch(r"([0-9.]+)\s*(ns|us|µs|ms|s)", text.strip().lower())
    try:
        if match:
            found = round(float(match[1]) * TIMES_NS[match[2]])
            if found > 0:
                return found
    except ValueError:
        pass
    raise UsageError(f"{option} {text!r}: give a time above 0 with its unit, such as 20ms or 1.5s")


def share(text: str, option: str) -> float:
    """``5%`` or ``0.05`` as 0.05."""
    match = re.fullmatch(r"([0-9.]+)\s*(%?)", text.strip())
    try:
        if match:
            found = float(match[1]) / (100 if match[2] else 1)
            if 0 < found < 1:
                return found
    except ValueError:
        pass
    raise UsageError(f"{option} {text!r}: give a share between 0 and 1, such as 5% or 0.05")


def advise(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    *,
    ram: Annotated[
        str | None, typer.Option(help="RAM that the file system may hold at its peak, such as 4M")
    ] = None,
    flash_reserve: Annotated[
        str | None,
        typer.Option(
            help="share of the partition that the file system may program before it holds any "
            "file, such as 5%"
        ),
    ] = None,
    p99_write: Annotated[
        str | None,
        typer.Option(
            help="limit on the 99th percentile of creating a file or appending to one, such as 50ms"
        ),
    ] = None,
    lifetime_years: Annotated[
        float | None,
        typer.Option(min=0.01, help="years that the chip must last; needs --daily-write"),
    ] = None,
    daily_write: Annotated[
        str | None,
        typer.Option(
            help="bytes that the product writes in a day, such as 200M; needs --lifetime-years"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of words")] = False,
) -> None:
    """Say which file system and options of a run to take, which to avoid, and why.

    A configuration must meet every limit in every flash state of the run. Without limits, the
    run's times and erases decide. docs/report.md has the rules and the formulas.
    """
    from nandlab.analysis import advice, groups
    from nandlab.analysis.limits import Limits
    from nandlab.analysis.views import view
    from nandlab.results.folder import RunFolder

    if (lifetime_years is None) != (daily_write is None):
        raise UsageError("--lifetime-years and --daily-write go together: give both or neither")
    limits = Limits(
        ram=None if ram is None else size(ram, "--ram"),
        flash_reserve=None if flash_reserve is None else share(flash_reserve, "--flash-reserve"),
        p99_write_ns=None if p99_write is None else time_ns(p99_write, "--p99-write"),
        years=lifetime_years,
        daily=None if daily_write is None else size(daily_write, "--daily-write"),
    )
    folder = RunFolder(run)
    folder.head()
    settings = groups.group(folder.trials())
    judged = [(s, view(s).advise(s, limits)) for s in settings]
    if as_json:
        print(json.dumps([_told(a) for _, a in judged if a is not None], indent=1))
        return
    if not judged:
        print("No trial of this run ended with figures to judge by.")
    for s, a in judged:
        seen = f"{s.title}: not judged by limits. nandlab show {run} tells what was found."
        print("\n".join(advice.lines(a)) if a is not None else seen)


def _told(advice: Advice) -> dict[str, Any]:
    """The advice as JSON has it."""
    subjects = [asdict(s) for s in advice.subjects]
    return {"setting": advice.setting.title, "subjects": subjects, "cliffs": list(advice.cliffs)}
