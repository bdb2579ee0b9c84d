# SPDX-License-Identifier: GPL-2.0-or-later
"""cpio archives: what is put in is what busybox's and Python's readers of the format take out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.board.jobs.cpio import Archive

NAMES = st.text("abcxyz._-", min_size=1, max_size=12).filter(lambda n: n not in (".", ".."))


def read_newc(data: bytes) -> dict[str, tuple[int, bytes]]:
    """An independent reader: path -> mode, content."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        field = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name = data[at + 110 : at + 110 + field[11] - 1].decode()
        body = at + (110 + field[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (field[1], data[body : body + field[6]])
        at = body + (field[6] + 3) // 4 * 4


@given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=8))
def test_files_come_back_as_they_were(files: dict[str, bytes]) -> None:
    cpio = Archive()
    for name, content in files.items():
        cpio.file(f"a/b/{name}", content, 0o640)
    found = read_newc(cpio.bytes())
    assert {n: found[f"a/b/{n}"] for n in files} == {n: (0o100640, c) for n, c in files.items()}


def test_links_devices_and_parents() -> None:
    cpio = Archive()
    cpio.link("bin/sh", "/bin/busybox")
    cpio.device("dev/console", 5, 1)
    found = read_newc(cpio.bytes())
    assert found["bin"][0] == 0o040755
    assert found["bin/sh"] == (0o120777, b"/bin/busybox")
    assert found["dev/console"][0] == 0o020600


def test_the_same_path_twice_is_refused() -> None:
    cpio = Archive()
    cpio.file("init", b"")
    with pytest.raises(ValueError, match="already"):
        cpio.link("init", "elsewhere")
