# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab powercut`` and ``nandlab faults`` share: on which media, how a campaign ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.cli.arguments import (
    SetOption,
    make_name_completer,
    parse_name_value_pairs,
    split_comma_list,
)
from nandlab.cli.campaignsettings import (
    RUN_HEAD,
    CampaignSettings,
    open_media_board,
    use_nouns_of_run,
)
from nandlab.cli.optionclasses import expand_option_classes
from nandlab.cli.runsettings import CORES, JobsOption
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.plan.medium import Medium
    from nandlab.powercut.job import CutPoints
    from nandlab.powercut.requests import Request

DEFAULT_MIB = 8
DEFAULT_BOARD = "apf27"


@dataclass(frozen=True, kw_only=True)
class CampaignOptions:
    """The options that both commands have."""

    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="a study file, the name of a shipped study, or a run's folder",
            autocompletion=make_name_completer("studies"),
        ),
    ] = None
    fs: Annotated[
        str | None,
        typer.Option(
            "--fs",
            help="a file system of the catalog, such as ubifs",
            autocompletion=make_name_completer("filesystems"),
        ),
    ] = None
    load: Annotated[
        list[str] | None,
        typer.Option(
            help="ace1, ace2, ace3, wide1, wide2, wide3, renames, orphans, statfs, races, holes, "
            "open-files, rewrite, small-files, collect, sqlite (power cuts only), a workload such "
            "as 'config rounds=9', or a file of loads (docs/power-cuts.md); may be repeated; "
            "default: ace1 for power cuts, rewrite for faults, or a study's own workloads"
        ),
    ] = None
    set_: SetOption = field(default_factory=list)
    chip: Annotated[
        str, typer.Option(help="a chip of the catalog", autocompletion=make_name_completer("chips"))
    ] = "apf27"
    partition_mib: Annotated[
        float | None,
        typer.Option(min=0, help="MiB of the partition; default: 8, or as a study has it"),
    ] = None
    board: Annotated[
        str | None,
        typer.Option(
            help="a board of the catalog; default: apf27, or a study's",
            autocompletion=make_name_completer("boards"),
        ),
    ] = None
    seeds: Annotated[
        int, typer.Option(min=1, help="seeds of each way to tear, or of where bits flip")
    ] = 1
    seed: Annotated[int, typer.Option(min=1, help="the first of these seeds")] = 1
    points: Annotated[int, typer.Option(min=1, metavar="N", help="at each N-th operation only")] = 1
    bad_blocks: Annotated[
        str,
        typer.Option(
            metavar="BLOCKS",
            help="blocks of the partition that the maker marked bad, such as 1,2,63; worst: the "
            "first two that may be, and the last two",
        ),
    ] = ""
    title: Annotated[str | None, typer.Option(help="only the load of this title")] = None
    point: Annotated[
        str | None, typer.Option(metavar="K:WHAT:SEED", help="only this point, on a fresh board")
    ] = None
    source: SourceOption = field(default_factory=list)
    patch: PatchOption = field(default_factory=list)
    jobs: JobsOption = CORES
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="the folder; default: powercut/ beside the run or study"),
    ] = None

    def request(self, usual: str) -> Request:
        """The media and loads that they name; usual: the load where none is named."""
        return make_campaign_request(
            self.study,
            fs=self.fs,
            loads=self.load or ([] if self.study else [usual]),
            settings=self.set_,
            chip=self.chip,
            partition_mib=self.partition_mib,
            board=self.board,
        )

    def sources(self) -> dict[str, SourceRequest]:
        """The parts of the kernel that are built from another source."""
        return read_source_options(self.source, self.patch)

    def make_settings(
        self,
        points: CutPoints,
        request: Request,
        *,
        sample: int = 0,
        states: bool = False,
        faulty: bool = False,
    ) -> CampaignSettings:
        """Campaigns of these points, with the options that both commands have."""
        from nandlab.powercut.job import parse_bad_block_words

        fewest = min(on.partition_blocks for on in request.media)
        words = split_comma_list(self.bad_blocks) if self.bad_blocks else ()
        bad = parse_bad_block_words(words, fewest)
        more = replace(points, seed=self.seed, seeds=self.seeds, every=self.points, bad=bad)
        return CampaignSettings(more, self.title, self.jobs, sample, states, faulty)

    def run(self, hows: Sequence[CampaignSettings], request: Request, *, alone: bool) -> None:
        """The point that is named, or all campaigns, each in ``hows``' ways; exit status 1 if
        anything does not hold. alone: --out is the campaign's own folder."""
        if self.point is not None:
            from nandlab.cli.singlepoint import run_single_cut_point

            self._refuse_beside_a_point(hows[0])
            run_single_cut_point(hows[0], request, self.point, self.sources())
            return
        place = find_campaigns_folder(self.study, self.out)
        hows[0].refuse_bad_loads(request)
        board = open_media_board(request.media, self.sources())
        # all are made first: what cannot be is refused before any is begun
        made = [(h, h.campaign(on, name, board)) for on, name in request.pairs() for h in hows]
        held = [how.run(campaign, board, place, alone=alone) for how, campaign in made]
        if not all(held):
            raise typer.Exit(1)

    def _refuse_beside_a_point(self, how: CampaignSettings) -> None:
        """UsageError for an option that only a campaign has."""
        given = {"--out": self.out is not None, "--sample": how.sample, "--states": how.states}
        for option in (name for name, is_given in given.items() if is_given):
            raise UsageError(
                f"{option} with --point: a point is tried alone and leaves no folder: leave out "
                "one of both"
            )


def add_campaign_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes :class:`CampaignOptions` as ``common``, and knows the nouns of a run."""

    @wraps(command)
    def run_command(common: CampaignOptions, **own: Any) -> None:
        with use_nouns_of_run(common.study):
            command(common, **own)

    return expand_option_classes(run_command)


def parse_choices(text: str, option: str, known: Sequence[str]) -> tuple[str, ...]:
    """The words of an option, each of them known and given once; else UsageError."""
    words = split_comma_list(text)
    if not words or set(words) - set(known):
        raise UsageError(f"{option} {text}: known are {', '.join(known)}")
    if len(set(words)) < len(words):
        raise UsageError(f"{option} {text}: give each once")
    return words


def make_campaign_request(
    study: str | None,
    *,
    fs: str | None,
    loads: Sequence[str],
    settings: Sequence[str],
    chip: str,
    partition_mib: float | None,
    board: str | None,
) -> Request:
    """The media and loads that a command line names; UsageError where it names too much."""
    from nandlab.powercut.requests import Request, make_study_campaign_request

    if (study is None) == (fs is None):
        raise UsageError("give a STUDY, or --fs with a file system: one of both")
    if study is not None:
        read = _read_study(study, board)
        if settings:
            raise UsageError("--set: a study says which options its file systems have")
        found = make_study_campaign_request(read, loads, partition_mib)
        print_note(f"{len(found.media)} media, loads: {', '.join(found.loads)}")
        return found
    on = make_medium(fs or "", settings, chip, partition_mib or DEFAULT_MIB, board or DEFAULT_BOARD)
    return Request([on], loads)


def _read_study(name: str, board: str | None) -> Any:
    """A study by name or file, or that of a run's folder."""
    from nandlab.plan.study import find_study_file, parse_run_study, read_study_file
    from nandlab.results.folder import RunFolder
    from nandlab.trial.runplan import find_run_study_folder

    if not (Path(name) / RUN_HEAD).exists():
        return read_study_file(find_study_file(name), board)
    head = RunFolder(Path(name)).head()
    study = parse_run_study(head.spec, find_run_study_folder(head, Path(name)), name)
    return study.model_copy(update={"board": board or study.board})


def find_campaigns_folder(study: str | None, out: Path | None) -> Path:
    """Where campaigns are, each in a folder of its own: beside the run, or where --out says."""
    from nandlab.base.paths import RESULTS
    from nandlab.results.cutsummaries import CUTS_FOLDER

    if study is not None and (Path(study) / RUN_HEAD).exists():
        return Path(study) / CUTS_FOLDER
    if out is not None:
        return out / CUTS_FOLDER if (out / RUN_HEAD).exists() else out
    if study is None:
        raise UsageError("where to? give --out DIR")
    return RESULTS / Path(study).stem / CUTS_FOLDER


def make_medium(
    fs: str, settings: Sequence[str], part: str, partition_mib: float, board: str
) -> Medium:
    """A file system on a partition of a chip in a board, by their names."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load_noun
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.cli.imagemedium import count_partition_blocks
    from nandlab.image.making import refuse_unfit_medium
    from nandlab.plan.medium import Medium

    system, chip = (
        load_noun("filesystems", fs, FilesystemModel),
        load_noun("chips", part, ChipModel),
    )
    medium = Medium(
        board=load_noun("boards", board, BoardModel),
        chip=chip,
        partition_blocks=count_partition_blocks(chip, partition_mib),
        filesystem=system,
        options=system.resolve_values(parse_name_value_pairs(settings, "--set"), "--set"),
    )
    if system.read_only:
        raise UsageError(f"--fs {fs}: it is only read, so there is nothing to cut")
    refuse_unfit_medium(medium)
    return medium
