# SPDX-License-Identifier: GPL-2.0-or-later
"""Git trees of planted commits, and a stand-in for the run of a study with their sources.

The sources are one file, which says what the trial is to give: ``erases 240``, ``fault`` (it does
not build), ``panic`` (the trial fails).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.digest import digest_json_value
from nandlab.board.kit.kernelsource import unpack_kernel_source
from nandlab.board.kit.kit import fetch_board_kit
from nandlab.board.kit.partsource import SourceRequest, load_part, read_part_files
from nandlab.board.virtual import yaffs2
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.history.commitruns import SourceFault
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts
from support import samples

FOLDER = "fs/ubifs"
SOURCE = f"{FOLDER}/gc.c"
TRIALS = tuple(samples.trial(name, seed=1).id for name in ("jffs2", "ubifs"))
"""The trials of the stand-in study."""
BOARD = {"kernel": {"release": "6.1.0-37-amd64"}, "qemu": "7.2.15"}


def git(top: Path, *words: str, stdin: str = "") -> str:
    """What git prints in a tree."""
    return subprocess.run(
        ["git", "-C", str(top), *words], input=stdin, capture_output=True, text=True, check=True
    ).stdout.strip()


def plant(top: Path, commits: Sequence[Mapping[str, str]], branch: str = "main") -> list[str]:
    """A tree with these commits, each with the files that it writes: their hashes, in order."""
    if not (top / ".git").exists():
        top.mkdir(parents=True)
        git(top, "init", "-q", "-b", branch)
    lines = []
    for number, files in enumerate(commits):
        subject = f"c{number}"
        who = f"committer N <n@example.org> {1_700_000_000 + number} +0000"
        lines += [f"commit refs/heads/{branch}", who, f"data {len(subject)}", subject]
        for path, text in files.items():
            lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    git(top, "fast-import", "--quiet", stdin="\n".join([*lines, ""]))
    git(top, "checkout", "-q", "-f", branch)
    return git(top, "rev-list", "--reverse", branch).split()


def source(number: int, erases: int = 240, more: str = "") -> dict[str, str]:
    """The files of a commit that changes the sources."""
    return {SOURCE: f"erases {erases}\nversion {number}\n{more}\n"}


def series(
    count: int, changes: Mapping[int, int], faults: Mapping[int, str]
) -> list[dict[str, str]]:
    """So many commits; changes: erases from a commit on; faults: ``fault`` or ``panic``, of one."""
    commits, erases = [], 240
    for number in range(count):
        erases = changes.get(number, erases)
        commits.append(source(number, erases, faults.get(number, "")))
    return commits


@dataclass
class Runner:
    """Runs the stand-in study: two file systems, of which only the second has the sources."""

    stop_after: int | None = None
    """Runs after which it is interrupted; None: never."""
    board: dict[str, object] = field(default_factory=lambda: dict(BOARD))
    ran: list[str] = field(default_factory=list)
    """The text of the sources of each run that was made, or begun."""

    def __call__(self, sources: Path, out: Path, trials: Sequence[str]) -> RunFolder:
        (path,) = sources.rglob("gc.c")
        text = path.read_text()
        planned = [samples.trial("jffs2", seed=1), make_trial(text)]
        head = samples.head(
            planned, provenance=self.board, id=f"run-{digest_json_value([text, self.board])[:12]}"
        )
        folder = RunFolder.create(out, head)
        todo = [t for t in planned if t.id in folder.missing() and (not trials or t.id in trials)]
        if not todo:
            return folder
        if self.stop_after is not None and len(self.ran) >= self.stop_after:
            raise KeyboardInterrupt
        self.ran.append(text)
        if "fault" in text:
            raise SourceFault("make failed:", "gc.c:7: error: 'x' undeclared", "make: Error 2")
        for trial in todo:
            folder.save(trial)
        return folder


def make_trial(text: str) -> Trial:
    """The trial that these sources give."""
    if "panic" in text:
        failed = samples.failed("ubifs", samples.FRESH, 1)
        return failed.model_copy(update={"id": samples.trial("ubifs", seed=1).id})
    erases = int(text.split()[1])
    counts = {"reads": 9 + (erases > 240), "programs": 7}
    flash = dict.fromkeys(("creation", "deletion"), OperationCounts(**counts, erases=0))
    flash["transactions"] = OperationCounts(**counts, erases=erases)
    return samples.trial("ubifs", seed=1, flash=flash)


STUDY = """
name = "watch"
question = "Does YAFFS2 still erase as much as it did?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 20, transactions = 800 }]
filesystems = [{ name = "yaffs2" }]
chips = [{ part = "nandsim-small", partition_mib = 2 }]
states = [{ name = "fresh" }]
seeds = [2, 3]
"""
"""A study in which YAFFS2 erases more than ten blocks, none of them at the end of a phase."""
CORE = "core"
ERASE = "\tresult = dev->param.erase_fn(dev, flash_block);\n"
TWICE = "\tif (dev->n_erasures == 10)\n\t\tdev->param.erase_fn(dev, flash_block);\n"


def read_yaffs2_core() -> dict[str, str]:
    """The sources of YAFFS2's core, by name."""
    model = load_noun("boards", "apf27", BoardModel)
    core = yaffs2.prepare_yaffs2_core(fetch_board_kit(model).yaffs2).folder
    return {file.name: file.read_text() for file in sorted(core.iterdir())}


def double_tenth_erase(core: Mapping[str, str]) -> str:
    """The core's yaffs_nand.c, by which the tenth erase is done twice."""
    text = core["yaffs_nand.c"]
    assert text.count(ERASE) == 1
    return text.replace(ERASE, TWICE + ERASE)


def core_series(count: int, at: int, faults: Sequence[int] = ()) -> list[dict[str, str]]:
    """Commits of the core: one erases once more, some do not build, each fourth moves code."""
    core = read_yaffs2_core()
    commits = [{f"{CORE}/{name}": text for name, text in core.items()}]
    more = ""
    for number in range(1, count):
        kind = f"int yaffs_planted_{number}(void) {{ return {number}; }}" if number % 4 == 0 else ""
        more += f"/* {number} */ {kind}\n"
        fault = "#error planted\n" if number in faults else ""
        commits.append({f"{CORE}/yaffs_guts.c": f"{core['yaffs_guts.c']}{more}{fault}"})
    commits[at][f"{CORE}/yaffs_nand.c"] = double_tenth_erase(core)
    return commits


UBI = "drivers/mtd/ubi"
UBI_STUDY = """
name = "ubiwatch"
question = "Does UBI still erase as much as it did?"
board = "apf27"
[matrix]
workloads = [{ name = "config", files = 20, bytes = 16000, rounds = 80 }]
filesystems = [{ name = "ubifs", compression = "none" }]
chips = [{ part = "S34ML01G1", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1]
"""
"""Its load erases each block three times or more; a load that erases nothing tells nothing."""
UBI_ERASE = "\terr = do_sync_erase(ubi, pnum);\n\tif (err)\n\t\treturn err;\n\n\treturn ret + 1;\n"
UBI_TWICE = "\tif (++planted == 24)\n\t\tdo_sync_erase(ubi, pnum);\n"


def read_part_sources(part: str) -> dict[str, str]:
    """The files of a part in the locked source of the board's kernel, by their paths there."""
    model = load_noun("boards", "apf27", BoardModel)
    kit = fetch_board_kit(model, source=True)
    top, _ = unpack_kernel_source(model, dict.fromkeys(kit.kernel.files, ""), kit.source)
    files = read_part_files(SourceRequest(load_part(part, "test")), top, "").content
    return {path: content.decode() for path, content in files.items()}


def ubi_series(count: int, at: int, faults: Sequence[int] = ()) -> list[dict[str, str]]:
    """Commits of UBI: one erases once more, some do not build, each fourth moves code."""
    sources = read_part_sources("ubi")
    commits, more = [dict(sources)], ""
    for number in range(1, count):
        kind = f"int ubi_planted_{number}(void);\nint ubi_planted_{number}(void) {{ return 1; }}"
        more += f"/* {number} */\n{kind if number % 4 == 0 else ''}\n"
        fault = "#error planted\n" if number in faults else ""
        commits.append({f"{UBI}/misc.c": f"{sources[f'{UBI}/misc.c']}{more}{fault}"})
    text = sources[f"{UBI}/io.c"]
    assert text.count(UBI_ERASE) == 1
    text = text.replace(UBI_ERASE, UBI_TWICE + UBI_ERASE)
    head = "int ubi_io_sync_erase("
    commits[at][f"{UBI}/io.c"] = text.replace(head, f"static int planted;\n{head}", 1)
    return commits
