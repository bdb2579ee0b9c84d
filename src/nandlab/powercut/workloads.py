# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads of the catalog as loads that are cut: their own programs run here, under strace.

The programs are the board's, which are static. They run in a folder of this machine that stands for
the mountpoint; what they called is then a recorded load (docs/replay.md) like any other.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping

from nandlab.base.errors import UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.files import is_run_noun, list_noun_names, load_current_noun, load_noun
from nandlab.catalog.from_strace.workload import CONFIG_FILE, TraceWorkload
from nandlab.catalog.noun import Scalar
from nandlab.catalog.step import FileStep
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.matrix import StateChoice
from nandlab.plan.medium import MOUNTPOINT, Medium
from nandlab.plan.trialspec import TrialSpec
from nandlab.powercut import recordings
from nandlab.powercut.loads import LoadSet
from nandlab.trial import filesteps, steps

SMALL_PARAMETERS: Mapping[str, Mapping[str, Scalar]] = {
    "ffsmark": {"files": 30, "transactions": 40, "subdirectories": 3, "drop_cache": False},
    "logger": {"records": 60, "commit_every": 2, "file_bytes": 4096, "keep": 3},
    "config": {"files": 4, "rounds": 5},
    "update": {"files": "3", "dirs": "2", "depth": 2, "size": "uniform(500,9000)"},
}
"""Parameters with which a workload makes some hundreds of flash operations, for each to be cut."""
HOST_S_MAX = 300
STRACE = ("strace", "-f", "-ttt", "-T", "-y")


def is_workload_load_name(name: str) -> bool:
    """Whether a load's name begins with a workload's."""
    return name.split(maxsplit=1)[0] in list_noun_names("workloads") if name.split() else False


def has_workload_few_calls(workload: WorkloadModel) -> bool:
    """Whether it is known to have few calls, or is a recording of the user's."""
    return workload.name in SMALL_PARAMETERS or workload.config_file == CONFIG_FILE


def record_workload(name: str, medium: Medium, board: QemuBoard) -> LoadSet:
    """The load of a workload: its name, then parameters as NAME=VALUE, which stand before SMALL's.

    UsageError if it is none, or makes calls that cannot be cut.
    """
    called, *words = shlex.split(name)
    workload = load_noun("workloads", called, WorkloadModel)
    if workload.config_file == CONFIG_FILE:
        return recordings.parse_recorded_load(called, workload.config)
    if is_run_noun("workloads", called):
        # whoever sent the run wrote it, and its commands would run on this machine
        workload = _load_project_workload(called, name)
    choices = {**SMALL_PARAMETERS.get(called, {}), **_parse_parameters(workload, words, name)}
    parameters = workload.resolve_values(choices, f"--load {name}")
    spec = TrialSpec(
        **dict(medium),
        workload=workload.resolve_steps(parameters),
        parameters=parameters,
        state=StateChoice(name="fresh", valid=0, invalid=0),
        phase_offset_ms=0,
    )
    text = _trace_commands(name, _list_commands(spec), steps.make_workload_config_file(spec), board)
    return recordings.parse_recorded_load(name, text)


def _load_project_workload(called: str, name: str) -> WorkloadModel:
    """A workload by the user's own file; UsageError where there is none."""
    try:
        return load_current_noun("workloads", called, WorkloadModel)
    except UsageError:
        raise UsageError(
            f"--load {name}: its commands run on this machine, so the run's own copy does not do: "
            "call this in the folder that has its catalog"
        ) from None


def _parse_parameters(workload: WorkloadModel, words: list[str], where: str) -> dict[str, Scalar]:
    """Values of NAME=VALUE words, each in the type of the workload's default."""
    parameters: dict[str, Scalar] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in workload.parameters:
            known = ", ".join(workload.parameters)
            raise UsageError(f"--load {where}: {word}: expected NAME=VALUE of {known}")
        usual = workload.parameters[key].default
        try:
            parameters[key] = value == "true" if isinstance(usual, bool) else type(usual)(value)
        except ValueError:
            raise UsageError(f"--load {where}: {word}: expected a number") from None
    return parameters


def _list_commands(spec: TrialSpec) -> list[str]:
    """What the workload does to files, in the shell's words; mounts and rests are left out."""
    if not spec.workload.steps:
        return [steps.fill_workload_template(spec, spec.workload.command)]
    commands: list[str] = []
    for step in spec.workload.steps:
        if isinstance(step, FileStep):
            commands.append(
                filesteps.make_file_step_command(spec, step, steps.make_template_words(spec))
            )
            commands += ["sync"] if step.sync else []
        elif step.do in ("unmount", "sync"):
            commands.append("sync")
    return commands


def _trace_commands(
    name: str, commands: list[str], files: Mapping[str, bytes], board: QemuBoard
) -> str:
    """The recorded load of commands that are run here."""
    if shutil.which(STRACE[0]) is None:
        raise UsageError(f"--load {name}: a workload is recorded by strace, which is not here")
    script = "set -e\n" + "\n".join(commands) + "\n"
    programs = board.programs(Job((Step("all", script),), dict(files)))
    with hold_scratch_folder() as scratch:
        work = scratch.resolve()
        mount = work / "mnt"
        for folder in ("mnt", "bin", "run"):
            (work / folder).mkdir()
        for program, path in programs.items():
            (work / "bin" / program).symlink_to(path)

        def here(text: str) -> str:
            return text.replace(MOUNTPOINT, str(mount))

        for file, content in files.items():
            (work / "run" / file).write_text(here(content.decode()))
        (work / "script").write_text(here(script))
        trace = work / "trace"
        result = subprocess.run(
            [*STRACE, "-o", str(trace), "sh", str(work / "script")],
            cwd=work / "run",
            env={**os.environ, "PATH": f"{work / 'bin'}:{os.environ.get('PATH', '')}"},
            check=False,
            capture_output=True,
            text=True,
            timeout=HOST_S_MAX,
        )
        if result.returncode:
            message = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
            raise UsageError(f"--load {name}: it failed on this machine: {' '.join(message)}")
        return TraceWorkload(trace, str(mount), "load").recorded.text
