# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab powercut`` and ``nandlab faults`` share: on which media, how a campaign ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import note, write_lines
from nandlab.cli.preparing import preparing
from nandlab.cli.run import CORES, JobsOption
from nandlab.cli.words import listed, named, pairs

if TYPE_CHECKING:
    from nandlab.board.qemu import QemuBoard
    from nandlab.plan.medium import Medium
    from nandlab.powercut.campaign import Campaign
    from nandlab.powercut.found import Found
    from nandlab.powercut.job import Points
    from nandlab.powercut.loads import Loads
    from nandlab.powercut.request import Request

MIB_USUAL = 8
BOARD_USUAL = "apf27"
RUN_HEAD = "run.json"


@dataclass(frozen=True, kw_only=True)
class Common:
    """The options that both commands have."""

    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]",
            help="a study file, the name of a shipped study, or a run's folder",
            autocompletion=named("studies"),
        ),
    ] = None
    fs: Annotated[
        str | None,
        typer.Option(
            "--fs",
            help="a file system of the catalog, such as ubifs",
            autocompletion=named("filesystems"),
        ),
    ] = None
    load: Annotated[
        list[str] | None,
        typer.Option(
            help="ace1, ace2, ace3, holes, open-files, rewrite, small-files, collect, sqlite "
            "(power cuts only), a workload such as 'config rounds=9', or a file of loads "
            "(docs/power-cuts.md); may be repeated; default: ace1 for power cuts, rewrite for "
            "faults, or a study's own workloads"
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OPTION=VALUE", help="an option of the file system; may be repeated"
        ),
    ] = None
    chip: Annotated[
        str, typer.Option(help="a chip of the catalog", autocompletion=named("chips"))
    ] = "apf27"
    partition_mib: Annotated[
        float | None,
        typer.Option(min=0, help="MiB of the partition; default: 8, or as a study has it"),
    ] = None
    board: Annotated[
        str | None,
        typer.Option(
            help="a board of the catalog; default: apf27, or a study's",
            autocompletion=named("boards"),
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
    jobs: JobsOption = CORES
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="the folder; default: powercut/ beside the run or study"),
    ] = None

    def request(self, usual: str) -> Request:
        """The media and loads that they name; usual: the load where none is named."""
        return request(
            self.study,
            fs=self.fs,
            loads=self.load or ([] if self.study else [usual]),
            settings=self.set_ or [],
            chip=self.chip,
            partition_mib=self.partition_mib,
            board=self.board,
        )

    def how(
        self,
        points: Points,
        wanted: Request,
        *,
        sample: int = 0,
        states: bool = False,
        faulty: bool = False,
    ) -> How:
        """Campaigns of these points, with the options that both commands have."""
        from nandlab.powercut.job import bad_blocks

        fewest = min(on.partition_blocks for on in wanted.media)
        words = listed(self.bad_blocks) if self.bad_blocks else ()
        bad = bad_blocks(words, fewest)
        more = replace(points, seed=self.seed, seeds=self.seeds, every=self.points, bad=bad)
        return How(more, self.title, self.jobs, sample, states, faulty)

    def run(self, hows: Sequence[How], wanted: Request, *, alone: bool) -> None:
        """The point that is named, or all campaigns, each in ``hows``' ways; exit status 1 if
        anything does not hold. alone: --out is the campaign's own folder."""
        if self.point is not None:
            from nandlab.cli.onepoint import one

            self._refuse_beside_a_point(hows[0])
            one(hows[0], wanted, self.point)
            return
        place = folder_of(self.study, self.out)
        hows[0].refuse_bad_loads(wanted)
        board = opened(wanted.media)
        # all are made first: what cannot be is refused before any is begun
        made = [(h, h.campaign(on, name, board)) for on, name in wanted.pairs() for h in hows]
        held = [how.run(campaign, board, place, alone=alone) for how, campaign in made]
        if not all(held):
            raise typer.Exit(1)

    def _refuse_beside_a_point(self, how: How) -> None:
        """UsageError for an option that only a campaign has."""
        given = {"--out": self.out is not None, "--sample": how.sample, "--states": how.states}
        for option in (name for name, is_given in given.items() if is_given):
            raise UsageError(
                f"{option} with --point: a point is tried alone and leaves no folder: leave out "
                "one of both"
            )


def with_common(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of :class:`Common`, and has them as its first argument."""
    own = inspect.signature(command, eval_str=True).parameters
    shared = [
        inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hint
        )
        for each, hint in zip(
            fields(Common), get_type_hints(Common, include_extras=True).values(), strict=True
        )
    ]

    @wraps(command)
    def taking(**given: Any) -> None:
        common = Common(**{each.name: given.pop(each.name) for each in shared})
        with nouns_of(common.study):
            command(common, **given)

    every = [*shared, *list(own.values())[1:]]
    taking.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    taking.__annotations__ = {each.name: each.annotation for each in every}
    return taking


def chosen(text: str, option: str, known: Sequence[str]) -> tuple[str, ...]:
    """The words of an option, each of them known and given once; else UsageError."""
    words = listed(text)
    if not words or set(words) - set(known):
        raise UsageError(f"{option} {text}: known are {', '.join(known)}")
    if len(set(words)) < len(words):
        raise UsageError(f"{option} {text}: give each once")
    return words


def request(
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
    from nandlab.powercut.request import Request, of_study

    if (study is None) == (fs is None):
        raise UsageError("give a STUDY, or --fs with a file system: one of both")
    if study is not None:
        read = _study(study, board)
        if settings:
            raise UsageError("--set: a study says which options its file systems have")
        found = of_study(read, loads, partition_mib)
        note(f"{len(found.media)} media, loads: {', '.join(found.loads)}")
        return found
    on = medium(fs or "", settings, chip, partition_mib or MIB_USUAL, board or BOARD_USUAL)
    return Request([on], loads)


def _study(name: str, board: str | None) -> Any:
    """A study by name or file, or that of a run's folder."""
    from nandlab.plan.study import again, find, read
    from nandlab.results.folder import RunFolder
    from nandlab.trial.planned import home

    if not (Path(name) / RUN_HEAD).exists():
        return read(find(name), board)
    head = RunFolder(Path(name)).head()
    study = again(head.spec, home(head, Path(name)), name)
    return study.model_copy(update={"board": board or study.board})


@contextmanager
def nouns_of(study: str | None) -> Iterator[None]:
    """A run's own chips and workloads are known here; they need no catalog beside it."""
    from nandlab.catalog.files import keeping
    from nandlab.results.folder import RunFolder
    from nandlab.results.nouns import of_trials

    if study is None or not (Path(study) / RUN_HEAD).exists():
        yield
        return
    folder = RunFolder(Path(study))
    with keeping(of_trials(folder.head(), folder.trials())):
        yield


def folder_of(study: str | None, out: Path | None) -> Path:
    """Where campaigns are, each in a folder of its own: beside the run, or where --out says."""
    from nandlab.base.paths import RESULTS
    from nandlab.results.cuts import FOLDER

    if study is not None and (Path(study) / RUN_HEAD).exists():
        return Path(study) / FOLDER
    if out is not None:
        return out / FOLDER if (out / RUN_HEAD).exists() else out
    if study is None:
        raise UsageError("where to? give --out DIR")
    return RESULTS / Path(study).stem / FOLDER


def medium(fs: str, settings: Sequence[str], part: str, partition_mib: float, board: str) -> Medium:
    """A file system on a partition of a chip in a board, by their names."""
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.cli.image import blocks_of
    from nandlab.image.making import refuse_what_cannot_be
    from nandlab.plan.medium import Medium

    system, chip = load("filesystems", fs, FilesystemModel), load("chips", part, ChipModel)
    on = Medium(
        board=load("boards", board, BoardModel),
        chip=chip,
        partition_blocks=blocks_of(chip, partition_mib),
        filesystem=system,
        options=system.chosen(pairs(settings, "--set"), "--set"),
    )
    if system.read_only:
        raise UsageError(f"--fs {fs}: it is only read, so there is nothing to cut")
    refuse_what_cannot_be(on)
    return on


def opened(media: Sequence[Medium]) -> QemuBoard:
    """The board of these media; UsageError for all that its kernel does not support."""
    from nandlab.board.qemu import open_board
    from nandlab.trial.run import refuse_what_the_kernel_lacks

    with preparing(media[0].virtual):
        board = open_board(media[0].virtual)
    refuse_what_the_kernel_lacks(media, board.kernel_config, "--board")
    return board


@dataclass(frozen=True)
class How:
    """How campaigns are run, and what is told of them."""

    points: Points
    title: str | None
    jobs: int
    sample: int = 0
    states: bool = False
    """Whether the distinct states among the points are counted."""
    faulty: bool = False
    """Whether the chip fails, instead of its power."""

    def refuse_bad_loads(self, wanted: Request) -> None:
        """UsageError for loads that cannot be, as far as that is known without a board."""
        from nandlab.powercut.request import read

        for loads in filter(None, map(read, wanted.loads)):
            self._of(loads)

    def _of(self, loads: Loads) -> tuple[Loads, Points]:
        """Loads as they are played, and which points of them are tried."""
        from nandlab.powercut import faults
        from nandlab.powercut.request import only

        loads = faults.of(loads) if self.faulty else loads
        return loads, only(self.points, loads, self.title)

    def campaign(self, on: Medium, name: str, board: QemuBoard) -> Campaign:
        """The campaign of a load on a medium."""
        from nandlab.powercut.campaign import Campaign
        from nandlab.powercut.request import loads_of

        return Campaign(on, *self._of(loads_of(name, on, board)))

    def run(self, one: Campaign, board: QemuBoard, out: Path, *, alone: bool) -> bool:
        """Runs a campaign, in ``out`` or, not alone, in a folder there; whether all held."""
        from nandlab.powercut import found

        result = asyncio.run(self.cut(one, board, out, _tell, alone=alone))
        write_lines(*found.lines(result))
        return not result.faults and not result.nothing

    async def cut(
        self,
        one: Campaign,
        board: QemuBoard,
        out: Path,
        told: Callable[[int, int, Sequence[dict[str, Any]]], None],
        *,
        alone: bool = False,
    ) -> Found:
        """The same without a word but by ``told``; what was found."""
        from nandlab.powercut import campaign as cutting
        from nandlab.powercut import found
        from nandlab.powercut.request import label
        from nandlab.powercut.sample import refuse_several_seeds
        from nandlab.report import powercuts
        from nandlab.results import cuts

        if self.sample:
            refuse_several_seeds(one)
        folder = out if alone else out / label(one)
        await cutting.run(one, board, folder, self.jobs, told)
        if self.sample:
            await _sampled(one, found.read(folder), board, folder, self.sample)
        if self.states:
            await _counted(one, board, folder, found.read(folder), self.jobs)
        result = found.read(folder)
        (folder / "outcomes.svg").write_text(powercuts.chart(result).svg())
        if not alone:
            cuts.write(folder.parent, found.summary(folder.parent))
        return result


def _tell(done: int, of: int, loads: Sequence[dict[str, Any]]) -> None:
    bad = sum(each["count"] for load in loads for each in load.get("findings", []))
    points = sum(load.get("points", 0) for load in loads)
    note(f"{done}/{of}: {points} points, {bad} did not hold")


async def _sampled(
    campaign: Campaign, result: Found, board: QemuBoard, out: Path, count: int
) -> None:
    """Tries points alone and by the host, and tells how many say the same."""
    from nandlab.powercut.sample import again

    every = [each async for each in again(campaign, result, board, out, count)]
    alone = sum(each.campaign == each.alone for each in every)
    host = [each.host_agrees for each in every]
    same = sum(each.same_recording for each in every)
    write_lines(f"sample: {alone}/{len(every)} points say the same alone on a fresh board")
    write_lines(f"recordings: the same there for {same} of them")
    unread = f", of {host.count(None)} it cannot say" if None in host else ""
    write_lines(f"host: agrees on {host.count(True)} of them{unread}")


async def _counted(
    campaign: Campaign, board: QemuBoard, out: Path, result: Found, jobs: int
) -> None:
    """Counts the states of the loads that the folder lacks."""
    from nandlab.powercut.states import of_campaign

    async for left in of_campaign(campaign, board, out, result.refused, jobs):
        note(f"states: {left} loads are left")
