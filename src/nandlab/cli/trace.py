# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab trace``: runs a command on the board under trace, and shows the trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printer import print_json, print_lines, print_note, print_text
from nandlab.cli.arguments import (
    CatalogBoardOption,
    PartitionOption,
    SetOption,
    make_name_completer,
    parse_name_value_pairs,
    parse_scalar,
    split_comma_list,
)
from nandlab.cli.preparation import announce_board_preparation
from nandlab.cli.singletrial import (
    find_medium_words,
    find_unused_workload,
    parse_layout_words,
    plan_single_trial,
)
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.trace.job import TraceRequest

STATES = {
    "fresh": {"valid": 0.0, "invalid": 0.0, "mix": 0.0},
    "aged": {"valid": 0.5, "invalid": 0.25, "mix": 1.0},
}
"""Flash states by name: shares of the partition's pages that hold live and dead data."""


class _DefaultRunGroup(TyperGroup):
    """Takes ``nandlab trace OPTIONS`` for ``nandlab trace run OPTIONS``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


trace_app = typer.Typer(
    cls=_DefaultRunGroup,
    no_args_is_help=True,
    help="Trace a command: what it asks of the file system, and what that asks of the flash.\n\n"
    "nandlab trace --fs jffs2 -- 'cp /bin/busybox . && sync'\n\n"
    "is short for nandlab trace run. nandlab trace run --help lists its options.",
)
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="a trace's folder")]
CommandArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND...",
        help="after --: a line for the board's shell, run in the folder where the file system is "
        "mounted; or the name of a workload of the catalog, alone",
    ),
]
FsOption = Annotated[
    str | None,
    typer.Option(
        help="a file system of the catalog; needed unless --from is given",
        autocompletion=make_name_completer("filesystems"),
    ),
]
ChipOption = Annotated[
    str | None,
    typer.Option(
        metavar="PART",
        help="a chip of the catalog; default: apf27, or that of the image of --from",
        autocompletion=make_name_completer("chips"),
    ),
]
StateOption = Annotated[
    str,
    typer.Option(
        metavar="STATE",
        help="state of the flash when the trace begins: fresh, aged (half live, a quarter dead, "
        "mixed), or shares such as valid=0.5,invalid=0.25,mix=1; of=free takes them of the bytes "
        "that statvfs tells to be free, as the FFSMark paper's program does",
    ),
]
ParamOption = Annotated[
    list[str],
    typer.Option(
        "--param", metavar="NAME=VALUE", help="a parameter of the workload; may be repeated"
    ),
]
MtdpartsOption = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="several MTD partitions on the chip, as the kernel's mtdparts= has them, such as "
        "'2M(boot),6M(kernel),32M(rootfs),-(data)', instead of --partition-mib",
    ),
]
MtdpartOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="of --mtdparts: the partition that has the file system"),
]
OnlyOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="of --mtdparts: trace this partition alone: its flash, and the file system on it",
    ),
]
TracersOption = Annotated[str, typer.Option(help="the tracers to use, separated by commas")]
FunctionsOption = Annotated[
    str, typer.Option(help="further kernel functions for func to trace, separated by commas")
]
RecordsOption = Annotated[
    int, typer.Option(help="records that the board keeps in its RAM, 64 bytes each")
]
BeforeOption = Annotated[
    str,
    typer.Option(metavar="LINE", help="a line for the board's shell, run before the trace begins"),
]
WithMountOption = Annotated[
    bool,
    typer.Option(
        "--with-mount", help="trace a mount before the command and the unmount after it too"
    ),
]
AtOnceOption = Annotated[
    bool,
    typer.Option(
        "--at-once",
        help="begin when the flash has its state, as the trials of a study do, and not when "
        "the chip has come to rest after that",
    ),
]
ImageOption = Annotated[
    bool,
    typer.Option(
        "--image",
        help="keep the chip as it is when the trace begins, as chip.image in the folder: the board "
        "runs twice, and the trace is the same without it",
    ),
]
CopyOption = Annotated[
    list[str],
    typer.Option(
        "--copy",
        metavar="FILE:PATH",
        help="put a file of yours at PATH of the board, its permissions kept, before --before: a "
        "static program, or data, which below /mnt is on flash; may be repeated",
    ),
]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="IMAGE",
        help="begin from a chip image (nandlab image make), with its file system, part and "
        "partition; options that it was made with are kept unless --set names them",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="the folder; default: trace-FS, else trace-FS-2, ..."),
]


@trace_app.command()
def run(  # noqa: PLR0913, PLR0917 - the command line's own options
    command: CommandArgument,
    fs: FsOption = None,
    chip: ChipOption = None,
    from_: FromOption = None,
    set_: SetOption = [],  # noqa: B006 - typer copies it
    param: ParamOption = [],  # noqa: B006
    partition_mib: PartitionOption = None,
    mtdparts: MtdpartsOption = None,
    mtdpart: MtdpartOption = None,
    only: OnlyOption = "",
    state: StateOption = "fresh",
    tracers: TracersOption = "vfs,flash,func",
    functions: FunctionsOption = "",
    records: RecordsOption = 1 << 17,
    copy: CopyOption = [],  # noqa: B006
    before: BeforeOption = "",
    with_mount: WithMountOption = False,
    at_once: AtOnceOption = False,
    image: ImageOption = False,
    seed: Annotated[int, typer.Option(help="seed of the workload and of the flash state")] = 1,
    board: CatalogBoardOption = "apf27",
    source: SourceOption = [],  # noqa: B006
    patch: PatchOption = [],  # noqa: B006
    out: OutOption = None,
) -> None:
    """Run a command under trace and write a folder: events, timeline, summary.

    The last line of output is the folder. The exit status is 1 if the command failed; its trace
    is written all the same.
    """
    from nandlab.catalog.files import list_noun_names
    from nandlab.trace import job
    from nandlab.trace.copies import read_files_to_copy

    workload = job.is_command_workload_name(command, list_noun_names("workloads"))
    if param and not workload:
        raise UsageError("--param is for a workload, and the command is not one")
    words = (
        _parse_parameters(command[0], parse_name_value_pairs(param, "--param")) if workload else {}
    )
    layout = parse_layout_words(mtdparts, mtdpart)
    if layout and (from_ is not None or image or partition_mib is not None):
        raise UsageError("--mtdparts has the sizes: leave --from, --image and --partition-mib out")
    system, place = find_medium_words(fs, {"part": chip, "partition_mib": partition_mib}, from_)
    spec = plan_single_trial(
        board=board,
        workload={
            "name": command[0] if workload else find_unused_workload(system["name"]),
            **words,
        },
        filesystem={**system, **parse_name_value_pairs(set_, "--set")},
        chip=place | layout,
        state=_parse_state(state),
        seed=seed,
    )
    line = None if workload else job.format_command_as_shell(command)
    tracing = (split_comma_list(tracers), split_comma_list(functions), records)
    moments = (before, with_mount, at_once)
    copies = read_files_to_copy(copy, spec.virtual, records)
    request = job.TraceRequest(spec, line, *tracing, *moments, copies, only)
    _begin_trace(request, out, read_source_options(source, patch), image=image)


def _parse_parameters(workload: str, words: dict[str, str]) -> dict[str, Any]:
    """Values as a study file has them: a number, unless the parameter is a text."""
    from nandlab.catalog.files import load_noun
    from nandlab.catalog.workload import WorkloadModel

    known = load_noun("workloads", workload, WorkloadModel).parameters
    texts = {name for name, p in known.items() if isinstance(p.default, str)}
    return {name: value if name in texts else parse_scalar(value) for name, value in words.items()}


def _begin_trace(
    request: TraceRequest,
    out: Path | None,
    sources: Mapping[str, SourceRequest],
    *,
    image: bool,
) -> None:
    """Refuses what cannot be traced before the board is prepared, then traces."""
    from nandlab.trace import writer
    from nandlab.traced.setup import make_tracer_commands

    system = request.spec.filesystem
    make_tracer_commands(system, None, request.tracers, request.functions, request.records)
    path = out or _find_free_path(Path(f"trace-{system.name}"))
    writer.refuse_existing_trace_folder(path)
    ok = _run_trace(request, path, sources, image=image)
    print_lines(path)
    if not ok:
        raise typer.Exit(1)


def _run_trace(
    request: TraceRequest, path: Path, sources: Mapping[str, SourceRequest], *, image: bool
) -> bool:
    """Runs the command on a board and writes the folder; False if the command failed."""
    import asyncio

    from nandlab.board.jobs.job import BoardLost
    from nandlab.board.opening import open_board
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.trace import job, writer
    from nandlab.trace.folder import TraceFolder
    from nandlab.trial.runner import refuse_unsupported_kernel

    traced = job.make_trace_job(request)  # refuses what does not fit before the board is prepared
    model = find_media_board([request.spec], sources)
    with announce_board_preparation(model):
        board = open_board(model, sources=sources)
    refuse_unsupported_kernel([request.spec], board.kernel_config, "--set")
    try:
        record = asyncio.run(board.run(traced))
        before = asyncio.run(board.run(job.make_pretrace_image_job(request))) if image else None
    except BoardLost as e:
        raise NandlabError(f"nothing was traced: {e.reason}", *e.console_tail[-10:]) from None
    outcome = job.decode_trace_outcome(request, record)
    kept = job.extract_pretrace_chip_image(before, record) if before is not None else b""
    writer.write_trace_folder(path, request, record, outcome, board, kept)
    for warning in TraceFolder(path).summary["warnings"]:
        print_note(f"nandlab: {warning}")
    return record["command"].ok


@trace_app.command()
def show(folder: FolderArgument) -> None:
    """Print the summary of a trace."""
    from nandlab.base.console import Console
    from nandlab.trace.folder import TraceFolder
    from nandlab.trace.show import print_trace_summary

    print_trace_summary(TraceFolder(folder), Console())


@trace_app.command()
def report(folder: FolderArgument) -> None:
    """Write a trace's report, one HTML file: timeline, layers, map of accesses."""
    from nandlab.report.page import tracepage
    from nandlab.trace.folder import TraceFolder

    print_lines(tracepage.write_trace_page(TraceFolder(folder)))


@trace_app.command()
def parts(
    folder: FolderArgument,
    json_: Annotated[bool, typer.Option("--json", help="as JSON, in ns")] = False,
) -> None:
    """Print a trace's time in parts that add up to the elapsed time, whole and by phase."""

    from nandlab.base.console import Console
    from nandlab.trace import partshow, timeparts
    from nandlab.trace.folder import TraceFolder
    from nandlab.trace.shapes import TraceParts

    found = timeparts.compute_trace_time_parts(TraceFolder(folder))
    if json_:
        print_json(TraceParts.model_validate(found).model_dump(mode="json"))
    else:
        partshow.print_time_parts(found, Console())


@trace_app.command()
def brief(folder: FolderArgument) -> None:
    """Print a trace's main figures as JSON; the catalog keeps these for the claims of papers."""
    from nandlab.trace import brief, briefmaker
    from nandlab.trace.folder import TraceFolder

    print_text(brief.format_trace_brief(briefmaker.make_trace_brief(TraceFolder(folder))))


def _parse_state(text: str) -> dict[str, Any]:
    if text in STATES:
        return {"name": text, **STATES[text]}
    values = dict(word.partition("=")[::2] for word in split_comma_list(text))
    base = {"of": values.pop("of")} if "of" in values else {}
    shares = {name: parse_scalar(value) for name, value in values.items()}
    if not shares.keys() <= STATES["fresh"].keys() or any(
        isinstance(share, bool | str) for share in shares.values()
    ):
        raise UsageError(
            f"--state {text}: must be {', '.join(STATES)} or shares, "
            "such as valid=0.5,invalid=0.25,mix=1"
        )
    return {"name": "given", **shares, **base}


def _find_free_path(path: Path) -> Path:
    """The path, or if it exists, the path with the first free number."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
