# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a brief of a trace's folder."""

from __future__ import annotations

from typing import Any

from nandlab.base.gate import parse_json
from nandlab.measure.instrument import Unreadable
from nandlab.trace.brief import Brief, Cause, Flash, Phase
from nandlab.trace.folder import TraceFolder
from nandlab.trial import measured
from nandlab.trial.measured import Measured

PAGES = {"FS_WRITE_END": "written to", "FS_WRITE_PAGE": "written back"}
"""Events of the page cache that are kept, in words."""


def of(trace: TraceFolder) -> Brief:
    """A folder's brief; what was not traced is null in it."""
    s, meta = trace.summary, trace.meta
    on = meta["board"]["board"]
    vfs, chip = ("vfs" in meta["tracers"], "flash" in meta["tracers"])
    write = s["amplification"]["write"]
    return Brief(
        nandlab=meta["nandlab"],
        command=meta["command"],
        board=on["name"] if isinstance(on, dict) else on,
        kernel=meta["board"]["kernel"],
        chip=meta["chip"],
        partition_blocks=meta["partition_blocks"],
        filesystem=meta["filesystem"],
        options=meta["options"],
        state=meta["state"],
        seed=meta["seed"],
        config=_config(meta["stdout"]),
        command_ns=meta["command_ns"],
        events=s["events"],
        lost=s["lost"],
        missed=s["missed"],
        warnings=s["warnings"],
        phases=_phases(_told(meta["stdout"])),
        pages={PAGES[r["event"]]: r["count"] for r in s["requests"] if r["event"] in PAGES},
        programmed_bytes=write["chip_bytes"] if chip else None,
        written_bytes=write["program_bytes"] if vfs else None,
        flash=Flash(**_figures(s["flash"])) if chip else None,
        causes=[Cause(cause=r["cause"], **_figures(r)) for r in s["flash_by_cause"]],
        functions={
            r["name"]: [r["count"], r["ns"]]
            for r in s["functions"]
            if r["name"] in meta["functions"]
        },
        calls={r["name"]: [r["count"], r["ns"]] for r in s["calls"] if r["kind"] == "system call"},
    )


def _figures(row: dict[str, Any]) -> dict[str, int]:
    return {k: row[k] for k in ("ns", "reads", "programs", "erases")}


def _told(stdout: str) -> Measured:
    """What the command told of itself; nothing, if it is no program that does."""
    try:
        return measured.read(stdout)
    except Unreadable:
        return Measured()


def _config(stdout: str) -> dict[str, Any]:
    """The program's own account of its settings, where it prints one."""
    config = _object(stdout).get("config")
    return config if isinstance(config, dict) else {}


def _object(stdout: str) -> dict[str, Any]:
    try:
        found = parse_json(stdout.encode())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _phases(told: Measured) -> list[Phase]:
    """The phases that were counted. A phase's chip has the sync's operations, its time has not."""
    return [
        Phase(name=p.name, ns=p.ns + (p.sync_ns or 0), **p.chip.model_dump())
        for p in told.phases
        if p.ns is not None and p.chip is not None
    ]
