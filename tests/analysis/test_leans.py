# SPDX-License-Identifier: GPL-2.0-or-later
"""What a measured and a plain controller would add, by hand-made numbers; and what it turns."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.verdicts import modelbias
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.catalog.board import BoardModel, Controller
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt, OperationCounts, StepResult

US = 1_000
READ = 182_660 - 62_205
"""What a page read costs at the driver of the Omap3evm beyond the chip apf27's, ns."""
PROGRAM = 413_550 - 257_275
MEASURED = load_noun("boards", "apf27", BoardModel).controller


def trial(
    filesystem: str,
    ms: float,
    *,
    reads: int,
    programs: int = 0,
    hits: int | None = None,
    **more: Any,
) -> Trial:
    """Transactions of so many ms, with so many page reads and programs in them."""
    controller: Controller | None = more.pop(
        "controller", load_noun("boards", "apf27", BoardModel).controller
    )
    chip: ChipModel = load_noun("chips", more.pop("chip", "apf27"), ChipModel)
    counts = OperationCounts(reads=reads, programs=programs, erases=0)
    made = samples.trial(
        filesystem,
        phase_ns={"transactions": int(ms * 1e6)},
        sync_ns=None,
        options={},
        flash={"transactions": counts},
        **more,
    )
    sources = {"filesystem": samples.catalog_entry(filesystem), "chip": chip.model_dump()}
    if controller is not None:
        sources["controller"] = controller.model_dump()
    step = StepResult(name="workload", ns=1, chip=counts, register_hits=hits)
    return made.model_copy(update={"steps": [step]}).add_sources(sources)


def pair(filesystem: str, ms: float, **given: Any) -> list[Trial]:
    return [trial(filesystem, ms + seed / 100, seed=seed, **given) for seed in (1, 2)]


def told(*trials: list[Trial]) -> Finding:
    (setting,) = groups.group_trials_into_settings([t for of_one in trials for t in of_one])
    (answer,) = find_setting_view(setting).answers(setting)
    (finding,) = [f for f in answer.findings if f.topic == modelbias.MODEL_BIAS_TOPIC]
    return finding


def test_a_page_costs_what_the_measured_one_does_less_what_the_chip_has_already() -> None:
    costs = modelbias.compute_controller_page_costs(trial("jffs2", 1, reads=1))
    assert costs is not None
    assert costs.simulated_read == 62_205
    assert costs.read == pytest.approx(READ)
    assert costs.program == pytest.approx(PROGRAM)


def test_a_chip_that_was_fitted_to_the_board_costs_nothing_more() -> None:
    costs = modelbias.compute_controller_page_costs(trial("jffs2", 1, reads=1, chip="omap3evm"))
    assert costs is not None
    assert costs.read < 100 and costs.program == 0
    found = told(*(pair(fs, 10, reads=99, chip="omap3evm") for fs in ("jffs2", "ubifs")))
    assert "measured controller: that adds nothing." in found.text


def test_a_smaller_page_costs_by_its_bytes() -> None:
    costs = modelbias.compute_controller_page_costs(
        trial("jffs2", 1, reads=1, chip="nandsim-small")
    )
    assert costs is not None
    assert costs.read == pytest.approx((182_660 - 25_000) / 4 - 528 * 40 - 7 * 50)


def test_phases_take_longer_by_their_page_reads_and_programs() -> None:
    one = trial("jffs2", 10, reads=100, programs=7)
    assert modelbias.compute_controller_extra_ns(one, ["transactions"]) == pytest.approx(
        100 * READ + 7 * PROGRAM
    )
    assert modelbias.compute_controller_extra_ns(one, ["transactions", "creation"]) is None
    assert (
        modelbias.compute_controller_extra_ns(
            trial("jffs2", 1, reads=1, controller=None), ["transactions"]
        )
        is None
    )


def test_hits_would_pay_tr_each() -> None:
    one = trial("jffs2", 10, reads=100, hits=40)
    assert modelbias.count_page_register_hits(one) == 40
    assert modelbias.compute_register_hits_ns(one) == 40 * 25 * US
    assert modelbias.compute_register_hits_share(one) == pytest.approx(
        40 * 25_000 / (100 * (25_000 + 1056 * 35))
    )
    older = trial("jffs2", 10, reads=100)
    assert (
        modelbias.count_page_register_hits(older),
        modelbias.compute_register_hits_ns(older),
        modelbias.compute_register_hits_share(older),
    ) == (None, None, None)


def test_an_order_that_holds_is_told_in_a_line() -> None:
    found = told(pair("jffs2", 10, reads=10, hits=0), pair("ubifs", 30, reads=100, hits=99))
    assert found.firm
    assert "Mistral Omap3evm does not change the order" in found.text
    assert found.text.endswith("most with UBIFS, to 1.40 times.")


def test_an_order_that_turns_is_told() -> None:
    trials = [*pair("nftl-fat32", 10, reads=100), *pair("ubifs", 12, reads=1)]
    found = told(trials)
    assert not found.firm
    assert "turn the order" in found.text
    assert "towards NFTL+FAT32 and against UBIFS: " in found.text
    assert ": UBIFS (12.1 ms) before NFTL+FAT32 (22.1 ms)." in found.text


def test_what_could_no_longer_be_told_apart_is_told() -> None:
    near = READ * 10 / 1e6 - READ / 1e6
    found = told(pair("jffs2", 10, reads=10), pair("ubifs", 10 + near, reads=1))
    assert "no longer tell apart JFFS2 and UBIFS," in found.text


def test_single_trials_have_no_order_that_could_turn() -> None:
    found = told(pair("jffs2", 10, reads=100)[:1], pair("ubifs", 11, reads=1)[:1])
    assert "no order that could turn." in found.text


def test_an_older_run_says_what_it_does_not_tell() -> None:
    found = told(pair("jffs2", 10, reads=1, controller=None))
    add, reads = found.text.rstrip(".").split(". ")
    assert "controller would add is not told" in add
    assert "register answered was not kept" in reads


def test_doubts_of_its_trials_stand_beside_it() -> None:
    doubt = Doubt(code="kernel_log", text="seen")
    doubted = [t.model_copy(update={"warnings": [doubt]}) for t in pair("jffs2", 10, reads=1)]
    assert told(doubted).doubts == "kernel_log (JFFS2 2 of 2 trials)"


@pytest.mark.parametrize("name", list_noun_names("boards"))
def test_every_board_of_the_catalog_tells_of_a_measured_controller(name: str) -> None:
    of = load_noun("boards", name, BoardModel).controller
    assert of is not None
    assert set(of.sources) == set(Controller.model_fields) - {"measured", "sources"}
