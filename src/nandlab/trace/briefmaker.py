# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a brief of a trace's folder."""

from __future__ import annotations

from typing import Any

from nandlab.base.gate import parse_json
from nandlab.trace.brief import Brief, Cause, Flash, Phase
from nandlab.trace.folder import TraceFolder
from nandlab.trial import workloadresult
from nandlab.trial.instruments.instrument import UnreadableOutput
from nandlab.trial.workloadresult import WorkloadResult

PAGE_EVENTS = {"FS_WRITE_END": "written to", "FS_WRITE_PAGE": "written back"}
"""Events of the page cache that are kept, in words."""


def make_trace_brief(trace: TraceFolder) -> Brief:
    """A folder's brief; what was not traced is null in it."""
    s, meta = trace.summary, trace.meta
    board = meta["board"]["board"]
    vfs, chip = ("vfs" in meta["tracers"], "flash" in meta["tracers"])
    write = s["amplification"]["write"]
    return Brief(
        nandlab=meta["nandlab"],
        command=meta["command"],
        board=board["name"] if isinstance(board, dict) else board,
        kernel=meta["board"]["kernel"],
        chip=meta["chip"],
        partition_blocks=meta["partition_blocks"],
        filesystem=meta["filesystem"],
        options=meta["options"],
        state=meta["state"],
        seed=meta["seed"],
        config=_find_config(meta["stdout"]),
        command_ns=meta["command_ns"],
        events=s["events"],
        lost=s["lost"],
        missed=s["missed"],
        warnings=s["warnings"],
        phases=_list_phases(_parse_measured(meta["stdout"])),
        pages={
            PAGE_EVENTS[r["event"]]: r["count"] for r in s["requests"] if r["event"] in PAGE_EVENTS
        },
        programmed_bytes=write["chip_bytes"] if chip else None,
        written_bytes=write["program_bytes"] if vfs else None,
        flash=Flash(**_pick_figures(s["flash"])) if chip else None,
        causes=[Cause(cause=r["cause"], **_pick_figures(r)) for r in s["flash_by_cause"]],
        functions={
            r["name"]: [r["count"], r["ns"]]
            for r in s["functions"]
            if r["name"] in meta["functions"]
        },
        calls={r["name"]: [r["count"], r["ns"]] for r in s["calls"] if r["kind"] == "system call"},
    )


def _pick_figures(row: dict[str, Any]) -> dict[str, int]:
    return {k: row[k] for k in ("ns", "reads", "programs", "erases")}


def _parse_measured(stdout: str) -> WorkloadResult:
    """What the command told of itself; nothing, if it is no program that does."""
    try:
        return workloadresult.parse_workload_result(stdout)
    except UnreadableOutput:
        return WorkloadResult()


def _find_config(stdout: str) -> dict[str, Any]:
    """The program's own account of its settings, where it prints one."""
    config = _parse_object(stdout).get("config")
    return config if isinstance(config, dict) else {}


def _parse_object(stdout: str) -> dict[str, Any]:
    try:
        found = parse_json(stdout.encode())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list_phases(told: WorkloadResult) -> list[Phase]:
    """The phases that were counted. A phase's chip has the sync's operations, its time has not."""
    return [
        Phase(name=p.name, ns=p.ns + (p.sync_ns or 0), **p.chip.model_dump())
        for p in told.phases
        if p.ns is not None and p.chip is not None
    ]
