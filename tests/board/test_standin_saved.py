# SPDX-License-Identifier: GPL-2.0-or-later
"""A partition of an emulated ARM board with nandsim is saved, used, and restored to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from standinssh import SLOW_S, reached
from support import standin
from typer.testing import CliRunner, Result

from nandlab.base.errors import UsageError
from nandlab.cli.main import app

JFFS2 = (
    "flash_erase -q -j /dev/mtd1 0 0; mount -t jffs2 mtd1 /mnt && "
    "for i in $(seq 60); do dmesg >/mnt/$i; done; rm /mnt/1?; umount /mnt"
)
UBI = "flash_erase -q /dev/mtd1 0 0; ubiattach -m 1 && ubimkvol /dev/ubi0 -N v -m && ubidetach -m 1"
"""Commands that leave something on the partition."""


def asked(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--erase", standin.DATA])


@pytest.mark.long
@pytest.mark.timeout(4 * SLOW_S)
def test_a_partition_is_saved_and_restored_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JFFS2 with its marks in spare areas, bad blocks in their places; the system is untouched."""
    dump = tmp_path / "data.dump"
    with reached(tmp_path, monkeypatch) as there:
        system = there.cells(0)
        there.says(JFFS2)
        held = there.cells(1)
        saved = asked("board", "save", there.mine, "-o", dump)
        assert saved.exit_code == 0, saved.output
        assert saved.stdout.split()[0] == held.split()[0]
        assert "256 blocks" in saved.stderr and "bad blocks: 108, 208" in saved.stderr

        ran = asked("run", "quickstart", "--board", there.mine, "--out", tmp_path / "run")
        assert isinstance(ran.exception, UsageError) and "board save" in str(ran.exception)
        assert there.cells(1) == held

        there.says(UBI)
        assert there.cells(1) != held
        restored = asked("board", "restore", there.mine, dump)
        assert restored.exit_code == 0, (restored.output, restored.exception)
        assert there.cells(1) == held
        assert there.says("mount -t jffs2 mtd1 /mnt && ls /mnt | wc -l; umount /mnt") == "50"
        assert there.cells(0) == system
        assert there.says("ls /tmp") == ""
