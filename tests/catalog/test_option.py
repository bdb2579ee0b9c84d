# SPDX-License-Identifier: GPL-2.0-or-later
"""An option that is a number: which texts are values, and what a mount then does."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.catalog import files as catalog
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.option import Option, OptionNumber

NUMBER: dict[str, Any] = {
    "min": 8, "max": 512, "step": 4, "unit": "KiB", "file": "/x/{mtd}", "kernel_default": 0
}  # fmt: skip
OPTION: dict[str, Any] = {
    "help": "Far.", "default": "default", "values": {"default": ""}, "number": NUMBER
}  # fmt: skip
NAMES = catalog.list_noun_names("filesystems")


def number(**changes: Any) -> OptionNumber:
    return OptionNumber.model_validate({**NUMBER, **changes})


@given(st.integers(-(10**20), 10**20) | st.integers(-20, 600))
def test_a_whole_number_is_a_value_exactly_if_it_is_in_range_and_a_multiple(n: int) -> None:
    assert (number().explain_mistake(str(n)) is None) == (8 <= n <= 512 and n % 4 == 0)


@given(st.text(max_size=6) | st.from_regex(r"[-+ 0]{0,2}[0-9_.]{1,4}\n?", fullmatch=True))
def test_only_the_canonical_text_of_a_number_is_a_value(text: str) -> None:
    if number().explain_mistake(text) is None:
        assert text in {str(n) for n in range(8, 513, 4)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("130", "'130' must be a multiple of 4"),
        ("600", "'600' must be from 0 to 512 KiB"),
        ("-4", "'-4' must be from 0 to 512 KiB"),
        ("0128", "'0128' must be written 128"),
        ("128.5", "'128.5' is no whole number from 0 to 512 KiB (or default)"),
        ("", "'' is no whole number from 0 to 512 KiB (or default)"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_value_is_refused_with_what_would_do(name: str, text: str, said: str) -> None:
    fs = catalog.load_noun("filesystems", name, FilesystemModel)
    with pytest.raises(UsageError) as error:
        fs.resolve_values({"read_ahead": text}, "here")
    assert str(error.value) == f"here: {name}: read_ahead = {said}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"number": {**NUMBER, "max": 510}}, "multiples of step"),
        ({"number": {**NUMBER, "min": 516}}, "in order"),
        ({"values": {"default": "", "8": ""}}, "have numbers as names"),
        ({"default": "8"}, "is none of"),
        ({"number": {k: v for k, v in NUMBER.items() if k != "file"}}, "file"),
    ],
)
def test_a_bad_number_in_a_file_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Option.model_validate({**OPTION, **changes})


@pytest.mark.parametrize("name", NAMES)
def test_a_mount_at_the_default_is_the_command_that_it_was(name: str) -> None:
    fs = catalog.load_noun("filesystems", name, FilesystemModel)
    assert fs.mount_commands(fs.resolve_values({}, "here")) == [fs.mount]
    assert fs.mount_commands(fs.resolve_values({"read_ahead": "0"}, "here"))[0] == fs.mount
    assert len(fs.mount_commands(fs.resolve_values({"read_ahead": "0"}, "here"))) == 2


def ran(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


def test_what_is_written_is_read_back_and_told(tmp_path: Path) -> None:
    done = ran(number(file=str(tmp_path / "kib")).command("read_ahead", "128"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "read_ahead_kib 128\n", "")
    assert (tmp_path / "kib").read_text() == "128\n"


def test_a_number_that_the_kernel_does_not_take_fails_with_a_sentence() -> None:
    done = ran(number(file="/proc/sys/kernel/none").command("read_ahead", "128"))
    assert done.returncode != 0
    # a file that takes every write and has another number
    done = ran(f"read() {{ took=64; }}; {number(file='/dev/null').command('read_ahead', '128')}")
    assert done.returncode == 1
    assert done.stdout == "read_ahead_kib 64\n"
    assert done.stderr.startswith("read_ahead = 128: ")
    assert "took 64 KiB instead: /dev/null" in done.stderr
