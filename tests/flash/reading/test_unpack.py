# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens of compressed nodes are those that the bytes were made of."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.flash.layouts.unpacking import UnpackError
from nandlab.flash.reading.inflate import _HuffmanCode
from nandlab.flash.reading.tokencount import count_node_tokens

END = bytes([17, 0, 0])
"""LZO's end mark."""
STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)


def zlib_of(plain: bytes, level: int = 3, bits: int = 15, strategy: int = 0) -> bytes:
    """As JFFS2 has it: all but the end flushed before the end."""
    by = zlib.compressobj(level, zlib.DEFLATED, bits, 8, strategy)
    return by.compress(plain) + by.flush(zlib.Z_PARTIAL_FLUSH) + by.flush()


def bytes_made(found: Counter[str]) -> int:
    words = ("literal", "slow_literal", "match_byte", "slow_match_byte", "stored_byte")
    return sum(found[word] for word in words)


@given(
    st.lists(st.sampled_from([b"a", b"abcabcab", b"\0" * 300, b"xyz", b"0123"]), max_size=200),
    st.binary(max_size=600),
    st.integers(0, 9),
    st.sampled_from([15, -15]),
    st.sampled_from(STRATEGIES),
)
@example([], b"\x90" * 12 + b"\x91\x9a\x9d", 1, 15, zlib.Z_HUFFMAN_ONLY)
def test_zlibs_tokens_make_all_bytes(
    words: list[bytes], rest: bytes, level: int, bits: int, strategy: int
) -> None:
    plain = b"".join(words) + rest
    packed = zlib_of(plain, level, bits, strategy)
    found = count_node_tokens("zlib", packed, len(plain))
    assert found is not None
    assert found["node"] == 1
    assert bytes_made(found) == len(plain)
    stored = not packed[2 if bits > 0 else 0] & 6  # a block as it is, which zlib takes if shorter
    if strategy == zlib.Z_HUFFMAN_ONLY and not stored:
        assert found["literal"] + found["slow_literal"] == len(plain)


def test_zlibs_slow_way_is_the_last_258_bytes() -> None:
    plain = Path(__file__).read_bytes()[:2000]
    packed = zlib_of(plain, strategy=zlib.Z_HUFFMAN_ONLY)
    found = count_node_tokens("zlib", packed, len(plain))
    assert found is not None
    # a symbol is slow where less than 258 bytes are to come, so 257 of them
    assert found["slow_literal"] == 257
    assert found["fast"] == 1
    assert found["used"] > len(set(plain)) + 3  # the end, two distances that none uses, lengths


def test_zlibs_tokens_of_a_block_by_hand() -> None:
    """A block of zlib's fixed codes: three literals, then 300 bytes again, and 300 literals."""
    plain = b"abc" + b"abc" * 100 + bytes(range(144)) * 2 + bytes(12)
    by = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_FIXED)
    packed = by.compress(plain) + by.flush()
    found = count_node_tokens("zlib", packed, len(plain))
    assert found is not None
    assert not found["coded"] + found["used"] + found["lens"]  # the codes are known
    assert found["fast"] == 1
    # 9 bits a literal and more: two bytes of input each two or so
    assert found["pull"] == 1
    assert bytes_made(found) == len(plain)


@pytest.mark.parametrize(
    ("lengths", "bits", "cost"),
    [
        # two codes of a bit: a table of two
        ([1, 1], 9, {"coded": 2, "used": 2, "entry": 2}),
        # the longest code has 3 bits: 8 entries
        ([1, 2, 3, 3, 0], 9, {"coded": 5, "used": 4, "entry": 8}),
        # cut at 2 bits: the codes of 3 and 4 bits share the table of a further 2 bits
        ([1, 2, 3, 4, 4], 2, {"coded": 5, "used": 5, "entry": 4 + 4, "subtable": 1}),
        # no code is as short as 2 bits: the first table has 3
        ([3] * 8, 2, {"coded": 8, "used": 8, "entry": 8}),
        # codes of 3 bits behind two prefixes: two tables of a bit
        ([1, 0, 3, 3, 3, 3], 2, {"coded": 6, "used": 5, "entry": 4 + 2 + 2, "subtable": 2}),
    ],
)
def test_what_a_codes_tables_take(lengths: list[int], bits: int, cost: dict[str, int]) -> None:
    assert +_HuffmanCode(lengths, bits).cost == cost


def lzo_run(count: int) -> bytes:
    """The token of a run where none comes before: 4 bytes or more."""
    if count <= 18:
        return bytes([count - 3])
    more, last = divmod(count - 19, 255)
    return bytes([0, *[0] * more, last + 1])


def lzo_match(count: int, back: int, short: int) -> bytes:
    """Of up to 16 KiB back, 3 bytes or more; short: bytes as they are that follow."""
    word = ((back - 1) << 2 | short).to_bytes(2, "little")
    if count <= 33:
        return bytes([32 | count - 2]) + word
    more, last = divmod(count - 34, 255)
    return bytes([32, *[0] * more, last + 1]) + word


@given(
    st.integers(4, 1000),
    st.lists(st.tuples(st.integers(3, 900), st.integers(1, 2000), st.integers(0, 3)), max_size=20),
)
def test_lzos_tokens_are_those_that_were_put_in(
    first: int, matches: list[tuple[int, int, int]]
) -> None:
    packed = lzo_run(first) + bytes(first)
    packed += b"".join(lzo_match(*m) + bytes(m[2]) for m in matches) + END
    plain = first + sum(count + short for count, _, short in matches)
    want: Counter[str] = Counter(node=1)
    made = first
    near = len(packed) < len(lzo_run(first)) + first + 15 or made + 15 > plain
    want["slow_run_byte" if near else "run_step"] += first if near else -(-first // 16)
    want["run"] += not near
    want["length"] += first > 18
    for count, back, short in matches:
        end = made + count + 15 > plain
        kind = "slow_match" if back < 8 else "end_match" if end else "match"
        want[kind] += 1
        want["match_step" if kind == "match" else f"{kind}_byte"] += (
            -(-count // 16) if kind == "match" else count
        )
        want["length"] += count > 33
        made += count + short
    assert count_node_tokens("lzo", packed, plain) == +want


def test_lzos_other_tokens() -> None:
    """A first token of its own, matches of 2 and of 3 bytes, 3 to 8, and from far."""
    packed = bytes([17 + 20]) + bytes(20)  # a run of 20
    packed += bytes([0b0100, 0])  # 3 bytes from 2 KiB + 2 back, after a run
    packed += bytes([0b011_001_01, 1]) + b"x"  # 4 bytes from 10 back, then a byte as it is
    packed += bytes([0b1000, 2])  # 2 bytes from 11 back, after a short
    packed += bytes([16 | 3, 4, 0])  # 5 bytes from 16 KiB + 1 back
    packed += lzo_run(40) + bytes(40) + END  # so near the end that it goes byte by byte
    assert count_node_tokens("lzo", packed, 20 + 3 + 4 + 1 + 2 + 5 + 40) == {
        "node": 1, "run": 1, "run_step": 2, "match": 4, "match_step": 3, "length": 1,
        "slow_run_byte": 40,
    }  # fmt: skip


def test_with_room_behind_the_bytes_the_fast_way_goes_on() -> None:
    plain = Path(__file__).read_bytes()[:2000]
    packed = zlib_of(plain, strategy=zlib.Z_HUFFMAN_ONLY)
    near, far = (
        count_node_tokens("zlib", packed, len(plain)),
        count_node_tokens("zlib", packed, len(plain), 4096),
    )
    assert near is not None and far is not None
    assert near["slow_literal"] == 257
    assert far["slow_literal"] <= 8  # the last bytes of the input alone
    packed = lzo_run(40) + bytes(40) + lzo_match(20, 30, 0) + END
    near, far = count_node_tokens("lzo", packed, 60), count_node_tokens("lzo", packed, 60, 4096)
    assert near is not None and far is not None
    assert (near["end_match_byte"], near["match"]) == (20, 0)
    assert (far["end_match_byte"], far["match"]) == (0, 1)


@given(st.sampled_from(["lzo", "zlib"]), st.binary(min_size=1, max_size=200))
def test_what_is_no_nodes_data_is_refused(compressor: str, packed: bytes) -> None:
    with pytest.raises(UnpackError, match=compressor):
        count_node_tokens(compressor, packed, 1 << 20)


def test_a_compressor_that_is_not_known_has_no_tokens() -> None:
    assert count_node_tokens("rtime", b"abc", 3) is None


TEXT = b"".join(b"%d is a line of a list of lines; " % n for n in range(200))


def zstd_of(plain: bytes, level: int = 3) -> bytes:
    """As UBIFS has it: a frame that tells its content's size."""
    return zstandard.ZstdCompressor(level=level).compress(plain)


def zstd_tokens(plain: bytes) -> Counter[str]:
    found = count_node_tokens("zstd", zstd_of(plain), len(plain))
    assert found is not None
    return found


def test_what_zstd_leaves_as_it_is_is_copied() -> None:
    assert zstd_tokens(random.Random(1).randbytes(4096)) == {"node": 1, "byte": 4096}
    assert zstd_tokens(bytes(4096)) == {"node": 1, "byte": 4096, "sequence": 1}


def test_literals_of_zstd_are_of_a_code_and_matches_of_sequences() -> None:
    """By hand: 16 letters that come as often in no order are 4 bits each, and nothing matches."""
    chance = random.Random(2)
    letters = bytes(chance.choice(b"abcdefghijklmnop") for _ in range(3000))
    found = zstd_tokens(letters)
    assert found["code"] == 1
    assert found["literal"] + found["byte"] == 3000
    assert found["literal"] > 2700
    text = zstd_tokens(TEXT[:4096])
    assert text["sequence"] > 50
    assert text["byte"] > 2 * text["literal"]


@given(st.binary(max_size=4096), st.integers(1, 4), st.sampled_from([1, 3, 9]))
def test_tokens_of_zstd_make_all_bytes(part: bytes, times: int, level: int) -> None:
    plain = (part * times)[:4096]
    packed = zstd_of(plain, level)
    found = count_node_tokens("zstd", packed, len(plain))
    assert found is not None
    assert found["literal"] + found["byte"] == len(plain)
    assert (found["table"] > 0) == (found["cell"] > 0)
    assert 32 * found["table"] <= found["cell"] <= 512 * found["table"]


@pytest.mark.parametrize("cut", [0, 3, 5, 8, 12, 40])
def test_a_frame_of_zstd_that_ends_early_is_refused(cut: int) -> None:
    packed = zstd_of(TEXT[:2000])
    with pytest.raises(UnpackError, match="zstd"):
        count_node_tokens("zstd", packed[:cut], 2000)


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"no frame at all", "no zstd frame"),
        (b"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00", "content's size"),
        (b"\x28\xb5\x2f\xfd\x20\x05\x07\x00\x00", "a kind that there is none of"),
        (b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello", "make 5 bytes, not 6"),
    ],
)
def test_what_is_no_frame_of_zstd_is_refused(packed: bytes, why: str) -> None:
    with pytest.raises(UnpackError, match=why):
        count_node_tokens("zstd", packed, 6)
