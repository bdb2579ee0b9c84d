# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab advise``: reads limits from the command line and prints advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_json, print_lines
from nandlab.cli.arguments import EveryOption, RunArgument

if TYPE_CHECKING:
    from nandlab.analysis.verdicts.limits import Limits


LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="a figure and its bound, such as 'record.p99 < 50ms', 'step.mount < 1s', "
        "'ram < 4M', 'power = no synced data lost'; may be given again",
    ),
]
YearsOption = Annotated[
    float | None,
    typer.Option(min=0.01, max=1e6, help="years that the chip must last; needs --daily-write"),
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
        min=0.001, max=1e9, help="a battery's Wh: how many days it lasts; needs the bytes of a day"
    ),
]


def advise(
    run: RunArgument,
    *,
    limit: LimitOption = None,
    lifetime_years: YearsOption = None,
    daily_write: DailyOption = None,
    battery_wh: BatteryOption = None,
    full: EveryOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of words")] = False,
) -> None:
    """Say which file system and options of a run to take, which to avoid, and why.

    A table of file systems by criteria, a sentence, what is open and the edit that closes it; the
    last line is the answer. --all tells why, and what each promises after a power cut.

    A configuration must meet every limit in every flash state of the run: those of the run's study,
    and those given here, which go before. Without limits, the run's times decide.
    docs/report.md has the rules and the formulas.
    """
    from pydantic import TypeAdapter

    from nandlab.analysis.figures import groups
    from nandlab.analysis.verdicts import battery, limitsyntax, promises, verdictmaker
    from nandlab.analysis.verdicts.limits import make_limits_from_spec, parse_command_line_limits
    from nandlab.analysis.verdicts.verdict import Verdict
    from nandlab.base import amounts
    from nandlab.report.tables import verdicttext
    from nandlab.trial.publishedrun import open_results

    folder = open_results(run)
    head, trials = folder.head(), list(folder.trials())
    settings = groups.group_trials_into_settings(trials)
    daily = None if daily_write is None else amounts.parse_size(daily_write, "--daily-write")
    option_limits = parse_command_line_limits(limit or [], lifetime_years, daily)
    limits = option_limits.merge_base(make_limits_from_spec(head.spec))
    _refuse_half_pair(limits, battery_wh)
    product_battery = battery.make_battery_from_watt_hours(battery_wh, limits.daily)
    wrong = limitsyntax.check_limits(
        option_limits.figures, [(s.workload, s.words) for s in settings]
    )
    if wrong:
        raise UsageError(*(f"--limit: {text}" for text in wrong))
    verdicts = verdictmaker.make_run_verdicts_from_trials(
        head.spec, trials, folder.naming(), limits
    )
    if as_json:
        advice = TypeAdapter(list[Verdict | battery.BatteryRecord])
        days = [
            battery.make_battery_record(s, product_battery) for s in settings if product_battery
        ]
        print_json(advice.dump_python([*verdicts, *days], mode="json"))
        return
    if full:
        print_lines(*promises.format_promise_lines(trials, folder.naming()))
    if product_battery:
        print_lines(
            *(
                x
                for s in settings
                for x in (f"{s.title}:", *battery.format_battery_sentences(s, product_battery), "")
            )
        )
    print_lines(*verdicttext.render_verdicts(verdicts, full=full))


def _refuse_half_pair(limits: Limits, battery_wh: float | None) -> None:
    """UsageError where one of two that go together is missing."""
    if limits.years is not None and limits.daily is None:
        raise UsageError("--lifetime-years and --daily-write go together: give both or neither")
    if limits.daily is not None and limits.years is None and battery_wh is None:
        raise UsageError("--daily-write needs --lifetime-years or --battery-wh")
