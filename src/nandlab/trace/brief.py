# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder in a few lines that can be kept: flash time by cause and by phase.

A folder is many megabytes; a paper's claim rests on a few of its figures. These are copied, never
typed: ``nandlab trace brief FOLDER > FILE``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.catalog.files import validate
from nandlab.catalog.noun import Strict
from nandlab.trace.folder import TraceFolder

PAGES = {"FS_WRITE_END": "written to", "FS_WRITE_PAGE": "written back"}
"""Events of the page cache that are kept, in words."""
PHASES = ("creation", "transactions", "deletion")


class Flash(Strict):
    """The chip's operations and their time. Those on spare bytes alone count in the time only."""

    ns: int
    reads: int
    programs: int
    erases: int


class Cause(Flash):
    """The operations of one cause."""

    cause: str


class Phase(Strict):
    """A phase of FFSMark with the sync that ends it, as the program itself reports it."""

    name: str
    ns: int
    reads: int
    programs: int
    erases: int


class Brief(Strict):
    """A trace's figures, and what it is of."""

    format: Literal[1] = 1
    nandlab: str
    command: str
    board: str
    kernel: str
    chip: str
    partition_blocks: int
    filesystem: str
    options: dict[str, str]
    state: dict[str, Any]
    seed: int
    config: dict[str, Any] = Field(description="FFSMark's own account of its load; else empty")
    command_ns: int
    events: int
    lost: int
    missed: int
    warnings: list[str]
    phases: list[Phase] = Field(description="of FFSMark; of other commands none")
    pages: dict[str, int] = Field(
        description="of the page cache: pages that calls wrote to, those that write-back took"
    )
    programmed_bytes: int | None
    written_bytes: int | None = Field(description="that the program wrote, by its calls")
    flash: Flash | None = Field(description="null: not traced")
    causes: list[Cause]
    calls: dict[str, list[int]] = Field(
        description="of each call of the VFS: how many, and their ns with all inside"
    )
    functions: dict[str, list[int]] = Field(
        default={},
        description="of each function asked for by name: calls, their ns with all inside",
    )


def of(trace: TraceFolder) -> Brief:
    """A folder's brief; what was not traced is null in it."""
    s, meta = trace.summary, trace.meta
    vfs, chip = ("vfs" in meta["tracers"], "flash" in meta["tracers"])
    told = _ffsmark(meta["stdout"])
    write = s["amplification"]["write"]
    return Brief(
        nandlab=meta["nandlab"],
        command=meta["command"],
        board=meta["board"]["board"]["name"],
        kernel=meta["board"]["kernel"],
        chip=meta["chip"],
        partition_blocks=meta["partition_blocks"],
        filesystem=meta["filesystem"],
        options=meta["options"],
        state=meta["state"],
        seed=meta["seed"],
        config=told.get("config", {}),
        command_ns=meta["command_ns"],
        events=s["events"],
        lost=s["lost"],
        missed=s["missed"],
        warnings=s["warnings"],
        phases=_phases(told),
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


def read(path: Path) -> Brief:
    """A brief that was kept; UsageError if it is none."""
    try:
        data = json.loads(path.read_text())
    except OSError as e:
        raise UsageError(f"{path}: cannot be read: {e.strerror}") from None
    except ValueError as e:
        raise UsageError(f"{path}: not JSON: {e}") from None
    return validate(data, Brief, str(path))


def text(brief: Brief) -> str:
    """As it is kept in a file."""
    return json.dumps(brief.model_dump(), indent=1) + "\n"


def _figures(row: dict[str, Any]) -> dict[str, int]:
    return {k: row[k] for k in ("ns", "reads", "programs", "erases")}


def _ffsmark(stdout: str) -> dict[str, Any]:
    """What FFSMark printed; empty if the command was another program."""
    try:
        found = json.loads(stdout)
    except ValueError:
        return {}
    ours = isinstance(found, dict) and found.get("program") == "ffsmark"
    return found if ours else {}


def _phases(told: dict[str, Any]) -> list[Phase]:
    """The phases that were run. FFSMark counts the sync in a phase's operations, not its time."""
    counted = (told.get("flash") or {}).get("phases") or {}
    found = []
    for name in PHASES:
        ns = (told.get("phase_ns") or {}).get(name)
        if ns is None or not counted.get(name):
            continue
        sync_ns = told["sync_ns"][name] or 0
        operations = {k: counted[name][k] for k in ("reads", "programs", "erases")}
        found.append(Phase(name=name, ns=ns + sync_ns, **operations))
    return found
