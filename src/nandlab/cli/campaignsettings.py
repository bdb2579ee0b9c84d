# SPDX-License-Identifier: GPL-2.0-or-later
"""How campaigns of power cuts and of faults are run, and what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.base.files import write_whole_file
from nandlab.base.printer import print_lines, print_note
from nandlab.cli.preparation import announce_board_preparation

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.board.virtual.qemu import QemuBoard
    from nandlab.plan.medium import Medium
    from nandlab.powercut.campaign import Campaign
    from nandlab.powercut.campaignfolder import LoadReport
    from nandlab.powercut.campaignresult import CampaignResult
    from nandlab.powercut.job import CutPoints
    from nandlab.powercut.loads import LoadSet
    from nandlab.powercut.requests import Request

RUN_HEAD = "run.json"


@contextmanager
def use_nouns_of_run(study: str | None) -> Iterator[None]:
    """A run's own chips and workloads are known here; they need no catalog beside it."""
    from nandlab.catalog.files import use_run_nouns
    from nandlab.results.folder import RunFolder
    from nandlab.results.nouns import collect_run_own_nouns

    if study is None or not (Path(study) / RUN_HEAD).exists():
        yield
        return
    folder = RunFolder(Path(study))
    with use_run_nouns(collect_run_own_nouns(folder.head(), folder.trials())):
        yield


def open_media_board(media: Sequence[Medium], sources: Mapping[str, SourceRequest]) -> QemuBoard:
    """The board of these media; UsageError for all that its kernel does not support."""
    from nandlab.board.virtual.qemu import open_board
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.trial.runner import refuse_unsupported_kernel

    model = find_media_board(media, sources)
    with announce_board_preparation(model):
        board = open_board(model, sources=sources)
    refuse_unsupported_kernel(media, board.kernel_config, "--board")
    return board


@dataclass(frozen=True)
class CampaignSettings:
    """How campaigns are run, and what is told of them."""

    points: CutPoints
    title: str | None
    jobs: int
    sample: int = 0
    states: bool = False
    """Whether the distinct states among the points are counted."""
    faulty: bool = False
    """Whether the chip fails, instead of its power."""

    def refuse_bad_loads(self, wanted: Request) -> None:
        """UsageError for loads that cannot be, as far as that is known without a board."""
        from nandlab.powercut.requests import find_loads_without_board

        for loads in filter(None, map(find_loads_without_board, wanted.loads)):
            self._choose_loads_and_points(loads)

    def _choose_loads_and_points(self, loads: LoadSet) -> tuple[LoadSet, CutPoints]:
        """Loads as they are played, and which points of them are tried."""
        from nandlab.powercut import faults
        from nandlab.powercut.requests import select_cut_points_of_load

        loads = faults.end_fault_loads(loads, self.points.variants) if self.faulty else loads
        return loads, select_cut_points_of_load(self.points, loads, self.title)

    def campaign(self, medium: Medium, name: str, board: QemuBoard) -> Campaign:
        """The campaign of a load on a medium."""
        from nandlab.powercut.campaign import Campaign
        from nandlab.powercut.requests import find_or_record_loads

        return Campaign(
            medium, *self._choose_loads_and_points(find_or_record_loads(name, medium, board))
        )

    def run(self, campaign: Campaign, board: QemuBoard, out: Path, *, alone: bool) -> bool:
        """Runs a campaign, in ``out`` or, not alone, in a folder there; whether all held."""
        import asyncio

        from nandlab.powercut import campaignresult

        result = asyncio.run(self.cut(campaign, board, out, _print_piece, alone=alone))
        print_lines(*campaignresult.format_campaign_result(result))
        return not result.faults and not result.has_no_operations

    async def cut(
        self,
        campaign: Campaign,
        board: QemuBoard,
        out: Path,
        report_piece: Callable[[int, int, Sequence[LoadReport]], None],
        *,
        alone: bool = False,
    ) -> CampaignResult:
        """Runs a campaign, printing nothing; calls ``report_piece`` after each piece of it."""
        from nandlab.powercut import campaignresult
        from nandlab.powercut.campaign import run_campaign
        from nandlab.powercut.requests import make_campaign_folder_name
        from nandlab.powercut.sample import refuse_several_seeds
        from nandlab.report.charts import powercuts
        from nandlab.results import cutsummaries

        if self.sample:
            refuse_several_seeds(campaign)
        folder = out if alone else out / make_campaign_folder_name(campaign)
        await run_campaign(campaign, board, folder, self.jobs, report_piece)
        if self.sample:
            await _retry_sample(
                campaign, campaignresult.read_campaign_result(folder), board, folder, self.sample
            )
        if self.states:
            await _count_states(
                campaign, board, folder, campaignresult.read_campaign_result(folder), self.jobs
            )
        result = campaignresult.read_campaign_result(folder)
        chart = powercuts.render_campaign_chart(result).svg()
        write_whole_file(folder / "outcomes.svg", chart.encode())
        if not alone:
            cutsummaries.write_cut_summaries(
                folder.parent, campaignresult.summarize_campaigns(folder.parent)
            )
        return result


def _print_piece(done_parts: int, all_parts: int, loads: Sequence[LoadReport]) -> None:
    bad = sum(finding.count for load in loads for finding in load.findings)
    points = sum(load.points for load in loads)
    print_note(f"{done_parts}/{all_parts}: {points} points, {bad} did not hold")


async def _retry_sample(
    campaign: Campaign, result: CampaignResult, board: QemuBoard, out: Path, count: int
) -> None:
    """Tries points alone and by the host, and tells how many say the same."""
    from nandlab.powercut.sample import retry_point_sample

    every = [each async for each in retry_point_sample(campaign, result, board, out, count)]
    alone = sum(each.campaign == each.alone for each in every)
    host = [each.host_agrees for each in every]
    same = sum(each.same_recording for each in every)
    print_lines(f"sample: {alone}/{len(every)} points say the same alone on a fresh board")
    print_lines(f"recordings: the same there for {same} of them")
    unread = f", of {host.count(None)} it cannot say" if None in host else ""
    print_lines(f"host: agrees on {host.count(True)} of them{unread}")


async def _count_states(
    campaign: Campaign, board: QemuBoard, out: Path, result: CampaignResult, jobs: int
) -> None:
    """Counts the states of the loads that the folder lacks."""
    from nandlab.powercut.states import count_campaign_points

    async for left in count_campaign_points(campaign, board, out, result.refused, jobs):
        print_note(f"states: {left} loads are left")
