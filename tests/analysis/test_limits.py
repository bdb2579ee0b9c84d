# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits in words: which figure they mean, what trials say to them, what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import samples
from support.commandline import Ended, run_command

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.verdicts import limits, limitsyntax
from nandlab.analysis.verdicts.limits import Judgement, Limits
from nandlab.base.errors import UsageError
from nandlab.results.record import Trial
from nandlab.results.recordparts import Latency, OperationCounts

MS = 1_000_000
LOGGER = {
    "phases": [{"name": "logging", "title": "logging"}],
    "operations": [
        {"name": "append", "writes": True},
        {"name": "commit", "writes": True, "durable": True},
    ],
    "headline": {"figure": "phase.logging", "noun": "logging time", "best": "is first"},
}
OPTIONS = {"writeback": {"values": {"on": {"mount": ""}, "off": {"mount": "noatime,sync"}}}}


def latency(ms: float) -> Latency:
    """p99 of so many ms, p99.9 twice that, max ten times."""
    ns = int(ms * MS)
    return Latency(
        count=1000, min=1, median=ns // 4, p95=ns // 2, p99=ns, p99_9=2 * ns, max=10 * ns
    )


def logged(filesystem: str, commit: float, seed: int = 1, **change: Any) -> Trial:
    """A trial of a logger, whose commits take so many ms at p99, and its appends a tenth."""
    return samples.trial(
        filesystem,
        samples.FRESH,
        seed,
        **{
            "workload": "logger",
            "parameters": {},
            "options": {"writeback": "on"},
            "latency_ns": {"append": latency(commit / 10), "commit": latency(commit)},
            "phase_ns": {"logging": int(commit * 1000 * MS)},
            "ops": None,
            "sync_ns": None,
            "flash": {"logging": OperationCounts(reads=1, programs=40_000, erases=600)},
            "flash_sync": None,
            "provenance": {
                "workload": LOGGER,
                "filesystem": {**samples.catalog_entry(filesystem), "options": OPTIONS},
            },
            **change,
        },
    )


def setting(*trials: Trial) -> Setting:
    (found,) = groups.group_trials_into_settings(trials)
    return found


def judged(limit: str, *trials: Trial) -> Judgement:
    of = setting(*trials)
    (found,) = limits.judge_ensemble_against_limits(
        of, of.ensembles[0], Limits((limitsyntax.parse_limit(limit),))
    )
    return found


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("commit.p99 < 50ms", "met"),
        ("commit.p99 <= 40 ms", "met"),
        ("commit.p99 < 40ms", "in doubt"),
        ("commit.p99 < 30ms", "broken"),
        ("commit.p99 > 29ms", "met"),
        ("commit.p99.9 < 81ms", "met"),
        ("latency.commit.p99_9 < 80ms", "in doubt"),
        ("commit.max < 0.1s", "broken"),
        ("commit.p95 < 50 ms", "met"),
        ("durable.p99 < 50ms", "met"),
        ("writes.p99 < 29ms", "broken"),
        ("bytes.written < 1G", "met"),
        ("chip.amplification < 100000", "met"),
        ("memory.peak < 1G", "unknown"),
    ],
)
def test_a_limit_is_any_figure_with_its_unit(limit: str, outcome: str) -> None:
    found = judged(limit, logged("jffs2", 30), logged("jffs2", 40, 2))
    assert (found.limit, found.outcome) == (limitsyntax.parse_limit(limit).text, outcome)


def test_a_limit_on_what_is_not_durable_says_so() -> None:
    one = judged("append.p99 < 50ms", logged("ubifs", 30)).text
    assert one.startswith("append p99 (not durable: ")
    assert one.endswith(") 3 ms (n = 1), within 50 ms")
    both = judged("writes.p99 < 50ms", logged("ubifs", 30)).text
    assert both.startswith("p99 of writes (append not durable: ")
    assert " in RAM) 30 ms" in both
    assert "durable" not in judged("commit.p99 < 50ms", logged("ubifs", 30)).text


def test_a_mount_that_is_sync_makes_writes_durable() -> None:
    synced = logged("ubifs", 30, options={"writeback": "off"})
    assert "durable" not in judged("append.p99 < 50ms", synced).text
    assert judged("durable.p99 < 50ms", synced).outcome == "met"


def test_where_nothing_is_durable_a_limit_on_it_is_not_known() -> None:
    found = judged("durable.p99 < 50ms", samples.trial("jffs2"))
    assert found.outcome == "unknown"
    assert found.text.startswith("p99 of durable operations: not known: ")
    assert found.text.endswith(", such as logger")
    synced = {"filesystem": {"title": "U", "options": OPTIONS}, "workload": {**LOGGER}}
    one = samples.trial("ubifs", options={"writeback": "off"}, provenance=synced)
    latencies = dict.fromkeys(("append", "commit"), one.latency_ns["create"])
    assert judged(
        "durable.p99 < 50s", one.model_copy(update={"latency_ns": latencies})
    ).outcome == ("met")


def test_a_limit_of_another_workload_is_not_about_this_one() -> None:
    of = setting(samples.trial("jffs2"))
    limit = limitsyntax.parse_limit("commit.p99 < 1ms")
    assert limits.judge_ensemble_against_limits(of, of.ensembles[0], Limits((limit,))) == []
    words = [("ffsmark", of.words), ("logger", setting(logged("jffs2", 1)).words)]
    assert limitsyntax.check_limits([limit], words) == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (
            "comit.p99 < 50ms",
            "no operation is called comit: logger has append, commit; each has p95",
        ),
        ("commit.p98 < 50ms", "no figure begins so"),
        ("latency.commit.p98 < 50ms", "no figure 'latency.commit.p98'"),
        ("commit.p99 < 50", "give a time with its unit, such as 20ms"),
        ("commit.p99 < 50M", "give a time with its unit"),
        ("ram < much", "give bytes, such as"),
        ("ram < 0", "above 0"),
        ("flash_reserve < 5", "give a share, such as 5%"),
        ("rom < 4M", "they begin with phase, time, step"),
        ("phase.loging < 4s", "no phase is called loging; there are: logging"),
        ("own.speed > 4", "no figure 'own.speed'"),
    ],
)
def test_what_is_wrong_with_a_limit_is_told(limit: str, said: str) -> None:
    words = setting(logged("jffs2", 1)).words
    (wrong,) = limitsyntax.check_limits([limitsyntax.parse_limit(limit)], [("logger", words)])
    assert wrong.startswith(f"limit '{limitsyntax.parse_limit(limit).text}': ")
    assert said in wrong


@pytest.mark.parametrize("text", ["commit.p99", "commit.p99 50ms", "< 50ms", "a = 3", "a < ", ""])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"and a value, such as 'record"):
        limitsyntax.parse_limit(text)


def test_a_table_is_the_same_words() -> None:
    told = {"commit": {"p99": "< 50ms", "max": "< 1s"}, "ram": "< 4M"}
    texts = ["commit.p99 < 50ms", "commit.max < 1s", "ram < 4M"]
    assert [limit.text for limit in limitsyntax.make_limits_from_table(told)] == texts
    with pytest.raises(UsageError, match=r"(?s)'commit.p99 50ms'.*'ram 4'"):
        limitsyntax.make_limits_from_table({"commit": {"p99": "50ms"}, "ram": 4})


def test_limits_given_go_before_those_of_the_study() -> None:
    own = Limits(
        tuple(map(limitsyntax.parse_limit, ("latency.commit.p99 < 9ms", "ram < 1M"))), 5, 100
    )
    given = Limits((limitsyntax.parse_limit("commit.p99 < 50ms"),), years=3)
    found = given.merge_base(own)
    assert [limit.text for limit in found.figures] == ["ram < 1M", "commit.p99 < 50ms"]
    assert (found.years, found.daily) == (3, 100)


def test_the_command_line_and_the_study_give_limits(tmp_path: Path) -> None:
    trials = [logged(fs, p99, seed) for fs, p99 in (("jffs2", 9), ("ubifs", 3)) for seed in (1, 2)]
    spec = {"limits": {"commit": {"p99": "< 5ms"}}}
    folder = samples.folder(tmp_path / "run", trials, spec=spec)

    def advise(*more: str) -> Ended:
        return run_command("advise", folder.path, "--all", *more)

    assert "p99 9 ms (each 9 ms, n = 2), above 5" in " ".join(advise().stdout.split())
    assert "above" not in advise("--limit", "commit.p99 < 20ms").stdout
    both = " ".join(
        advise("--limit", "commit.max < 40ms", "--limit", "append.p99 < 1s").stdout.split()
    )
    assert "avoid JFFS2 9 s 9 ms ✗ 90 ms ✗ 900 µs ✓" in both
    assert "take UBIFS 3 s 3 ms ✓ 30 ms ✓ 300 µs ✓" in both
    wrong = advise("--limit", "comit.p99 < 50ms", "--limit", "ram < x")
    assert wrong.returncode == 2
    assert wrong.stderr.count("--limit: limit ") == 2
    assert "Traceback" not in wrong.stderr
