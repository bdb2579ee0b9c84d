# SPDX-License-Identifier: GPL-2.0-or-later
"""The power cuts of ``nandlab run``: a sample for each file system of a study that asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.base.errors import NandlabError
from nandlab.base.printer import print_note
from nandlab.cli.arguments import QUIET_STYLES, Style

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.board.virtual.qemu import QemuBoard
    from nandlab.cli.campaignsettings import CampaignSettings
    from nandlab.plan.medium import Medium
    from nandlab.plan.study import Study
    from nandlab.powercut.campaignfolder import LoadReport
    from nandlab.results.folder import RunFolder


def format_power_cut_plan(study: Study, jobs: int) -> str:
    """What the cuts of a study's run are, in a line; empty: it asks for none."""
    from nandlab.powercut import runcampaigns

    if not runcampaigns.does_study_request_power_cuts(study):
        return ""
    request = runcampaigns.make_sample_campaign_request(study)
    count = len(list(request.pairs()))
    if not count:
        return ""
    return (
        f"power cuts: {count} campaign{'s' if count > 1 else ''} after the trials "
        f"({', '.join(request.loads)}), about "
        f"{runcampaigns.estimate_campaign_minutes(request, jobs)} min; "
        f"--no-powercut "
        "leaves them out"
    )


def run_power_cut_campaigns(
    study: Study,
    folder: RunFolder,
    jobs: int,
    style: Style,
    sources: Mapping[str, SourceRequest],
) -> None:
    """Cuts the power of a run's file systems; a campaign that is there already is not run again.

    What cannot be cut is told, and stays open in the verdict.
    """
    from nandlab.cli.campaignsettings import CampaignSettings, open_media_board, use_nouns_of_run
    from nandlab.cli.preparation import print_heartbeats
    from nandlab.powercut import runcampaigns
    from nandlab.powercut.requests import find_or_record_loads

    quiet = style in QUIET_STYLES
    say: Callable[[str], None] = (lambda line: None) if quiet else print_note
    request = runcampaigns.make_sample_campaign_request(study)
    if not list(request.pairs()):
        return
    with use_nouns_of_run(str(folder.path)):
        try:
            board = open_media_board(request.media, sources)
        except NandlabError as e:
            print_note(f"power cuts: not tried: {e}")
            return
        for medium, name in request.pairs():
            about = f"power cuts, {medium.filesystem.title} under {name}"
            progress = Progress(about, say)
            try:
                with nullcontext() if quiet else print_heartbeats(progress.format_state):
                    sample = runcampaigns.select_sample_cut_points(
                        find_or_record_loads(name, medium, board)
                    )
                    how = CampaignSettings(
                        sample, runcampaigns.find_cut_load_title(study, name), jobs
                    )
                    _cut_campaign(medium, name, board, folder.path, how, progress)
            except NandlabError as e:
                print_note(f"{about}: not tried: {e}")


def _cut_campaign(
    medium: Medium,
    name: str,
    board: QemuBoard,
    run: Path,
    how: CampaignSettings,
    progress: Progress,
) -> None:
    """One load on one medium."""
    from nandlab.results.cutsummaries import CUTS_FOLDER

    campaign = how.campaign(medium, name, board)
    import asyncio

    result = asyncio.run(how.cut(campaign, board, run / CUTS_FOLDER, progress.note_piece))
    progress.say(f"{progress.about}: {result.summary}")


@dataclass
class Progress:
    """Tells how far a campaign is, and how long it will take."""

    about: str
    say: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    before: int | None = None
    """Pieces that were there before."""

    parts_text: str = ""
    """Its parts, and the time that they take, as they were last told."""

    def format_state(self) -> str:
        """What is told where nothing else was for long."""
        return f"{self.about}: {self.parts_text or 'begins'}, {time.monotonic() - self.began:.0f} s"

    def note_piece(self, done_parts: int, all_parts: int, loads: Sequence[LoadReport]) -> None:
        """A piece is done."""
        from nandlab.cli.progress import format_time_left

        if self.before is None:
            self.before = done_parts - 1
        part_s = (time.monotonic() - self.began) / (done_parts - self.before)
        self.parts_text = (
            f"{done_parts}/{all_parts} parts, {format_time_left(part_s * (all_parts - done_parts))}"
        )
        self.say(f"{self.about}: {self.parts_text}")
