# SPDX-License-Identifier: GPL-2.0-or-later
"""Our YAFFS2 port on the board: files survive, counts agree with the chip's, nothing leaks."""

from __future__ import annotations

import asyncio
import base64
import gzip
import subprocess
from pathlib import Path

import pytest
from chipsteps import modprobe, numbers

from nandlab import catalog
from nandlab.board.job import ALWAYS, Job, JobRecord, Step
from nandlab.board.qemu import QemuBoard
from nandlab.catalog import ChipModel
from nandlab.trial import EXPECTED_IN_LOG, chip_parameters

pytestmark = pytest.mark.board

SIM = "/sys/kernel/debug/simnand"
MOUNT = "mount -t yaffs2 -o rw{} mtd0 /mnt"
LOAD = "modprobe yaffs2"
TREE = (
    "cp /bin/busybox /mnt/bb; mkdir -p /mnt/d/e; for i in $(seq 1 40); do"
    " head -c $((i * 733)) /dev/urandom > /mnt/d/f$i; done; ln -s d/f1 /mnt/s; ln /mnt/d/f2"
    " /mnt/d/e/hard; mknod /mnt/p p; mknod /mnt/c c 5 1; chmod 4711 /mnt/d/f3;"
    " chown 12:34 /mnt/d/f4; mv /mnt/d/f5 /mnt/d/f6; rm /mnt/d/f7; : > /mnt/d/f8;"
    " truncate -s 999 /mnt/d/f9;"
    " dd if=/dev/urandom of=/mnt/sparse bs=1000 seek=500 count=3 2>/dev/null;"
    " cd /mnt && find . -type f | sort | xargs md5sum > /tmp/sums; ls -lR . > /tmp/list; cd /"
)
SAME = (
    "cd /mnt && md5sum -c /tmp/sums > /tmp/said || cat /tmp/said; ls -lR . | diff - /tmp/list"
    " && grep -c ': OK' /tmp/said; cd /"
)


def load(board: QemuBoard, chip: str = "apf27", blocks: int = 128, **more: int | str) -> Step:
    model = catalog.load("chips", chip, ChipModel)
    return modprobe(chip_parameters(model, blocks, board.machine.chip_store_phys) | more)


def run(
    board: QemuBoard,
    *steps: Step,
    files: dict[str, bytes] | None = None,
    told: tuple[str, ...] = (),
) -> JobRecord:
    """Runs the steps; all succeed, and the kernel warns of nothing but what is told."""
    log = Step(ALWAYS + "log", "dmesg -r")
    record = asyncio.run(board.run(Job((*steps, log), files or {})))
    failed = record.failed()
    assert failed is None, failed.failure()
    since_s = record.steps[0].start_ns / 1e9
    for line in record[log.name].stdout.splitlines():
        level, _, rest = line.removeprefix("<").partition(">")
        stamp, _, text = rest.removeprefix("[").partition("]")
        if int(level) & 7 > 4 or float(stamp) < since_s or text.endswith(EXPECTED_IN_LOG):
            continue
        assert any(word in text for word in told), f"the kernel says: {text}"
    return record


def proc(text: str) -> dict[str, str]:
    """/proc/yaffs with one mount, by name."""
    return dict(line.split(": ") for line in text.splitlines() if line)


@pytest.fixture
def probe(tmp_path: Path) -> bytes:
    """tests/c/yaffs2_probe.c for the board."""
    source = Path(__file__).with_name("c") / "yaffs2_probe.c"
    flags = ("-O1", "-Wall", "-Wextra", "-Werror", "-static", "-s")
    subprocess.run(["gcc", *flags, "-o", tmp_path / "probe", source], check=True)
    return (tmp_path / "probe").read_bytes()


@pytest.mark.parametrize(
    ("chip", "blocks", "more", "options", "layout"),
    [
        ("apf27", 128, {}, "", ["2", "0"]),
        ("NAND256W3A", 1024, {}, "", ["1", "0"]),
        ("TC58NVG2S0H", 128, {}, "", ["2", "0"]),
        ("apf27", 128, {}, ",inband-tags", ["2", "1"]),
        ("apf27", 128, {"ecc_strength": 8}, "", ["2", "1"]),
        ("apf27", 128, {}, ",no-cache,no-background,disable-summary", ["2", "0"]),
    ],
    ids=["2k", "512", "4k", "inband", "oob-too-small", "plain"],
)
def test_a_tree_is_there_after_a_remount(
    board: QemuBoard,
    chip: str,
    blocks: int,
    more: dict[str, int],
    options: str,
    layout: list[str],
) -> None:
    mount, rescan = MOUNT.format(options), MOUNT.format(options + ",no-checkpoint-read")
    record = run(
        board,
        load(board, chip, blocks, **more),
        Step("mount", f"{LOAD} && {mount}"),
        Step("tree", TREE),
        Step("remount", f"umount /mnt && {mount} && {SAME}"),
        Step("proc", "cat /proc/yaffs"),
        Step("rescan", f"umount /mnt && {rescan} && {SAME}"),
        Step("counters", f"cat {SIM}/counters"),
        Step("end", "umount /mnt && grep memory_bytes /proc/yaffs && rmmod yaffs2"),
    )
    assert record["remount"].stdout.strip() == record["rescan"].stdout.strip() == "41"
    seen = proc(record["proc"].stdout)
    assert [seen["yaffs_version"], seen["inband_tags"]] == layout
    assert seen["is_checkpointed"] == ("1" if layout[0] == "2" else "0")
    assert record["end"].stdout.strip() == "memory_bytes: 0"
    assert numbers(record["counters"].stdout)["illegal"] == 0


def test_the_counts_are_the_chips_own(board: QemuBoard) -> None:
    """Without the register's hits, each page that the core reads is an array read."""
    work = (
        "for r in 1 2 3; do for i in $(seq 1 60); do head -c 100000 /dev/urandom > /mnt/f$i; done;"
        " done; sync; rm /mnt/f1*; cat /mnt/f2* > /dev/null; sleep 5; echo x > /mnt/x; sync"
    )
    both = f"cat /proc/yaffs; echo; cat {SIM}/counters"
    record = run(
        board,
        load(board, register_hits=0),
        Step("mount", f"{LOAD} && {MOUNT.format('')} && echo 1 > {SIM}/reset"),
        Step("work", work),
        Step("both", both),
        Step("end", f"umount /mnt && {MOUNT.format('')} && umount /mnt && rmmod yaffs2"),
    )
    text, _, counters = record["both"].stdout.rpartition("\n\n")
    fs, chip = proc(text), numbers(counters)
    assert int(fs["page_writes"]) == chip["programs"] + chip["oob_programs"] > 8000
    assert int(fs["erasures"]) == chip["erases"] > 50
    assert int(fs["page_reads"]) == chip["reads"] + chip["oob_reads"] > 500
    assert int(fs["mtd_page_writes"]) == chip["programs"]
    assert int(fs["mtd_page_reads"]) == chip["reads"]
    assert int(fs["mtd_erasures"]) == chip["erases"]
    assert int(fs["collections_all"]) >= int(fs["collections_background"]) > 0


def test_fifty_mounts_with_checkpoint(board: QemuBoard) -> None:
    again = (
        "for i in $(seq 1 50); do umount /mnt && mount -t yaffs2 mtd0 /mnt && grep -q"
        " 'is_checkpointed: 1' /proc/yaffs && echo $i >> /mnt/log || exit 1; done"
    )
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {MOUNT.format('')}"),
        Step("tree", TREE),
        Step("again", again),
        Step("lines", "wc -l < /mnt/log; rm /mnt/log"),
        Step("same", SAME.replace("ls -lR . | diff - /tmp/list", "true")),
    )
    assert record["lines"].stdout.strip() == "50"
    assert record["same"].stdout.strip() == "41"


def test_fifty_loads_leak_nothing(board: QemuBoard) -> None:
    cycle = (
        f"{LOAD} && {MOUNT.format('')} && echo $(seq 1 3000) > /mnt/f && ln -sf f /mnt/s &&"
        " umount /mnt && grep -q 'memory_bytes: 0' /proc/yaffs && rmmod yaffs2"
    )
    measure = (
        "sync; echo 3 > /proc/sys/vm/drop_caches; awk '/^(kmalloc|inode_cache|dentry)/"
        " { sum += $2 * $4 } END { print sum }' /proc/slabinfo; awk '/MemAvailable/"
        " { print $2 * 1024 }' /proc/meminfo"
    )
    record = run(
        board,
        load(board),
        Step("before", f"for i in $(seq 1 50); do {cycle} || exit 1; done; {measure}"),
        Step("after", f"for i in $(seq 1 50); do {cycle} || exit 1; done; {measure}"),
    )
    before, after = (record[name].stdout.split() for name in ("before", "after"))
    slab, available = (int(b) - int(a) for a, b in zip(before, after, strict=True))
    assert slab <= 4096, "less than a hundred bytes a cycle would be seen"
    assert available > -256 * 1024


def test_a_full_disk_loses_nothing(board: QemuBoard) -> None:
    record = run(
        board,
        load(board, blocks=64),
        Step("mount", f"{LOAD} && {MOUNT.format('')}"),
        Step("keep", "head -c 500000 /dev/urandom > /mnt/keep; md5sum /mnt/keep > /tmp/sum"),
        Step("fill", "dd if=/dev/zero of=/mnt/big bs=10000 2>&1; true"),
        Step("more", "for i in $(seq 1 9); do echo $i > /mnt/x$i; done; mkdir /mnt/x;"
             " ln /mnt/keep /mnt/l; ls /mnt"),
        Step("small", "mv /mnt/keep /mnt/kept && mv /mnt/kept /mnt/keep && md5sum -c /tmp/sum"),
        Step("remount", f"umount /mnt && {MOUNT.format('')} && md5sum -c /tmp/sum"),
        Step("free", "rm /mnt/big && head -c 5000000 /dev/urandom > /mnt/new &&"
             " md5sum /mnt/new >> /tmp/sum"),
        Step("check", f"umount /mnt && {MOUNT.format(',no-checkpoint')} && md5sum -c /tmp/sum"),
    )  # fmt: skip
    assert "No space left on device" in record["fill"].stdout
    assert record["more"].stdout.split() == ["big", "keep", "lost+found"]
    assert record["more"].stderr.count("No space left on device") == 11


def test_names_and_open_files(board: QemuBoard) -> None:
    rescan = f"umount /mnt && {MOUNT.format(',no-checkpoint-read')}"
    record = run(
        board,
        load(board),
        Step("mount", f"{LOAD} && {MOUNT.format('')}"),
        Step("unlinked", "exec 5<>/mnt/u; echo told >&5; rm /mnt/u; cat /proc/self/fd/5"),
        Step("gone", "grep -w objects /proc/yaffs"),
        Step("over", "echo a > /mnt/a; echo b > /mnt/b; exec 6</mnt/b; mv /mnt/a /mnt/b;"
             " cat /mnt/b; cat <&6"),
        Step("dirs", "mkdir -p /mnt/d1/in /mnt/d2; touch /mnt/d2/x; mv -T /mnt/d1 /mnt/d2;"
             " rmdir /mnt/d2; rm /mnt/d2/x; mv -T /mnt/d1 /mnt/d2; stat -c %h /mnt /mnt/d2"),
        Step("links", "echo one > /mnt/h1; ln /mnt/h1 /mnt/h2; ln /mnt/h1 /mnt/h3; rm /mnt/h1;"
             " echo n > /mnt/n; mv /mnt/n /mnt/h2; truncate -s 2 /mnt/h3;"
             f" {rescan} && cat /mnt/h2 /mnt/h3 && stat -c %h /mnt/h3"),
        Step("long", "n=$(printf 'x%.0s' $(seq 1 254)); echo q > /mnt/$n && cat /mnt/$n;"
             " rm /mnt/$n; touch /mnt/${n}y; ln -s $(printf 'y%.0s' $(seq 1 159)) /mnt/s &&"
             " readlink /mnt/s | wc -c; ln -s $(printf 'y%.0s' $(seq 1 160)) /mnt/t; true"),
        Step("times", "touch -d '2001-02-03 04:05:06' /mnt/t; exec 7>>/mnt/t; echo x >&7;"
             " touch -d '2002-02-03 04:05:06' /mnt/t; exec 7>&-;"
             f" {rescan} && stat -c '%y %s' /mnt/t"),
        Step("many", "mkdir /mnt/m; for i in $(seq 1 500); do : > /mnt/m/a-name-of-some-length-$i;"
             " done; ls /mnt/m | wc -l; rm -r /mnt/m; ls -a /mnt/m; true"),
    )  # fmt: skip
    assert record["unlinked"].stdout.strip() == "told"
    assert record["gone"].stdout.strip() == "objects: 4"
    assert record["over"].stdout.split() == ["a", "b"]
    assert record["dirs"].stderr.count("Directory not empty") == 2
    assert record["dirs"].stdout.split() == ["4", "3"]
    assert record["links"].stdout.split() == ["n", "on1"]
    assert record["long"].stdout.split() == ["q", "160"]
    assert record["long"].stderr.count("File name too long") == 2
    assert record["times"].stdout.split() == ["2002-02-03", "04:05:06.000000000", "+0000", "2"]
    assert record["many"].stdout.strip() == "500"


def test_what_a_shell_cannot_ask(board: QemuBoard, probe: bytes) -> None:
    record = run(
        board,
        load(board, blocks=256),
        Step("mount", f"{LOAD} && {MOUNT.format('')}"),
        Step("map", "./probe map /mnt/m && md5sum /mnt/m > /tmp/sum"),
        Step("same", f"umount /mnt && {MOUNT.format('')} && md5sum -c /tmp/sum"),
        Step("readdir", "./probe readdir /mnt/d"),
        files={"probe": probe},
    )
    assert record["map"].stdout.strip() == "mapped"
    assert record["readdir"].stdout.strip() == "read"


def test_an_unknown_option_is_refused(board: QemuBoard) -> None:
    tried = "mount -t yaffs2 -o nonsense mtd0 /mnt; echo $?; dmesg | tail -n 1"
    shown = "for o in no-cache no-checkpoint no-background inband-tags tags-ecc-off; do"
    shown += " mount -t yaffs2 -o $o mtd0 /mnt && grep -o $o /proc/mounts; umount /mnt; done"
    record = run(
        board,
        load(board),
        Step("tried", f"{LOAD}; {tried}"),
        Step("shown", shown),
        told=("Unknown parameter 'nonsense'",),
    )
    assert record["tried"].stdout.split()[0] != "0"
    words = {"no-cache", "no-checkpoint", "no-background", "inband-tags", "tags-ecc-off"}
    assert set(record["shown"].stdout.split()) == words


def test_read_only_changes_nothing_on_flash(board: QemuBoard) -> None:
    programs = f"grep -E '^(programs|erases) ' {SIM}/counters | xargs"
    record = run(
        board,
        load(board),
        Step("make", f"{LOAD} && {MOUNT.format('')} && echo r > /mnt/r && umount /mnt"),
        Step("before", programs),
        Step("read", "mount -t yaffs2 -o ro,no-checkpoint-read mtd0 /mnt && cat /mnt/r;"
             " echo s > /mnt/s; true"),
        Step("after", programs),
        Step("write", "mount -o remount,rw /mnt && echo s > /mnt/s && mount -o remount,ro /mnt"),
        Step("again", f"umount /mnt; {MOUNT.format('')} && cat /mnt/r /mnt/s"),
    )  # fmt: skip
    assert "Read-only file system" in record["read"].stderr
    assert record["before"].stdout == record["after"].stdout
    assert record["again"].stdout.split() == ["r", "s"]


def test_what_cannot_be_read_is_an_error(board: QemuBoard) -> None:
    plant = f"for bit in 1 2 3 4 5; do echo $page $bit > {SIM}/flip; done"
    record = run(
        board,
        load(board),
        Step("make", f"{LOAD} && {MOUNT.format(',no-background')} &&"
             " head -c 20480 /dev/zero | tr '\\0' x > /mnt/f && sync"),
        # the file's pages are those that hold nothing but x: find the first of them
        Step("plant", "page=0; until nanddump -q -l 2048 -s $((page * 2048)) /dev/mtd0 |"
             " tr -d x | wc -c | grep -qx 0; do page=$((page + 1)); done; " + plant),
        Step("read", "echo 3 > /proc/sys/vm/drop_caches; cat /mnt/f > /dev/null; echo $?"),
        told=(),
    )  # fmt: skip
    assert record["read"].stdout.strip() == "1"
    assert "Input/output error" in record["read"].stderr


def test_blocks_that_fail_are_retired(board: QemuBoard) -> None:
    record = run(
        board,
        load(board, blocks=64, program_fail_at=700, erase_fail_at=1500, seed=3),
        Step("mount", f"{LOAD} && {MOUNT.format('')}"),
        Step("write", "for r in 1 2 3 4; do for i in $(seq 1 30); do head -c 50000 /dev/urandom >"
             " /mnt/f$i; done; done; sync; md5sum /mnt/f* > /tmp/sums"),
        Step("proc", "cat /proc/yaffs"),
        Step("bad", "cat /sys/class/mtd/mtd0/bad_blocks"),
        Step("same", f"umount /mnt && {MOUNT.format(',no-checkpoint')} && md5sum -c /tmp/sums |"
             " grep -c OK"),
        told=("simnand: ", "yaffs2: ", "nand: "),
    )  # fmt: skip
    fs = proc(record["proc"].stdout)
    assert record["same"].stdout.strip() == "30"
    assert int(fs["retired_blocks"]) == int(record["bad"].stdout) >= 1


KEPT = (
    "mkdir /mnt/d; for i in $(seq 1 23); do head -c $((i * 331)) /dev/urandom > /mnt/d/$i; done;"
    " for i in $(seq 1 30); do yes filler$i | head -c 90000 > /mnt/g$i; done; sync;"
    " rm /mnt/g*[13579]; cd /mnt; find . -type f | xargs md5sum > /tmp/sums; cd /"
)


@pytest.mark.parametrize("after", [1, 7, 23, 61, 150, 401, 1009])
def test_a_power_cut_loses_nothing_that_was_synced(board: QemuBoard, after: int) -> None:
    """Power goes in an operation; another machine gets the chip as it was left then."""
    lose = (
        "for i in $(seq 1 99); do yes lost$i | head -c 70000 > /mnt/l$((i % 9));"
        " mv /mnt/l$((i % 9)) /mnt/m$((i % 5)); done 2> /dev/null; true"
    )
    before = asyncio.run(
        board.run(
            Job(
                (
                    load(board, blocks=64, seed=after),
                    Step("mount", f"{LOAD} && {MOUNT.format('')}"),
                    Step("make", KEPT),
                    Step("cut", f"echo cut +{after} > {SIM}/power"),
                    Step("lose", lose),
                    Step("cuts", f"grep -E '^power_cuts' {SIM}/counters"),
                    Step("image", f"gzip -9c {SIM}/image | base64"),
                    Step("sums", "cat /tmp/sums"),
                )
            )
        )
    )
    assert before["cuts"].stdout.split() == ["power_cuts", "1"]
    image = gzip.compress(gzip.decompress(base64.b64decode(before["image"].stdout)))
    recovered = asyncio.run(
        board.run(
            Job(
                (
                    Step("unpack", "cp sums /tmp; gunzip -c image.gz > /tmp/image"),
                    load(board, blocks=64, image="/tmp/image"),
                    Step("mount", f"rm /tmp/image; {LOAD} && {MOUNT.format('')}"),
                    Step("proc", "cat /proc/yaffs"),
                    Step("check", "cd /mnt && md5sum -c /tmp/sums | grep -vc OK; cd /"),
                    Step("go-on", "for i in $(seq 1 40); do yes more$i | head -c 90000 >"
                         " /mnt/n$((i % 7)) || exit 1; done; umount /mnt"),
                    Step("again", MOUNT.format(",no-checkpoint")
                         + "; cd /mnt && md5sum -c /tmp/sums | grep -vc OK; cd /"),
                ),
                {"image.gz": image, "sums": before["sums"].stdout.encode()},
            )
        )
    )  # fmt: skip
    for step in ("unpack", "load", "mount", "go-on"):
        assert recovered[step].ok, recovered[step].failure()
    assert proc(recovered["proc"].stdout)["is_checkpointed"] == "0"
    assert recovered["check"].stdout.strip() == "0"
    assert recovered["again"].stdout.strip() == "0"
