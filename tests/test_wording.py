# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests assert values, not wording: how many hold a sentence may only go down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SENTENCE_WORDS = 7
ALLOWED = 60
"""Tests with a sentence in an assertion; some are commands. It was 252 of 2,459 at first."""


def asserted(test: ast.AST) -> Iterator[ast.expr]:
    """What a test asserts, and the messages that it awaits of errors."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            yield node.test
        elif isinstance(node, ast.withitem) and "raises" in ast.unparse(node.context_expr):
            yield node.context_expr


def texts(node: ast.expr) -> Iterator[str]:
    """The texts in an expression; a formatted one has its values as words."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.JoinedStr):
            pieces = (p.value if isinstance(p, ast.Constant) else " value " for p in part.values)
            yield "".join(str(piece) for piece in pieces)


def has_sentence(test: ast.AST) -> bool:
    """Whether a text of an assertion has seven words or more."""
    found = (text for node in asserted(test) for text in texts(node))
    words = ([w for w in text.split() if any(map(str.isalpha, w))] for text in found)
    return any(len(each) >= SENTENCE_WORDS for each in words)


def count_tests_with_sentences() -> int:
    """The tests of the tree that hold a sentence."""
    trees = (ast.parse(path.read_text()) for path in TESTS.rglob("test_*.py"))
    functions = (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    return sum(f.name.startswith("test_") and has_sentence(f) for f in functions)


def test_no_more_tests_hold_a_sentence() -> None:
    assert count_tests_with_sentences() <= ALLOWED


def test_a_sentence_is_seen() -> None:
    sentence = "def test_a(): assert text == 'it has one two three four five words'"
    assert has_sentence(ast.parse(sentence))
    assert not has_sentence(ast.parse("def test_a(): assert (text, n) == ('jffs2', 3)"))
