# SPDX-License-Identifier: GPL-2.0-or-later
"""Which calls set a file's time of change, by the file's other name where it has two.

By stat(1) of the board, and without a reference: the sequences compare each time with tmpfs's, by
the operation that set it, and excuse what JFFS2 leaves. The clock goes on for some seconds before
each call here.
"""

from __future__ import annotations

import pytest
from support.place import Place

from nandlab.board.jobs.job import Board, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

CALLS = {
    "link": "ln a b",
    "unlink": "rm b",
    "chmod": "chmod 600 a",
    "rename": "mv a c && mv c a",
    "rename-over": "mv d b",
    "write": "echo x >> a",
    "utime": "touch -d 2001-01-01 a",
}
"""Each changes the file a, or one of its names. d is another file."""
BEFORE = {"rename-over": "ln a b && : > d"}
LEAVES: dict[str, set[str]] = {
    "jffs2": {"link", "unlink", "rename", "rename-over"},
    "ubifs": set(),
    "yaffs2": set(),
}
"""The calls that leave it. POSIX wants all to set it, but for a rename of the file itself."""
PAUSE_S = 3
"""More than any of them is coarse."""


def is_set(call: str) -> str:
    """The command that makes a call, and prints whether it set a's time of change."""
    return (
        f"{BEFORE.get(call, 'true')} && was=$(stat -c %Z a) && sleep {PAUSE_S} && "
        f'{CALLS[call]} && echo "{call} $(($(stat -c %Z a) > was))"'
    )


@pytest.mark.parametrize("system", LEAVES)
def test_which_calls_leave_the_time_of_change(board: Board, system: str) -> None:
    place = Place(system, "apf27", small=True)
    command = " && ".join([f"cd {MOUNTPOINT}", ": > a", *map(is_set, CALLS)])
    record, complaints = place.run(board, Step("calls", command))
    assert complaints == []
    sets = dict(line.split() for line in record["calls"].stdout.splitlines())
    assert sets.keys() == CALLS.keys()
    assert {call for call, told in sets.items() if told == "0"} == LEAVES[system]
