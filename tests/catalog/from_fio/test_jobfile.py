# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files of fio: what is read, what is refused with its place, and that no text does worse."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.native import native
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.catalog.files import validate_data
from nandlab.catalog.from_fio import jobfile, workload
from nandlab.catalog.from_fio.options import ALIASES, IGNORED_OPTIONS, OPTIONS
from nandlab.catalog.workload import WorkloadModel
from nandlab.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
KIB = 1024


def read(text: str) -> jobfile.JobFile:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.fio"
        path.write_text(text)
        return jobfile.read_fio_job_file(path)


def wrong(text: str) -> list[str]:
    with pytest.raises(UsageError) as e:
        read(text)
    return [line.partition("j.fio:")[2] for line in str(e.value).splitlines()]


def test_global_gives_to_the_jobs_after_it_and_a_stonewall_divides() -> None:
    found = read(
        "; begin\n[global]\nbs=8k # 8192\nsize=1m\n\n[Seq-Write]\nrw=write\n[b]\nbs=4k,512\nrw=rw\n"
        "[global]\nfsync=3\n[2nd]\nwait_for_previous\nreadwrite=randwrite\nsize=64kb\n"
    )
    a, b, c = found.jobs
    assert (a.name, a.line, a.options) == (
        "seq_write",
        6,
        {"bs": "8192", "size": "1048576", "rw": "write"},
    )
    assert b.options == {"bs": "4096,512", "size": "1048576", "rw": "rw"}
    assert (c.name, c.options) == (
        "job_2nd",
        {"bs": "8192", "size": "65536", "fsync": "3", "stonewall": "1", "rw": "randwrite"},
    )
    assert [[job.name for job in group] for group in found.groups()] == [
        ["seq_write", "b"],
        ["job_2nd"],
    ]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("bs=,512", {"bs": "4096,512"}),
        ("bs=4KiB", {"bs": "4000"}),  # as fio 3 has it
        ("bs=0x800", {"bs": "2048"}),
        ("rate=1m", {"rate": "1048576"}),
        ("rate=,64k", {"rate": "0,65536"}),
        ("thinktime=2ms", {"thinktime": "2000"}),
        ("runtime=2m", {"runtime": "120"}),
        ("startdelay=3", {"startdelay": "3"}),
        ("sync=1", {"sync": "sync"}),
        ("rwmixwrite=30", {"rwmixread": "70"}),
        ("fallocate=0", {"fallocate": "none"}),
        ("norandommap", {"norandommap": "1"}),
        ("blocksize=1k", {"bs": "1024"}),
        ("filesize=1m", {}),
        ("filename=/data/a.b", {"filename": "a.b"}),
        ("name=nightly", {}),
        ("ioengine=libaio\niodepth=16", {"ioengine": "psync"}),
        ("ioengine=posixaio\nbuffered=1", {"ioengine": "psync", "direct": "0"}),
        ("ioengine=libaio\ndirect=1\niodepth=1", {"ioengine": "psync", "direct": "1"}),
        ("iodepth=16", {}),
        ("ioengine=pvsync2", {"ioengine": "psync"}),
        ("ioengine=vsync", {"ioengine": "sync"}),
        ("rw=read:-8k", {"rw": "read", "seq_add": "-8192"}),
        ("bs=4k,8k,16k", {"bs": "4096,8192"}),
        ("bsrange=4k-4k", {"bs": "4096"}),
        ("bsrange=4k-16k,8k-8k", {"bs": "4096,8192", "bs_max": "16384,8192"}),
        ("bsrange=4k-16k\nbs=8k", {"bs": "4096", "bs_max": "16384"}),
        ("bsrange=4k-4k\nbs=8k", {"bs": "4096"}),
        ("bssplit=8k/10:4k/:16k/60\nbs=8k", {"bssplit": "8192/10:4096/30:16384/60"}),
        ("bssplit=4k/50:8k/50\nbsrange=4k-4k", {"bssplit": "4096/50:8192/50"}),
        ("bsrange=4k-4k\nbssplit=4k/50:8k/50", {"bssplit": "4096/50:8192/50"}),
        ("bssplit=4k/100,8k/100", {"bssplit": "4096/100,8192/100"}),
        ("offset=64k\nnumber_ios=5", {"offset": "65536", "number_ios": "5"}),
        ("random_distribution=random", {}),
        ("new_group", {}),
        ("exitall\nexit_what=all", {"exitall": "1", "exit_what": "stonewall", "exit_group": "0"}),
        ("ratemin=1k", {}),
        ("directory=${DATA}", {}),
        (
            "norandommap\nrandom_distribution=zoned:50/5:30/15:20/\nba=8k",
            {"norandommap": "1", "zones": "5/50:15/30:80/20", "blockalign": "8192"},
        ),
        ("buffered=0", {"direct": "1"}),
        ("direct", {"direct": "1"}),
    ],
)
def test_values_as_fio_has_them(line: str, options: dict[str, str]) -> None:
    (job,) = read(f"[j]\nrw=randwrite\nsize=1m\n{line}\n").jobs
    assert job.options == {"rw": "randwrite", "size": "1048576", **options}


@pytest.mark.parametrize(
    ("shared", "own", "sizes"),
    [
        ("bssplit=4k/50:8k/50", "bsrange=4k-4k", {"bs": "4096"}),
        ("bssplit=4k/50:8k/50", "bs=16k", {"bs": "16384"}),
        ("bssplit=4k/50:8k/50", "bsrange=4k-16k", {"bssplit": "4096/50:8192/50"}),
        ("bsrange=4k-16k", "bs=8k", {"bs": "8192"}),
        ("bsrange=4k-16k", "bsrange=8k-8k", {"bs": "8192"}),
        ("bs=8k", "bssplit=4k/100", {"bssplit": "4096/100"}),
    ],
)
def test_a_job_s_own_sizes_hold_over_the_global_ones(
    shared: str, own: str, sizes: dict[str, str]
) -> None:
    (job,) = read(f"[global]\n{shared}\n[j]\nrw=randwrite\nsize=1m\n{own}\n").jobs
    assert job.options == {"rw": "randwrite", "size": "1048576", **sizes}


def test_filesize_makes_size() -> None:
    (job,) = read("[j]\nfilesize=64k\nnrfiles=3\n").jobs
    assert job.options == {"nrfiles": "3", "size": str(3 * 64 * KIB), "rw": "read"}


def test_an_option_that_is_set_stands_in_every_job() -> None:
    text = "[global]\nsize=10g\nbuffered=0\nioengine=libaio\niodepth=8\n[a]\n[b]\nbssplit=4k/100\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.fio"
        path.write_text(text)
        overrides = {"direct": "0", "size": "1m", "bs": "8k"}
        found = jobfile.read_fio_job_file(path, overrides)
        wanted = {"direct": "0", "size": "1048576", "bs": "8192", "rw": "read"}
        for job in found.jobs:
            assert job.options == {**wanted, "ioengine": "psync"}
        assert len([note for note in found.notes if "--set" in note]) == 3
        with pytest.raises(UsageError, match="--set size=x: expected bytes"):
            jobfile.read_fio_job_file(path, {"size": "x"})


@pytest.mark.parametrize(
    ("sections", "groups"),
    [
        ("[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n", [["a"], ["b"], ["c"]]),
        ("[a]\n[b]\nwait_for=a\n[c]\nwait_for=a\n", [["a"], ["b", "c"]]),
        ("[a]\n[b]\nwait_for=a\n[c]\nstonewall\n", [["a"], ["b"], ["c"]]),
        ("[a]\n[b]\n[c]\nwait_for=a\n", None),
        ("[a]\n[b]\nwait_for=a\n[c]\n", None),
        ("[a]\nwait_for=a\n", None),
    ],
)
def test_a_wait_for_the_job_before_is_a_stonewall(
    sections: str, groups: list[list[str]] | None
) -> None:
    text = f"[global]\nsize=1m\n{sections}"
    if groups is None:
        assert "wait_for" in wrong(text)[0]
    else:
        assert [[job.name for job in group] for group in read(text).groups()] == groups


COMMAND = """\
# nightly
fio --bs=4k --size 1m --directory=/data \\
    --name=log --rw=write --fsync=1 --name=index --rw=randread --norandommap --numjobs=2
"""


def test_a_command_line_of_fio_is_a_job_file() -> None:
    shared = {"bs": "4096", "size": str(KIB * KIB)}
    log, index = read(COMMAND).jobs
    assert (log.name, log.options) == ("log", {**shared, "rw": "write", "fsync": "1"})
    wanted = {**shared, "rw": "randread", "norandommap": "1", "numjobs": "2"}
    assert (index.name, index.options) == ("index", wanted)
    assert read(COMMAND.replace("fio --bs", "--bs")).jobs == read(COMMAND).jobs


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fio --name='a", "1: no command line of a shell"),
        ("fio --name=a rw=read", "1: rw=read: expected --OPTION=VALUE"),
        ("fio --name=a --size=1m --sise=1", "1: sise: did you mean size?"),
        ("fio --size=1m", " has no job"),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(line: str, said: str) -> None:
    assert wrong(line)[0].startswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "ioengine=null",
            "4: ioengine=null: must be one of psync, sync, pvsync, pvsync2, vsync, libaio",
        ),
        ("ioengine=libaio\ndirect=1\niodepth=2", "1: [j]: ioengine=libaio with direct=1"),
        ("rw=randread:8", "4: rw=randread:8: a random place is drawn for each"),
        ("rw=read:2m", "1: [j]: rw with a step needs a step within the file"),
        ("rw=read:x", "4: rw=read:x: expected bytes"),
        ("ioengine=vsync\niodepth=2", "1: [j]: ioengine=vsync with iodepth"),
        ("number_ios=3\nloops=2", "1: [j]: number_ios with loops"),
        ("bssplit=4k/50:6k/50", "4: bssplit=4k/50:6k/50: each size must be a multiple"),
        ("bssplit=4k/60:8k/60", "4: bssplit=4k/60:8k/60: the shares add up to more"),
        ("bssplit=4k/1.5", "4: bssplit=4k/1.5: '1.5' is no whole percent"),
        ("bsrange=8k", "4: bsrange=8k: expected LEAST-MOST"),
        ("bsrange=8k-4k", "4: bsrange=8k-4k: the first size is the least"),
        ("bsrange=4k-2m", "1: [j]: bs 2,097,152 is more than a file's 1,048,576 bytes"),
        ("offset=8k\nfilesize=1m", "1: [j]: offset with filesize"),
        ("blockalign=17m", "4: blockalign=17m: must be 1 to 16,777,216"),
        ("blockalign=8k", "1: [j]: blockalign needs random requests and norandommap"),
        (
            "random_distribution=zipf:1.2",
            "4: random_distribution=zipf:1.2: must be random or zoned",
        ),
        ("random_distribution=zoned:50/5:50/5", "4: random_distribution=zoned:50/5:50/5: both"),
        (
            f"random_distribution=zoned:{':'.join(['1/1'] * 32)}:68/68",
            f"4: random_distribution=zoned:{':'.join(['1/1'] * 32)}:68/68: must be at most 32",
        ),
        ("random_distribution=zoned:50/5:50/", "1: [j]: random_distribution needs random"),
        ("wait_for=k", "1: [j]: wait_for=k: can only be the one job"),
        ("exit_what=all\nexitall\n[k]\nstonewall\nsize=4k", "1: [j]: exit_what=all: jobs after"),
        ("iodepth=0", "4: iodepth=0: must be 1 to"),
        ("rw=trim", "4: rw=trim: must be one of read, write"),
        ("bs=1.5k", "4: bs=1.5k: expected bytes as a whole number"),
        ("bs=0", "4: bs=0: must be 1 to"),
        ("bs=4k-8k", "4: bs=4k-8k: expected bytes"),
        ("size=50%", "4: size=50%: a share is of files"),
        ("offset=2.5%", "4: offset=2.5%: a share is of files"),
        ("io_size=50%%", "4: io_size=50%%: a share is of files"),
        ("size=$mb_memory", "4: size=$mb_memory: no variables"),
        ("sise=4k", "4: sise: did you mean size?"),
        ("verify=md5", "4: verify=md5: only verify=0 can be done"),
        ("ramp_time=3", "4: ramp_time: cannot be done"),
        ("include other.fio", "4: include: give the job file whole"),
        ("runtime=1500ms", "4: runtime=1500ms: must be whole seconds"),
        ("filename=/dev/sda", "4: filename=/dev/sda: is a device"),
        ("filename=/tmp/", "4: filename=/tmp/: must be the name of one file"),
        ("filename=a:b", "4: filename=a:b: must be the name of one file"),
        ("fsync", "4: expected fsync=VALUE"),
        ("qwertz", "4: qwertz: is no option"),
        ("direct=true", "4: direct=true: must be 0 or 1"),
        ("numjobs=100", "4: numjobs=100: must be 1 to 64"),
        ("time_based", "1: [j]: time_based needs a runtime"),
        ("bs=2m", "1: [j]: bs 2,097,152 is more than a file's 1,048,576 bytes"),
        ("filesize=2m", "1: [j]: size is not filesize times nrfiles"),
        ("[j]", "4: [j]: is called j here, as that of line 1"),
        ("[ö]", "4: [ö]: a job's name has a letter or a digit"),
        ("nrfiles=2\nfilename=x", "1: [j]: filename is of one file"),
        ("rw=randrw\nbs=4k,8k", "1: [j]: a random mix of two block sizes needs norandommap"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name_and_place(line: str, said: str) -> None:
    told = wrong(f"[j]\nrw=write\nsize=1m\n{line}\n")
    assert told[0].startswith(said), told


def test_all_mistakes_are_told_at_once_and_files_that_are_none() -> None:
    assert len(wrong("x=1\n[a]\nsize=x\nsise=3\n[b]\nbs=q\n")) == 4
    assert wrong("[a]\nrw=read\n") == ["1: [a]: size is missing"]
    assert [each.partition(":")[0] for each in wrong("# nothing\n")] == [" has no job"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.fio"
        path.write_bytes(b"\xff\xfe")
        with pytest.raises(UsageError, match="not text in UTF-8"):
            jobfile.read_fio_job_file(path)
        path.write_bytes(b"#" * (2 << 20))
        with pytest.raises(UsageError, match="has more than"):
            jobfile.read_fio_job_file(path)


def test_what_changes_nothing_is_told_and_a_workload_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("j.fio").write_text("[global]\ndirectory=/data\nsize=64k\n[w]\nrw=write\nfsync=1\n[r]\n")
    done = CliRunner().invoke(app, ["workload", "from-fio", "j.fio"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "catalog/workloads/j.toml"
    assert "j.fio: line 2: directory: " in done.stderr
    made = validate_data(read_toml(Path("catalog/workloads/j.toml")), WorkloadModel, "j.toml")
    assert [p.name for p in made.phases] == ["layout", "group_1"]
    assert [o.name for o in made.operations] == ["w_write", "w_fsync", "r_read"]
    assert [o.name for o in made.operations if o.durable] == ["w_fsync"]
    assert made.headline is not None
    assert made.headline.figure == "time"
    again = CliRunner().invoke(app, ["workload", "from-fio", "j.fio"])
    assert isinstance(again.exception, UsageError)
    assert "it is there already" in str(again.exception)


def test_where_the_job_file_sets_the_time_the_headline_is_a_latency() -> None:
    text = "[w]\nrw=write\nsize=64k\nrate=8k\nfdatasync=2\n"
    assert 'figure = "latency.fdatasync.p99"' in workload.format_workload_file(read(text), "w")


def test_the_example_of_the_docs_is_read() -> None:
    found = jobfile.read_fio_job_file(ROOT / "docs" / "examples" / "fio" / "device.fio")
    assert [len(group) for group in found.groups()] == [1, 1, 1]
    assert [job.name for job in found.jobs] == ["log", "settings", "read_back"]


def test_docs_list_every_option() -> None:
    page = (ROOT / "docs" / "fio.md").read_text()
    assert [name for name in (*OPTIONS, *IGNORED_OPTIONS) if f"`{name}`" not in page] == []


def spelled(number: int) -> st.SearchStrategy[str]:
    """A number of bytes as fio may have it."""
    ways = [str(number)]
    for power, prefix in enumerate("kmg", 1):
        if number and number % KIB**power == 0:
            more = (prefix, prefix.upper(), f"{prefix}b", f"{prefix}i")
            ways += [f"{number // KIB**power}{each}" for each in more]
    return st.sampled_from(ways)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A job in one of the ways to write it, and what must be read."""
    bs = draw(st.sampled_from([512, 1000, 4096]))
    options = {
        "rw": draw(st.sampled_from(["read", "write", "randread", "randwrite", "rw", "randrw"])),
        "bs": str(bs),
        "nrfiles": str(draw(st.integers(1, 3))),
        "size": str(bs * draw(st.integers(3, 12))),
        "fsync": str(draw(st.integers(0, 5))),
        "end_fsync": str(draw(st.integers(0, 1))),
        "overwrite": str(draw(st.integers(0, 1))),
        "numjobs": str(draw(st.integers(1, 2))),
        "loops": str(draw(st.integers(1, 2))),
    }
    names = {**{name: name for name in options}, **{v: k for k, v in ALIASES.items()}}
    shared: list[str] = []
    own: list[str] = []
    for key, value in options.items():
        shown = draw(spelled(int(value))) if key in ("bs", "size") else value
        name = draw(st.sampled_from([key, names[key]]))
        blank = draw(st.sampled_from(["", " ", "\t"]))
        comment = draw(st.sampled_from(["", " # why", ";", "\n\n; more\n"]))
        draw(st.sampled_from([shared, own])).append(f"{name}{blank}={blank}{shown}{comment}")
    head = ["[global]", *shared] if shared else []
    return "\n".join([*head, "[j]", *own, ""]), options


@settings(max_examples=60, deadline=None)
@given(written())
def test_however_it_is_written_it_is_the_same_job_and_the_program_does_it(
    case: tuple[str, dict[str, str]],
) -> None:
    text, options = case
    found = read(text)
    (job,) = found.jobs
    assert job.options == options
    per_file = int(options["size"]) // int(options["nrfiles"]) // int(options["bs"])
    requests = per_file
    for name in ("nrfiles", "numjobs", "loops"):
        requests *= int(options[name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.txt"
        path.write_text(workload.format_board_jobs(found).format(seed=7))
        argv = [str(native("fiojobs")), str(path), folder]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counts = told["operations"]
    assert set(counts) == set(job.kinds())
    assert counts.get("read", 0) + counts.get("write", 0) == requests
    assert sum(told["bytes"].values()) == requests * int(options["bs"])


LINES = st.one_of(
    st.sampled_from(["[a]", "[global]", "[b", "size=4k", "bs=4k", "stonewall", "=", "a=b", "[]"]),
    st.builds(
        "{}={}".format,
        st.sampled_from([*OPTIONS, *ALIASES]),
        st.one_of(st.text(max_size=8), st.integers().map(str)),
    ),
    st.text(max_size=12),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=12))
def test_any_text_is_read_or_refused_with_its_place(lines: list[str]) -> None:
    try:
        found = read("\n".join(lines).encode(errors="replace").decode())
    except UsageError as e:
        assert all("j.fio:" in line for line in str(e).splitlines())
    else:
        made = workload.format_workload_file(found, "x")
        assert made.count("'''") == 2
