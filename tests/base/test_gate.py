# SPDX-License-Identifier: GPL-2.0-or-later
"""The gate for files from elsewhere: what passes, what is refused, and that nothing waits."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from fuzz import xz
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base import gate, xzpack
from nandlab.base.errors import UsageError
from nandlab.base.paths import ROOT

SOURCES = Path(gate.__file__).parents[1]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(VALUES)
def test_json_is_read_as_json_reads_it(value: object) -> None:
    assert gate.parse_json(json.dumps(value).encode()) == value


def nested(depth: int, text: str = "") -> bytes:
    return (f'["{text}",' * (depth - 1) + "[" + "]" * depth).encode()


@pytest.mark.parametrize("text", ["", "]", "}{", '\\"]', "[", "[\\\\"])
def test_depth_has_a_limit_whatever_the_strings_hold(text: str) -> None:
    assert gate.parse_json(nested(gate.DEPTH_MAX, text))
    with pytest.raises(ValueError, match="deep"):
        gate.parse_json(nested(gate.DEPTH_MAX + 1, text))


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"9" * 5_000,
        b"1e999",
        b"-1e999",
        b"NaN",
        b"-Infinity",
        b'"\xff"',
        b"",
        b"[1,]",
    ],
)
def test_json_out_of_bounds_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        gate.parse_json(content)


BOUNDLESS = {
    "nested": b"a = " + b"[" * 5_000,
    "digits": b"a = " + b"9" * 5_000,
    "not UTF-8": b"\xff",
    "no value": b"a",
    "words of a key": b"a." * 50_000 + b"a = 1",
    "words of a header": b"[" + b"'a' . \"b\"\t.c ." * 20_000 + b"a]",
    "words in an inline table": b"a = [{b = {" + b"c." * 50_000 + b"c = 1}}]",
    "quotes without end": b"a = '''" + b"'a" * 500_000,
    "escaped quotes without end": b'a = """' + b'\\"""' * 500_000,
    "a text without end": b'a = "' + b'\\"' * 500_000,
}


@pytest.mark.parametrize("name", BOUNDLESS)
def test_toml_out_of_bounds_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(BOUNDLESS[name])
    began = time.process_time()
    with pytest.raises(UsageError, match=r"a\.toml: "):
        gate.read_toml(path)
    assert time.process_time() - began < 2


def test_texts_of_other_editors_are_read_or_told(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = 1\r\n", encoding="utf-8-sig", newline="")
    assert gate.read_toml(path) == {"a": 1}
    assert gate.read_text(path, 100) == "a = 1\r\n"
    path.write_text("a = 1\n", encoding="utf-16")
    for read in (gate.read_toml, lambda p: gate.read_text(p, 100)):
        with pytest.raises(UsageError, match="UTF-16"):
            read(path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1\nb = 9" + "9" * 200_000, "a.toml: a whole number"),
        ("a = 1\n[b]\nc = [0x" + "9" * 20_000 + "]", "a.toml: b.c.0: "),
        ("a = 18446744073709551616", "a.toml: a: "),
        ("a = -18446744073709551616", "a.toml: a: "),
    ],
    ids=["digits", "hexadecimal", "2^64", "-2^64"],
)
def test_a_number_that_no_field_takes_is_refused_with_its_place(
    tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="64 bits") as refused:
        gate.read_toml(path)
    assert str(refused.value).startswith(f"{tmp_path}/{place}")
    assert len(str(refused.value)) < 300
    path.write_text("a = [-9223372036854775808, 18446744073709551615]")
    assert gate.read_toml(path) == {"a": [-(2**63), 2**64 - 1]}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_text_is_refused_with_what_unpacks_it(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(pack(b"a = 1\n"))
    for read in (gate.read_toml, gate.read_json, lambda p: [*gate.read_lines(p, 1000)]):
        with pytest.raises(UsageError, match=r"packed.*unpack it first \(\w+ -d\)"):
            read(path)
    if pack is not lzma.compress:
        with pytest.raises(UsageError, match="unpack it first"):
            gate.read_packed_json(path)


@pytest.mark.parametrize(
    "begin", [b"\xd0\x0d\xfe\xed", b"/dts-v1/;", b"\n// a\n/* b*/ \n#c\n/dts-v1/;", b"/*" * 100_000]
)
def test_a_device_tree_is_told_as_one(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(begin + b" / { };")
    told = "not TOML" if begin.startswith(b"/*/*") else r"a device tree.*docs/own/board\.md"
    with pytest.raises(UsageError, match=told):
        gate.read_toml(path)


DOTS = ".".join("a" * 500)


@pytest.mark.parametrize(
    "text",
    [
        f"a = '{DOTS}'",
        f'a = "\\"{DOTS}"',
        f"a = '''\n'{DOTS}'''",
        f'a = """\n"\\""{DOTS}"""',
        f"# {DOTS}\na = 1 # '''{DOTS}",
        f"'{DOTS}' = 1",
        f"a = [{', '.join(['0.1'] * 500)}]",
        "\n".join(f"a.b{n}.c = 1" for n in range(500)),
    ],
)
def test_only_the_dots_of_a_key_count(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    assert gate.read_toml(path) == tomllib.loads(text)


@pytest.mark.parametrize("more", [0, 1])
def test_a_key_has_as_many_words_as_tables_may_nest(tmp_path: Path, more: int) -> None:
    path = tmp_path / "a.toml"
    path.write_text(".".join("a" * (gate.DEPTH_MAX + more)) + " = 1")
    with pytest.raises(UsageError, match="deep") if more else nullcontext():
        gate.read_toml(path)


def test_a_packed_file_is_read_as_a_plain_one(tmp_path: Path) -> None:
    content = json.dumps({"a": [1] * 1000}).encode()
    for path, there in ((tmp_path / "plain", content), (tmp_path / "xz", xzpack.pack_xz(content))):
        path.write_bytes(there)
        assert gate.read_packed_json(path) == {"a": [1] * 1000}
    assert len(xzpack.pack_xz(content)) < len(content) / 5
    assert xzpack.pack_xz(content) == xzpack.pack_xz(content)


def test_what_xz_packs_at_its_best_is_unpacked() -> None:
    """It has the largest dictionary that xz takes without being asked for a larger."""
    best = lzma.compress(b"1", preset=9 | lzma.PRESET_EXTREME)
    assert b"".join(xzpack.unpack_xz_into_blocks(best)) == b"1"


SOUND = xzpack.pack_xz(b"[" + b"1," * 9_000 + b"1]")
SPOILED: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "cut in its content": (SOUND[:-60], "ends before"),
    "cut in its end": (SOUND[:-1], "ends before"),
    "cut in its begin": (SOUND[:8], "ends before"),
    "two streams": (SOUND * 2, f"{len(SOUND)} bytes are behind its end"),
    "padded": (SOUND + bytes(4), "4 bytes are behind its end"),
    "a line behind it": (SOUND + b"\n", "1 bytes are behind its end"),
    "a bit in its content": (SOUND[:40] + bytes([SOUND[40] ^ 1]) + SOUND[41:], "corrupt"),
    "a bit in its check": (SOUND[:-30] + bytes([SOUND[-30] ^ 1]) + SOUND[-29:], "corrupt"),
    "a greedy dictionary": (lambda: xz.greedy(b"[]"), r"limit exceeded \(80 MiB\)"),
    "packed twice": (xzpack.pack_xz(SOUND), "not JSON"),
    "too large": (xz.bomb, "unpacks to more than 33,554,432 bytes"),
    "too many values": (
        lambda: xzpack.pack_xz(b"[" + b"[]," * 1_500_001 + b"0]"),
        "1,500,000 values",
    ),
}
"""Files and what is said of them; what takes long to pack is packed when its test comes."""


@pytest.mark.parametrize("name", SPOILED)
def test_a_packed_file_that_is_not_sound_is_refused(name: str, tmp_path: Path) -> None:
    content, said = SPOILED[name]
    path = tmp_path / "a.json.xz"
    path.write_bytes(content if isinstance(content, bytes) else content())
    with pytest.raises(UsageError, match=rf"a\.json\.xz: .*{said}"):
        gate.read_packed_json(path)


def test_unpacking_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a bomb no more is unpacked than tells that it is one."""
    blocks = []

    def unpack(content: bytes) -> Iterator[bytes]:
        for block in xzpack.unpack_xz_into_blocks(content):
            blocks.append(len(block))
            yield block

    packer = SimpleNamespace(MAGIC=xzpack.MAGIC, unpack_xz_into_blocks=unpack)
    monkeypatch.setattr(gate, "xzpack", packer)
    (tmp_path / "bomb").write_bytes(xz.bomb())
    with pytest.raises(UsageError):
        gate.read_packed_json(tmp_path / "bomb")
    assert max(blocks) == xzpack.BLOCK_BYTES
    assert sum(blocks) <= gate.PACKED_BYTES_MAX + xzpack.BLOCK_BYTES


@pytest.mark.parametrize("file", sorted((ROOT / "docs/studies").glob("*.xz")), ids=lambda f: f.name)
def test_packing_gives_the_bytes_that_are_shipped(file: Path) -> None:
    """Of another liblzma too: the shipped files were packed with that of Debian 12."""
    assert xzpack.pack_xz(lzma.decompress(file.read_bytes())) == file.read_bytes()


def test_only_regular_files_pass(tmp_path: Path) -> None:
    """None of these is read: the pipe has no writer, the device no end."""
    pipe, zero, loop = tmp_path / "pipe", tmp_path / "zero", tmp_path / "loop"
    os.mkfifo(pipe)
    zero.symlink_to("/dev/zero")
    loop.symlink_to(loop)
    for path in (pipe, zero, tmp_path, loop, tmp_path / "none", Path("nul\0")):
        with pytest.raises(UsageError):
            gate.read_bytes(path, 10)


def test_size_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"12345")
    assert gate.read_bytes(path, 5) == b"12345"
    with pytest.raises(UsageError):
        gate.read_bytes(path, 4)
    with path.open("ab") as file:
        file.truncate(1 << 40)  # takes no disk, and no memory when it is refused
    with pytest.raises(UsageError):
        gate.read_bytes(path, 1 << 20)


def test_a_link_to_a_regular_file_passes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("é")
    (tmp_path / "link").symlink_to("file")
    assert gate.read_text(tmp_path / "link", 10) == "é"


OWN = {
    "base/gate.py": "the gate itself",
    "base/digest.py": "hashes files, block by block, that its caller has looked at",
    "base/cache.py": "its own list of an entry's files",
    "base/checksums.py": "the cache's own lists of sums, and notes of what was read",
    "board/jobs/": "what nandlab built in its cache, programs, what a board just wrote",
    "board/virtual/": "what nandlab built in its cache, and what a board just wrote",
    "board/own/": "what nandlab built in its cache, and what a board just wrote",
    "image/making.py": "what the tools just wrote into a scratch folder",
    "image/tree.py": "the user's folder, whose entries it has looked at; lines of a board",
    "image/treearchive.py": "files of the user's folder that the tree lists, and what it unpacks",
    "board/kit/kernel.py": "a package whose digest is right",
    "board/kit/kernelbuild.py": "what a build just left in the cache",
    "board/kit/kernelpack.py": "files of a tree that was looked through, and what its build left",
    "board/kit/packages.py": "what apt just wrote into a scratch folder, and the cache by content",
    "board/kit/boardfile.py": "packages of the cache, which it writes into a board file",
    "board/kit/deb.py": "a package whose digest is right",
    "cli/doctor.py": "lists that nandlab ships",
    "report/charts/charts.py": "a script of a library, whose digest the cache proves",
    "report/charts/fragmap.py": "a template that nandlab ships",
    "report/charts/spacemap.py": "a template that nandlab ships",
    "catalog/from_strace/events.py": "a temporary file that it wrote",
    "trace/timeline.py": "bytes of its own protocol, which it wrote",
    "results/store.py": "the store, whose files it wrote; a digest proves each",
    "trial/workers/worker.py": "a message of the client",
    "trial/workers/cluster.py": "files that a trial just left in a scratch folder",
    "trial/reproduction.py": "a value of its own",
    "powercut/job.py": "a module that nandlab built",
}
"""Modules, or folders, that read files or JSON past the gate, each with why it may."""
READS = re.compile(
    r"\.read_text\(|\.read_bytes\(|\.open\(\"rb?\"\)|\.open\(\)|json\.loads?\b|tomllib|np\.(memmap\(path|"
    r"fromfile|load\()"
)


def test_nothing_else_reads_a_file_past_the_gate() -> None:
    modules = {str(p.relative_to(SOURCES)): p.read_text() for p in SOURCES.rglob("*.py")}
    past = {name for name, text in modules.items() if READS.search(text)}
    may = {name for name in past if name in OWN or f"{name.rpartition('/')[0]}/" in OWN}
    assert past - may == set()
    assert {key for key in OWN if not any(name.startswith(key) for name in past)} == set()
