# SPDX-License-Identifier: GPL-2.0-or-later
"""The monitor's socket has a path that Linux takes, wherever the temporary folder is."""

from __future__ import annotations

import socket
from pathlib import Path

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.virtual.vm import SOCKET_FOLDER_MAX


def test_the_longest_folder_for_sockets_takes_one_and_no_letter_more() -> None:
    with hold_scratch_folder("/tmp") as home:
        longest = home / ("x" * (SOCKET_FOLDER_MAX - len(str(home)) - 1))
        longest.mkdir()
        with hold_scratch_folder(str(longest)) as folder, socket.socket(socket.AF_UNIX) as monitor:
            monitor.bind(str(folder / "qmp"))
        path = Path(f"{folder / 'qmp'}+")
        assert len(str(path)) == 108
