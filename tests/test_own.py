# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of docs/own are followed to the letter in empty folders, by the script that does so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support.commandline import write_command

from nandlab.base.paths import ROOT

PAGES = sorted((ROOT / "docs" / "own").glob("*.md"))


def follow(folder: Path, *words: str | Path) -> CompletedProcess[str]:
    commands, own = folder.with_name(f"{folder.name}-commands"), Path(sys.executable).parent
    commands.mkdir(exist_ok=True)
    write_command(commands)
    environment = {**os.environ, "PATH": f"{commands}:{own}:{os.environ['PATH']}"}
    argv = [sys.executable, str(ROOT / "setup" / "follow"), *map(str, words)]
    return subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.board
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_as_it_says(tmp_path: Path, page: Path) -> None:
    done = follow(tmp_path, "--short", page)
    assert done.returncode == 0, done.stderr


@pytest.mark.board
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_as_it_says_to_its_end(tmp_path: Path, page: Path) -> None:
    done = follow(tmp_path, page)
    assert done.returncode == 0, done.stderr


GOOD = """# A page
```toml
# a/b.toml
x = 1
```
```sh
cat a/b.toml; echo   two  words
```
```text
x = 1
...
two words
```
```sh long
touch long
```
"""


def test_blocks_are_written_run_and_compared(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(GOOD)
    done = follow(tmp_path, "--short", "page.md")
    assert (done.returncode, done.stderr) == (0, "setup/follow: page.md: as it says\n")
    assert (tmp_path / "a" / "b.toml").read_text() == "# a/b.toml\nx = 1\n"
    assert not (tmp_path / "long").exists()
    assert follow(tmp_path, "page.md").returncode == 0
    assert (tmp_path / "long").exists()


@pytest.mark.parametrize(
    ("was", "is_", "said"),
    [
        ("two words", "three words", "line 9: was not printed: three words"),
        ("echo   two", "false; echo two", "line 6: exit status 1"),
        ("# a/b.toml", "y = 2", "line 2: its first line names no file"),
        ("```toml", "```yaml", "line 2: a block of 'yaml'"),
    ],
)
def test_what_is_not_as_it_says_ends_it(tmp_path: Path, was: str, is_: str, said: str) -> None:
    (tmp_path / "page.md").write_text(GOOD.replace(was, is_, 1))
    done = follow(tmp_path, "page.md")
    assert done.returncode == 1
    assert f"setup/follow: page.md: {said}" in done.stderr
    assert not (tmp_path / "long").exists()
