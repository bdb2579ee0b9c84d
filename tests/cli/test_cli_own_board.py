# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of a user's own board, on this machine by a pty: what they say, and their status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.remotes import lossy_line
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.board.own import boardlock, serialline
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.remote import RemoteModel
from nandlab.cli.board import board_app
from nandlab.cli.main import app

PARTITION = 'partition = { name = "data", size = 109051904, erasesize = 131072 }\n'


def written(path: Path, reach: str, partition: str = PARTITION) -> Path:
    path.write_text(
        f'name = "mine"\nsummary = "the board on my desk"\nkind = "remote"\n{partition}'
        f"[reach]\n{reach}\n"
    )
    return path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A board's file for this machine, whose lock is a folder of the test's."""
    lock = str(tmp_path / "lock")
    for act in (
        boardlock.acquire_board_lock,
        boardlock.release_board_lock,
        boardlock.break_board_lock,
    ):
        monkeypatch.setattr(act, "__defaults__", (lock,))
    for word in ("QUIET", "LOUD"):  # this machine's own messages stay as they are
        monkeypatch.setattr(serialline, word, ":")
    with lossy_line(tmp_path, lost=0, seed=1) as tty:
        yield written(tmp_path / "my.toml", f'serial = "{tty}"')


def test_a_machine_without_the_partition_is_refused_and_left(own: Path) -> None:
    done = CliRunner().invoke(board_app, ["look", str(own), "--erase", "data"])
    assert isinstance(done.exception, UsageError)
    assert "no partition 'data'" in str(done.exception) or "another form" in str(done.exception)
    assert not (own.parent / "lock").exists()


def test_a_board_that_is_taken_is_told_and_can_be_freed(own: Path) -> None:
    (own.parent / "lock").mkdir()
    (own.parent / "lock" / "owner").write_text("a@one, since then\n")
    done = CliRunner().invoke(board_app, ["look", str(own), "--erase", "data"])
    assert isinstance(done.exception, UsageError)
    assert "taken by a@one, since then" in str(done.exception)
    assert CliRunner().invoke(board_app, ["unlock", str(own)]).stdout == "a@one, since then\n"
    assert CliRunner().invoke(board_app, ["unlock", str(own)]).stdout == "nobody had it\n"
    assert not (own.parent / "lock").exists()


@pytest.mark.parametrize(
    ("reach", "why"),
    [
        ("", "give ssh or serial"),
        ('ssh = "a"\nserial = "/dev/ttyUSB0"', "give ssh or serial"),
        ('ssh = "-oProxyCommand=x"', "reach.ssh"),
        ('ssh = "root@host"', "reach.ssh"),
        ('serial = "ttyUSB0"', "reach.serial"),
        ('serial = "/dev/ttyUSB0"\nbaud = 12345', "baud is one of"),
        ('ssh = "a"\npassword = "x"', "password"),
    ],
)
def test_a_file_that_says_too_much_or_too_little_is_refused(
    tmp_path: Path, reach: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        read_noun_file(written(tmp_path / "my.toml", reach), RemoteModel)


@pytest.mark.parametrize("words", [["--erase", "data"], ["--erase", ""], ["--discard"]])
@pytest.mark.parametrize("board", [[], ["--board", "apf27"]])
def test_a_virtual_board_has_nothing_of_yours_to_erase(
    words: list[str], board: list[str], tmp_path: Path
) -> None:
    """The run is refused before it has a folder."""
    out = tmp_path / "run"
    done = CliRunner().invoke(app, ["run", "quickstart", *board, *words, "--out", str(out)])
    assert isinstance(done.exception, UsageError) and not out.exists()
