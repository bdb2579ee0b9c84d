# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in memory: another process writes to them, and a copy has what they have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.memoryfile import BLOCK_BYTES, PIECE_BYTES, MemoryFile

SIZE = PIECE_BYTES + 3 * BLOCK_BYTES
PIECES = st.lists(st.tuples(st.integers(0, SIZE - 9000), st.binary(max_size=9000)), max_size=5)


@given(PIECES)
@example([(PIECE_BYTES - 1, b"ab"), (SIZE - 1, b"z")])
@example([(BLOCK_BYTES, bytes(2 * BLOCK_BYTES))])
def test_a_copy_has_the_same_bytes_and_no_zeros(pieces: list[tuple[int, bytes]]) -> None:
    content = bytearray(SIZE)
    with hold_scratch_folder() as folder, MemoryFile("ram", SIZE) as file:
        for at, piece in pieces:
            os.pwrite(file.fd, piece, at)
            content[at : at + len(piece)] = piece
        file.copy_to(folder / "copy")
        assert (folder / "copy").read_bytes() == content
        held = sum(
            any(content[at : at + BLOCK_BYTES]) for at in range(0, len(content), BLOCK_BYTES)
        )
        with MemoryFile("again", SIZE) as again:
            again.copy_from(folder / "copy")
            assert os.pread(again.fd, SIZE, 0) == content
            assert sum(size for _, size in again.list_written_parts()) == held * BLOCK_BYTES


def test_another_process_writes_to_it_by_its_path(tmp_path: Path) -> None:
    with MemoryFile("channel") as file:
        fd = file.appear(tmp_path)
        words = ["sh", "-c", 'printf %s "$1" > channel', "sh", "told"]
        subprocess.run(words, cwd=tmp_path, pass_fds=(fd,), check=True)
        assert (tmp_path / "channel").read_bytes() == file.read() == b"told"
        assert [file.read(start) for start in (1, 4, 5)] == [b"old", b"", b""]
