# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab advise``: reads limits from the command line and prints advice."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import write_json, write_lines
from nandlab.cli.words import RunArgument

if TYPE_CHECKING:
    from nandlab.analysis.advice import Advice
    from nandlab.analysis.battery import Battery
    from nandlab.analysis.groups import Setting
    from nandlab.analysis.limits import Limits
    from nandlab.analysis.shipping import Shipping


LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="a figure and its bound, such as 'commit.p99 < 50ms', 'append.max < 1s', "
        "'ram < 4M', 'flash_reserve < 5%'; may be given again",
    ),
]
YearsOption = Annotated[
    float | None,
    typer.Option(min=0.01, help="years that the chip must last; needs --daily-write"),
]
DailyOption = Annotated[
    str | None,
    typer.Option(
        help="bytes that the product writes in a day, such as 200M; needs --lifetime-years or "
        "--battery-wh"
    ),
]
BatteryOption = Annotated[
    float | None,
    typer.Option(
        min=0.001, help="a battery's Wh: how many days it lasts; needs the bytes of a day"
    ),
]


def advise(
    run: RunArgument,
    *,
    limit: LimitOption = None,
    lifetime_years: YearsOption = None,
    daily_write: DailyOption = None,
    battery_wh: BatteryOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of words")] = False,
) -> None:
    """Say which file system and options of a run to take, which to avoid, and why.

    Of a study with a product: which one to ship, the runner-up, what would change it, how sure.

    A configuration must meet every limit in every flash state of the run: those of the run's study,
    and those given here, which go before. Without limits, the run's times and erases decide.
    docs/report.md has the rules and the formulas.
    """
    from nandlab.analysis import advice, asked, battery, groups, power, shipping
    from nandlab.analysis.limits import Limits, of_study
    from nandlab.analysis.views import view
    from nandlab.base import amounts
    from nandlab.trial.published import results

    folder = results(run)
    head, trials = folder.head(), list(folder.trials())
    settings = groups.group(trials)
    given = Limits(
        tuple(asked.parse(text) for text in limit or []),
        lifetime_years,
        None if daily_write is None else amounts.size(daily_write, "--daily-write"),
    )
    limits = given.over(of_study(head.spec))
    _refuse_half(limits, battery_wh)
    lasting = battery.asked_of(battery_wh, limits.daily)
    wrong = asked.mistakes(given.figures, [(s.workload, s.words) for s in settings])
    if wrong:
        raise UsageError(*(f"--limit: {text}" for text in wrong))
    ship = shipping.answer(head.spec, settings, limits)
    judged = [(s, view(s).advise(s, limits)) for s in settings]
    if as_json:
        told = [_shipping(ship)] if ship else []
        told += [_told(a) for _, a in judged if a is not None]
        told += [_lasting(s, lasting) for s in settings if lasting]
        write_json(told)
        return
    if ship:
        write_lines(*shipping.lines(ship))
    if not judged:
        write_lines("No trial of this run ended with figures to judge by.")
    for s, a in judged:
        seen = f"{s.title}: not judged by limits. nandlab show {run} tells what was found."
        write_lines(*(advice.lines(a) if a is not None else [seen]))
    for line in power.lines(trials):
        write_lines(line)
    if lasting:
        write_lines(
            *(line for s in settings for line in ("", f"{s.title}:", *battery.lines(s, lasting)))
        )


def _refuse_half(limits: Limits, battery_wh: float | None) -> None:
    """UsageError where one of two that go together is missing."""
    if limits.years is not None and limits.daily is None:
        raise UsageError("--lifetime-years and --daily-write go together: give both or neither")
    if limits.daily is not None and limits.years is None and battery_wh is None:
        raise UsageError("--daily-write needs --lifetime-years or --battery-wh")


def _lasting(setting: Setting, asked: Battery) -> dict[str, Any]:
    """Days on a battery as JSON has them."""
    from nandlab.analysis import battery

    days = [asdict(told) for told in battery.lasting(setting, asked)]
    return {"setting": setting.title, "battery": asdict(asked), "lasting": days}


def _shipping(ship: Shipping) -> dict[str, Any]:
    """The answer for a product as JSON has it."""
    candidates = [
        {k: v for k, v in asdict(c).items() if k != "subjects"}
        | {"factor": c.factor if math.isfinite(c.factor) else None}
        for c in ship.candidates
    ]
    findings = [asdict(f) for f in ship.findings]
    return {"product": ship.product.title, "answer": findings, "candidates": candidates}


def _told(advice: Advice) -> dict[str, Any]:
    """The advice as JSON has it."""
    subjects = [asdict(s) for s in advice.subjects]
    return {"setting": advice.setting.title, "subjects": subjects, "cliffs": list(advice.cliffs)}
