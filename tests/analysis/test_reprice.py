# SPDX-License-Identifier: GPL-2.0-or-later
"""Times for another part are what a hand works out from counts and latencies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import samples
from support.fitting import fits

from nandlab.analysis.differences import reprice
from nandlab.analysis.differences.reprice import PartLatencies
from nandlab.analysis.figures.groups import Ensemble, group_trials_into_settings
from nandlab.base.errors import UsageError
from nandlab.base.paths import ROOT
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.cli.main import main
from nandlab.report.page import repricereport
from nandlab.results.record import Trial
from nandlab.results.recordparts import ChipUsage, OperationCounts, Phase, StepResult

CHIP = load_noun("chips", "apf27", ChipModel)
COUNTS = OperationCounts(reads=1000, programs=100, erases=10)
MOVED = ChipUsage(bytes_read=2_000_000, bytes_written=200_000)
PHASES = [
    Phase(name="creation", ns=10**9, sync_ns=10**8, chip=COUNTS, usage=MOVED),
    Phase(name="transactions", ns=10**9, chip=OperationCounts(reads=10, programs=0, erases=0)),
    Phase(name="deletion", ns=10**9, chip=OperationCounts(reads=0, programs=0, erases=0)),
]


def trial(
    seed: int = 1, phases: list[Phase] = PHASES, filesystem: str = "jffs2", **change: Any
) -> Trial:
    made = samples.trial(filesystem, seed=seed).model_copy(update={"phases": phases, **change})
    return made.add_sources({**made.sources, "chip": CHIP.model_dump(mode="json")})


def part(**values: int) -> PartLatencies:
    return reprice.make_trial_part_with_timings(trial(), values)


def test_each_latency_is_paid_as_often_as_it_was_counted() -> None:
    def more(**values: int) -> float | None:
        found = reprice.predict_phase_ns_on_part(trial(), "creation", part(**values))
        return None if found is None else found - 1_100_000_000

    assert more() == 0
    assert more(t_r_ns=26_000) == 1000 * 1000
    assert more(t_prog_ns=221_000) == 100 * 1000
    assert more(t_bers_ns=501_000) == 10 * 1000
    # a bus of 16 bits: a cycle for two bytes; two states for each program and erase
    assert more(t_rc_ns=36) == 1_000_000 + 2 * 110
    # 7 commands and addresses of a read, 9 of a program, 7 of an erase
    assert more(t_wc_ns=36) == 100_000 + 7 * 1000 + 9 * 100 + 7 * 10


def test_a_page_is_moved_whole_where_bytes_were_not_counted() -> None:
    found = reprice.predict_phase_ns_on_part(trial(), "transactions", part(t_rc_ns=36))
    assert found == 10**9 + 10 * (2048 + 64) // 2


def test_where_the_step_told_its_bytes_an_operation_moved_their_mean() -> None:
    counts = OperationCounts(reads=20, programs=4, erases=0)
    usage = ChipUsage(bytes_read=20 * 2200, bytes_written=4 * 1000)
    step = StepResult(name="workload", ns=1, chip=counts, usage=usage)
    made = trial(steps=[step])
    found = reprice.predict_phase_ns_on_part(made, "transactions", part(t_rc_ns=36))
    assert found == 10**9 + 10 * 2200 // 2
    programs = [
        Phase(name="creation", ns=10**9, chip=OperationCounts(reads=0, programs=2, erases=0))
    ]
    found = reprice.predict_phase_ns_on_part(
        trial(phases=programs, steps=[step]), "creation", part(t_wc_ns=36)
    )
    assert found == 10**9 + 2 * 1000 // 2 + 2 * 9
    # the steps of a list have their phases' names
    listed = trial(steps=[step.model_copy(update={"name": "transactions"})])
    assert (
        reprice.predict_phase_ns_on_part(listed, "transactions", part(t_rc_ns=36))
        == 10**9 + 10 * 2200 // 2
    )
    # what the phase itself told comes first
    assert reprice.predict_phase_ns_on_part(made, "creation", part(t_rc_ns=36)) == 1_101_000_220


TIMES = st.integers(0, 10**7)
PARTS = st.builds(
    PartLatencies, st.just("p"), TIMES, TIMES, TIMES, TIMES, TIMES, st.sampled_from([8, 16])
)


@given(PARTS, st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**3))
def test_to_the_same_part_nothing_changes_and_the_way_back_ends_at_the_begin(
    there: PartLatencies, reads: int, programs: int, erases: int
) -> None:
    counts = OperationCounts(reads=reads, programs=programs, erases=erases)
    made = trial(phases=[Phase(name="creation", ns=10**9, chip=counts)])
    here = reprice.find_trial_part_latencies(made)
    assert reprice.predict_total_ns_on_part(made, here) == 10**9
    away = reprice.predict_total_ns_on_part(made, there)
    page = 2112
    assert away is not None
    back = away + here.ns(counts, reads * page, programs * page)
    assert back - there.ns(counts, reads * page, programs * page) == pytest.approx(10**9, abs=1)


def test_what_was_not_counted_is_not_foretold() -> None:
    made = trial(phases=[PHASES[0], Phase(name="transactions", ns=5)])
    assert reprice.predict_phase_ns_on_part(made, "transactions", part(t_r_ns=1)) is None
    assert reprice.predict_total_ns_on_part(made, part(t_r_ns=1)) is None


def test_a_change_within_the_members_range_is_told() -> None:
    slower = [p.model_copy(update={"ns": p.ns + 10**7}) for p in PHASES if p.ns]
    (setting,) = group_trials_into_settings([trial(1), trial(2, slower)])
    (ensemble,) = setting.ensembles
    small, large = (
        reprice.list_part_time_predictions(ensemble, part(t_bers_ns=ns))[-1]
        for ns in (501_000, 500_000_000)
    )
    assert (small.phase, small.doubt) == ("", "within the members' range")
    assert large.doubt == ""
    (alone,) = group_trials_into_settings([trial()])
    assert (
        "no range"
        in reprice.list_part_time_predictions(alone.ensembles[0], part(t_r_ns=1))[-1].doubt
    )


def test_a_change_smaller_than_the_errors_seen_is_told() -> None:
    """JFFS2's totals were up to 41 % off, UBIFS's 1.5 %: the same change says more of UBIFS."""

    def doubt(filesystem: str, t_r_ns: int) -> str:
        found = group_trials_into_settings([trial(n, filesystem=filesystem) for n in (1, 2)])
        return reprice.list_part_time_predictions(found[0].ensembles[0], part(t_r_ns=t_r_ns))[
            0
        ].doubt

    # 1,000 reads in 1.1 s: 100 us more for each are 9 %, and 1 ms more are 91 %
    assert doubt("jffs2", 125_000) == "smaller than the errors seen"
    assert not doubt("ubifs", 125_000)
    assert not doubt("jffs2", 1_025_000)


def test_how_far_it_was_off_stands_beside_each_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, chart = run(tmp_path, trial(), trial(filesystem="nftl-fat32")), tmp_path / "c.svg"
    assert nandlab(monkeypatch, "reprice", folder, "--chart", chart) == 0
    out = capsys.readouterr().out
    assert "up to 41 % off: its collector" in out
    assert "it is off is not known" in out
    assert "JFFS2: totals were up to 41 % off" in chart.read_text()
    assert nandlab(monkeypatch, "reprice", folder, "--to", "omap3evm", "--json") == 0
    told = {t["off_max_seen"] for t in fits("reprice", capsys.readouterr().out)}
    assert told == {0.413, None}


MOMENTS = [0.0, 64.0, 128.0, 192.0, 256.0, 320.0, 384.0, 448.0]


def begun(seed: int, moment: float, ns: int, filesystem: str = "jffs2") -> Trial:
    phases = [PHASES[0].model_copy(update={"ns": ns, "sync_ns": 0})]
    made = trial(seed, phases, filesystem, phase_offset_ms=moment)
    return made.model_copy(update={"id": f"{made.id}-{moment}"})


def ensemble_of(*trials: Trial) -> Ensemble:
    (setting,) = group_trials_into_settings(list(trials))
    (found,) = setting.ensembles
    return found


def test_where_the_work_hangs_on_the_moment_a_range_alone_is_told() -> None:
    """JFFS2's totals were up to 41 % off; UBIFS's are told as before."""
    few = [begun(seed, 0, 10**9 + seed * 10**8) for seed in (1, 2, 3)]
    of = reprice.list_part_time_predictions(ensemble_of(*few), part(t_r_ns=10**6))[-1]
    assert not of.figure
    assert of.ranged
    assert of.ratio is None
    assert of.off == 0.413
    alone = reprice.list_part_time_predictions(ensemble_of(few[0]), part(t_r_ns=10**6))[-1]
    assert not alone.ranged
    ubifs = ensemble_of(*(begun(seed, 0, 10**9, "ubifs") for seed in (1, 2, 3)))
    assert reprice.list_part_time_predictions(ubifs, part(t_r_ns=10**6))[-1].ratio is not None


def test_the_median_of_a_seeds_moments_is_a_figure() -> None:
    """Of each seed one moment of eight takes far longer; the seeds' own medians are told apart."""
    each = [
        begun(seed, moment, seed * 10**9 + (5 * 10**9 if moment == 64.0 * seed else 0))
        for seed in (1, 2, 3)
        for moment in MOMENTS
    ]
    of = reprice.list_part_time_predictions(ensemble_of(*each), part(t_r_ns=26_000))[-1]
    assert of.measured.marks == (10**9, 2 * 10**9, 8 * 10**9)
    assert of.predicted.median == 2 * 10**9 + 10**6  # 1,000 reads of 1 us more
    assert of.ratio == pytest.approx(1.0005)
    assert of.off == 0.0227
    # one moment of one seed is missing: it failed, or was never run
    assert not reprice.list_part_time_predictions(ensemble_of(*each[:-1]), part(t_r_ns=26_000))[
        -1
    ].figure
    failed = each[-1].model_copy(update={"status": "trial_failed", "error": "e"})
    assert not reprice.has_enough_start_moments(ensemble_of(*each[:-1], failed))


def test_a_range_alone_is_printed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, chart = run(tmp_path, trial(1), trial(2)), tmp_path / "c.svg"
    assert nandlab(monkeypatch, "reprice", folder, "--to", "omap3evm", "--chart", chart) == 0
    out = capsys.readouterr().out
    assert "a range alone is told." in out and "each seed at 8 moments" in out
    assert nandlab(monkeypatch, "reprice", folder, "--to", "omap3evm", "--json") == 0
    told = fits("reprice", capsys.readouterr().out)
    assert {t["predicted_ns"]["median"] for t in told} == {None}
    assert {t["ratio"] for t in told} == {None}
    drawn = chart.read_text()
    assert marks(drawn, "symbol", "path") == 1  # what was measured
    assert marks(drawn, "rule", "line") == 2


def marks(drawn: str, kind: str, element: str) -> int:
    """The marks of a kind in an SVG."""
    groups = re.findall(rf'class="mark-{kind} role-mark[^"]*"[^>]*>(.*?)</g>', drawn)
    return sum(group.count(f"<{element}") for group in groups)


def test_the_medians_errors_are_the_largest_of_the_page() -> None:
    page = (ROOT / "docs/reprice.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.count("|") == 8]
    of = [r[4] for r in rows if r[1].strip() in {"fresh", "aged"} and "%," in r[4]]
    each = [abs(float(word.strip(" %"))) for cell in of for word in cell.split(",")]
    assert len(each) == 30
    seen = reprice.load_repricing_accuracy("jffs2")
    assert seen is not None
    assert seen.evened is not None
    assert 100 * seen.evened.off == pytest.approx(max(each), abs=0.005)


def test_the_errors_that_are_told_are_the_largest_of_the_page() -> None:
    page = (ROOT / "docs/reprice.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.count("|") == 9]
    for name, title in (("jffs2", "JFFS2"), ("ubifs", "UBIFS"), ("yaffs2", "YAFFS2")):
        of = [r[5] for r in rows if r[1].strip() == title]
        each = [abs(float(word.strip(" %"))) for cell in of for word in cell.split(",")]
        assert len(each) == 30
        seen = reprice.load_repricing_accuracy(name)
        assert seen is not None
        assert 100 * seen.off == pytest.approx(max(each), abs=0.05)


def run(tmp_path: Path, *trials: Trial) -> Path:
    return samples.folder(tmp_path / "run", list(trials)).path


def nandlab(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["nandlab", *map(str, words)])
    try:
        main()
    except SystemExit as e:
        return int(e.code or 0)
    return 0


def test_every_part_of_the_geometry_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tmp_path, trial(1), trial(2))
    assert nandlab(monkeypatch, "reprice", folder, "--chart", tmp_path / "c.svg") == 0
    out = capsys.readouterr().out
    assert "omap3evm" in out
    assert "nandsim-small" not in out
    drawn = (tmp_path / "c.svg").read_text()
    assert "omap3evm" in drawn
    assert "hollow: predicted" in drawn
    assert nandlab(monkeypatch, "reprice", folder, "--to", "omap3evm", "--json") == 0
    told = fits("reprice", capsys.readouterr().out)
    assert [t["phase"] for t in told] == ["creation", "transactions", "deletion", None]
    assert all(t["predicted"] is True for t in told)


def test_the_chart_tells_two_states_of_one_file_system_apart() -> None:
    (setting,) = group_trials_into_settings([trial(), trial(state=samples.AGED)])
    omap = PartLatencies.from_timing("omap3evm", CHIP.geometry, CHIP.timing, "typical")
    table = {omap.name: [reprice.list_part_time_predictions(e, omap) for e in setting.ensembles]}
    points = repricereport.render_prediction_chart(setting, table, "c").datasets["points"]
    looks = {p["label"]: (p["colour"], p["shape"]) for p in points}
    assert len(looks) == len(set(looks.values())) == 2


def test_a_trial_that_failed_is_a_dash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = samples.trial("yaffs2").model_copy(update={"status": "trial_failed", "error": "e"})
    assert nandlab(monkeypatch, "reprice", run(tmp_path, trial(), failed)) == 0
    assert "no trial ended well" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "nandsim-small"], "another geometry"),
        (["--to", "nowhere"], "no 'nowhere' in catalog/chips"),
        (["--set", "t_r_ns"], "expected NAME=VALUE"),
        (["--set", "t_r_ns=-1"], "whole nanoseconds"),
        (["--set", "t_r_ns=nan"], "whole nanoseconds"),
        (["--set", "t_x_ns=1"], "t_x_ns: no such latency"),
        (["--set", "t_r_ns=1", "--set", "t_r_ns=2"], "given twice"),
        (["--chart", "c.pdf"], "ends in .svg or .png"),
    ],
)
def test_bad_input_is_a_line(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert nandlab(monkeypatch, "reprice", run(tmp_path, trial()), *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_chart_of_two_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = trial().model_copy(update={"workload": "other", "id": "other"})
    folder, chart = run(tmp_path, trial(), other), tmp_path / "c.svg"
    assert nandlab(monkeypatch, "reprice", folder, "--chart", chart) == 2
    told = capsys.readouterr()
    assert "2 settings, and a chart shows one" in told.err
    assert not told.out
    assert not chart.exists()


def test_a_run_that_failed_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = trial().model_copy(update={"status": "trial_failed", "error": "e"})
    assert nandlab(monkeypatch, "reprice", run(tmp_path, failed)) == 2
    assert "of this run has ended well" in capsys.readouterr().err
    assert UsageError.exit_code == 2
