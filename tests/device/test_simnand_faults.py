# SPDX-License-Identifier: GPL-2.0-or-later
"""simnand on the board when things go wrong: mtd-utils and file systems see what was injected."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import chipsteps
from support.cases import FORGET, UNLOAD, Cases, run_cases
from support.chipsteps import modprobe, numbers

from nandlab.board.jobs.cargo import Cargo, make_cargo
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import oplog
from nandlab.flash.chip.oplog import OperationKind

pytestmark = pytest.mark.board

SIM = "/sys/kernel/debug/simnand"
COUNTERS = Step("counters", f"cat {SIM}/counters")
CHIP_BYTES = 64 * (128 + 4) << 10
"""The cells of a chip of 64 blocks, spare bytes too."""
MAKE_FILES = (
    "mkdir -p /mnt/d && for i in $(seq 1 23); do"
    " head -c $((i * {size})) /dev/urandom > /mnt/d/$i; done && sync"
    " && cd /mnt/d && md5sum * > /tmp/sums && cd /"
)
CHECK_FILES = "cd /mnt/d && md5sum -c /tmp/sums > /dev/null && ls | wc -l"
MAKE_UBIFS = (
    "modprobe ubi && modprobe ubifs && ubiformat -q -y /dev/mtd0 && ubiattach -m 0 > /dev/null"
    " && ubimkvol /dev/ubi0 -N t -m > /dev/null && mount -t ubifs ubi0:t /mnt"
)
# without cleanmarkers: these lie in spare bytes that no ECC covers, and on a chip with no other
# node JFFS2 refuses to erase a block whose marker has a wrong bit ("Cowardly refusing")
MAKE_JFFS2 = "modprobe jffs2 && mount -t jffs2 mtd0 /mnt"
MOUNT = {
    "ubifs": "modprobe ubi && modprobe ubifs && ubiattach -m 0 > /dev/null"
    " && mount -t ubifs ubi0:t /mnt",
    "jffs2": "modprobe jffs2 && mount -t jffs2 mtd0 /mnt",
}
REMOUNT = {
    "ubifs": f"umount /mnt; ubidetach -m 0; {MOUNT['ubifs']}",
    "jffs2": f"umount /mnt; {MOUNT['jffs2']}",
}
MAKE = {"ubifs": MAKE_UBIFS, "jffs2": MAKE_JFFS2}


def load(board: QemuBoard, **parameters: int | str) -> Step:
    return modprobe({"blocks": 64, "array_phys": board.machine.model.store_start, **parameters})


def write(name: str, words: str) -> str:
    return f"echo {words} > {SIM}/{name}"


def run(
    board: QemuBoard,
    *steps: Step,
    files: dict[str, bytes] | None = None,
    cargo: Cargo | None = None,
) -> JobRecord:
    last = replace(COUNTERS, always=True)
    return chipsteps.run(board, *steps, last, files=files, cargo=cargo)


def counters(record: JobRecord, step: str = "counters") -> dict[str, int]:
    return numbers(record[step].stdout)


@pytest.fixture(scope="module")
def damaged(board: QemuBoard) -> Cases:
    """A job of cases that each put in a chip of their own."""
    steps = {name: make(board) for name, make in CASES.items()}
    return run_cases(board, {n: (FORGET, *each, COUNTERS, UNLOAD) for n, each in steps.items()})


def make_bad_steps(board: QemuBoard) -> list[Step]:
    return [
        load(board, bad_blocks=3, seed=7),
        Step("state", f"grep factory_bad {SIM}/state"),
        Step("dump", "nanddump -l 1 -f /dev/null /dev/mtd0 2>&1"),
        Step("log", "dmesg | grep 'Bad eraseblock'"),
        Step("erase", "flash_erase /dev/mtd0 0 0 2>&1; true"),
        Step("test", "nandtest -l 8388608 /dev/mtd0 2>&1"),
        Step("sysfs", "cat /sys/class/mtd/mtd0/bad_blocks"),
    ]


def test_factory_bad_blocks_are_what_the_tools_find(damaged: Cases) -> None:
    record = damaged["bad"]
    bad = [int(n) for n in re.findall(r"\d+", record["state"].stdout)]
    assert len(bad) == 3
    assert 0 not in bad
    assert "Number of bad blocks: 3" in record["dump"].stdout
    assert [int(n) for n in re.findall(r"Bad eraseblock (\d+)", record["log"].stdout)] == bad
    assert record["erase"].stdout.count("Skipping bad block") == 3
    assert record["test"].stdout.count("Bad block at") == 3
    assert "Finished pass 1 successfully" in record["test"].stdout
    assert record["sysfs"].stdout.strip() == "3"
    c = counters(record)
    assert (c["factory_bad"], c["worn_out"], c["illegal"]) == (3, 0, 0)


def make_flips_steps(board: QemuBoard) -> list[Step]:
    """1, 2, 3, 4 bits in a step of page 0, 1, 2, 3 are corrected; 5 in page 4 are not."""
    plant = [f"echo {page} {97 * bit} > {SIM}/flip" for page in range(5) for bit in range(page + 1)]
    corrected = "cat /sys/class/mtd/mtd0/corrected_bits; cat /sys/class/mtd/mtd0/ecc_failures"
    return [
        load(board),
        Step("write", "head -c 20480 /bin/busybox > /tmp/x; nandwrite -q /dev/mtd0 /tmp/x"),
        Step("plant", "; ".join(plant)),
        Step("good", "nanddump -q -l 8192 /dev/mtd0 > /tmp/y; head -c 8192 /tmp/x | cmp - /tmp/y"),
        Step("counted", corrected),
        Step("bad", "nanddump -l 2048 -s 8192 -f /tmp/z /dev/mtd0 2>&1"),
        Step("counted-more", corrected),
        Step("raw", "nanddump -q -n -l 10240 -f /tmp/r /dev/mtd0; cmp -l /tmp/x /tmp/r | wc -l"),
    ]


def test_planted_flips_are_reported_to_the_bit(damaged: Cases) -> None:
    record = damaged["flips"]
    assert record["counted"].stdout.split() == ["10", "0"]
    assert record["counted-more"].stdout.split() == ["10", "1"]
    assert "1 uncorrectable bitflip" in record["bad"].stdout
    assert int(record["raw"].stdout) >= 15
    c = counters(record)
    assert (c["ecc_corrected"], c["ecc_failed"], c["raw_reads"]) == (10, 1, 5)


def make_cleared_steps(board: QemuBoard) -> list[Step]:
    """As nandbiterrs does: write a page raw with one more bit cleared, read it, until it fails."""
    steps = [load(board), Step("write", "head -c 2048 /dev/zero | tr '\\0' '\\377' > /tmp/ff")]
    patch = "printf '\\{value}' | dd of=/tmp/p bs=1 seek={at} conv=notrunc 2>/dev/null"
    read = "nanddump -q -l 2048 -f /tmp/y /dev/mtd0; cmp -s /tmp/y /tmp/w; echo $?"
    steps.append(Step("ones", "tr '\\377' '\\125' < /tmp/ff > /tmp/w; cp /tmp/w /tmp/p"))
    steps.append(Step("program", "nandwrite -q /dev/mtd0 /tmp/w"))
    for n in range(1, 6):
        again = f"{patch.format(value='124', at=10 * n)}; nandwrite -q -n /dev/mtd0 /tmp/p; {read}"
        steps.append(Step(f"bit{n}", again))
    return steps


def test_bits_cleared_past_the_ecc_are_errors(damaged: Cases) -> None:
    record = damaged["cleared"]
    assert [record[f"bit{n}"].stdout.strip() for n in range(1, 6)] == ["0", "0", "0", "0", "1"]
    c = counters(record)
    assert (c["ecc_corrected"], c["ecc_failed"]) == (1 + 2 + 3 + 4, 1)
    assert (c["raw_programs"], c["programs"]) == (5, 6)


@pytest.mark.parametrize("fs", ["ubifs", "jffs2"])
def test_no_byte_is_lost_on_a_chip_with_bad_blocks_and_flips(board: QemuBoard, fs: str) -> None:
    record = run(
        board,
        load(board, blocks=128, bad_block_ppm=20000, seed=11, flip_ppt=20000000),
        Step("make", MAKE[fs]),
        Step("write", MAKE_FILES.format(size=9973)),
        Step("remount", REMOUNT[fs]),
        Step("check", CHECK_FILES),
    )
    assert record["check"].stdout.strip() == "23"
    c = counters(record)
    assert c["factory_bad"] > 0
    assert c["ecc_corrected"] > 100
    assert (c["ecc_failed"], c["illegal"]) == (0, 0)


def test_ubifs_survives_failing_programs_and_erases(board: QemuBoard) -> None:
    record = run(
        board,
        load(board, blocks=128, program_fail_at=301, erase_fail_at=140, seed=3),
        Step("make", MAKE_UBIFS),
        Step("write", MAKE_FILES.format(size=9973)),
        Step("rewrite", f"rm -r /mnt/d; sync; {MAKE_FILES.format(size=9973)}"),
        Step("remount", REMOUNT["ubifs"]),
        Step("check", CHECK_FILES),
    )
    assert record["check"].stdout.strip() == "23"
    c = counters(record)
    assert c["program_fails"] > 0
    assert c["worn_out"] >= 1


def room(board: QemuBoard) -> Cargo:
    """Room for the image of a chip: to pack and print it takes the board seconds."""
    return make_cargo(board.machine.model, CHIP_BYTES, back_bytes=2 * CHIP_BYTES)


@pytest.mark.parametrize("fs", ["ubifs", "jffs2"])
@pytest.mark.parametrize("after", [23, 61])
def test_a_power_cut_leaves_a_chip_that_remounts(board: QemuBoard, fs: str, after: int) -> None:
    """Power goes in an operation; another machine gets the chip as it was left then."""
    hold = room(board)
    before = run(
        board,
        load(board, blocks=64, seed=after),
        Step("make", MAKE[fs]),
        Step("write", MAKE_FILES.format(size=331)),
        Step("cut", write("power", f"cut +{after}")),
        Step("lost", "dd if=/dev/urandom of=/mnt/lost bs=4096 count=99 conv=fsync; true"),
        Step("dead", f"grep -E '^(powered|power_cuts|op_seq)' {SIM}/counters"),
        Step("read", "nanddump -q -l 1 -f /dev/null /dev/mtd0; true"),
        Step("image", f"cat {SIM}/image | {hold.put()}"),
        Step("sums", "cat /tmp/sums"),
        cargo=hold,
    )
    assert "powered 0" in before["dead"].stdout
    assert "Input/output error" in before["read"].stderr
    assert counters(before)["power_cuts"] == 1
    image = before.cargo
    assert image is not None
    assert chipimage.decode_chip_image(image).op_seq == counters(before)["op_seq"]
    files = {"image.gz": gzip.compress(image, 1, mtime=0), "sums": before["sums"].stdout.encode()}
    after_it = run(
        board,
        Step("unpack", "cp sums /tmp; gunzip -c image.gz > /tmp/image"),
        load(board, blocks=64, image="/tmp/image"),
        Step("mount", MOUNT[fs]),
        Step("check", CHECK_FILES),
        files=files,
    )
    assert after_it["check"].stdout.strip() == "23"


def test_an_image_round_trip_is_exact(board: QemuBoard, tmp_path: Path) -> None:
    save = f"cat {SIM}/image > /tmp/{{}}; rmmod simnand"
    again = load(board, image="/tmp/a")
    bad = "modprobe simnand blocks={blocks} image=/tmp/{file} 2>/dev/null"
    refused = f"! {bad} && dmesg | grep 'not loaded' | tail -n 1"
    hold = room(board)
    record = run(
        board,
        load(board, bad_blocks=2, seed=5, endurance=3),
        Step("age", "nandwrite -q -p /dev/mtd0 /bin/busybox; for i in 1 2 3 4; do flash_erase -q"
             " /dev/mtd0 0 2 2>/dev/null; done; true"),
        Step("sum", f"cat /dev/mtd0 | md5sum; {write('flip', '200 7')}"),
        Step("save", save.format("a")),
        Step("load-again", again.command),
        Step("sum-again", "cat /dev/mtd0 | md5sum"),
        Step("state", f"cat {SIM}/state"),
        Step("unload", "rmmod simnand"),
        Step("load-third", again.command),
        Step("save-third", save.format("b") + "; cmp /tmp/a /tmp/b"),
        Step("image", f"cat /tmp/a | {hold.put()}"),
        Step("cut", "head -c 100000 /tmp/a > /tmp/c; " + refused.format(blocks=64, file="c")),
        Step("changed", "cp /tmp/a /tmp/d; printf x | dd of=/tmp/d bs=1 seek=50001 conv=notrunc"
             " 2>/dev/null; " + refused.format(blocks=64, file="d")),
        Step("other", refused.format(blocks=128, file="a")),
        Step("load-last", load(board).command),
        cargo=hold,
    )  # fmt: skip
    assert record["sum"].stdout == record["sum-again"].stdout
    assert "truncated" in record["cut"].stdout
    assert "corrupt" in record["changed"].stdout
    assert "another geometry" in record["other"].stdout
    data = record.cargo
    assert data is not None
    image = chipimage.decode_chip_image(data)
    assert image.geometry == chipimage.ChipGeometry(2048, 64, 131072, 64)
    assert chipimage.encode_chip_image(image) == data
    chipimage.write_cells_and_sidecar(image, tmp_path / "aged.nand", tmp_path / "aged.json")
    assert (
        chipimage.encode_chip_image(
            chipimage.read_cells_and_sidecar(tmp_path / "aged.nand", tmp_path / "aged.json")
        )
        == data
    )
    state = json.loads(record["state"].stdout)
    assert state["factory_bad"] == image.bad(chipimage.FACTORY_BAD)
    assert (len(state["factory_bad"]), state["worn_out"]) == (2, [0, 1])
    assert state["worn_out"] == image.bad(chipimage.WORN_OUT)
    assert {b.index: b.wear for b in image.blocks if b.wear} == {0: 4, 1: 4}


def make_log_steps(board: QemuBoard) -> list[Step]:
    on, off = write("log_control", "start"), write("log_control", "stop")
    return [
        load(board, log_entries=41),
        Step("before", "flash_erase -q /dev/mtd0 0 5"),
        Step("on", f"{on}; {write('phase', 'work')}"),
        Step("erase", "flash_erase -q /dev/mtd0 0 3"),
        Step("program", "dd if=/dev/urandom of=/dev/mtd0 bs=2048 count=13 conv=notrunc"),
        Step("read", "dd if=/dev/mtd0 of=/dev/null bs=2048 count=11"),
        Step("log", f"xxd -p {SIM}/log"),
        Step("more", "dd if=/dev/mtd0 of=/dev/null bs=2048 count=17"),
        Step("off", f"{off}; dd if=/dev/mtd0 of=/dev/null bs=2048 count=19"),
        Step("log-full", f"xxd -p {SIM}/log"),
    ]


def test_the_log_counts_exactly_and_what_it_lost(damaged: Cases) -> None:
    record = damaged["log"]
    log = oplog.decode_operation_log(bytes.fromhex(record["log"].stdout))
    assert [
        log.count(kind) for kind in (OperationKind.ERASE, OperationKind.PROGRAM, OperationKind.READ)
    ] == [3, 13, 11]
    assert (len(log.records), log.lost) == (27, 0)
    changes = log.records[log.records["op"] > 0]
    assert list(changes["op"]) == list(range(6, 6 + 16))
    assert np.all(np.diff(log.records["time_ns"].astype(np.int64)) > 0)
    assert set(log.records["phase"]) == {1}
    assert set(changes["array_ns"][3:]) == {200000}
    full = oplog.decode_operation_log(bytes.fromhex(record["log-full"].stdout))
    assert (len(full.records), full.lost) == (41, 27 + 17 - 41)


def make_phases_steps(board: QemuBoard) -> list[Step]:
    program = "dd if=/dev/urandom of=/dev/mtd0 bs=2048 count=13 conv=notrunc"
    return [
        load(board, e_read_nj=2, e_prog_nj=30, e_erase_nj=400),
        Step("one", f"{write('phase', 'one')}; flash_erase -q /dev/mtd0 0 7"),
        Step("two", f"{write('phase', 'two')}; {program}; {write('reset', '1')}"),
        Step("still-two", "dd if=/dev/mtd0 of=/dev/null bs=2048 count=5"),
        Step("none", f"{write('phase', '')}; flash_erase -q /dev/mtd0 9 1"),
        Step("phases", f"cat {SIM}/phases"),
    ]


def test_phases_share_out_what_was_done(damaged: Cases) -> None:
    record = damaged["phases"]
    rows = [line.split() for line in record["phases"].stdout.splitlines()]
    assert [row[:2] for row in rows] == [["1", "one"], ["2", "two"]]
    one, two = ({k: int(v) for k, v in (w.split("=") for w in row[2:])} for row in rows)
    assert (one["erases"], one["programs"], one["reads"]) == (7, 0, 0)
    assert (two["erases"], two["programs"], two["reads"]) == (0, 13, 5)
    assert (one["energy_nj"], two["energy_nj"]) == (7 * 400, 13 * 30 + 5 * 2)
    assert one["end_ns"] == two["start_ns"]
    assert one["busy_ns"] < one["end_ns"] - one["start_ns"]


def make_illegal_steps(board: QemuBoard) -> list[Step]:
    return [
        load(board, nop=2),
        Step("x", "head -c 2048 /dev/urandom > /tmp/x; head -c 2048 /dev/urandom > /tmp/y"),
        Step("twice", "nandwrite -q /dev/mtd0 /tmp/x; nandwrite -q /dev/mtd0 /tmp/y"),
        Step("and", "nanddump -q -n -l 2048 -f /tmp/z /dev/mtd0; nanddump -l 2048 -f /dev/null"
             " /dev/mtd0 2>&1"),
        Step("thrice", "nandwrite -q /dev/mtd0 /tmp/x"),
        Step("order", "for at in 8192 4096; do nandwrite -q -s $at /dev/mtd0 /tmp/x; done"),
        Step("log", "dmesg | grep -c 'simnand: .*illegal'"),
    ]  # fmt: skip


def test_illegal_use_is_loud_and_counted(damaged: Cases) -> None:
    record = damaged["illegal"]
    c = counters(record)
    assert (c["illegal_nop"], c["illegal_order"], c["illegal_range"]) == (1, 1, 0)
    assert c["illegal_erased"] == 2
    assert c["illegal"] == 4
    assert int(record["log"].stdout) == 4
    assert "uncorrectable" in record["and"].stdout


def make_worn_steps(board: QemuBoard) -> list[Step]:
    worn = f"grep -w worn_out {SIM}/counters"
    steps = [load(board, endurance=20, endurance_spread=50, seed=1)]
    erase = "for i in 1 2 3 4 5; do flash_erase -q /dev/mtd0 0 0 2>/dev/null; done; "
    steps += [Step(f"round{n}", erase + worn) for n in range(7)]
    return steps


def test_blocks_wear_out_one_by_one(damaged: Cases) -> None:
    record = damaged["worn"]
    curve = [int(record[f"round{n}"].stdout.split()[1]) for n in range(7)]
    assert curve == sorted(curve)
    assert curve[0] == 0
    assert curve[-1] == 64
    assert len(set(curve)) >= 4


def test_the_same_seed_gives_the_same_faults(board: QemuBoard) -> None:
    def trial(seed: int) -> dict[str, int]:
        faults = {"bad_blocks": 2, "flip_ppt": 20000000, "program_fail_ppb": 1000000}
        steps = (
            load(board, seed=seed, **faults),
            Step("make", MAKE_JFFS2),
            Step("write", MAKE_FILES.format(size=3331)),
            Step("remount", REMOUNT["jffs2"]),
            Step("check", CHECK_FILES),
        )
        return counters(run(board, *steps))

    first, again, other = trial(1), trial(1), trial(2)
    assert first == again
    assert first["flipped_bits"] != other["flipped_bits"]


def test_an_mlc_part_is_mlc_to_mtd(board: QemuBoard) -> None:
    parameters: dict[str, int | str] = {
        "id": "0xec,0xd5,0x14",
        "writesize": 4096,
        "oobsize": 128,
        "nop": 1,
    }
    record = run(
        board,
        load(board, erasesize=524288, **parameters),
        Step("type", "cat /sys/class/mtd/mtd0/type"),
        Step("ubi", "modprobe ubi; ! ubiattach -m 0 2> /dev/null; dmesg | grep -i mlc"),
    )
    assert record["type"].stdout.strip() == "mlc-nand"


CASES = {
    "bad": make_bad_steps,
    "flips": make_flips_steps,
    "cleared": make_cleared_steps,
    "log": make_log_steps,
    "phases": make_phases_steps,
    "illegal": make_illegal_steps,
    "worn": make_worn_steps,
}
"""What the job of damaged() does, by the name of the case."""
