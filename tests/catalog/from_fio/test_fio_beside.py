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
from support.native import native

from nandlab.catalog.from_fio import jobfile, workload

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
    "offset": "[w]\nrw=write\nbs=4k\noffset=8k\nsize=32k\nend_fsync=1\n",
    "offset_read": "[r]\nrw=randread\noffset=12k\nsize=32k\nnrfiles=2\n",
    "number_ios": "[w]\nrw=write\nsize=64k\nnumber_ios=3\nfsync=2\n",
    "backwards": "[r]\nrw=read:-8k\nbs=4k\nsize=64k\n",
    "holes": "[w]\nrw=write:4k\nbs=4k\nsize=32k\n",
    "odd_holes": "[w]\nrw=write:6k\nbs=4k\nsize=50k\n",
    "backwards_odd": "[w]\nrw=write:-5k\nbs=2k\nsize=50k\n",
    "one_size": "[w]\nrw=randwrite\nbsrange=4k-4k\nsize=64k\n",
    "split_one": "[w]\nrw=write\nbssplit=8k/100\nsize=64k\n",
    "three": "[w]\nrw=write\nbs=4k,8k,16k\nsize=64k\n",
    "waits": "[global]\nsize=32k\n[a]\nrw=write\n[b]\nwait_for=a\nrw=read\n",
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


MIXED_SIZES = {
    "split": "rw=write\nbssplit=4k/10:8k/60:16k/\n",
    "split_map": "rw=randwrite\nbssplit=4k/40:8k/60\n",
    "range": "rw=write\nbsrange=4k-16k\n",
    "range_map": "rw=randread\nbsrange=4k-16k\n",
    "mixed": "rw=randrw\nbssplit=4k/40:8k/60\n",
}


@pytest.mark.parametrize("text", MIXED_SIZES.values(), ids=MIXED_SIZES)
def test_several_sizes_have_their_shares_and_come_to_the_same_bytes(
    tmp_path: Path, text: str
) -> None:
    size = 4 << 20
    fio, ours, _, _ = both(tmp_path, f"[j]\n{text}size={size}\n")
    shares = []
    for run in (fio, ours):
        sizes: Counter[int] = Counter()
        for (_, _, length), times in run.places.items():
            sizes[length] += times
        assert sum(length * times for length, times in sizes.items()) == size
        # each byte once
        ends = sorted((at, at + length) for _, at, length in run.places)
        assert [begin for begin, _ in ends] == [0, *(end for _, end in ends[:-1])]
        shares.append({length: times / sizes.total() for length, times in sizes.items()})
    assert shares[0].keys() == shares[1].keys()
    for length, share in shares[0].items():
        assert shares[1][length] == pytest.approx(share, abs=0.07), length


def test_zones_have_their_shares(tmp_path: Path) -> None:
    text = "[j]\nrw=randread\nnorandommap\nrandom_distribution=zoned:50/5:30/15:20/\n"
    fio, ours, _, _ = both(tmp_path, f"{text}bs=4k\nsize=4m\nio_size=8m\n")
    for run in (fio, ours):
        parts: Counter[int] = Counter()
        for (_, at, _), times in run.places.items():
            percent = at * 100 / (4 << 20)
            parts[0 if percent < 5 else 1 if percent < 20 else 2] += times
        assert parts.total() == 2048
        for zone, share in enumerate((0.5, 0.3, 0.2)):
            assert parts[zone] / parts.total() == pytest.approx(share, abs=0.05)


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


def test_the_end_of_a_job_ends_those_that_exitall_names(tmp_path: Path) -> None:
    text = """
[global]
rw=write
size=1m
rate_iops=20
[short]
exitall
exit_what=WHAT
number_ios=4
[beside]
[apart]
new_group
number_ios=12
"""
    for what, apart in (("group", 12), ("stonewall", 6)):
        folder = tmp_path / what
        folder.mkdir()
        _, _, told, said = both(folder, text.replace("WHAT", what))
        theirs = [job["write"]["total_ios"] for job in told]
        ours = [said["operations"][f"{name}_write"] for name in ("short", "beside", "apart")]
        for ios in (theirs, ours):
            assert ios[0] == 4
            assert ios[1] <= 6
            assert ios[2] == 12 if apart == 12 else ios[2] <= apart


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
