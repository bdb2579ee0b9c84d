# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line in a process of its own, which has begun already.

Half a second of most commands goes to Python's start and to imports. So a process that has
imported nandlab waits, and each command is a fork of it: with the command's own arguments, folder,
environment, streams and limits. Its boards take kept outcomes as the test's own do (outcomes.py).
What depends on how Python itself begins (an encoding from the environment, closed streams, a signal
among the imports, the memory that imports need) takes a real start instead.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.spent import elsewhere

FORKS = """
import gc, json, os, resource, sys
sys.path.insert(0, sys.argv[1])
from support import outcomes
del sys.path[0]
import nandlab.__main__, nandlab.cli.main, typer._adapters
import nandlab.board.virtual.qemu, nandlab.plan.outlook, nandlab.powercut.runcampaigns
import nandlab.report.page.terminal, nandlab.trace.folder
import nandlab.trial.publishedrun, nandlab.trial.reproduction
nandlab.cli.main.make_parser()
gc.freeze()  # else a fork copies what the collector only looks at
for line in sys.stdin:
    asked = json.loads(line)
    pid = os.fork()
    if not pid:
        os.chdir(asked['cwd'])
        os.environ.clear()
        os.environ.update(asked['env'])
        modes = os.O_RDONLY, *2 * [os.O_WRONLY | os.O_CREAT | os.O_TRUNC]
        for number, (path, mode) in enumerate(zip(asked['streams'], modes)):
            os.dup2(os.open(path, mode, 0o600), number)
        os.closerange(3, 256)
        for name, most in asked['limits'].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        sys.argv = ['nandlab', *asked['argv']]
        if outcomes.TEST in os.environ:
            outcomes.take_outcomes()
        exec(asked['first'])
        nandlab.__main__.main()
        os._exit(0)
    _, status, used = os.wait4(pid, 0)
    cpu_s = used.ru_utime + used.ru_stime
    print(json.dumps([os.waitstatus_to_exitcode(status), cpu_s, used.ru_maxrss >> 10]), flush=True)
"""
TESTS = str(Path(__file__).parents[1])
SCRIPT = """#!{python}
import sys
sys.path.insert(0, {tests!r})
from support import outcomes
del sys.path[0]
outcomes.take_outcomes()
from nandlab.__main__ import main
main()
"""
NO_LIMITS: Mapping[str, int] = {}


def write_command(folder: Path) -> None:
    """Writes a ``nandlab`` for a shell to find, with a real start; it takes outcomes too."""
    script = folder / "nandlab"
    script.write_text(SCRIPT.format(python=sys.executable, tests=TESTS))
    script.chmod(0o755)


class Ended(NamedTuple):
    """How a command ended: its exit status (a signal is negative) and what it wrote."""

    returncode: int
    stdout: str
    stderr: str
    cpu_s: float
    """Seconds of the processor, without the imports."""
    memory_mib: int
    """The most of the host's memory that it held, imports included."""


@cache
def _start_forks() -> subprocess.Popen[str]:
    """The process that waits, until its input is closed: this one's end does so too."""
    forks = subprocess.Popen(
        [sys.executable, "-c", FORKS, TESTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(forks.communicate)
    return forks


def run_command(
    *argv: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: Mapping[str, int] = NO_LIMITS,
    first: str = "",
    deadline_s: float = 60,
) -> Ended:
    """Runs a command of nandlab to its end; subprocess.TimeoutExpired if that does not come.

    cwd, env: its folder and environment; None: those of this process. limits: of the system's, in
    their own units, by name. first: Python that its process runs before.
    """
    forks = _start_forks()
    assert forks.stdin and forks.stdout
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        words = [*map(str, argv)]
        command = {
            "argv": words,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "streams": [os.devnull, str(out), str(err)],
            "limits": dict(limits),
            "first": first,
        }
        forks.stdin.write(json.dumps(command) + "\n")
        forks.stdin.flush()
        if not select.select([forks.stdout], [], [], deadline_s)[0]:
            os.killpg(forks.pid, signal.SIGKILL)
            forks.communicate()
            _start_forks.cache_clear()
            raise subprocess.TimeoutExpired(["nandlab", *words], deadline_s)
        status, cpu_s, mib = json.loads(forks.stdout.readline())
        elsewhere.processor_s += cpu_s
        return Ended(status, out.read_text(), err.read_text(), cpu_s, mib)
