# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers come and go under load, also while a function that they trace is running."""

from __future__ import annotations

import pytest
from support.smalltrial import spec
from tracersteps import MODULES, run, start

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.traced.setup import STOP_COMMAND, make_hooks_at_once_command

pytestmark = pytest.mark.board

LOAD = """\
while :; do
    filecalls /mnt/load write:31:0:5000 fsync:2 read:31:0:5000 map:1:0:8192 unlink:0
    cp /mnt/load /mnt/copy; sync; rm /mnt/copy
    echo 1 > /proc/sys/vm/drop_caches
done
"""
# vfs_read of a pipe lasts as long as nobody writes: funcmon follows it, and is unloaded under it;
# vfsmon, whose filter it does not pass, must not wait for it.
TIMES = """\
sh ./load.sh &
load=$!
mkfifo pipe
for i in $(seq {times}); do
    sh ./tracers$((i % 2)).sh || exit 1
    echo add vfs_read > /proc/tracers/funcmon || exit 2
    cat pipe > /dev/null &
    reader=$!
    usleep $((20000 + i * 1009 % 7000))
    cat /proc/tracers/control > /dev/null || exit 3
    {how}
    rmmod {modules} || exit 4
    test ! -e /proc/tracers || exit 5
    echo end > pipe
    wait $reader
done
kill $load
wait $load 2> /dev/null
echo survived
"""


def check(board: QemuBoard, times: int) -> None:
    made = spec(board, "jffs2")
    # Every other time they are stopped first, and hooks come and go at once, as in a trace; else
    # each hook comes and goes by itself, and they are taken away as they run.
    how = f"if [ $((i % 2)) = 0 ]; then {make_hooks_at_once_command(STOP_COMMAND)}; fi"
    script = TIMES.format(times=times, how=how, modules=MODULES)
    ways = (start(made, records=4096, hooks_at_once=at_once) for at_once in (True, False))
    begin = {f"tracers{i}.sh": way["tracers.sh"] for i, way in enumerate(ways)}
    files = {"times.sh": script.encode(), "load.sh": LOAD.encode(), **begin}
    loaded = Step("times", "sh ./times.sh", deadline_s=3600, programs=("filecalls",))
    record = run(board, made, loaded, files=files)
    assert record["times"].stdout.splitlines()[-1] == "survived"


def test_both_endings_under_load_leave_a_clean_log(board: QemuBoard) -> None:
    check(board, 2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_times_under_load_leave_a_clean_log(board: QemuBoard) -> None:
    check(board, 200)
