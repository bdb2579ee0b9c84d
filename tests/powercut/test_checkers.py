# SPDX-License-Identifier: GPL-2.0-or-later
"""Both checkers on drawn loads, cuts and trees: each says of all the same, that it holds or not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_planted import judged, put

from nandlab.powercut import loads
from nandlab.powercut.oracle import Oracle

FILES = ("r", "s", "A/x", "A/y", "B/z")
FOLDERS = ("A", "B", "B/E")
BASE = "mkdir A\nmkdir B\ncreate A/x\nwrite A/x 0 20\n"
SIZES = st.integers(1, 24)
Tree = dict[str, bytes | None]


def _can(calls: list[str]) -> list[str]:
    """The calls that can follow these."""
    there: dict[str, int] = {"A": 0, "B": 1, "A/x": 2}
    folders = {"A", "B"}
    for number, call in enumerate(calls, 3):
        kind, *words = call.split()
        if kind in ("create", "mkdir"):
            there[words[0]] = number
            folders |= {words[0]} if kind == "mkdir" else set()
        elif kind == "link":
            there[words[1]] = there[words[0]]
        elif kind == "rename" and there.get(words[1]) != there[words[0]]:
            # of two names of one file it does nothing
            there[words[1]] = there.pop(words[0])
        elif kind == "exchange":
            there[words[0]], there[words[1]] = there[words[1]], there[words[0]]
        elif kind in ("unlink", "rmdir"):
            there.pop(words[0])
            folders.discard(words[0])
    files = [name for name in FILES if name in there]
    found = ["sync", "readonly", "fsyncdir", *(f"fsyncdir {name}" for name in sorted(folders))]
    found += [f"create {name}" for name in FILES if name not in there]
    found += ["rmdir B/E"] if "B/E" in there else ["mkdir B/E"]
    for name in files:
        found += [f"{kind} {name}" for kind in ("fsync", "fdatasync", "unlink")]
        found += [f"exchange {name} {to}" for to in files if to != name]
        found += [f"rename {name} {to}" for to in FILES if to != name]
        found += [f"link {name} {to}" for to in FILES if to not in there]
        found += [f"{kind} {name} AT N" for kind in ("write", "swrite")]
        found.append(f"truncate {name} N")
    return found


@st.composite
def _loads(draw: st.DrawFn) -> str:
    calls: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        call = draw(st.sampled_from(_can(calls)))
        call = call.replace("AT", str(draw(SIZES))).replace("N", str(draw(SIZES)))
        calls.append(call)
    return f"{BASE}load drawn\n" + "\n".join(calls) + "\n"


@st.composite
def _points(draw: st.DrawFn) -> tuple[str, str, int, bool, Tree]:
    """A load, its marks, a cut, whether the next operation has begun, and what is there."""
    text = draw(_loads())
    load = loads.parse_loads("drawn", text)
    base, count = len(load.base) + 1, len(load.loads[0].calls)
    ends = sorted(draw(st.lists(st.integers(0, 9), min_size=2 * count, max_size=2 * count)))
    marks = "".join(f"{at} {2 * base + i}\n" for i, at in enumerate(ends))
    states = Oracle(load, load.loads[0], marks).states[base - 1 :]
    at = draw(st.sampled_from(states))
    tree = {name: at.files[number] for name, number in at.names.items()}
    for name in draw(st.lists(st.sampled_from(FILES + FOLDERS), max_size=2)):
        other = draw(st.sampled_from(states))
        if name in other.names:
            tree[name] = other.files[other.names[name]]
        else:
            tree.pop(name, None)
    for name in sorted(tree):
        content = tree[name]
        if content and draw(st.integers(0, 9)) == 0:
            to = draw(st.integers(0, len(content) - 1))
            tree[name] = content[:to] + bytes([draw(st.sampled_from([0, 7]))]) + content[to + 1 :]
    # no name without its folder
    tree = {n: c for n, c in tree.items() if "/" not in n or n.rpartition("/")[0] in tree}
    tree = {n: c for n, c in tree.items() if "/" not in n or tree[n.rpartition("/")[0]] is None}
    return text, marks, draw(st.integers(0, 10)), draw(st.booleans()), tree


RENAMED = (f"{BASE}load drawn\ncreate r\nfsyncdir\nrename r s\n", "0 10\n1 11\n1 12\n2 13\n2 14\n")


@settings(max_examples=150, deadline=None)
@given(_points())
@example((*RENAMED, 3, False, {"A": None, "B": None}))
@example((*RENAMED, 2, False, {"A": None, "B": None, "A/x": b""}))
def test_both_checkers_say_the_same_of_what_is_drawn(
    point: tuple[str, str, int, bool, Tree],
) -> None:
    text, marks, cut, in_next, tree = point
    load = loads.parse_loads("drawn", text)
    host = Oracle(load, load.loads[0], marks).list_violations(tree, cut, in_next=in_next)
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), tree)
        (Path(folder) / "mnt").mkdir(exist_ok=True)
        (Path(folder) / "loads").write_text(text)
        board, what, *_ = judged(Path(folder), cut, marks=marks, in_next=in_next)
    assert (board == "held") == (not host), (board, what, host)
