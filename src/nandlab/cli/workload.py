# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab workload``: makes workloads of what users have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note

workload_app = typer.Typer(
    no_args_is_help=True,
    help="Make a workload of your own device's load.\n\n"
    "1. On the device, record a program: strace -f -ttt -T -y -o app.strace PROGRAM\n\n"
    "2. Here, in your project: nandlab workload from-strace app.strace --below /data\n\n"
    '3. Name it in a study: workloads = [{ name = "app" }], and run the study.\n\n'
    "docs/replay.md says what is replayed, and what a trace does not have.\n\n"
    "A job file of fio becomes a workload with from-fio; docs/fio.md.",
)


OutOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="NAME.toml",
        help="the workload's file; default: catalog/workloads/NAME.toml, where studies of this "
        "folder find it",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(help="the workload's name; default: that of --out, or of what is read"),
]


@workload_app.command("from-strace")
def from_strace(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="what strace -f -ttt -o FILE wrote; of -ff, FILE without a number"
        ),
    ],
    out: OutOption = None,
    below: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="the folder of the device whose calls are replayed, below the mountpoint; "
            "default: the one that the trace writes below, if there is one only",
        ),
    ] = None,
    name: NameOption = None,
) -> None:
    """Make a workload that replays what strace recorded: the same calls, offsets and bytes.

    Take the trace on your device with: strace -f -ttt -T -y -o FILE PROGRAM (or -p PID).
    -T tells calls' own time from that between them; -y names files that were open before. Leave -s
    as it is: strings may be cut, but lists are cut by it too. Times of -tt, -t and -r, parts of
    -ff, and what strace wrote to the terminal, with the program's output, are read too.

    The last line of output is the workload's file. What cannot be replayed as it was is told on
    stderr, and in the file's head, with counts.
    """
    from nandlab.base.files import write_whole_file
    from nandlab.catalog.from_strace.workload import TraceWorkload

    path = _choose_output_path(trace, out, name)
    workload = TraceWorkload(trace, below, path.stem)
    text = workload.text()
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole_file(path, text.encode())
    print_note(
        f"{workload.followed.replayed_calls:,} calls below {workload.folder} are replayed, "
        f"{workload.recorded.read:,} bytes read and {workload.recorded.written:,} written; "
        f"{workload.followed.elsewhere:,} calls are elsewhere"
    )
    for doubt in workload.doubts():
        print_note(f"nandlab: {doubt}")
    print_lines(path)


@workload_app.command("from-fio")
def from_fio(
    jobs: Annotated[Path, typer.Argument(metavar="FILE.fio", help="a job file of fio")],
    out: OutOption = None,
    name: NameOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="an option that all jobs have, instead of what the file says, such as size=8m "
            "or direct=0; repeatable",
        ),
    ] = None,
) -> None:
    """Make a workload that does the jobs of a job file of fio, by nandlab's own program.

    An option that cannot be done is refused by name and line. What a job file says that changes
    nothing here is told on stderr, and in the workload's head.

    The last line of output is the workload's file.
    """
    from nandlab.base.files import write_whole_file
    from nandlab.catalog.from_fio import jobfile, workload

    path = _choose_output_path(jobs, out, name)
    read = jobfile.read_fio_job_file(jobs, _parse_overrides(settings or []))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole_file(path, workload.format_workload_file(read, path.stem).encode())
    for doubt in read.notes:
        print_note(f"nandlab: {jobs}: {doubt}")
    print_lines(path)


def _parse_overrides(settings: list[str]) -> dict[str, str]:
    overrides = dict(setting.partition("=")[::2] for setting in settings)
    for setting in settings:
        if not all(setting.partition("=")):
            raise UsageError(f"--set {setting}: expected OPTION=VALUE, such as direct=0")
    return overrides


def _choose_output_path(trace: Path, out: Path | None, name: str | None) -> Path:
    """The file that is written; UsageError if it cannot be a workload's, or is there."""
    from nandlab.base.paths import CATALOG
    from nandlab.catalog.from_strace.workload import NAME_PATTERN, make_workload_name

    called = name or (out.stem if out is not None else make_workload_name(trace))
    home = Path("catalog") / "workloads"
    path = out or home / f"{called}.toml"
    if path.suffix != ".toml":
        raise UsageError(f"--out {path}: a workload's file ends in .toml")
    if not NAME_PATTERN.fullmatch(called):
        raise UsageError(
            f"--name {called}: a workload's name has letters, digits and _.+- only, and begins "
            "with a letter or digit"
        )
    if path.stem != called:
        raise UsageError(f"--out {path}: a workload's file has its name: {called}.toml")
    if (CATALOG / "workloads" / f"{called}.toml").exists():
        raise UsageError(f"{called} is a workload of nandlab's own: give another --name")
    if out is not None and not path.parent.is_dir():
        raise UsageError(f"--out {path}: there is no folder {path.parent}")
    _refuse_existing(path)
    return path


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path}: it is there already: remove it, or give another --out")
