# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad words on the command line, to every verb."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusing import refused

pytestmark = pytest.mark.usefixtures("away")

OTHERS = [
    ["board", "update", "nowhere"],
    ["board", "export", "x.board", "--board", "nowhere"],
    ["board", "import", "nowhere"],
    ["board", "import", "file"],
    ["board", "import", "folder"],
    ["board", "import", "/dev/null"],
    ["board", "shell", "--board", "nowhere"],
    ["chip", "show", "nowhere"],
    ["chip", "show", "../x"],
    ["image", "make", "--fs", "x", "--chip", "apf27", "--from", "folder", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "x", "--from", "folder", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "apf27", "--from", "nowhere", "-o", "i"],
    ["image", "make", "--fs", "jffs2", "--chip", "apf27", "--from", "file", "-o", "i"],
    ["image", "ls", "nowhere"],
    ["image", "ls", "file"],
    ["image", "ls", "folder"],
    ["image", "extract", "file", "--to", "to"],
    ["image", "sizes", "--chip", "x", "--from", "folder"],
    ["image", "sizes", "--chip", "apf27", "--from", "nowhere"],
    ["space", "nowhere"],
    ["space", "file"],
    ["space", "folder"],
    ["space", "/dev/null"],
    ["space", "file", "--fs", "x"],
    ["space", "file", "--page", "7", "--erase-block", "x"],
    ["model", "map", "nowhere", "--file", "x"],
    ["model", "map", "file", "--file", "x"],
    ["model", "read", "folder", "--file", "x"],
    ["model", "read", "file", "--file", "x", "--chip", "nowhere"],
    ["model", "score", "nowhere"],
    ["model", "score", "file"],
    ["trace", "show", "nowhere"],
    ["trace", "show", "file"],
    ["trace", "show", "folder"],
    ["trace", "report", "folder"],
    ["trace", "parts", "folder"],
    ["trace", "brief", "folder"],
    ["trace", "run", "--fs", "x", "--", "true"],
    ["trace", "run", "--fs", "jffs2", "--chip", "x", "--", "true"],
    ["trace", "run", "--fs", "jffs2", "--board", "x", "--", "true"],
    ["workload", "from-strace", "nowhere"],
    ["workload", "from-strace", "file"],
    ["workload", "from-strace", "folder"],
    ["workload", "from-strace", "/dev/null"],
    ["reproduce", "file"],
    ["reproduce", "list.json"],
    ["reproduce", "kind.json"],
    ["reproduce", "format.json"],
    ["reproduce", "bare.json"],
    ["check", "--against", "file", "--run", "RUN"],
    ["check", "--against", "bare.json", "--run", "RUN"],
    ["check", "--against", "nowhere", "--run", "RUN"],
    ["check", "--against", "RUN"],
    ["check", "quickstart", "--against", "RUN", "--run", "RUN"],
    ["show", "RUN", "--figure", "apend.p99"],
    ["advise", "RUN", "--limit", "x"],
    ["advise", "RUN", "--limit", "commit.p99 < 5 apples"],
    ["advise", "RUN", "--lifetime-years", "5"],
    ["advise", "RUN", "--daily-write", "-5M", "--lifetime-years", "5"],
    ["report", "RUN", "--daily-write", "lots"],
    ["reprice", "RUN", "--to", "nowhere"],
    ["reprice", "RUN", "--set", "t_r_ns"],
    ["reprice", "RUN", "--set", "t_r_ns=-5"],
    ["publish", "RUN", "-o", "figures.json"],
    ["merge", "file", "RUN"],
    ["merge", "/proc/nowhere", "RUN"],
    ["merge", "file/below", "RUN"],
    ["run", "quickstart", "--board", "nowhere"],
    ["run", "quickstart", "--shard", "3/2"],
    ["run", "quickstart", "--shard", "x"],
    ["run", "quickstart", "--shard", "0/3"],
    ["run", "quickstart", "--on", "local:0"],
    ["run", "quickstart", "--on", "tcp://10.0.0.1:8786"],
    ["run", "quickstart", "--on", "tls://10.0.0.1:8786"],
    ["run", "quickstart", "--on", "nowhere.toml"],
    ["run", "quickstart", "--on", "file"],
    ["run", "quickstart", "--insecure"],
    ["plan", "quickstart", "--board", "nowhere"],
    ["plan", "--board", "apf27"],
]


@pytest.mark.parametrize("argv", OTHERS, ids=" ".join)
def test_what_other_verbs_refuse(
    argv: list[str], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("x")
    Path("folder").mkdir()
    Path("list.json").write_text("[]")
    Path("kind.json").write_text('{"kind": "nandlab figure"}')
    Path("format.json").write_text('{"kind": "nandlab figures", "format": 7}')
    Path("bare.json").write_text('{"kind": "nandlab figures", "format": 1}')
    refused(capsys, [str(whole) if word == "RUN" else word for word in argv])


USAGE = [
    ["fly"],
    ["plan", "a", "b"],
    ["run", "quickstart", "--jobs", "0"],
    ["run", "quickstart", "--jobs", "x"],
    ["run", "quickstart", "--members", "0"],
    ["run", "quickstart", "--accel", "warp"],
    ["run", "quickstart", "--progress", "loud"],
    ["run", "quickstart", "--nope"],
    ["show"],
    ["show", "x", "--format", "pdf"],
    ["report", "x", "--battery-wh", "-1"],
    ["report", "x", "--battery-wh", "0"],
    ["compare", "x"],
    ["advise", "x", "--lifetime-years", "-1"],
    ["check", "quickstart"],
    ["merge", "x"],
    ["publish", "x"],
    ["model", "fly"],
    ["trace", "fly"],
    ["image", "make"],
    ["cache", "fly"],
]


@pytest.mark.parametrize("argv", USAGE, ids=" ".join)
def test_what_the_parser_refuses(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, argv, usage=True)
