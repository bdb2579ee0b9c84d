# SPDX-License-Identifier: GPL-2.0-or-later
"""``filetree`` on the board: every file system gives back the tree that tmpfs has, bit by bit."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from filetrees import options, told
from support.smalltrial import WRITABLE, spec

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.trial import mediumsteps, outcome
from nandlab.trial import steps as trial

pytestmark = pytest.mark.board

TREE = options(depth=3, dirs="norm(2.5,1)", files="norm(9,3)", size="lognormal(1500,1.5)", seed=7)
MAKE = " ".join(f"'{word}'" for word in TREE)


@pytest.mark.parametrize("name", WRITABLE)
def test_a_tree_has_one_digest_everywhere_and_after_a_remount(board: QemuBoard, name: str) -> None:
    made = spec(board, name)
    commands = {
        "ram": f"filetree make /tmp/t {MAKE}",
        "make": f"filetree make /mnt/t {MAKE}",
        "off": mediumsteps.make_unmount_step(made).command,
        "on": mediumsteps.make_mount_step(made).command,
        "list": "filetree list /mnt/t",
        "find": "filetree find /mnt/t absent",
        "read": "filetree read /mnt/t",
        "some": "printf '/f0001\\nd00/f0000\\n' > /tmp/l; filetree read /mnt/t --list /tmp/l",
        "delete": "filetree delete /mnt/t && ls /mnt >&2",
        "fill": "filetree fill /mnt/full >/tmp/full && rm /mnt/full && cat /tmp/full",
        "broken": "filetree make /mnt/t --depth 1 --dirs 0 --files 999 --size 99999 --seed 1; "
        "[ $? = 1 ]",
        "again": "filetree delete /mnt --keep-top",
    }
    steps = [Step(key, command, deadline_s=3600) for key, command in commands.items()]
    end = Step("kernel-log", "dmesg -r", always=True)
    record = asyncio.run(board.run(Job((*trial.make_steps_until_mounted(made), *steps, end))))
    failed = record.failed()
    assert failed is None, failed.failure()
    assert outcome.filter_kernel_log(made, record) == []

    def of(key: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(record[key].stdout)
        return found

    here = told("make", "nowhere", *TREE, "--dry-run", "--digest")
    for key in ("ram", "make", "read"):
        assert of(key)["texts"] == here["texts"]
    count = here["figures"]["files"]
    assert of("make")["figures"] == here["figures"]
    assert of("read")["bytes"]["read"] == here["figures"]["bytes"]
    assert of("list")["operations"] == of("find")["operations"]
    assert of("some")["figures"]["files"] == 2
    assert of("delete")["operations"]["unlink"] == count > 50
    assert record["delete"].stderr.split() in ([], ["lost+found"])
    assert of("fill")["bytes"]["written"] > 3 << 20
    left = of("broken")["figures"]
    assert "No space left on device" in record["broken"].stderr
    assert left["bytes"] > 3 << 20
    assert of("again")["operations"]["unlink"] == left["files"]
