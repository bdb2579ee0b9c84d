# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims along a parameter, on made-up trials whose lines and crossings are known by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from support import samples

from nandlab.analysis.claims import claimparts, claims
from nandlab.analysis.curves import fits
from nandlab.analysis.figures import workloadwords
from nandlab.base.errors import UsageError
from nandlab.catalog.paper import ClaimPart, PaperModel
from nandlab.results.record import Trial
from nandlab.results.recordparts import Phase, StartImage

FILES = (62, 124, 248, 496, 992, 1984)
MS = 1_000_000
SEEDS = (1, 2, 3)


def trial(fs: str, files: int, ms: float, seed: int = 1, **change: Any) -> Trial:
    """A trial whose phase find takes so many ms for so many files."""
    made = samples.trial(fs, samples.FRESH, seed, options={}, parameters={"files": str(files)})
    phases = [Phase(name="find", ns=round(ms * MS))]
    return made.model_copy(update={"id": f"{fs}-{files}-{seed}", "phases": phases, **change})


def swept(fs: str, ms: Callable[[int, int], float]) -> list[Trial]:
    """A trial for each number of files and seed; ms: of files and seed."""
    return [trial(fs, n, ms(n, seed), seed) for n in FILES for seed in SEEDS]


def claim(says: str, *, of: str = "jffs2", **change: Any) -> PaperModel:
    selector = {"filesystem": of, "state": "fresh"}
    part = {"label": "find", "figure": "phase.find", "of": selector}
    part |= {"along": {"by": "parameter.files", "says": says}, **change}
    told = {"id": "c", "text": "t", "said": "s", "where": "w", "phase": "find", "parts": [part]}
    return PaperModel.model_validate(
        {"name": "p", "summary": "s", "citation": "c", "platform": "f", "workload": "ffsmark"}
        | {"part": samples.CHIP.part, "claims": [told]}
    )


def row(paper: PaperModel, trials: list[Trial]) -> claims.ClaimResult:
    (found,) = claims.list_paper_claim_results(
        paper, trials, lambda _: workloadwords.make_workload_words_for_trials(trials)
    )
    return found


OVER = {"filesystem": "yaffs2", "state": "fresh"}


def test_least_squares_of_a_line_with_known_residuals() -> None:
    fit = fits.fit_line([(0, 1.0), (1, 3.0), (2, 5.0), (3, 7.0)])
    assert fit == fits.LineFit(slope=2.0, intercept=1.0, r2=1.0, change=1.5)
    # by hand: slope 4/2, mean 3; of the variance 8.667 the line explains 8
    off = fits.fit_line([(0, 1.0), (1, 2.0), (2, 5.0)])
    assert off is not None
    assert off.r2 == pytest.approx(12 / 13)
    assert off.slope == pytest.approx(2.0)
    assert fits.fit_line([(0, 4.0), (1, 4.0), (2, 4.0)]) == fits.LineFit(0.0, 4.0, 0.0, 0.0)


def test_two_places_lie_on_any_line_and_so_tell_nothing() -> None:
    assert fits.fit_line([(0, 1.0), (1, 2.0), (1, 3.0)]) is None


@pytest.mark.parametrize(
    ("says", "ms", "verdict"),
    [
        ("linear", lambda n, s: 5 + n + s, "reproduced"),
        ("linear", lambda n, s: n * math.log(n), "reproduced"),  # R² cannot tell it: 0.998
        ("linear", lambda n, s: n**1.5, "different"),  # 0.979
        ("linear", lambda n, s: 7.0, "different"),
        ("linear", lambda n, s: n if s == 1 else n**1.5, "not decided"),
        ("grows", lambda n, s: 100 + n, "reproduced"),
        ("grows", lambda n, s: 100.0, "different"),
        ("grows", lambda n, s: 3000 - n, "different"),
        ("does not depend", lambda n, s: 100 + n / 1000, "reproduced"),
        ("does not depend", lambda n, s: 100 + n / 100, "different"),  # by 18 % of 107
        ("does not depend", lambda n, s: 100 - n / 100, "different"),
        ("does not depend", lambda n, s: 100 + n / 100 * (s == 1), "not decided"),
    ],
)
def test_a_verdict_along_the_files(
    says: str, ms: Callable[[int, int], float], verdict: str
) -> None:
    found = row(claim(says), swept("jffs2", ms))
    assert found.verdict == verdict
    assert found.numbers[0].paper == f"no number, {says}"


def test_the_line_is_told_with_the_number_and_counts_are_of_the_last_place() -> None:
    found = row(claim("linear"), swept("jffs2", lambda n, s: 10 + s * n))
    told = "find: 1.0000 (each 1.0000, n = 3); 10 ms + 2 ms each, over files"
    assert found.numbers[0].text() == told
    assert found.chip_counts[0].startswith("JFFS2, fresh, files 1,984: ")


@pytest.mark.parametrize(
    ("yaffs2", "verdict", "said"),
    [
        (lambda n, s: 2 * n, "reproduced", "250 (each 250, n = 3)"),
        (lambda n, s: 1.25 * n, "same direction", "1,000 (each 1,000, n = 3)"),
        (lambda n, s: n + 300, "different", "below at all places"),
        (lambda n, s: n - 30, "different", "below at no last place"),
        (lambda n, s: 2 * n if s == 1 else n + 300, "not decided", "below at all places"),
    ],
)
def test_where_one_line_falls_below_another(
    yaffs2: Callable[[int, int], float], verdict: str, said: str
) -> None:
    trials = swept("ubifs", lambda n, s: 250 + n) + swept("yaffs2", yaffs2)
    found = row(claim("falls below", of="ubifs", over=OVER, paper=250), trials)
    assert found.verdict == verdict
    assert said in found.numbers[0].text()


def test_a_crossing_lies_between_the_places_that_both_have() -> None:
    assert fits.find_crossover_x({1: 5.0, 2: 3.0, 3: 1.0}, {1: 1.0, 3: 2.0}) == pytest.approx(2.6)
    assert fits.find_crossover_x({1: 5.0, 2: 1.0}, {2: 3.0, 3: 3.0}) is None
    # it counts from where it stays below
    low, high = {1.0: 1.0, 2.0: 3.0, 3.0: 1.0}, dict.fromkeys((1.0, 2.0, 3.0), 2.0)
    assert fits.find_crossover_x(low, high) == 2.5


def test_two_trials_at_one_place_are_refused() -> None:
    twice = [trial("jffs2", 62, 1), trial("jffs2", 62, 2, id="other")]
    with pytest.raises(UsageError, match=r"jffs2-62-1 and other are both at 62: "):
        row(claim("grows"), twice)


def test_trials_that_are_missing_are_not_measured() -> None:
    assert row(claim("linear"), []).verdict == "not measured"
    assert row(claim("linear"), swept("jffs2", lambda n, s: n)[:6]).verdict == "not measured"


def test_a_line_goes_over_the_size_of_partitions_and_over_figures() -> None:
    sizes = [25.0, 50.0, 100.0]
    trials = [
        trial("jffs2", 1, mib, id=f"{mib}").model_copy(
            update={"chip": samples.CHIP.model_copy(update={"partition_mib": mib})}
        )
        for mib in sizes
    ]
    along = {"by": "chip.partition_mib", "says": "linear"}
    found = row(claim("linear", along=along), trials)
    assert found.numbers[0].source_text == "0 ns + 1 ms each, over partition mib"
    along = {"by": "phase.find", "says": "linear"}
    found = row(claim("linear", along=along), trials)
    assert found.numbers[0].source_text.endswith(" each, over find")


def test_a_selector_takes_a_partition_and_an_image() -> None:
    image = StartImage(name="rootfs", sha256="0" * 64)
    plain, flashed = trial("jffs2", 1, 1), trial("jffs2", 1, 2, image=image)
    mib = samples.CHIP.partition_mib
    for more, ids in (
        ({}, 2),
        ({"partition_mib": mib}, 2),
        ({"partition_mib": mib / 2}, 0),
        ({"image": "rootfs"}, 1),
        ({"image": "other"}, 0),
    ):
        paper = claim("grows", of="jffs2")
        (part,) = paper.claims[0].parts
        of = part.of.model_copy(update=more)
        assert (
            len(claimparts.select_ended_trials_in_selector(paper, of, [plain, flashed])) == ids
        ), more


def test_a_basis_may_have_other_options_of_one_file_system() -> None:
    basis = {"id": "b", "read_as": "r", "other": "o", "options": {"jffs2": {"compr": "lzo"}}}
    paper = claim("linear")
    told = paper.claims[0].model_copy(update={"rests_on": ["b"]})
    paper = PaperModel.model_validate(paper.model_dump() | {"bases": [basis], "claims": [told]})
    lzo = [
        t.model_copy(update={"id": f"{t.id}-lzo", "options": {"compr": "lzo"}})
        for t in swept("jffs2", lambda n, s: n**1.5)
    ]
    (reading,) = row(paper, lzo).other_readings
    assert reading.verdict == "different"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"over": OVER}, "over is the other line of falls below"),
        ({"along": {"by": "parameter.files", "says": "falls below"}}, "over is the other line"),
        ({"paper": 0.99}, "linear has no number of the paper's"),
        ({"direction": "above 1"}, "direction does not go with it"),
        ({"factor": 2.0}, "factor does not go with it"),
        ({"along": {"by": "parameter.files", "says": "curves"}}, "says"),
    ],
)
def test_what_does_not_go_along_is_refused(change: dict[str, Any], why: str) -> None:
    given = {"label": "l", "figure": "phase.find", "of": OVER}
    given["along"] = {"by": "parameter.files", "says": "linear"}
    with pytest.raises(ValueError, match=why):
        ClaimPart.model_validate(given | change)
