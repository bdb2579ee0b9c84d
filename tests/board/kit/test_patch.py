# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch applies as diff made it, or is refused with its line."""

from __future__ import annotations

import difflib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import SourceError, UsageError
from nandlab.board.kit.patch import PATCH_BYTES_MAX, apply_patch, read_patch

LINES = st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n", "\treturn 0;\n"]), max_size=30)


def diff(before: str, after: str, context: int = 3) -> str:
    a, b = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(a, b, "a/fs/x/f.c", "b/fs/x/f.c", n=context))


@given(before=LINES, after=LINES, context=st.integers(0, 3))
def test_a_patch_gives_what_it_was_made_of(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], context: int
) -> None:
    if before == after:
        return
    path = tmp_path_factory.mktemp("patch") / "p.diff"
    path.write_text(diff("".join(before), "".join(after), context))
    files = {"fs/x/f.c": "".join(before).encode(), "fs/x/g.c": b"kept"}
    found = apply_patch(files, read_patch(path), "p")
    assert found == {"fs/x/f.c": "".join(after).encode(), "fs/x/g.c": b"kept"}


ONE = "--- a/fs/x/f.c\t2026-01-01\n+++ b/fs/x/f.c\n@@ -2 +2 @@ int f()\n-two\n+zwei\n"


def applied(tmp_path: Path, text: str, source: str = "one\ntwo\nthree\n") -> dict[str, bytes]:
    (tmp_path / "p.diff").write_text(text)
    return apply_patch({"fs/x/f.c": source.encode()}, read_patch(tmp_path / "p.diff"), "p.diff")


@pytest.mark.parametrize(
    ("text", "source", "result"),
    [
        (ONE, "one\ntwo\nthree\n", "one\nzwei\nthree\n"),
        (f"From: someone\nSubject: fix\n\n{ONE}-- \n2.39\n", "one\ntwo\n", "one\nzwei\n"),
        (ONE, "0\n0\n0\n0\none\ntwo\n", "0\n0\n0\n0\none\nzwei\n"),
        (ONE.replace("-two\n", "-two\n\\ No newline at end of file\n"), "one\ntwo", "one\nzwei\n"),
        (f"{ONE}\\ No newline at end of file\n", "one\ntwo\n", "one\nzwei"),
    ],
)
def test_what_is_around_a_patch_does_not_matter(
    tmp_path: Path, text: str, source: str, result: str
) -> None:
    assert applied(tmp_path, text, source) == {"fs/x/f.c": result.encode()}


def test_files_are_added_and_removed(tmp_path: Path) -> None:
    new = "--- /dev/null\n+++ b/fs/x/g.c\n@@ -0,0 +1 @@\n+new\n"
    old = "--- a/fs/x/f.c\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"
    assert applied(tmp_path, new + old) == {"fs/x/g.c": b"new\n"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("no patch", ""),
        (ONE.replace("-two", "-deux"), ":3"),
        (ONE.replace("+zwei\n", ""), ":3"),
        (ONE.replace("+zwei", "?zwei"), ":5"),
        (ONE.replace("a/fs/x/f.c", "a/../x").replace("b/fs/x/f.c", "b/../x"), ":1"),
        (ONE.replace("a/fs/x/f.c", "/etc/passwd"), ":1"),
        (ONE.replace("/f.c", "/other.c"), ""),
        (f"diff --git a/x/a b/x/b\nrename from a\nrename to b\n{ONE}", ":2"),
        (f"diff --git a/x/a b/x/a\nGIT binary patch\n{ONE}", ":2"),
        (f"Binary files a/x/a and b/x/a differ\n{ONE}", ":1"),
        (ONE.replace("a/fs/x/f.c", "/dev/null"), ""),
        ("--- /dev/null\n+++ /dev/null\n", ":1"),
    ],
)
def test_what_does_not_apply_is_refused_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(UsageError, match=rf"p\.diff{line}: "):
        applied(tmp_path, text)


def test_a_message_may_have_any_words(tmp_path: Path) -> None:
    words = "copy from user space, or\nrename from x\nGIT binary patch\nBinary files are large\n"
    plain = applied(tmp_path, ONE)
    mail = f"From 1 Mon\nSubject: x\n\n{words}---\n f.c | 2 +-\n\n"
    head = "diff --git a/fs/x/f.c b/fs/x/f.c\nindex 1..2 100644\n"
    assert applied(tmp_path, f"{mail}{head}{ONE}") == plain
    # the message of a second mail comes after the first one's hunks
    again = ONE.replace("-two", "-zwei").replace("+zwei", "+two")
    assert applied(tmp_path, f"{mail}{head}{ONE}-- \n2.39\n\n{mail}{head}{again}") == {
        "fs/x/f.c": b"one\ntwo\nthree\n"
    }


def test_a_source_that_a_patch_does_not_apply_to_is_at_fault(tmp_path: Path) -> None:
    """So a bisection skips the commit; a text that is no patch ends it."""
    for text in (ONE.replace("-two", "-deux"), ONE.replace("/f.c", "/other.c")):
        with pytest.raises(SourceError):
            applied(tmp_path, text)
    with pytest.raises(UsageError) as told:
        applied(tmp_path, "no patch")
    assert not isinstance(told.value, SourceError)


def test_a_large_patch_and_a_pipe_are_refused(tmp_path: Path) -> None:
    import os

    (tmp_path / "large").write_bytes(bytes(PATCH_BYTES_MAX + 1))
    os.mkfifo(tmp_path / "pipe")
    for name in ("large", "pipe", "absent"):
        with pytest.raises(UsageError, match=name):
            read_patch(tmp_path / name)


def test_many_hunks_of_a_long_file_take_no_time(tmp_path: Path) -> None:
    count = 20_000
    hunks = (f"@@ -{n} +{n} @@\n-{n}\n+new\n" for n in range(1, count, 20))
    text = f"--- a/fs/x/f.c\n+++ b/fs/x/f.c\n{''.join(hunks)}"
    began = time.process_time()
    found = applied(tmp_path, text, "".join(f"{n}\n" for n in range(1, count + 1)))
    assert found["fs/x/f.c"].count(b"new\n") == count // 20
    assert time.process_time() - began < 3


def test_a_hunk_applies_at_the_nearest_of_equal_lines(tmp_path: Path) -> None:
    text = ONE.replace("@@ -2 +2 @@", "@@ -{0} +{0} @@")
    source = "two\n0\n0\ntwo\n0\n"
    for line, place in ((1, 0), (2, 0), (3, 3), (4, 3), (999_999_999, 3)):
        lines = source.splitlines(keepends=True)
        lines[place] = "zwei\n"
        found = applied(tmp_path, text.format(line), source)
        assert found == {"fs/x/f.c": "".join(lines).encode()}
