# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab trace`` on the board: a known command, traced from end to end."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
from pathlib import Path

import pytest
from support import lock
from typer import Typer
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli.image import image_app
from nandlab.cli.singletrial import plan_single_trial
from nandlab.cli.trace import trace_app
from nandlab.plan.trialspec import TrialSpec
from nandlab.trace import job, timeparts, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import TraceRequest
from nandlab.traced import tables
from nandlab.trial.steps import make_steps_until_mounted

pytestmark = pytest.mark.board

BEFORE = (
    "dd if=/bin/busybox of=f bs=4k count=16 2>/dev/null; sync; "
    "echo 128 > /sys/class/bdi/mtd-0/read_ahead_kb; echo 3 > /proc/sys/vm/drop_caches"
)
COMMAND = "dd if=f of=/dev/null bs=4k count=7; dd if=/bin/busybox of=g bs=4k count=5; sync"


def spec_on(board: QemuBoard, fs: str) -> TrialSpec:
    return plan_single_trial(
        board=board.machine.model.name,
        workload={"name": "ffsmark"},
        filesystem={"name": fs, "compression": "none"},
        chip={"part": "apf27", "partition_mib": 8 if fs == "jffs2" else 16},
        state={"name": "fresh"},
        seed=1,
    )


def traced(board: QemuBoard, fs: str, path: Path, **more: object) -> TraceFolder:
    spec = spec_on(board, fs)
    wanted = TraceRequest(spec, tracers=("vfs", "flash", "func"), **more)  # type: ignore[arg-type]
    record = asyncio.run(board.run(job.make_trace_job(wanted)))
    writer.write_trace_folder(path, wanted, record, job.decode_trace_outcome(wanted, record), board)
    return TraceFolder(path)


def accounted(trace: TraceFolder) -> None:
    """The trace has what the chip counted, and each of it has a cause, a file and a call."""
    s = trace.summary
    # among them would be: the flash of the trace is not the chip's
    assert lock.sentences(s["warnings"]) == []
    total = s["flash"]["ns"]
    assert total > 0
    for key in ("flash_by_cause", "flash_by_file"):
        assert sum(row["ns"] for row in s[key]) == total
    assert sum(row["layers_ns"]["chip"] for row in s["calls"]) == total
    assert all(sum(row["layers_ns"].values()) == row["ns"] for row in s["calls"])


def test_a_sequential_read_reads_ahead(board: QemuBoard, tmp_path: Path) -> None:
    trace = traced(board, "jffs2", tmp_path / "t", command=COMMAND, before=BEFORE)
    accounted(trace)
    events = tables.query_parquet_rows(
        trace.events,
        "SELECT event, \"offset\", size, extra FROM events WHERE task = 'dd' AND path = '/f' "
        "AND event SIMILAR TO 'VFS_READ|PC_.*|.*RA.*|FS_READ_PAGE' ORDER BY seq",
    )
    page = 4096
    # the first page is missed, four are read, with a mark on the second; and that is then hit
    assert events[:5] == [
        ("VFS_READ", 0, page, 0),
        ("PC_MISS", 0, 1, 0),
        ("SYNC_RA", 0, 1, 0),
        ("RA_SUBMIT", 0, 4, 3),
        ("FS_READ_PAGE", 0, page, 0),
    ]
    assert [e[1] for e in events[4:8]] == [0, page, 2 * page, 3 * page]
    assert events[8:10] == [("VFS_READ", page, page, 1), ("PC_HIT", 1, 1, 0)]
    cache = trace.summary["cache"]
    assert (cache["hits"], cache["misses"]) == (6, 1)
    # windows of 4, 8 and 16 pages, the last cut off by the file's end; 6 of the others are found
    assert (cache["ahead"], cache["used"]) == (15, 6)
    amplification = trace.summary["amplification"]
    assert amplification["read"]["program_bytes"] == 7 * page
    assert amplification["write"]["program_bytes"] == 5 * page
    paths = {row["path"] for row in trace.summary["flash_by_file"]}
    assert {"/f", "/g"} <= paths
    assert trace.meta["rc"] == 0


def test_a_mount_is_traced_and_has_its_causes(board: QemuBoard, tmp_path: Path) -> None:
    command = "dd if=/bin/busybox of=g bs=4k count=5 2>/dev/null"
    trace = traced(board, "ubifs", tmp_path / "t", command=command, with_mount=True)
    accounted(trace)
    causes = {row["cause"] for row in trace.summary["flash_by_cause"]}
    assert {"mount_scan", "write_back"} <= causes
    assert {"VFS_MOUNT", "VFS_UNMOUNT"} <= {row["name"] for row in trace.summary["calls"]}


def test_what_a_command_leaves_to_the_background_is_traced(
    board: QemuBoard, tmp_path: Path
) -> None:
    trace = traced(
        board,
        "ubifs",
        tmp_path / "t",
        before="dd if=/dev/zero of=f bs=64k count=80 2>/dev/null; sync",
        command="rm f; sync",
    )
    accounted(trace)
    after = (
        "SELECT count(*) FROM events WHERE event = 'FLASH_ERASE' AND task LIKE 'ubi_bgt%' AND "
        "seq > (SELECT seq FROM events WHERE text = 'command ended')"
    )
    assert tables.query_parquet_rows(trace.events, after)[0][0] > 0


@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_what_comes_before_an_open_has_its_cause(board: QemuBoard, tmp_path: Path, fs: str) -> None:
    trace = traced(
        board,
        fs,
        tmp_path / "t",
        # the second time it also drops what was in use lately
        before="filecalls k create:7:0:1:1; sync; "
        "for i in 1 2; do echo 3 > /proc/sys/vm/drop_caches; done",
        command="for k in k?; do test -f $k || exit 1; done; filecalls n create:199:0:1:1",
    )
    accounted(trace)
    calls = dict(
        tables.query_parquet_rows(trace.events, "SELECT event, count(*) FROM events GROUP BY event")
    )
    # each new name is looked up before it is created; filecalls creates the file n too
    assert (calls["FS_LOOK_UP"], calls["FS_CREATE"]) == (7 + 1 + 199, 1 + 199)
    causes = {row["cause"]: row for row in trace.summary["flash_by_cause"]}
    # many of their nodes are in one page, which the read buffer then has
    assert causes["look_up"]["reads"] > 0
    assert causes["look_up"]["reads"] + causes["look_up"]["buffer_hits"] >= 7
    assert causes["create"]["programs"] > 0
    outside = "SELECT count(*) FROM events WHERE cause = 'outside' AND task IN ('sh', 'filecalls')"
    assert tables.query_parquet_rows(trace.events, outside) == [(0,)]


@pytest.mark.parametrize(
    ("name", "records"), [("apf27-trace", 1 << 20), ("apf27-trace-8m", 8 << 20)]
)
def test_the_boards_for_long_traces_keep_what_they_say(
    tmp_path: Path, name: str, records: int
) -> None:
    board, plain = (open_board(load_noun("boards", n, BoardModel)) for n in (name, "apf27"))
    trace = traced(board, "jffs2", tmp_path / "t", command="cat /proc/meminfo", records=records)
    assert trace.meta["tracer_status"]["records_per_cpu"] == str(records)
    look = Step("command", "cat /proc/meminfo")
    untraced = asyncio.run(
        plain.run(Job((*make_steps_until_mounted(spec_on(plain, "jffs2")), look)))
    )
    # near what the study's board has, so that write-back begins as early; tracers take some too
    left = available(trace.meta["stdout"])
    has = available(untraced["command"].stdout)
    assert 0.95 <= left / has <= 1.05, f"{left} kB beside the records, {has} kB on apf27"
    assert lock.sentences(trace.summary["warnings"]) == []


def available(meminfo: str) -> int:
    """kB that programs and the page cache may still take."""
    return int(dict(line.split(":") for line in meminfo.splitlines())["MemAvailable"].split()[0])


def test_files_have_the_names_that_they_were_given(board: QemuBoard, tmp_path: Path) -> None:
    odd = "\"$(printf '\\377 a\\nb')\""
    command = f'for n in é {odd}; do dd if=/bin/busybox of="$n" bs=4k count=3; done; sync; echo é'
    trace = traced(board, "jffs2", tmp_path / "t", command=command)
    accounted(trace)
    paths = {row["path"] for row in trace.summary["flash_by_file"]}
    assert {"/é", "/\\xff a\\x0ab"} <= paths
    assert trace.meta["stdout"] == "é\n"


SLEPT = (
    "dd if=/bin/busybox of=f bs=4k count=32; sync; echo mark slept > /proc/tracers/control; "
    "usleep 200000; echo mark woke > /proc/tracers/control"
)


@pytest.mark.parametrize(
    ("fs", "chip"),
    [
        ("jffs2", "apf27"),
        ("ubifs", "apf27"),
        ("yaffs2", "apf27"),
        ("nftl-fat32", "nandsim-small"),
    ],
)
def test_the_parts_of_the_time_add_up(board: QemuBoard, tmp_path: Path, fs: str, chip: str) -> None:
    spec = plan_single_trial(
        board=board.machine.model.name,
        workload={"name": "ffsmark"},
        filesystem={"name": fs},
        chip={"part": chip, "partition_mib": 16},
        state={"name": "fresh"},
        seed=1,
    )
    wanted = TraceRequest(spec, SLEPT, ("vfs", "flash", "func"), ("schedule",))
    record = asyncio.run(board.run(job.make_trace_job(wanted)))
    writer.write_trace_folder(
        tmp_path / "t", wanted, record, job.decode_trace_outcome(wanted, record), board
    )
    trace = TraceFolder(tmp_path / "t")
    found = timeparts.compute_trace_time_parts(trace)
    whole, *phases = found["phases"]
    assert trace.summary["lost"] == 0
    assert whole["elapsed_ns"] == trace.summary["trace_ns"]
    for phase in found["phases"]:
        assert sum(phase["parts_ns"].values()) == phase["elapsed_ns"]
        assert min(phase["parts_ns"].values()) >= 0
    slept = next(p for p in phases if p["name"] == "slept")
    # background threads may have a little of it, and of the chip's time
    assert 0.95 * 200_000_000 < slept["parts_ns"]["idle"] < 1.02 * 200_000_000
    assert 0.9 < whole["parts_ns"]["chip"] / trace.summary["flash"]["ns"] <= 1
    by = whole["operations"].values()
    s = trace.summary["flash"]
    assert sum(row["programs"] for row in by) == s["programs"] + s["oob_programs"]
    assert sum(row["reads"] for row in by) == s["reads"] + s["oob_reads"]
    assert sum(row["erases"] for row in by) == s["erases"]


def test_a_program_of_one_s_own_is_traced_on_an_image_of_one_s_own(
    board: QemuBoard, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "root").write_bytes(b"r" * 10)
    data = tmp_path / "data"
    data.write_bytes(random.Random(1).randbytes(20480))
    data.chmod(0o640)
    program, image, folder = tmp_path / "own", tmp_path / "x.nand", tmp_path / "t"
    source = Path(__file__).with_name("own.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", program, source], check=True)
    name = ("--board", board.machine.model.name)
    chip = ("--fs", "jffs2", "--chip", "apf27", "--partition-mib", "4", *name)
    invoked(image_app, "make", *chip, "--from", tmp_path / "tree", "-o", image)
    copies = (f"{program}:/opt/own", f"{data}:/srv/in", f"{data}:/mnt/in")
    words = [word for copy in copies for word in ("--copy", copy)]
    command = "ls -l /srv/in /opt/own; cat root; /opt/own /srv/in out; /opt/own in out2; cmp in out"
    said = invoked(trace_app, "run", "--from", image, *name, *words, "-o", folder, "--", command)
    assert said.splitlines()[-1] == str(folder)
    trace = TraceFolder(folder)
    accounted(trace)
    assert (trace.meta["rc"], trace.meta["stderr"]) == (0, "")
    listed = [line.split() for line in trace.meta["stdout"].splitlines()[:2]]
    assert [(w[0], w[4], w[-1]) for w in listed] == [
        ("-rwxr-xr-x", str(program.stat().st_size), "/opt/own"),
        ("-rw-r-----", "20480", "/srv/in"),
    ]
    assert trace.meta["stdout"].endswith("r" * 10)
    assert trace.meta["copies"]["/srv/in"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert (trace.meta["filesystem"], trace.meta["image"]["name"]) == ("jffs2", str(image))
    # two files of ten pages that do not compress, and their nodes' heads
    assert 20 <= trace.summary["flash"]["programs"] <= 26
    wanted = ("--from", image, *name, "--copy", f"{data}:/sbin/mkfs.fat", "-o", tmp_path / "u")
    with pytest.raises(UsageError, match=r"/sbin/mkfs.fat: the board has that already"):
        invoked(trace_app, "run", *wanted, "--", "true")
    assert not (tmp_path / "u").exists()


def invoked(app: Typer, *argv: str | Path) -> str:
    done = CliRunner().invoke(app, [str(a) for a in argv], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout
