# SPDX-License-Identifier: GPL-2.0-or-later
"""One request, one tree: which interval of its task each event lies in, and who caused it.

The intervals of a task nest, so an event lies in those that began before it and ended after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.catalog.filesystem import CAUSES
from nandlab.traced.records import EventType, Names, Recording

Ints = NDArray[np.int64]
NONE = -1

VFS, FILE_SYSTEM, MTD, CHIP, OTHER_LAYER = range(5)
LAYERS = ("VFS", "file system", "MTD", "chip", "other")
"""Whose code an interval runs; an instant has the layer of the interval around it."""

WEAK_CAUSE = "write_buffer"
"""A cause only if there is no other: whatever flushed the buffer is the better one."""
WRITE_BACK = "write_back"
BEFORE_OPEN = {EventType.FS_LOOK_UP: "look_up", EventType.FS_CREATE: "create"}
"""What a file system does for a call before the call is seen."""
OUTSIDE_CALLS = "outside"
"""The cause of an operation that lies in no traced call."""


@dataclass(frozen=True)
class Tree:
    """For each record of a recording, in its order."""

    parent: Ints
    """The innermost interval that it lies in; -1: none."""
    root: Ints
    """The outermost one; of an outermost interval, itself."""
    call: Ints
    """The outermost interval of the VFS that it lies in or is: the system call; -1: none."""
    layer: Ints
    self_ns: Ints
    """Its time less that of the intervals directly inside it."""
    cause: Ints
    """Index into ``causes``, for what reaches the flash; 0 for the rest."""
    causes: list[str]
    inode: Ints
    """Inode of the innermost interval that has one: the file that an event was for; 0: none."""
    symbols: Mapping[str, Sequence[str]]
    """The symbols of the file system's catalog file."""

    def list_functions(self, causes: Sequence[str]) -> set[str]:
        """The functions that the catalog has for some causes."""
        return {name for cause in causes for name in self.symbols.get(cause, ())}


def make_event_tree(
    recording: Recording, names: Names, symbols: Mapping[str, Sequence[str]]
) -> Tree:
    """The tree of a recording. ``symbols`` are those of the file system's catalog file."""
    records = recording.records
    parent = _find_parents(records["pid"], recording.closed)
    layer = _find_layers(records, names, symbols, parent)
    latency = records["latency_ns"].astype(np.int64)
    inside = np.bincount(
        parent[parent != NONE], latency[parent != NONE].astype(float), minlength=len(parent)
    )
    causes, own_causes = _find_own_causes(records, names, symbols)
    is_vfs = (records["type"] >= EventType.VFS_OPEN) & (records["type"] < EventType.PC_HIT)
    return Tree(
        parent,
        _find_outermost(parent, np.ones(len(parent), bool)),
        _find_outermost(parent, is_vfs),
        layer,
        latency - inside.astype(np.int64),
        _find_causes(records, parent, own_causes, causes),
        causes,
        _find_inodes(records, parent),
        symbols,
    )


def _find_parents(pid: NDArray[Any], closed: Ints) -> Ints:
    """For each event the last earlier one of its task that ended after it.

    All events search at once, from the event just before. One whose candidate ended too early takes
    that candidate's own candidate, until no event changes.
    """
    n = len(pid)
    by_task = np.argsort(pid, kind="stable")
    ends = closed[by_task]
    first = np.ones(n, bool)
    first[1:] = pid[by_task][1:] != pid[by_task][:-1]
    look = np.arange(n) - 1
    look[first] = NONE
    todo = np.flatnonzero(look != NONE)
    while len(todo):
        todo = todo[ends[look[todo]] < ends[todo]]
        look[todo] = look[look[todo]]
        todo = todo[look[todo] != NONE]
    parent = np.full(n, NONE)
    parent[by_task] = np.where(look == NONE, NONE, by_task[look])
    return parent


def _find_outermost(parent: Ints, is_wanted: NDArray[np.bool_]) -> Ints:
    """For each event the outermost wanted one among itself and those around it, or -1."""
    outermost = np.where(is_wanted, np.arange(len(parent)), NONE)
    ancestor = parent.copy()
    todo = np.flatnonzero(ancestor != NONE)
    while len(todo):
        todo_ancestors = ancestor[todo]
        outermost[todo] = np.where(is_wanted[todo_ancestors], todo_ancestors, outermost[todo])
        ancestor[todo] = parent[todo_ancestors]
        todo = todo[ancestor[todo] != NONE]
    return outermost


def _find_innermost(parent: Ints, values: Ints, none: int) -> Ints:
    """For each event the value of the innermost event with one, among itself and those around."""
    innermost = values.copy()
    ancestor = parent.copy()
    todo = np.flatnonzero((innermost == none) & (ancestor != NONE))
    while len(todo):
        todo_ancestors = ancestor[todo]
        innermost[todo] = values[todo_ancestors]
        ancestor[todo] = parent[todo_ancestors]
        todo = todo[(innermost[todo] == none) & (ancestor[todo] != NONE)]
    return innermost


_LAYER_OF = np.full(256, OTHER_LAYER)
_LAYER_OF[EventType.VFS_OPEN : EventType.FS_READAHEAD] = VFS
_LAYER_OF[EventType.FS_READAHEAD : EventType.FLASH_READ] = FILE_SYSTEM
_LAYER_OF[EventType.FLASH_READ : EventType.MTD_READ] = CHIP
_LAYER_OF[EventType.MTD_READ : EventType.FUNC] = MTD


def _find_layers(
    records: NDArray[Any], names: Names, symbols: Mapping[str, Sequence[str]], parent: Ints
) -> Ints:
    """By type; a function that the catalog does not know has the layer that it lies in."""
    layer = _LAYER_OF[records["type"]]
    known = {name for listed in symbols.values() for name in listed}
    numbers = [n for n, name in names.functions.items() if name in known]
    function = records["type"] == EventType.FUNC
    layer[function & np.isin(records["object"], numbers)] = FILE_SYSTEM
    unset = np.where(layer == OTHER_LAYER, NONE, layer)
    found = _find_innermost(parent, unset, NONE)
    return np.where(found == NONE, OTHER_LAYER, found)


def _find_own_causes(
    records: NDArray[Any], names: Names, symbols: Mapping[str, Sequence[str]]
) -> tuple[list[str], Ints]:
    """All causes, "" first, and for each record the index of the cause that it is itself."""
    listed = ["", OUTSIDE_CALLS]
    by_type = np.zeros(256, np.int64)
    for kind in EventType:
        if EventType.VFS_OPEN <= kind < EventType.PC_HIT:
            name = WRITE_BACK if kind is EventType.VFS_WRITEBACK else kind.name.lower()
            by_type[kind] = len(listed)
            listed.append(name)
    for kind, name in BEFORE_OPEN.items():
        by_type[kind] = len(listed)
        listed.append(name)
    own_causes = by_type[records["type"]]
    function = records["type"] == EventType.FUNC
    for number, name in names.functions.items():
        cause = next((c for c in CAUSES if name in symbols.get(c, ())), None)
        if cause is None:
            continue
        if cause not in listed:
            listed.append(cause)
        own_causes[function & (records["object"] == number)] = listed.index(cause)
    return listed, own_causes


def _find_causes(records: NDArray[Any], parent: Ints, own_causes: Ints, causes: list[str]) -> Ints:
    """The innermost cause around each flash operation; the weak one only if there is no other."""
    weak = causes.index(WEAK_CAUSE) if WEAK_CAUSE in causes else NONE
    strong = _find_innermost(parent, np.where(own_causes == weak, 0, own_causes), 0)
    found = np.where(strong == 0, _find_innermost(parent, own_causes, 0), strong)
    flash = (records["type"] >= EventType.FLASH_READ) & (records["type"] < EventType.FUNC)
    return np.where(flash, np.where(found == 0, causes.index(OUTSIDE_CALLS), found), 0)


def _find_inodes(records: NDArray[Any], parent: Ints) -> Ints:
    of_file = (records["type"] >= EventType.VFS_OPEN) & (records["type"] < EventType.FLASH_READ)
    own = np.where(of_file, records["object"].astype(np.int64), 0)
    return _find_innermost(parent, own, 0)
