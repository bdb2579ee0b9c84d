# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks are read as they were written; what is no lock is refused; the shipped one is whole."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.board.kit import lock, needs
from nandlab.board.kit.kernel import IMAGE
from nandlab.board.kit.kit import (
    SHIPPED_BOARDS,
    list_board_package_sets,
    make_kernel_package_set,
    make_tool_package_set,
)
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import list_noun_names, load_noun

SHA = "0123456789abcdef" * 4
FILES = st.dictionaries(
    st.builds(
        "{}{}_{}{}_{}.deb".format,
        st.sampled_from(string.ascii_lowercase),
        st.text(f"{string.ascii_lowercase}{string.digits}.+-", min_size=1, max_size=9),
        st.sampled_from(("", "1%3a")),
        st.text(f"{string.digits}.+~-", min_size=1, max_size=9),
        st.sampled_from(("amd64", "all")),
    ),  # parts take a fraction of a regex's time
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    min_size=1,
    max_size=5,
)
WORDS = st.builds(
    "{}{}".format,
    st.sampled_from(string.ascii_lowercase + string.digits),
    st.text(f"{string.ascii_lowercase}{string.digits}-"),
)
LOCKS = st.dictionaries(
    st.builds(
        "{} {}".format,
        st.text(string.ascii_lowercase, min_size=1),
        st.lists(WORDS, min_size=1, max_size=3).map(" ".join),
    ),
    FILES,
)


@given(made=LOCKS)
def test_a_lock_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, made: lock.Lock
) -> None:
    path = tmp_path_factory.mktemp("lock") / "boards.lock"
    lock.write_package_lock(path, made)
    assert lock.read_package_lock(path) == made
    assert lock.format_package_lock(dict(reversed(list(made.items())))) == path.read_text()


def test_no_file_is_an_empty_lock(tmp_path: Path) -> None:
    assert lock.read_package_lock(tmp_path / "boards.lock") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not TOML"),
        ("a = 1", "a: not a set of packages"),
        ('["a"]', "a: not a set of packages"),
        ('["a"]\n"x_1_all.deb" = 7', "no package file with its SHA-256"),
        (f'["a"]\n"x_1_all.deb" = "{SHA[1:]}"', "no package file with its SHA-256"),
        (f'["a"]\n"x_1_all.deb" = "{SHA.upper()}"', "no package file with its SHA-256"),
        (f'["a"]\n"../x_1_all.deb" = "{SHA}"', "no package file with its SHA-256"),
        (f'["a"]\n"x/y_1_all.deb" = "{SHA}"', "no package file with its SHA-256"),
    ],
)
def test_what_is_no_lock_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "boards.lock").write_text(text)
    with pytest.raises(UsageError, match=rf"boards\.lock: .*{said}") as told:
        lock.read_package_lock(tmp_path / "boards.lock")
    assert "\n" not in str(told.value)


def test_changes_are_told_by_package_and_version() -> None:
    old = {
        "linux-image-6.1.0-50-amd64_6.1.176-1_amd64.deb": SHA,
        "zlib1g_1%3a1.2.13_amd64.deb": SHA,
        "gone_1_all.deb": SHA,
        "gcc_4_amd64.deb": SHA,
        "gcc-12_12.2_amd64.deb": SHA,
    }
    new = {
        "linux-image-6.1.0-56-amd64_6.1.192-2_amd64.deb": SHA,
        "zlib1g_1%3a1.2.14_amd64.deb": SHA,
        "come_2_all.deb": SHA,
        "gcc_4_amd64.deb": SHA,
        "gcc-12_12.2_amd64.deb": SHA,
    }
    assert lock.format_package_changes(old, new) == [
        "come: none -> 2",
        "gone: 1 -> none",
        "linux-image-amd64: 6.1.176-1 -> 6.1.192-2",
        "zlib1g: 1:1.2.13 -> 1:1.2.14",
    ]
    assert lock.format_package_changes(old, old) == []
    other = {**old, "gone_1_all.deb": SHA[::-1]}
    assert lock.format_package_changes(old, other) == ["gone_1_all.deb: other content"]


@pytest.mark.parametrize("name", list_noun_names("boards"))
def test_every_shipped_board_is_locked(name: str) -> None:
    model = load_noun("boards", name, BoardModel)
    shipped = lock.read_package_lock(SHIPPED_BOARDS / lock.FILE)
    assert {each.name for each in list_board_package_sets(model)} <= shipped.keys()
    kernel = shipped[make_kernel_package_set(model).name]
    (image,) = (found[1] for file in kernel if (found := IMAGE.match(file)))
    assert f"linux-headers-{image}" in {file.partition("_")[0] for file in kernel}
    tools = {file.partition("_")[0] for file in shipped[make_tool_package_set(model).name]}
    assert {*model.arch_traits.tools, "binutils", "make", "mtd-utils"} <= tools


def test_the_shipped_lock_has_no_set_that_no_board_and_no_program_asks_for() -> None:
    boards = [load_noun("boards", n, BoardModel) for n in list_noun_names("boards")]
    asked = {e.name for board in boards for e in list_board_package_sets(board)}
    asked |= {e.name for board in boards for e, _ in needs.list_needed_package_sets(board)}
    assert set(lock.read_package_lock(SHIPPED_BOARDS / lock.FILE)) == asked
