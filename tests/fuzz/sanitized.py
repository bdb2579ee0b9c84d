# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the board under AddressSanitizer and UBSan on this machine."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.native import build_if_older, make

from nandlab.base.paths import DEVICE

HOST = Path(__file__).parent / "host"
BUILT = Path(__file__).parents[2] / "build" / "fuzz" / "bin"
FLAGS = ("-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")
CPU_S = 10
WALL_S = 40
FILE_MIB = 64
"""Most that a program may write to a file."""
REPORT = "sanitizer"
OPTIONS = "detect_leaks=0:exitcode=99:allocator_may_return_null=1:hard_rss_limit_mb=300"
AGENTS_WIRE = '-DWIRE="../agent/wire.h"'
"""init's channel is standard output here, as the agent's is."""


class Found(Exception):
    """A sanitizer's report, or the signal that ended the program."""


def program(name: str) -> Path:
    """A program of device/programs, built if it is not there or older than its sources."""
    return make(BUILT, name, "CC=clang", "STATIC=", "WARN=", f"CFLAGS={' '.join(FLAGS)}")


def _built(name: str, sources: Sequence[Path], words: Sequence[str]) -> Path:
    """A program that clang makes of sources, if it is not there or older than what they are of."""

    def build(out: Path) -> None:
        argv = ["clang", *FLAGS, *words, "-o", str(out), *map(str, sources)]
        subprocess.run(argv, check=True)

    of = [*sources, *(p for s in sources for p in s.parent.glob("*.h")), Path(__file__)]
    return build_if_older(BUILT / name, of, build)


def _on_host(name: str, sources: Sequence[Path], *more: str) -> Path:
    """A program of the board's that would do harm here, with the calls of host.h."""
    include = ["-include", str(HOST / "host.h"), f"-I{HOST}", f"-I{DEVICE}/init"]
    return _built(name, [*sources, HOST / "host.c"], ["-D_GNU_SOURCE", *include, *more])


def init() -> Path:
    paths = [AGENTS_WIRE, '-DJOB_DIR="job"', '-DOUTPUT_DIR="tmp"']
    return _on_host("init", sorted((DEVICE / "init").glob("*.c")), *paths)


def agent() -> Path:
    """With the same defines as its Makefile gives it."""
    own = sorted((DEVICE / "agent").glob("*.c"))
    shared = [DEVICE / "init" / name for name in ("steps.c", "moment.c", "channel.c")]
    more = [AGENTS_WIRE, '-DJOB_DIR="."', '-DOUTPUT_DIR=".."', "-DLATE_START_S=1"]
    return _on_host("agent", [*own, *shared], f"-I{DEVICE}/agent", *more)


def chip() -> Path:
    """The simulated chip against its model."""
    module = DEVICE / "modules" / "simnand"
    listed = re.findall(r"^simnand-chip \S?= (.*)$", (module / "Kbuild").read_text(), re.M)
    parts = [module / name.replace(".o", ".c") for name in " ".join(listed).split()]
    sources = [HOST.parent / "chip_fuzz.c", *parts]
    return _built("chip_fuzz", sources, ["-std=gnu11", f"-I{module}"])


def _limits() -> None:
    """The sanitizers' own tables take terabytes of addresses: memory is limited by OPTIONS."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MIB << 20, FILE_MIB << 20))


def run(
    argv: Sequence[str | Path], at: Path, given: bytes = b"", *, keep_open: bool = False
) -> str:
    """What a program prints; Found if a sanitizer or a signal ended it, or it took too long.

    keep_open: its standard input has no end before the program has one.
    """
    end, to = os.pipe()
    log = f"log_path={at / REPORT}"
    env = {**os.environ, "ASAN_OPTIONS": f"{OPTIONS}:{log}", "UBSAN_OPTIONS": "print_stacktrace=1"}
    with (
        os.fdopen(end, "rb") as stdin,
        subprocess.Popen(
            list(map(str, argv)),
            cwd=at,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_limits,  # noqa: PLW1509 - the process has one thread
        ) as running,
    ):
        os.write(to, given)
        if not keep_open:
            os.close(to)
        try:
            out, err = running.communicate(timeout=WALL_S)
        except subprocess.TimeoutExpired:
            running.kill()
            raise Found(f"no end within {WALL_S} s") from None
        finally:
            if keep_open:
                os.close(to)
    told = "".join(p.read_text(errors="replace") for p in sorted(at.glob(f"{REPORT}.*")))
    if told or running.returncode < 0 or running.returncode == 99:
        raise Found(f"{told}\n{err.decode(errors='replace')}\nstatus {running.returncode}")
    return out.decode(errors="replace")
