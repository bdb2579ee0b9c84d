# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system's index as it lies on flash: a tree of nodes by key, whose leaves are its nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Branch(NamedTuple):
    """Where a key leads."""

    key: int
    at: int
    """First byte of the node there, from the start of the partition."""
    bytes: int


@dataclass(frozen=True)
class IndexNode:
    """A node of the index."""

    at: int
    """Its first byte, from the start of the partition."""
    bytes: int
    level: int
    """0: its branches lead to leaves."""
    branches: tuple[Branch, ...]
    """In order of their keys."""

    @cached_property
    def keys(self) -> list[int]:
        return [branch.key for branch in self.branches]

    def last(self, key: int) -> int:
        """Number of the last branch whose key is not above this one; -1: all are above."""
        return bisect_right(self.keys, key) - 1


class IndexEntry(NamedTuple):
    """A name in a folder."""

    key: int
    """Of its node in the index."""
    at: int
    """First byte of its node, from the start of the partition."""
    folder: int
    number: int
    """Of the file, folder or link that it names."""


@dataclass(frozen=True)
class Index:
    """The whole tree."""

    root: int
    """First byte of the root's node."""
    nodes: Mapping[int, IndexNode] = field(repr=False)
    """By their first byte."""
    entries: Mapping[int, IndexEntry] = field(default_factory=dict, repr=False)
    """By the first byte of their nodes."""
    unit_bytes: int = 0
    """Of a logical block, within which each node lies; 0: not known."""
