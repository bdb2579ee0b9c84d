# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of a list's steps that work on files, and what they find in the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote

from nandlab.catalog import stepvalues
from nandlab.catalog.step import (
    DISTRIBUTION_FIELDS,
    UNMOUNTING_STEPS,
    FileStep,
    WalkStep,
    WorkloadStep,
)
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec

TemplateValues = Mapping[str, str]
"""What a step's templates give, by field."""
CommandMaker = Callable[[TrialSpec, TemplateValues], str]

FILETREE_DEFAULTS = {"names": "f0000", "payload": "random", "compressibility": "0"}
"""What filetree writes if it is not told."""
SYNC_PREFIX = "sync-after-"
"""What the name of a step's own sync begins with; no step of a workload has a hyphen."""
COLD_AFTER = ("mount", "drop", *UNMOUNTING_STEPS)
"""Steps after which the kernel has nothing of the files cached."""


def make_file_step_command(spec: TrialSpec, step: FileStep, words: Mapping[str, str]) -> str:
    """The board's command for a step; words: those of templates, by name."""
    values = stepvalues.fill_step_templates(step, words)
    by = BY_BUSYBOX if isinstance(step, WalkStep) and step.by == "busybox" else BY_FILETREE
    return by[step.do](spec, values)


def _quote_path(below: str) -> str:
    """A path below the mountpoint, as the shell takes it."""
    return quote(f"{MOUNTPOINT}/{below}" if below else MOUNTPOINT)


def _make_find_command(spec: TrialSpec) -> str:
    """busybox's find for what is in the mountpoint, but for what the file system keeps there."""
    own = "".join(f" ! -name {quote(name)}" for name in spec.filesystem.own_entries)
    return f"find {MOUNTPOINT} -mindepth 1 -maxdepth 1{own}"


def _make_tree_command(spec: TrialSpec, v: TemplateValues) -> str:
    data = {k: v[k] for k, default in FILETREE_DEFAULTS.items() if v[k] != default}
    asked = {k: v[k] for k in ("depth", *DISTRIBUTION_FIELDS, "seed")} | data
    options = " ".join(f"--{name} {quote(value)}" for name, value in asked.items())
    return f"filetree make {_quote_path(v['folder'])} {options}"


def _make_read_command(spec: TrialSpec, v: TemplateValues) -> str:
    listed = f" --list {quote(v['list'])}" if v["list"] else ""
    return f"filetree read {_quote_path(v['folder'])}{listed}"


def _make_fill_command(spec: TrialSpec, v: TemplateValues) -> str:
    share = f" --share {quote(v['share'])}" if float(v["share"]) < 1 else ""
    return f"filetree fill {_quote_path(v['file'])}{share}"


def _make_delete_command(spec: TrialSpec, v: TemplateValues) -> str:
    return f"filetree delete {_quote_path(v['folder'])}{'' if v['folder'] else ' --keep-top'}"


def _make_copy_command(spec: TrialSpec, v: TemplateValues) -> str:
    """cp -a would put the copy into what is there already."""
    to = _quote_path(v["to"])
    absent = f"{{ test ! -e {to} || {{ echo {to} is there already >&2; false; }}; }}"
    return f"{absent} && cp -a {_quote_path(v['folder'])} {to}"


def _make_rm_command(spec: TrialSpec, v: TemplateValues) -> str:
    if v["folder"]:
        return f"rm -rf {_quote_path(v['folder'])}"
    return f"{_make_find_command(spec)} -exec rm -rf {{}} +"


BY_FILETREE: Mapping[str, CommandMaker] = {
    "run": lambda spec, v: v["command"],
    "tree": _make_tree_command,
    "list": lambda spec, v: f"filetree list {_quote_path(v['folder'])}",
    "find": lambda spec, v: f"filetree find {_quote_path(v['folder'])} {quote(v['target'])}",
    "read": _make_read_command,
    "delete": _make_delete_command,
    "fill": _make_fill_command,
    "copy": _make_copy_command,
    "remove": lambda spec, v: f"rm {_quote_path(v['file'])}",
}
BY_BUSYBOX: Mapping[str, CommandMaker] = {
    "list": lambda spec, v: f"ls -R {_quote_path(v['folder'])} > /dev/null",
    "find": lambda spec, v: (
        f"find {_quote_path(v['folder'])} -name {quote(v['target'])} > /dev/null"
    ),
    "read": lambda spec, v: f"find {_quote_path(v['folder'])} -type f -exec cat {{}} + > /dev/null",
    "delete": _make_rm_command,
}
"""The paper's commands."""


def find_step_cache_states(spec: TrialSpec) -> dict[str, str]:
    """For each step that works on files whether it finds the kernel's cache cold or warm.

    It is cold if no step has worked on files since the last mount or drop.
    """
    warm, mounted, states = False, False, {}
    for step in spec.workload.steps:
        if step.uses_files:
            states[step.phase] = "warm" if warm else "cold"
        mounted = step.do == "mount" or (mounted and step.do not in UNMOUNTING_STEPS)
        warm = step.do not in COLD_AFTER and (warm or _warms_cache(spec, step, mounted=mounted))
    return states


def _warms_cache(spec: TrialSpec, step: WorkloadStep, *, mounted: bool) -> bool:
    """Whether files have been worked on in a step. A state is made in a mount of its own, if the
    file system is not mounted."""
    return step.uses_files or (step.do == "fill" and spec.aged and mounted)
