# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's fio and our program do one job file on one file system: strace sees the same calls."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from native import native

from nandlab.fio import jobfile, workload

CALLS = "pread64,pwrite64,read,write,fsync,fdatasync"
CALL = re.compile(r"^(\w+)\(\d+<([^>]*)>(.*?)\)? += (\d+)$")
PLACE = re.compile(r"(\d+), (\d+)$")


class Seen(NamedTuple):
    """What a run did to the files of a folder."""

    moved: Counter[tuple[str, str, int]]
    """Calls by file, name and bytes; writes to lay files out are write(2)."""
    syncs: Counter[str]
    places: Counter[tuple[str, int, int]]
    """By file, offset and bytes, how often: of pread64 and pwrite64."""
    sizes: dict[str, int]


def seen(folder: Path, *argv: str) -> Seen:
    folder.mkdir()
    log = folder.with_suffix(".strace")
    told = ["strace", "-f", "-y", "-s", "0", "-e", f"trace={CALLS}", "-o", str(log)]
    subprocess.run([*told, *argv], check=True, capture_output=True)
    found = Seen(Counter(), Counter(), Counter(), {})
    begun: dict[str, str] = {}
    for line in log.read_text().splitlines():
        pid, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[pid] = call.removesuffix("<unfinished ...>").rstrip()
            continue
        if call.startswith("<..."):
            call = begun.pop(pid) + call.partition("resumed>")[2]
        if match := CALL.match(call):
            name, path, arguments, result = match.groups()
            if Path(path).parent == folder:
                count(found, name, Path(path).name, arguments, int(result))
    found.sizes.update({p.name: p.stat().st_size for p in folder.iterdir()})
    return found


def count(found: Seen, name: str, file: str, arguments: str, result: int) -> None:
    if name in ("fsync", "fdatasync"):
        found.syncs[name] += 1
        return
    found.moved[file, name, result] += 1
    if name.endswith("64"):
        place = PLACE.search(arguments)
        assert place is not None
        found.places[file, int(place[2]), result] += 1


def both(tmp_path: Path, text: str) -> tuple[Seen, Seen, list[Any], dict[str, Any]]:
    """What fio and we did, and what each told."""
    path, out = tmp_path / "j.fio", tmp_path / "fio.json"
    path.write_text(text)
    theirs = tmp_path / "theirs"
    more = [f"--directory={theirs}", "--output-format=json", f"--output={out}"]
    fio = seen(theirs, "fio", *more, str(path))
    jobs = tmp_path / "jobs.txt"
    jobs.write_text(workload.format_board_jobs(jobfile.read_fio_job_file(path)).format(seed=1))
    ours = tmp_path / "ours"
    argv = [str(native("fiojobs")), str(jobs), str(ours)]
    run = seen(ours, "sh", "-c", f"{' '.join(argv)} > {tmp_path}/ours.json")
    theirs_told = json.loads(out.read_text())["jobs"]
    return fio, run, theirs_told, json.loads((tmp_path / "ours.json").read_text())


def version() -> tuple[int, ...]:
    """Of the fio that is installed."""
    said = subprocess.run(["fio", "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


SAME = {
    "fsync": "[w]\nrw=write\nsize=64k\nfsync=4\nend_fsync=1\n",
    "fdatasync": "[w]\nrw=randwrite\nsize=100k\nnrfiles=3\nfdatasync=5\n",
    "reads": "[r]\nrw=randread\nsize=33k\nnrfiles=2\nloops=2\n",
    "tail": "[w]\nrw=write\nbs=4k\nsize=10k\noverwrite=1\nend_fsync=1\n",
    "over_again": "[w]\nrw=randwrite\nsize=32k\nio_size=64k\nfsync=3\n",
    "a_part": "[w]\nrw=write\nsize=32k\nio_size=16k\n",
    "clones": "[w]\nrw=write\nbs=512\nsize=8k\nnumjobs=2\nsync=1\n",
    "in_turn": "[w]\nrw=write\nsize=48k\nnrfiles=3\nfile_service_type=sequential\n",
    "engine": "[r]\nioengine=sync\nrw=read\nbs=1k\nsize=16k\n",
    "loops": "[w]\nrw=write\nsize=32k\nloops=2\nend_fsync=1\nfsync=4\n",
    "units": "[w]\nrw=write\nbs=4KiB\nsize=40kb\n",
    "shared": "[global]\nsize=32k\nfilename=x\n[w]\nrw=write\n[r]\nstonewall\nrw=read\n",
    "unlinked": "[w]\nrw=write\nsize=32k\nunlink=1\nend_fsync=1\nfsync_on_close=1\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_the_same_calls_on_the_same_files(tmp_path: Path, text: str) -> None:
    fio, ours, told, said = both(tmp_path, text)
    if text == SAME["loops"] and version() < (3, 38):
        # it was mended in fio 3.38: what end_fsync had synced was synced once more in the next loop
        fio.syncs["fsync"] -= 1
    assert ours.moved == fio.moved
    if "io_size=64k" not in text:  # which blocks come twice is drawn
        assert ours.places == fio.places
    assert ours.syncs == fio.syncs
    assert ours.sizes == fio.sizes
    totals = {
        way: sum(n for name, n in said["operations"].items() if re.search(rf"{way}(_sync)?$", name))
        for way in ("read", "write")
    }
    for way, key in (("read", "read"), ("write", "written")):
        assert totals[way] == sum(job[way]["total_ios"] for job in told)
        assert said["bytes"][key] == sum(job[way]["io_bytes"] for job in told)


@pytest.mark.parametrize("rw", ["randrw", "rw"])
def test_a_mix_moves_as_many_blocks_and_in_any_order_each_once(tmp_path: Path, rw: str) -> None:
    fio, ours, told, said = both(tmp_path, f"[m]\nrw={rw}\nsize=512k\nrwmixread=70\n")
    blocks = 128
    for run in (fio, ours):
        # the files' layout is by write(2)
        assert sum(n for (_, name, _), n in run.moved.items() if name.endswith("64")) == blocks
    if rw == "randrw":
        once = {("m.0.0", 4096 * i, 4096): 1 for i in range(blocks)}
        assert ours.places == fio.places == once
    assert ours.sizes == fio.sizes
    for share in (said["operations"]["read"], told[0]["read"]["total_ios"]):
        assert 0.5 * blocks < share < 0.9 * blocks


def test_a_rate_and_a_time_are_kept_as_fio_keeps_them(tmp_path: Path) -> None:
    text = "[w]\nrw=write\nbs=4k\nsize=1m\nrate=64k\nruntime=1\ntime_based\n"
    _, _, told, said = both(tmp_path, text)
    assert 14 <= told[0]["write"]["total_ios"] <= 20
    assert 14 <= said["operations"]["write"] <= 20
    assert said["figures"]["runtime"] >= 0.9e9


def test_what_the_program_is_not_given_it_refuses_with_the_line(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.txt"
    for text, said in (
        ("", "has no job"),
        ("rw=read\n", "1: expected a job's [NAME]"),
        ("[a]\nrw\n", "2: expected KEY=VALUE"),
        ("[a]\nrw=trim\n", "2: 'trim' is none of read|write"),
        ("[a]\nsize=4k\n", "2: '4k' is not a whole number"),
        ("[a]\n", "1: size is missing"),
        ("[a]\nsize=100\n", "1: bs 4096 is more than a file's 100 bytes"),
    ):
        jobs.write_text(text)
        argv = [str(native("fiojobs")), str(jobs), str(tmp_path)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, ""), text
        assert said in done.stderr
    jobs.write_text("[a]\nrw=write\nsize=4096\ndirect=1\n")
    argv = [str(native("fiojobs")), str(jobs), "/proc/self"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
