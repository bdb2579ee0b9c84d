# SPDX-License-Identifier: GPL-2.0-or-later
"""Fragments of a kernel's configuration, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.kit.kernelconfig import (
    check_built_config,
    find_config_fragment,
    format_kernel_config,
    read_config_fragment,
    read_lean_config,
)
from nandlab.board.kit.ownkernel import (
    NEEDED_BY_ARCH,
    NEEDED_SETTINGS,
    REFUSED_SETTINGS,
    parse_kernel_config,
)


def test_a_fragment_has_values_by_symbol(tmp_path: Path) -> None:
    path = tmp_path / "a.config"
    path.write_text(
        "# a comment\n\nCONFIG_KASAN=y\n# CONFIG_SWAP is not set\nCONFIG_MTD=m\n"
        'CONFIG_HZ=1000\nCONFIG_BASE=0xFF\nCONFIG_LOCALVERSION="-mine"\nCONFIG_KASAN=n\n'
    )
    settings = read_config_fragment(path)
    assert settings == {
        "CONFIG_KASAN": "n",
        "CONFIG_SWAP": "n",
        "CONFIG_MTD": "m",
        "CONFIG_HZ": "1000",
        "CONFIG_BASE": "0xFF",
        "CONFIG_LOCALVERSION": '"-mine"',
    }
    path.write_text(format_kernel_config(settings))
    assert read_config_fragment(path) == settings


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("CONFIG_KASAN=y\nKASAN=y\n", "line 2"),
        ("CONFIG_KASAN\n", "line 1"),
        ("CONFIG_A=yes\n", "line 1"),
        ('CONFIG_A="$(shell id)\\""\n', "line 1"),
        ("int main;\n", "line 1"),
        ("# nothing\n", "sets nothing"),
        ("", "sets nothing"),
    ],
)
def test_what_is_no_fragment_is_refused(text: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.config"
    path.write_text(text)
    with pytest.raises(UsageError, match=word):
        read_config_fragment(path)


def test_a_fragment_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.config").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "a.config", tmp_path / "b.config", tmp_path):
        with pytest.raises(UsageError, match=str(path)):
            read_config_fragment(path)


@pytest.mark.parametrize("arch", ["amd64", "armhf"])
def test_the_lean_configuration_has_what_boards_need(arch: str) -> None:
    lean = read_lean_config(arch)
    # these follow from others, by the kernel's own rules
    selected = {"CONFIG_TRACEPOINTS", "CONFIG_X86_64"}
    asked = {s for s, value in lean.items() if value in ("y", "m")}
    assert {*NEEDED_SETTINGS, *NEEDED_BY_ARCH[arch]} - asked <= selected
    assert asked.isdisjoint(REFUSED_SETTINGS)


def test_a_file_goes_before_a_fragment_of_nandlabs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "CONFIG_KASAN" in read_config_fragment(find_config_fragment("kasan"))
    assert "CONFIG_PROVE_LOCKING" in read_config_fragment(find_config_fragment("lockdep"))
    assert find_config_fragment("../kasan") == Path("../kasan")
    assert find_config_fragment("none") == Path("none")
    (tmp_path / "kasan").write_text("CONFIG_KASAN=n\n")
    assert find_config_fragment("kasan") == Path("kasan")


def make_good_config(arch: str) -> dict[str, str]:
    return dict.fromkeys({**NEEDED_SETTINGS, **NEEDED_BY_ARCH[arch]}, "y")


def test_what_the_kernel_left_out_of_a_fragment_is_named() -> None:
    settings = {**make_good_config("amd64"), "CONFIG_A": "y", "CONFIG_B": "m"}
    check_built_config({"CONFIG_A": "y", "CONFIG_C": "n"}, settings, "amd64", "a.config")
    asked = {"CONFIG_A": "y", "CONFIG_B": "y", "CONFIG_C": "y", "CONFIG_MTD": "n"}
    with pytest.raises(UsageError) as error:
        check_built_config(asked, settings, "amd64", "a.config")
    told = [line for line in error.value.lines if line.startswith("a.config")]
    assert [next(w for w in line.split() if "=" in w) for line in told] == [
        "CONFIG_B=y",
        "CONFIG_C=y",
        "CONFIG_MTD=n",
    ]


def test_a_configuration_that_no_board_can_have_is_refused_by_name() -> None:
    settings = make_good_config("armhf")
    del settings["CONFIG_KPROBES"]
    with pytest.raises(UsageError, match="CONFIG_KPROBES"):
        check_built_config({"CONFIG_KPROBES": "n"}, settings, "armhf", "a.config")


def test_what_is_built_is_read_as_it_is_written() -> None:
    text = format_kernel_config({"CONFIG_B": "y", "CONFIG_A": "n"})
    assert text == "# CONFIG_A is not set\nCONFIG_B=y\n"
    assert parse_kernel_config(text) == {"CONFIG_B": "y"}
