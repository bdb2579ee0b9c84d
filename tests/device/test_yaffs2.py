# SPDX-License-Identifier: GPL-2.0-or-later
"""Our YAFFS2 port on the board: files survive, in each layout; options do what they say; nothing
leaks. What every file system must hold is in tests/conformance; flash is in test_yaffs2_flash.py.
"""

from __future__ import annotations

import pytest
from support.chipsteps import held, numbers
from support.yaffs2steps import LOAD, SAME, SIM, TREE, TREE_FILES, load, mount, proc, run

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard

pytestmark = pytest.mark.board
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("chip", "blocks", "more", "options", "layout"),
    [
        pytest.param("apf27", 128, {}, [], ["2", "0"], marks=LONG),
        ("NAND256W3A", 1024, {}, [], ["1", "0"]),
        pytest.param("TC58NVG2S0H", 128, {}, [], ["2", "0"], marks=LONG),
        ("apf27", 128, {}, ["inband-tags"], ["2", "1"]),
        pytest.param("apf27", 128, {"ecc_strength": 8}, [], ["2", "1"], marks=LONG),
        pytest.param(
            *("apf27", 128, {}, ["no-cache", "no-background", "disable-summary"], ["2", "0"]),
            marks=LONG,
        ),
    ],
    ids=["2k", "512", "4k", "inband", "oob-too-small", "plain"],
)
def test_a_tree_is_there_after_a_remount(
    board: QemuBoard,
    chip: str,
    blocks: int,
    more: dict[str, int],
    options: list[str],
    layout: list[str],
) -> None:
    rescan = mount(*options, "no-checkpoint-read")
    record = run(
        board,
        load(board, chip, blocks, **more),
        Step("mount", f"{LOAD} && {mount(*options)}"),
        Step("tree", TREE),
        Step("remount", f"umount /mnt && {mount(*options)} && {SAME}"),
        Step("proc", "cat /proc/yaffs"),
        Step("rescan", f"umount /mnt && {rescan} && {SAME}"),
        Step("counters", f"cat {SIM}/counters"),
        Step("end", "umount /mnt && grep memory_bytes /proc/yaffs && rmmod yaffs2"),
    )
    assert record["remount"].stdout.strip() == record["rescan"].stdout.strip() == TREE_FILES
    seen = proc(record["proc"].stdout)
    assert [seen["yaffs_version"], seen["inband_tags"]] == layout
    assert seen["is_checkpointed"] == ("1" if layout[0] == "2" else "0")
    assert record["end"].stdout.strip() == "memory_bytes: 0"
    assert numbers(record["counters"].stdout)["illegal"] == 0


@pytest.mark.parametrize("times", [5, pytest.param(50, marks=LONG)])
def test_mounts_with_checkpoint(board: QemuBoard, times: int) -> None:
    """Each writes a line and finds all files with their checksums."""
    same = SAME.replace("ls -lR . | diff - /tmp/list", "true")
    again = (
        f"for i in $(seq 1 {times}); do umount /mnt && {mount()} && "
        "grep -q 'is_checkpointed: 1' /proc/yaffs && "
        f'[ "$({same})" = {TREE_FILES} ] && echo $i >> /mnt/log || exit 1; done'
    )
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("tree", TREE),
        Step("again", again),
        Step("lines", "wc -l < /mnt/log"),
    )
    assert record["lines"].stdout.strip() == str(times)


def test_a_mount_reads_the_checkpoint_instead_of_scanning(board: QemuBoard) -> None:
    """The chip is full of small files; it counts what each mount reads, and the port the same."""
    fill = "cd /mnt; for i in $(seq 1 1500); do echo $i > $i; done; cd /"

    def remount(how: str, *options: str) -> list[Step]:
        again = f"umount /mnt && echo 1 > {SIM}/reset && {mount(*options)}"
        chip = f"{again} && cat {SIM}/counters"
        return [Step(f"chip-{how}", chip), Step(f"fs-{how}", "cat /proc/yaffs")]

    record = run(
        board,
        load(board, register_hits=0),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("fill", fill),
        *remount("checkpoint", "no-background"),
        *remount("scan", "no-checkpoint-read", "no-background"),
        *remount("plain-scan", "no-checkpoint-read", "disable-summary", "no-background"),
    )
    reads = {}
    for how, checkpointed in (("checkpoint", "1"), ("scan", "0"), ("plain-scan", "0")):
        chip, fs = numbers(record[f"chip-{how}"].stdout), proc(record[f"fs-{how}"].stdout)
        assert fs["is_checkpointed"] == checkpointed
        assert [fs[n] for n in ("page_reads", "page_writes", "erasures")] == ["0", "0", "0"]
        assert int(fs["mount_erasures"]) == chip["erases"]
        # what the unmount before it read and wrote came before the reset
        assert int(fs["mount_page_reads"]) == chip["reads"]
        assert int(fs["mount_oob_reads"]) == chip["oob_reads"]
        reads[how] = chip["reads"] + chip["oob_reads"]
    assert reads["checkpoint"] < reads["scan"] < reads["plain-scan"]
    assert int(proc(record["fs-scan"].stdout)["scan_summaries_used"]) > 0


MEASURE = (
    "sync; echo 3 > /proc/sys/vm/drop_caches;"
    " for s in /sys/kernel/slab/*/shrink; do [ -e $s ] && echo 1 > $s; done;"
    " awk '/^(kmalloc|inode_cache|dentry)/ { sum += $3 * $4 } END { print sum }' /proc/slabinfo;"
    " awk '/VmallocUsed/ { print $2 * 1024 }' /proc/meminfo;"
    " awk '/MemAvailable/ { print -$2 * 1024 }' /proc/meminfo;"
    " awk '$1 == \"bytes\" { print $2 }' /sys/kernel/debug/fsram/usage"
)
"""Of the kernel as a whole, bytes; and exactly, what the module has not given back."""


@pytest.mark.parametrize("times", [10, pytest.param(50, marks=LONG)])
def test_loads_leak_nothing(board: QemuBoard, times: int) -> None:
    cycle = (
        f"{LOAD} && {mount()} && echo $(seq 1 3000) > /mnt/f && ln -sf f /mnt/s &&"
        " umount /mnt && grep -q 'memory_bytes: 0' /proc/yaffs && rmmod yaffs2"
    )
    record = run(
        board,
        load(board),
        Step("watch", "modprobe fsram modules=yaffs2"),
        Step("before", f"for i in $(seq 1 10); do {cycle} || exit 1; done; {MEASURE}"),
        Step("after", f"for i in $(seq 1 {times}); do {cycle} || exit 1; done; {MEASURE}"),
    )
    before, after = (record[name].stdout.split() for name in ("before", "after"))
    slab, vmalloc, pages, kept = (int(b) - int(a) for a, b in zip(before, after, strict=True))
    assert (kept, after[-1]) == (0, "0")
    assert slab <= 16384, "inodes and dentries vary by two pages of them each, and do not grow"
    assert vmalloc <= 4096
    assert pages <= 1 << 20, "of unloaded modules the kernel has some 700 KiB lying about, or not"


@LONG
def test_a_full_disk_loses_nothing(board: QemuBoard) -> None:
    record = run(
        board,
        load(board, blocks=64),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("keep", "head -c 500000 /dev/urandom > /mnt/keep; md5sum /mnt/keep > /tmp/sum"),
        Step("fill", "cat /dev/zero > /mnt/big; true"),
        Step("more", "for i in $(seq 1 9); do echo $i > /mnt/x$i; done; mkdir /mnt/x;"
             " ln /mnt/keep /mnt/l; ls /mnt"),
        Step("small", "mv /mnt/keep /mnt/kept && mv /mnt/kept /mnt/keep && md5sum -c /tmp/sum"),
        Step("remount", f"umount /mnt && {mount()} && md5sum -c /tmp/sum"),
        Step("free", "rm /mnt/big && head -c 5000000 /dev/urandom > /mnt/new &&"
             " md5sum /mnt/new >> /tmp/sum"),
        Step("check", f"umount /mnt && {mount('no-checkpoint')} && md5sum -c /tmp/sum"),
    )  # fmt: skip
    assert "No space left on device" in record["fill"].stderr
    assert record["more"].stdout.split() == ["big", "keep", "lost+found"]
    assert record["more"].stderr.count("No space left on device") == 11


@LONG
def test_names_and_open_files(board: QemuBoard) -> None:
    rescan = f"umount /mnt && {mount('no-checkpoint-read')}"
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("unlinked", "exec 5<>/mnt/u; echo told >&5; rm /mnt/u; cat /proc/self/fd/5"),
        Step("gone", "grep -w objects /proc/yaffs"),
        Step("over", "echo a > /mnt/a; echo b > /mnt/b; exec 6</mnt/b; mv /mnt/a /mnt/b;"
             " cat /mnt/b; cat <&6"),
        Step("dirs", "mkdir -p /mnt/d1/in /mnt/d2; touch /mnt/d2/x; rmdir /mnt/d2;"
             " stat -c %h /mnt /mnt/d1"),
        Step("links", "echo one > /mnt/h1; ln /mnt/h1 /mnt/h2; ln /mnt/h1 /mnt/h3; rm /mnt/h1;"
             " echo n > /mnt/n; mv /mnt/n /mnt/h2; truncate -s 2 /mnt/h3;"
             f" {rescan} && cat /mnt/h2 /mnt/h3 && stat -c %h /mnt/h3"),
        Step("long", "n=$(printf 'x%.0s' $(seq 1 254)); echo q > /mnt/$n && cat /mnt/$n;"
             " rm /mnt/$n; touch /mnt/${n}y; ln -s $(printf 'y%.0s' $(seq 1 159)) /mnt/s &&"
             " readlink /mnt/s | wc -c; ln -s $(printf 'y%.0s' $(seq 1 160)) /mnt/t; true"),
        Step("times", "touch -d '2001-02-03 04:05:06' /mnt/t; exec 7>>/mnt/t; echo x >&7;"
             " touch -d '2002-02-03 04:05:06' /mnt/t; exec 7>&-;"
             f" {rescan} && stat -c '%Y %s' /mnt/t"),
        Step("many", "mkdir /mnt/m; for i in $(seq 1 500); do : > /mnt/m/a-name-of-some-length-$i;"
             " done; ls /mnt/m | wc -l; rm -r /mnt/m; ls -a /mnt/m; true"),
    )  # fmt: skip
    assert record["unlinked"].stdout.strip() == "told"
    assert record["gone"].stdout.strip() == "objects: 4"
    assert record["over"].stdout.split() == ["a", "b"]
    assert record["dirs"].stderr.count("Directory not empty") == 1
    assert record["dirs"].stdout.split() == ["5", "3"]
    assert record["links"].stdout.split() == ["n", "on1"]
    assert record["long"].stdout.split() == ["q", "160"]
    assert record["long"].stderr.count("File name too long") == 2
    assert record["times"].stdout.split() == ["1012709106", "2"]
    assert record["many"].stdout.strip() == "500"


def test_sparse_files_take_the_room_of_what_is_written(board: QemuBoard) -> None:
    """A page of 2 KiB for each header and each piece, by the count that statfs gives."""
    free = "sync; stat -f -c '%b %f %S' /mnt"
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {mount('no-checkpoint')} && touch /mnt/h && rm /mnt/h"),
        Step("empty", free),
        Step("hole", f"truncate -s 20M /mnt/h && {free}"),
        Step("piece", "dd if=/dev/urandom of=/mnt/h bs=2048 seek=5000 count=3 conv=notrunc"
             f" 2> /dev/null && {free}"),
        Step("read", "head -c 10240000 /mnt/h | tr -d '\\0' | wc -c; stat -c %s /mnt/h;"
             " md5sum /mnt/h > /tmp/sum"),
        Step("same", f"umount /mnt && {mount('no-checkpoint')} && md5sum -c /tmp/sum"),
        Step("gone", f"rm /mnt/h && {free}"),
    )  # fmt: skip
    blocks, empty, size = map(int, record["empty"].stdout.split())
    assert (blocks, size) == (128 * 64, 2048)
    left = {n: int(record[n].stdout.split()[1]) for n in ("hole", "piece", "gone")}
    assert left == {"hole": empty - 1, "piece": empty - 4, "gone": empty}
    assert record["read"].stdout.split() == ["0", str(20 << 20)]


def test_an_unknown_option_is_refused(board: QemuBoard) -> None:
    tried = "mount -t yaffs2 -o nonsense mtd0 /mnt; echo $?; dmesg | tail -n 1"
    shown = "for o in no-cache no-checkpoint no-background inband-tags tags-ecc-off; do"
    shown += " mount -t yaffs2 -o $o mtd0 /mnt && grep -o $o /proc/mounts; umount /mnt; done"
    record = run(
        board,
        load(board),
        Step("tried", f"{LOAD}; {tried}"),
        Step("shown", shown),
        kernel_words=("Unknown parameter 'nonsense'",),
    )
    assert record["tried"].stdout.split()[0] != "0"
    words = {"no-cache", "no-checkpoint", "no-background", "inband-tags", "tags-ecc-off"}
    assert set(record["shown"].stdout.split()) == words


def test_read_only_changes_nothing_on_flash(board: QemuBoard) -> None:
    programs = f"grep -E '^(programs|erases) ' {SIM}/counters | xargs"
    record = run(
        board,
        load(board),
        Step("make", f"{LOAD} && {mount()} && echo r > /mnt/r && umount /mnt"),
        Step("before", programs),
        Step("read", "mount -t yaffs2 -o ro,no-checkpoint-read mtd0 /mnt && cat /mnt/r;"
             " echo s > /mnt/s; true"),
        Step("after", programs),
        Step("write", "mount -o remount,rw /mnt && echo s > /mnt/s && mount -o remount,ro /mnt"),
        Step("again", f"umount /mnt; {mount()} && cat /mnt/r /mnt/s"),
    )  # fmt: skip
    assert "Read-only file system" in record["read"].stderr
    assert record["before"].stdout == record["after"].stdout
    assert record["again"].stdout.split() == ["r", "s"]


def test_a_mapping_is_promised_room(board: QemuBoard) -> None:
    """A promise is kept and given back: what was refused on a full disk goes in afterwards."""
    hole = r"seq s\nopen 0 f c\nftrunc 0 400000\nfsync 0\n"
    maps = r"seq s\nopen 0 f -\nmapwrite 0 0 60000 2\n"
    cut = rf"{maps}ftrunc 0 0\nftrunc 0 400000\n"
    record = run(
        board,
        load(board, blocks=64),
        Step("mount", f"{LOAD} && {mount()}"),
        Step("hole", f"printf '{hole}' > h && fsops h /mnt"),
        Step("cut", f"printf '{cut}' > c && for i in $(seq 1 90); do fsops c /mnt; done | sort -u"),
        Step("full", "cat /dev/zero > /mnt/big; true"),
        Step("refused", f"printf '{maps}' > m && fsops m /mnt"),
        Step("free", "rm /mnt/big && fsops m /mnt && md5sum /mnt/s/f > /tmp/sum"),
        Step("same", f"umount /mnt && {mount('no-checkpoint')} && md5sum -c /tmp/sum"),
    )
    assert record["cut"].stdout.split() == ["0", "60000", "seq", "s"]
    assert record["refused"].stdout.split()[-1] == "SIGBUS"
    assert record["free"].stdout.split()[-1] == "60000"


def test_a_frozen_file_system_leaves_the_flash_alone(board: QemuBoard) -> None:
    """Half of it is garbage that the collector would like to have."""
    litter = (
        "for i in $(seq 1 100); do head -c 50000 /dev/urandom > /mnt/f$i; done; rm /mnt/f*[1-7]"
    )
    work = f"grep -E '^(programs|erases) ' {SIM}/counters | xargs"
    record = run(
        board,
        load(board, blocks=64),
        Step("mount", f"{LOAD} && {mount()} && {litter}"),
        Step("freeze", held("/mnt/held", "text", f"fsfreeze --freeze /mnt && {work}")),
        Step("still", f"sleep 20; {work}"),
        Step("on", f"fsfreeze --unfreeze /mnt && echo x > /mnt/x && sleep 20 && {work}"),
        Step("end", f"umount /mnt && {mount()} && cat /mnt/held /mnt/x"),
    )
    assert record["freeze"].stdout == record["still"].stdout != record["on"].stdout
    assert record["end"].stdout == "textx\n"


def test_attributes_that_users_may_not_see_or_give(board: QemuBoard) -> None:
    """And what sets the time of change: an attribute does."""
    user = "start-stop-daemon -S -c user -x"
    sets = r"seq s\nsetxattr f a 1 1\n"
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {mount()} && mkdir -m 777 /mnt/s && touch /mnt/s/f"),
        Step("user", "echo user:x:1000:1000::/:/bin/sh > /etc/passwd"),
        Step("old", "stat -c %Z /mnt/s/f; sleep 3"),
        Step("set", f"printf '{sets}' > set && fsops set /mnt"),
        Step("new", "stat -c %Z /mnt/s/f"),
        Step("mine", r"printf 'seq s\nlistattr f\n' > /tmp/list; fsops /tmp/list /mnt"),
        Step("theirs", f"{user} $(command -v fsops) -- /tmp/list /mnt"),
        Step("group", "mkdir /mnt/d && chgrp 123 /mnt/d && chmod 2777 /mnt/d;"
             f" {user} /bin/mknod -- -m 2755 /mnt/d/p p; stat -c %a:%g /mnt/d/p"),
        Step("id", f"stat -f -c %i /mnt; umount /mnt; {mount()} && stat -f -c %i /mnt"),
    )  # fmt: skip
    assert record["set"].stdout.split() == ["seq", "s", "0"]
    assert int(record["new"].stdout) > int(record["old"].stdout)
    assert record["mine"].stdout.split()[2:] == ["trusted.a"]
    assert record["theirs"].stdout.split()[2:] == ["0"]
    assert record["group"].stdout.split() == ["755:123"]
    first, second = record["id"].stdout.split()
    assert first == second != "0"
