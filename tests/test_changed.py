# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change reaches: each rule on a small checkout, and this one's tests of the board."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest
from support.changed import EVERYTHING, Tree, changes, git, read, selected, since

from nandlab.base.paths import ROOT

FILES = {
    "src/nandlab/__init__.py": "",
    "src/nandlab/base/__init__.py": "",
    "src/nandlab/base/low.py": "",
    "src/nandlab/room/__init__.py": "",
    "src/nandlab/room/high.py": "from nandlab.base import low\n",
    "src/nandlab/room/lazy.py": "def f():\n    import nandlab.base.low\n",
    "src/nandlab/room/apart.py": "COMMAND = 'settle --quiet'\n",
    "src/nandlab/room/near.py": "from .high import x\n",
    "src/nandlab/kinds/__init__.py": "",
    "src/nandlab/kinds/one.py": "",
    "src/nandlab/room/finder.py": "KINDS = find_module_values('nandlab.kinds', 'KIND')\n",
    "tests/conftest.py": (
        "import helper\nfrom nandlab.room.apart import y\n"
        "def used():\n    return y\ndef by_used(used): pass\n"
    ),
    "tests/helper.py": "import nandlab.room.high\n",
    "tests/test_high.py": "from nandlab.room import high\n",
    "tests/test_lazy.py": "import nandlab.room.lazy\n",
    "tests/test_finder.py": "from nandlab.room import finder\n",
    "tests/test_near.py": "from nandlab.room.near import x\n",
    "tests/test_helped.py": "from helper import x\n",
    "tests/test_fixture.py": "def test_it(by_used): pass\n",
    "tests/test_process.py": "import subprocess\n",
    "tests/test_docs.py": "PAGES = ROOT / 'docs'\n",
    "tests/test_page.py": "'see time.md'\n",
    "tests/device/test_board.py": "mark.board\nimport nandlab.room.apart\nW = 'small-files'\n",
    "tests/device/test_named.py": "NAME = 'filetree'\n",
    "tests/device/test_other.py": "mark.board\n",
    "catalog/workloads/small-files.toml": 'command = "filetree make {mountpoint}"\n',
}


@cache
def small() -> Tree:
    return Tree(FILES)


@cache
def whole() -> Tree:
    return read(ROOT, git(ROOT, "ls-files"))


def names(changed: str) -> set[str] | None:
    reached = small().reached(changed)
    return None if reached is None else {Path(test).stem.removeprefix("test_") for test in reached}


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("src/nandlab/base/low.py", {"high", "lazy", "near", "helped", "process"}),
        ("src/nandlab/room/high.py", {"high", "near", "helped", "process"}),
        ("src/nandlab/room/near.py", {"near", "process"}),
        ("src/nandlab/room/apart.py", {"fixture", "board", "process"}),
        (
            "src/nandlab/room/__init__.py",
            {"high", "lazy", "near", "helped", "fixture", "board", "process", "finder"},
        ),
        ("src/nandlab/kinds/one.py", {"finder", "process"}),
        ("tests/helper.py", {"helped"}),
        ("tests/test_high.py", {"high"}),
        ("device/programs/filetree/filetree.c", {"board", "named"}),
        ("device/programs/settle/settle.c", {"board"}),
        ("device/programs/unknown/unknown.c", set()),
        ("device/programs/lib/json.h", {"board", "other"}),
        ("device/programs/ferry/ferry.c", {"board", "other"}),
        ("device/modules/simnand/chip.c", {"board", "other"}),
        ("device/init/init.c", {"board", "other"}),
        ("docs/time.md", {"docs", "page"}),
        ("docs/charts/one.svg", {"docs"}),
        ("README.md", {"docs"}),
        ("src/nandlab/gone.py", None),
        ("src/nandlab/report/templates/trace.js", None),
        ("tests/conftest.py", None),
        ("tests/support/outcomes.py", None),
        ("tests/flashes/jffs2.xz", None),
        ("catalog/workloads/small-files.toml", None),
        ("studies/quickstart.toml", None),
        ("device/programs/Makefile", None),
        ("device/host/steady.c", None),
        ("setup/apt-run.txt", None),
        ("Makefile", None),
    ],
)
def test_a_change_reaches(changed: str, reached: set[str] | None) -> None:
    assert names(changed) == reached


def test_one_change_that_may_reach_all_decides() -> None:
    found, why = selected(small(), ["docs/time.md", "tests/helper.py"])
    assert found == ["tests/test_docs.py", "tests/test_helped.py", "tests/test_page.py"]
    assert why[0] == "docs/time.md reaches 2 test files"
    assert selected(small(), ["docs/time.md", "Makefile"])[0] == [EVERYTHING]
    assert selected(small(), []) == ([], [])


def test_each_test_that_is_marked_as_of_the_board_is_known_as_one() -> None:
    """And a change to a module of the board's reaches it."""
    marked = {n for n in whole().tests if "pytest.mark.board" in whole().texts[n]}
    assert len(marked) > 50
    assert marked <= set(whole().reached("device/modules/simnand/chip.c") or ())
    assert "tests/board/test_board_contract.py" in (whole().reached("device/init/init.c") or ())


def test_all_of_ours_that_a_test_imports_is_seen() -> None:
    reached = whole().reached("src/nandlab/base/units.py")
    assert reached is not None
    assert "tests/report/test_show.py" in reached
    assert whole().reached("tests/report/test_show.py") == ["tests/report/test_show.py"]
    assert "tests/test_layers.py" in (whole().reached("src/nandlab/report/charts/charts.py") or ())
    by_folder = whole().reached("src/nandlab/trial/instruments/wear.py")
    assert by_folder is not None
    assert "tests/trial/test_run.py" in by_folder


def test_what_is_not_committed_is_of_the_change(tmp_path: Path) -> None:
    def commit(*more: str) -> None:
        person = ("-c", "user.name=a", "-c", "user.email=a@b")
        words = ["git", *person, "commit", "-qm", "it", *more]
        subprocess.run(words, cwd=tmp_path, check=True)

    git(tmp_path, "init", "-q", "-b", "main")
    for name in "abc":
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", ".")
    commit()
    (tmp_path / "a").write_text("changed")
    commit("-a")
    assert since(tmp_path) == "HEAD~1"
    git(tmp_path, "checkout", "-q", "-b", "other")
    git(tmp_path, "mv", "b", "moved")
    commit()
    (tmp_path / "c").write_text("changed")
    (tmp_path / "new").touch()
    assert changes(tmp_path, since(tmp_path)) == ["b", "c", "moved", "new"]
    with pytest.raises(SystemExit, match=r"git diff: .*no-such"):
        changes(tmp_path, "no-such")
