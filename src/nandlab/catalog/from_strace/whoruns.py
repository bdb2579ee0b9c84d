# SPDX-License-Identifier: GPL-2.0-or-later
"""Which process a line without a number is of, as a terminal or a trace without -f has them.

strace names the process of a line as ``[pid N]`` only while it traces several. The first process
has no number until then: it is ``UNNAMED`` here from its first line to its last.
"""

from __future__ import annotations

UNNAMED = 0


class ProcessNames:
    """Follows which processes run, from the lines in their order."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._unnamed = UNNAMED
        """The number that the first process turned out to have; UNNAMED: none yet."""
        self._children: set[int] = set()

    def attach(self, pid: int) -> None:
        """A process that another has begun, or that strace was told to trace."""
        self._children.add(pid)
        self._running.add(pid)

    def end(self, pid: int) -> None:
        self._running.discard(pid)

    def name(self, pid: int | None) -> int:
        """The process of a line, by the number that it names."""
        if pid is None:
            only = len(self._running) == 1
            number = next(iter(self._running)) if only else UNNAMED
        elif pid == self._unnamed or self._is_first(pid):
            self._unnamed = pid
            number = UNNAMED
        else:
            number = pid
        self._running.add(number)
        return number

    def _is_first(self, pid: int) -> bool:
        """Whether a number that is new is that of the process that had none."""
        unnamed = self._unnamed == UNNAMED and UNNAMED in self._running
        return unnamed and pid not in self._children and pid not in self._running
