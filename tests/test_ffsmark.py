# SPDX-License-Identifier: GPL-2.0-or-later
"""FFSMark against Debian's postmark, known amounts, a fake chip, and failures on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parent.parent
PROGRAMS = REPO / "target" / "programs"
TIMEOUT_S = 120

# Logs each file operation of a dynamically linked program to $OPLOG, one "path size kind" a file
# closed; and makes the write() number $FAIL_WRITE fail with ENOSPC.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *names[1024];
static long long written[1024], got[1024];
static int writes;

static void note(const char *what, const char *path, long long size)
{
	static ssize_t (*real)(int, const void *, size_t);
	static int (*real_open)(const char *, int, ...);
	static int fd = -2;
	char line[4096];

	if (!real) {
		real = dlsym(RTLD_NEXT, "write");
		real_open = dlsym(RTLD_NEXT, "open");
	}
	if (fd == -2)
		fd = getenv("OPLOG") ? real_open(getenv("OPLOG"),
			O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
	if (fd < 0)
		return;
	if (real(fd, line, snprintf(line, sizeof(line), "%s %s %lld\n", what, path, size)) < 0)
		abort();
}

static int opened(const char *path, int flags, int mode)
{
	static int (*real)(const char *, int, ...);
	int fd;

	if (!real)
		real = dlsym(RTLD_NEXT, "open");
	fd = real(path, flags, mode);
	if (fd >= 0 && fd < 1024 && !(flags & O_DIRECTORY)) {
		names[fd] = strdup(path);
		written[fd] = got[fd] = 0;
		note(flags & O_CREAT ? "create" : flags & O_APPEND ? "append" : "read", path, 0);
	}
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return opened(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	ssize_t done;

	if (!real)
		real = dlsym(RTLD_NEXT, "write");
	if (fd > 2 && getenv("FAIL_WRITE") && ++writes >= atoi(getenv("FAIL_WRITE"))) {
		errno = ENOSPC;
		return -1;
	}
	done = real(fd, data, size);
	if (fd < 1024 && names[fd] && done > 0)
		written[fd] += done;
	return done;
}

ssize_t read(int fd, void *data, size_t size)
{
	static ssize_t (*real)(int, void *, size_t);
	ssize_t done;

	if (!real)
		real = dlsym(RTLD_NEXT, "read");
	done = real(fd, data, size);
	if (fd < 1024 && names[fd] && done > 0)
		got[fd] += done;
	return done;
}

int close(int fd)
{
	static int (*real)(int);

	if (!real)
		real = dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < 1024 && names[fd]) {
		note("close", names[fd], written[fd] + got[fd]);
		free(names[fd]);
		names[fd] = NULL;
	}
	return real(fd);
}

int unlink(const char *path)
{
	static int (*real)(const char *);

	if (!real)
		real = dlsym(RTLD_NEXT, "unlink");
	note("delete", path, 0);
	return real(path);
}

int remove(const char *path)
{
	static int (*real)(const char *);

	if (!real)
		real = dlsym(RTLD_NEXT, "remove");
	note("delete", path, 0);
	return real(path);
}
"""

LATENCY_TEST = r"""
#include <stdio.h>
#include <stdlib.h>
#include "diag.h"
#include "json.h"
#include "latency.h"

int main(void)
{
	struct json json = { .out = stdout };
	struct latency latency;
	unsigned long long count, value;

	if (scanf("%llu", &count) != 1)
		return 1;
	latency_open(&latency, count);
	while (scanf("%llu", &value) == 1)
		latency_add(&latency, value);
	if (latency_sort(&latency))
		return 1;
	json_object(&json, NULL);
	latency_json(&json, "latency", &latency);
	json_text(&json, "text", "\"\\\n\x01\xc3\xa9\xff\xed\xa0\x80");
	json_real(&json, "nan", 0.0 / 0.0);
	json_count(&json, "missing", COUNT_MISSING);
	json_end(&json);
	latency_close(&latency);
	return json_finish(&json);
}
"""


# --- building and running ------------------------------------------------------------------------


def make(out: Path, *variables: str) -> Path:
    subprocess.run(
        ["make", "-s", "-C", str(PROGRAMS), f"OUT={out}", "CC=gcc", f"{out}/ffsmark", *variables],
        check=True,
        timeout=TIMEOUT_S,
    )
    return out / "ffsmark"


@pytest.fixture(scope="session")
def ffsmark() -> Path:
    named = os.environ.get("NANDLAB_FFSMARK")
    if named:
        return Path(named)
    built = REPO / "build" / "ffsmark"
    return built if built.exists() else make(REPO / "build")


@pytest.fixture(scope="session")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("dynamic"), "STATIC=")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    library = folder / "shim.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(folder / "shim.c"), "-ldl"],
        check=True,
    )
    return library


@pytest.fixture(scope="session")
def postmark() -> str:
    found = shutil.which("postmark")
    if not found:
        pytest.fail("postmark is missing: setup/install-packages setup/apt-test.txt")
    return found


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        value: dict[str, Any] = json.loads(lines[0])
        return value


def run(
    program: Path | str, commands: str, *arguments: str, env: dict[str, str] | None = None
) -> Ran:
    done = subprocess.run(
        [str(program), *arguments],
        input=commands,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def commands(work: Path | None, **settings: object) -> str:
    lines = [f"set location {work}"] if work else []
    for name, value in settings.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"set {name.replace('_', ' ')} {one}" for one in values]
    return "\n".join([*lines, "run", "quit", ""])


# --- the same operations as postmark -------------------------------------------------------------

REPORT = {
    "created": r"\t(\d+) created",
    "creation": r"Creation alone: (\d+)",
    "create_mixed": r"deleted|Creation alone.*\n\t\tMixed with transactions: (\d+)",
    "read": r"\t(\d+) read",
    "appended": r"\t(\d+) appended",
    "deleted": r"\t(\d+) deleted",
    "deletion": r"Deletion alone: (\d+)",
    "delete_mixed": r"Deletion alone.*\n\t\tMixed with transactions: (\d+)",
    "bytes_read": r"\t([\d.]+ \w+) read",
    "bytes_written": r"\t([\d.]+ \w+) written",
}


def figures(report: str) -> dict[str, str]:
    """Every figure of a report that does not depend on time."""
    found = {name: re.search(pattern, report) for name, pattern in REPORT.items()}
    return {name: match.group(1) for name, match in found.items() if match}


def random_settings(seed: int) -> dict[str, object]:
    """A configuration that both programs accept and finish, small enough to keep byte sums exact.

    postmark adds bytes up in a float: exact below 16 MiB only.
    """
    draw = random.Random(seed)
    number = draw.choice([1, 2, 7, 50, 211, 400])
    low = draw.choice([1, 500, 512, 4096])
    high = low + draw.choice([0, 1, 100, 5000])
    return {
        "number": number,
        "size": f"{low} {high}",
        # Few transactions on few files, or the files run out and postmark reports nothing.
        "transactions": draw.choice([10, 11, 37]) if number < 50 else draw.choice([100, 353]),
        "seed": draw.choice([1, 42, 12345, 2147483647]),
        "subdirectories": draw.choice([1, 2, 7]),
        "read": draw.choice([1, 512, 4096, 10000]),
        "write": draw.choice([1, 333, 512, 8192]),
        "bias_read": draw.choice([-1, 0, 3, 5, 10]),
        "bias_create": draw.choice([-1, 5, 7, 10]),
        "buffering": draw.choice(["true", "false"]),
    }


@pytest.mark.parametrize("seed", range(40))
def test_same_counts_as_postmark(ffsmark: Path, postmark: str, work: Path, seed: int) -> None:
    text = commands(work, **random_settings(seed))
    theirs = run(postmark, text)
    report = figures(theirs.out)
    if "out of files" in theirs.out:
        assert not report
        ours = run(ffsmark, text, "--json")
        assert any(warning.startswith("out-of-files") for warning in ours.result["warnings"])
        return
    assert len(report) == len(REPORT), theirs.out
    assert figures(run(ffsmark, text).out) == report
    ours = run(ffsmark, text, "--json")
    ops, data = ours.result["ops"], ours.result["bytes"]
    assert figures(ours.err) == report
    assert ops["create"]["total"] == int(report["created"])
    assert ops["create"]["creation"] == int(report["creation"])
    assert ops["create"]["transactions"] == int(report["create_mixed"])
    assert ops["read"]["total"] == int(report["read"])
    assert ops["append"]["total"] == int(report["appended"])
    assert ops["delete"]["total"] == int(report["deleted"])
    assert ops["delete"]["deletion"] == int(report["deletion"])
    assert ops["delete"]["transactions"] == int(report["delete_mixed"])
    assert data["written"] < 2**24
    assert list(work.iterdir()) == []


def test_same_counts_with_weighted_locations(ffsmark: Path, postmark: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    a, b, c = folders
    text = commands(
        None,
        location=[a, f"+{b} 5", f"+{c} 2", f"-{a}", f"+{a} 3"],
        number=100,
        transactions=300,
        subdirectories=3,
    )
    assert figures(run(ffsmark, text).out) == figures(run(postmark, text).out)
    assert [list(folder.iterdir()) for folder in folders] == [[], [], []]


# The last is past what postmark's float sum of bytes can hold exactly.
SEQUENCES: list[dict[str, object]] = [
    {"number": 60, "transactions": 400, "seed": 7},
    {"number": 3, "transactions": 40, "size": "1 20000", "subdirectories": 5, "bias_create": 6},
    {"number": 200, "transactions": 1000, "size": "4096 100000", "write": 4096, "read": 65536},
]


@pytest.mark.parametrize("settings", SEQUENCES, ids=range(len(SEQUENCES)))
def test_same_sequence_as_postmark(
    dynamic: Path, postmark: str, shim: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    """The same files, in the same order, with the same number of bytes each time."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    text = commands(None, location=[folders[0], f"+{folders[1]} 3"], buffering="false", **settings)
    logs = {}
    for name, program in {"postmark": postmark, "ffsmark": str(dynamic)}.items():
        log = tmp_path / name
        arguments = ["--json"] if name == "ffsmark" else []
        done = run(program, text, *arguments, env={"LD_PRELOAD": str(shim), "OPLOG": str(log)})
        assert done.code == 0 or name == "postmark", done.err
        logs[name] = [line for line in log.read_text().splitlines() if str(tmp_path) in line]
    ours = done.result
    assert logs["ffsmark"] == logs["postmark"]
    totals = {
        kind: sum(int(line.split()[2]) for line in logs["ffsmark"] if line.startswith(kind))
        for kind in ["close"]
    }
    assert totals["close"] == ours["bytes"]["read"] + ours["bytes"]["written"]
    assert (
        sum(line.startswith("delete") for line in logs["ffsmark"]) == ours["ops"]["delete"]["total"]
    )


@pytest.mark.parametrize("transactions", [0, 1, 2, 9])
@pytest.mark.parametrize("number", [1, 2, 50])
def test_fewer_than_ten_transactions(
    ffsmark: Path, work: Path, number: int, transactions: int
) -> None:
    """postmark divides by zero here. One more transaction may only add to the counts."""
    some = [
        run(ffsmark, commands(work, number=number, transactions=count), "--json").result
        for count in (transactions, transactions + 1)
    ]
    done = some[0]["transactions_done"]
    changed = [
        one["ops"]["create"]["transactions"] + one["ops"]["delete"]["transactions"] for one in some
    ]
    assert done <= transactions
    assert changed[0] == done or number == 1
    assert changed[1] - changed[0] in (0, 1)
    assert some[0]["ops"]["create"]["creation"] == number
    assert some[0]["ops"]["delete"]["total"] == some[0]["ops"]["create"]["total"]


def test_no_access_and_no_change(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, bias_read=-1, bias_create=-1, number=13), "--json").result
    assert result["ops"]["read"] == {"total": 0}
    assert result["latency_ns"]["read"] is None
    assert result["latency_ns"]["create"]["count"] == 13
    assert result["transactions_done"] == 500


def test_running_out_of_files_is_said(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, bias_create=0, number=17), "--json").result
    assert result["transactions_done"] == 17
    assert result["ops"]["delete"] == {"total": 17, "deletion": 0, "transactions": 17}
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["out-of-files"]


# --- the result ----------------------------------------------------------------------------------


def test_json_form(ffsmark: Path, work: Path) -> None:
    result = run(ffsmark, commands(work, number=101, transactions=211), "--json").result
    assert (result["program"], result["format"]) == ("ffsmark", 1)
    assert result["phase_ns"]["fill"] is None
    assert result["sync_ns"]["fill"] is None
    assert result["flash"] is None
    assert result["state"] == {"asked": {"valid": 0, "invalid": 0, "mix": 0}, "obtained": None}
    assert result["config"]["locations"] == [{"path": str(work), "weight": 1}]
    for kind in ("create", "read", "append", "delete"):
        figure = result["latency_ns"][kind]
        assert figure["count"] == result["ops"][kind]["total"]
        ranks = [figure[key] for key in ("min", "median", "p95", "p99", "p99_9", "max")]
        assert ranks == sorted(ranks)
        assert ranks[0] > 0
    # What the operations took cannot exceed the phases that held them.
    assert result["latency_ns"]["delete"]["max"] < sum(
        result["phase_ns"][phase] for phase in ("transactions", "deletion")
    )


def test_each_run_gives_one_line(ffsmark: Path, work: Path) -> None:
    text = f"set location {work}\nset number 5\nrun\nset seed 43\nrun\n"
    lines = [json.loads(line) for line in run(ffsmark, text, "--json").out.splitlines()]
    assert [line["config"]["seed"] for line in lines] == [42, 43]


def test_terse_report_has_postmarks_columns(ffsmark: Path, postmark: str, work: Path) -> None:
    text = commands(work, report="terse", number=50)
    ours, theirs = run(ffsmark, text).out, run(postmark, text).out
    columns = [line for line in theirs.splitlines() if re.fullmatch(r"[\d. ]+", line)]
    assert len(ours.split()) == len(columns[0].split()) == 13


def test_report_goes_to_a_file(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    text = f"set location {work}\nset number 5\nrun {out}\nshow {out}\n"
    assert run(ffsmark, text).code == 0
    assert "5 files" in out.read_text()
    assert f"set location {work} 1" in out.read_text()


def test_what_show_prints_gives_the_same_settings(ffsmark: Path, work: Path) -> None:
    text = commands(
        work, location=f"+{work}/x 4", size="3 77", seed=9, bias_read=-1, fill_creation_valid=12.5
    ).replace("run", "show")
    shown = run(ffsmark, text).out
    assert run(ffsmark, shown + "show\n").out == shown
    assert "set fill creation valid 12.5" in shown


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 1000, 1001, 7919])
def test_percentiles_are_exact(tmp_path: Path, count: int) -> None:
    """Nearest rank, against the definition, on known values from 11 to 52 bits."""
    source, program = tmp_path / "t.c", tmp_path / "t"
    source.write_text(LATENCY_TEST)
    library = [str(PROGRAMS / "lib" / f"{name}.c") for name in ("latency", "json", "diag")]
    subprocess.run(
        ["gcc", "-o", str(program), f"-I{PROGRAMS / 'lib'}", str(source), *library, "-lm"],
        check=True,
    )
    draw = random.Random(count)
    values = [draw.randrange(2 ** draw.choice([11, 22, 33, 52])) for _ in range(count)]
    out = run(program, f"{count} {' '.join(map(str, values))}").result
    assert out["text"] == '"\\\n\x01é\ufffd\ufffd\ufffd\ufffd'
    assert out["nan"] is None
    assert out["missing"] is None
    if not count:
        assert out["latency"] is None
        return
    ordered = sorted(values)
    for key, mille in {"min": 0, "median": 500, "p95": 950, "p99": 990, "p99_9": 999}.items():
        rank = max(1, -(-count * mille // 1000))
        assert out["latency"][key] == ordered[rank - 1], key
    assert out["latency"]["max"] == ordered[-1]
    assert out["latency"]["count"] == count


# --- the language --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frobnicate", "unknown command"),
        ("runx", "unknown command"),
        ("set frob 3", "no such setting"),
        ("set number", "a value is missing"),
        ("set number 0", "out of range"),
        ("set number 10x", "not a whole number"),
        ("set number -4", "not a whole number"),
        ("set number 99999999999999999999999", "out of range"),
        ("set size 500 400", "below the low one"),
        ("set size 500 400 300", "not a whole number"),
        ("set bias read 11", "out of range"),
        ("set bias read -2", "out of range"),
        ("set buffering yes", "neither 'true' nor 'false'"),
        ("set report long", "none of verbose|terse"),
        ("set fill creation valid 101", "out of range"),
        ("set fill creation valid 100", "below 100"),
        ("set fill creation valid nan", "not a number"),
        ("set fill mix 1.5", "out of range"),
        ("set compressibility -0.1", "out of range"),
        ("set location /a b", "not a whole number"),
        ("set location -/nowhere", "not in the list"),
        ("load /nowhere", "open the commands"),
        ("load", "name is missing"),
        ("!ls", "unknown command"),
    ],
)
def test_mistakes_are_told_with_their_place(
    ffsmark: Path, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "conf"
    file.write_text(f"# a comment\n\n  set   number\t10 \r\n{line}\nrun\n")
    done = run(ffsmark, "", str(file))
    assert done.code == 2
    assert message in done.err
    assert f"{file}:4: " in done.err or "load /" in line
    assert done.out == ""


def test_mistakes_on_the_command_line(ffsmark: Path, tmp_path: Path) -> None:
    assert run(ffsmark, "", "--frob").code == 2
    assert run(ffsmark, "", "--flash").code == 2
    assert run(ffsmark, "", "--json=3").code == 2
    assert run(ffsmark, "", str(tmp_path / "none")).code == 2
    assert "nothing was run" in run(ffsmark, "show\n", "--json").err
    assert "--drop-file" in run(ffsmark, "", "--help").out
    loop = tmp_path / "loop"
    loop.write_text(f"load {loop}\n")
    assert "load itself" in run(ffsmark, "", str(loop)).err


def test_commands_from_everywhere(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    file = tmp_path / "conf"
    file.write_text(f"set location {work}\nset number 11")  # no newline at the end
    done = run(
        ffsmark,
        "set seed 5\n",
        "--command=set number 12",
        str(file),
        "--json",
        "-",
        "--command",
        "run",
    )
    config = done.result["config"]
    assert (config["number"], config["seed"]) == (11, 5)


# --- the chip ------------------------------------------------------------------------------------

COUNTERS = {
    "reads": 0,
    "programs": 0,
    "erases": 0,
    "partition_pages": 4096,
    "pages_programmed": 0,
    "pages_per_block": 64,
    "blocks": 64,
    "busy_ns": 1,
    "idle_ns": 1,
    "a_key_of_tomorrow": 7,
}


def write_chip(folder: Path, counters: dict[str, int], blocks: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "counters").write_text("".join(f"{k} {v}\n" for k, v in counters.items()))
    (folder / "blocks").write_text("".join(f"{line}\n" for line in blocks))
    return folder


def serve_once(path: Path, content: Callable[[], str]) -> None:
    """Wait for one reader of the FIFO, and give it what `content` then says.

    A fresh FIFO is put in its place first: the next reader cannot join this one.
    """
    with path.open("w") as pipe:
        fresh = path.with_name(f"{path.name}.fresh")
        os.mkfifo(fresh)
        fresh.replace(path)
        with contextlib.suppress(BrokenPipeError):
            pipe.write(content())
            pipe.flush()


@dataclass
class FakeChip:
    """A chip whose `counters` are computed when they are read: it is a FIFO.

    It knows the files in `work` as they grow, and turns their growth into programmed pages by
    `pages`: bytes grown since the last look -> pages. Deleted data stays programmed.
    """

    folder: Path
    work: Path
    pages: Callable[[int], float]
    partition_pages: int = 4096
    before: int = 100
    per_look: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    programmed: float = 0
    turns: list[str] = field(default_factory=list)
    looks: int = 0
    stopped: bool = False

    def start(self) -> FakeChip:
        write_chip(self.folder, COUNTERS, [f"{i} 0 0 0" for i in range(64)])
        (self.folder / "counters").unlink()
        os.mkfifo(self.folder / "counters")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def look(self) -> dict[str, int]:
        for file in ("ffsmark.valid", "ffsmark.invalid"):
            with contextlib.suppress(FileNotFoundError):
                size = (self.work / file).stat().st_size
                grown = size - self.sizes.get(file, 0)
                self.sizes[file] = size
                if grown:
                    self.programmed += self.pages(grown)
                    self.turns.append(file.removeprefix("ffsmark."))
        self.looks += 1
        return {
            **COUNTERS,
            "partition_pages": self.partition_pages,
            "pages_programmed": self.before + int(self.programmed),
            **{key: value * self.looks for key, value in self.per_look.items()},
        }

    def text(self) -> str:
        return "" if self.stopped else "".join(f"{k} {v}\n" for k, v in self.look().items())

    def serve(self) -> None:
        while not self.stopped:
            serve_once(self.folder / "counters", self.text)

    def stop(self) -> None:
        self.stopped = True
        with contextlib.suppress(OSError):
            os.close(os.open(self.folder / "counters", os.O_RDONLY | os.O_NONBLOCK))
        self.thread.join(5)


ChipMaker = Callable[..., FakeChip]


@pytest.fixture
def chip(tmp_path: Path, work: Path) -> Iterator[ChipMaker]:
    chips: list[FakeChip] = []

    def start(pages: Callable[[int], float], **more: Any) -> FakeChip:
        chips.append(FakeChip(tmp_path / "chip", work, pages, **more).start())
        return chips[-1]

    yield start
    for one in chips:
        one.stop()


def test_still_chip(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    """Figures that do not move are zeros; they are known, so they are not null."""
    blocks = [f"{i} 5 {i} {i * i}" for i in range(64)]
    counters = {**COUNTERS, "pages_programmed": 1024}
    folder = write_chip(tmp_path / "chip", counters, blocks)
    flash = run(ffsmark, commands(work), "--json", "--flash", str(folder)).result["flash"]
    zero = {"reads": 0, "programs": 0, "erases": 0}
    phases = {"fill": None, "creation": zero, "transactions": zero, "deletion": zero}
    assert flash["phases"] == phases
    assert flash["sync"] == phases
    assert flash["erases_per_block"] == {"mean": 0, "stddev": 0, "min": 0, "max": 0}
    assert flash["per_block"]["erases"] == [0] * 64
    assert (flash["partition_pages"], flash["pages_per_block"]) == (4096, 64)


def test_counts_fall_in_their_phases(ffsmark: Path, work: Path, chip: ChipMaker) -> None:
    """Each look finds one count more. A phase is looked at twice after it began: work, sync."""
    fake = chip(lambda grown: grown / 2048, per_look={"reads": 1, "programs": 10, "erases": 3})
    result = run(ffsmark, commands(work, flash=fake.folder), "--json").result
    for phase in ("creation", "transactions", "deletion"):
        assert result["flash"]["phases"][phase] == {"reads": 2, "programs": 20, "erases": 6}
        assert result["flash"]["sync"][phase] == {"reads": 1, "programs": 10, "erases": 3}
    # Opened once at the start, then three looks a phase.
    assert fake.looks == 1 + 3 * 3


def test_erases_per_block(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    """Known counts before and after: the deltas, and the population's spread."""
    folder = write_chip(tmp_path / "chip", COUNTERS, [])
    (folder / "blocks").unlink()
    os.mkfifo(folder / "blocks")
    erases = [[5, 5, 5, 5], [5, 7, 6, 12]]

    def serve() -> None:
        for counts in erases:
            lines = [f"{i} {9 + c} {c * 2} {c}\n" for i, c in enumerate(counts)]
            serve_once(folder / "blocks", "".join(lines).__str__)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    flash = run(ffsmark, commands(work, flash=folder), "--json").result["flash"]
    thread.join(5)
    assert flash["per_block"] == {
        "reads": [0, 2, 1, 7],
        "programs": [0, 4, 2, 14],
        "erases": [0, 2, 1, 7],
    }
    spread = flash["erases_per_block"]
    assert (spread["mean"], spread["min"], spread["max"]) == (2.5, 0, 7)
    assert spread["stddev"] == pytest.approx(2.692582404)  # of the population 0, 2, 1, 7


def test_missing_figures_are_null(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    folder = write_chip(tmp_path / "chip", {"reads": 3, "erases": 4}, [])
    result = run(ffsmark, commands(work), "--json", "--flash", str(folder)).result
    assert result["flash"]["phases"]["creation"] == {"reads": 0, "programs": None, "erases": 0}
    assert result["flash"]["per_block"] is None
    assert result["flash"]["erases_per_block"] is None
    assert result["flash"]["partition_pages"] is None
    assert result["state"]["obtained"] is None
    assert {warning.split(":")[0] for warning in result["warnings"]} == {"flash-incomplete"}


def test_no_chip_is_null(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    named = run(ffsmark, commands(work), "--json", "--flash", str(tmp_path / "none")).result
    assert named["flash"] is None
    assert [warning.split(":")[0] for warning in named["warnings"]] == ["flash-unavailable"]
    none = run(ffsmark, commands(work), "--json", "--flash", "none").result
    assert (none["flash"], none["warnings"]) == (None, [])


# --- the initial state ---------------------------------------------------------------------------


def like_jffs2(grown: int) -> float:
    """A 68-byte header for each node of at most 4 KiB; pages of 2 KiB."""
    return (grown + 68 * -(-grown // 4096)) / 2048


def like_ubifs(grown: int) -> float:
    """A 48-byte header for each 4 KiB, and an inode written with each push."""
    return (grown + 48 * -(-grown // 4096) + 160) / 2048


def compressed(grown: int) -> float:
    return grown * 0.3 / 2048


@pytest.mark.parametrize("pages", [like_jffs2, like_ubifs, compressed])
@pytest.mark.parametrize("mix", [0, 0.4, 1])
@pytest.mark.parametrize("asked", [(50, 25), (10, 60), (30, 0), (0, 30)])
def test_fill_obtains_what_was_asked(
    ffsmark: Path,
    work: Path,
    chip: ChipMaker,
    pages: Callable[[int], float],
    mix: float,
    asked: tuple[int, int],
) -> None:
    fake = chip(pages)
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=asked[0],
        fill_creation_invalid=asked[1],
        fill_mix=mix,
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    obtained = result["state"]["obtained"]
    assert obtained["valid"] == pytest.approx(asked[0] / 100, abs=0.01)
    assert obtained["invalid"] == pytest.approx(asked[1] / 100, abs=0.01)
    assert obtained["before"] == pytest.approx(100 / 4096)
    assert obtained["programmed"] == pytest.approx(sum(asked) / 100 + 100 / 4096, abs=0.01)
    assert result["state"]["asked"] == {
        "valid": asked[0] / 100,
        "invalid": asked[1] / 100,
        "mix": mix,
    }
    assert result["warnings"] == []
    assert result["phase_ns"]["fill"] > 0
    assert list(work.iterdir()) == []
    if mix == 1 and all(asked):
        runs = [len(list(group)) for _, group in groupby(fake.turns)]
        assert max(runs) <= max(asked) // min(asked)
    if mix == 0 and all(asked):
        assert [kind for kind, _ in groupby(fake.turns)] == ["valid", "invalid"]


def test_invalid_data_that_the_file_system_erased_is_doubted(
    ffsmark: Path, work: Path, chip: ChipMaker
) -> None:
    """A whole block of deleted data is erased at once by some file systems."""

    class Eager(FakeChip):
        def look(self) -> dict[str, int]:
            counters = super().look()
            if "ffsmark.invalid" in self.sizes and not (self.work / "ffsmark.invalid").exists():
                counters["pages_programmed"] -= self.sizes["ffsmark.invalid"] // 2048
            return counters

    fake = chip(lambda grown: grown / 2048)
    fake.__class__ = Eager
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=20,
        fill_creation_invalid=30,
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    assert result["state"]["obtained"]["invalid"] == pytest.approx(0, abs=0.01)
    assert result["state"]["obtained"]["programmed"] == pytest.approx(0.2 + 100 / 4096, abs=0.01)
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["fill-off-target"]


def test_chip_that_does_not_count_the_fill(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    folder = write_chip(tmp_path / "chip", COUNTERS, ["0 0 0 0"])
    done = run(ffsmark, commands(work, fill_creation_valid=50), "--json", "--flash", str(folder))
    assert done.code == 1
    assert "programmed no page" in done.err
    assert list(work.iterdir()) == []


def test_fill_without_a_chip_goes_by_bytes(ffsmark: Path, work: Path) -> None:
    share = 2**20 / (os.statvfs(work).f_blocks * os.statvfs(work).f_frsize)
    text = commands(
        work,
        flash="none",
        fill_creation_valid=f"{share * 100:.12f}",
        fill_keep="true",
        number=10,
        transactions=10,
    )
    result = run(ffsmark, text, "--json").result
    assert [file.name for file in work.iterdir()] == ["ffsmark.valid"]
    assert (work / "ffsmark.valid").stat().st_size == pytest.approx(2**20, abs=8192)
    assert result["state"]["obtained"] is None
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["fill-unverified"]
    again = run(ffsmark, text, "--json")
    assert (again.code, "File exists" in again.err) == (1, True)


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 0.9, 1])
def test_compressibility_as_zlib_sees_it(
    ffsmark: Path, work: Path, chip: ChipMaker, share: float
) -> None:
    fake = chip(like_jffs2, partition_pages=1024)
    text = commands(
        work,
        flash=fake.folder,
        fill_creation_valid=50,
        fill_keep="true",
        compressibility=share,
        number=1,
    )
    run(ffsmark, text, "--json").result  # noqa: B018 - asserts that it ran
    data = (work / "ffsmark.valid").read_bytes()
    # In the unit in which JFFS2 and UBIFS compress; and from anywhere in the data.
    for start in (0, 1000):
        units = [data[at : at + 4096] for at in range(start, len(data) - 4096, 4096)]
        left = sum(min(len(zlib.compress(unit)), 4096) for unit in units) / (4096 * len(units))
        assert left == pytest.approx(1 - share, abs=0.05)


def test_data_depends_on_the_seed_only(ffsmark: Path, work: Path) -> None:
    """The choices and the data come from two generators, both of the seed."""
    plain = run(ffsmark, commands(work, seed=3), "--json").result
    squeezed = run(ffsmark, commands(work, seed=3, compressibility=0.7), "--json").result
    assert (plain["ops"], plain["bytes"]) == (squeezed["ops"], squeezed["bytes"])


# --- failures ------------------------------------------------------------------------------------


def test_page_cache_drop(ffsmark: Path, work: Path, tmp_path: Path) -> None:
    control = tmp_path / "drop"
    control.write_text("")
    text = commands(
        work, drop_creation="true", drop_transactions="true", number=10, transactions=10
    )
    assert run(ffsmark, text, "--json", f"--drop-file={control}").code == 0
    assert control.read_text() == "3\n"
    done = run(ffsmark, text, "--json", f"--drop-file={tmp_path / 'none'}")
    assert (done.code, done.out) == (1, "")
    assert "page cache was not dropped" in done.err
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("buffering", ["true", "false"])
def test_nothing_that_exists_is_overwritten(ffsmark: Path, work: Path, buffering: str) -> None:
    (work / "5").write_text("precious")
    done = run(ffsmark, commands(work, buffering=buffering))
    assert done.code == 1
    assert f"cannot create '{work}/5': File exists" in done.err
    assert [file.name for file in work.iterdir()] == ["5"]
    assert (work / "5").read_text() == "precious"


@pytest.mark.parametrize("fails_at", [1, 2, 100, 1500])
def test_full_disk(dynamic: Path, shim: Path, work: Path, fails_at: int) -> None:
    env = {"LD_PRELOAD": str(shim), "FAIL_WRITE": str(fails_at)}
    text = commands(work, buffering="false", subdirectories=3)
    done = run(dynamic, text, "--json", env=env)
    assert (done.code, done.out) == (1, "")
    assert "No space left on device" in done.err
    assert "the disk is full" in done.err
    assert "may need 5000000 bytes" in done.err
    assert list(work.iterdir()) == []


def test_full_tmpfs(ffsmark: Path) -> None:
    """A real one, of 1 MiB, with stdio, where the last bytes fail in fclose()."""
    script = (
        "mount -t tmpfs -o size=1m none /mnt && printf %s "
        "'set location /mnt\nset number 400\nrun\n' | \"$0\"; code=$?; ls -A /mnt; exit $code"
    )
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, str(ffsmark)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if "mount:" in done.stderr:
        pytest.skip("no mount in a user namespace here")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "'/mnt' has 1048576 bytes in all" in done.stderr
    assert done.stdout == "Creating files\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(ffsmark: Path, work: Path, number: signal.Signals) -> None:
    text = commands(work, transactions=3_000_000, subdirectories=4)
    with subprocess.Popen(
        [str(ffsmark), "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(text)
        process.stdin.close()
        while "Performing" not in process.stderr.readline():
            pass
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 128 + number
        assert process.stdout.read() == ""
    assert list(work.iterdir()) == []


def test_location_that_is_not_there(ffsmark: Path, tmp_path: Path) -> None:
    done = run(ffsmark, commands(tmp_path / "none"))
    assert (done.code, "none" in done.err) == (1, True)


def test_long_paths(ffsmark: Path, tmp_path: Path) -> None:
    """postmark writes past its 80 bytes of path."""
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("d" * 60)
    deep.mkdir(parents=True)
    result = run(
        ffsmark, commands(deep, subdirectories=3, number=10, transactions=10), "--json"
    ).result
    assert result["config"]["locations"][0]["path"] == str(deep)


# --- tools that watch memory ---------------------------------------------------------------------

WATCHED: list[dict[str, object]] = [
    {"number": 20, "transactions": 50, "subdirectories": 3},
    {"number": 1, "transactions": 5, "buffering": "false", "size": "1"},
    {"number": 20, "bias_create": 0, "write": 70000, "report": "terse"},
]


@pytest.mark.parametrize("settings", WATCHED, ids=range(len(WATCHED)))
def test_under_valgrind(
    dynamic: Path, work: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.fail("valgrind is missing: setup/install-packages setup/apt-test.txt")
    folder = write_chip(tmp_path / "chip", COUNTERS, ["0 1 2 3", "1 1 2 3"])
    text = commands(work, flash=folder, **settings)
    arguments = ["-q", "--error-exitcode=9", "--leak-check=full", str(dynamic), "--json"]
    assert run(valgrind, text, *arguments).result["ops"]["create"]["total"] >= 1
    wrong = run(valgrind, "set location /nowhere\nset size 3 2\n", *arguments)
    assert wrong.code == 2, wrong.err


def test_under_sanitizers(tmp_path: Path, work: Path, chip: ChipMaker) -> None:
    program = make(tmp_path / "san", "STATIC=", "EXTRA=-fsanitize=address,undefined")
    env = {"UBSAN_OPTIONS": "halt_on_error=1"}
    for settings in WATCHED:
        assert run(program, commands(work, **settings), "--json", env=env).code == 0
    fake = chip(like_ubifs)
    text = commands(
        work, flash=fake.folder, fill_creation_valid=20, fill_creation_invalid=20, fill_mix=0.5
    )
    assert run(program, text, "--json", env=env).code == 0
    assert run(program, "set location +a 3\nset location -a\nset foo\n", env=env).code == 2
