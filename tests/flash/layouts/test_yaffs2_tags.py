# SPDX-License-Identifier: GPL-2.0-or-later
"""Tags of YAFFS2 in a spare area that no ECC corrected: their own code does, as far as it goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nandlab.flash.layouts.yaffs2 import (
    CODED_TAGS_BYTES,
    TAGS_AT,
    TAGS_BYTES,
    compute_tags_ecc,
    correct_spare_tags,
)

BITS = [*range(8 * TAGS_BYTES), *(8 * TAGS_BYTES + bit for bit in (*range(6), *range(32, 96)))]
"""Of the tags and of their code, which has words of 6, 32 and 32 bits in 12 bytes."""


def spare_of(tags: bytes, size: int = 64) -> bytes:
    code: bytes = (
        compute_tags_ecc(np.frombuffer(tags, dtype=np.uint8)[None, :])[0].astype("<u4").tobytes()
    )
    return (b"\xff" * TAGS_AT + tags + code).ljust(size, b"\xff")


def flipped(spare: bytes, bits: list[int]) -> bytes:
    found = bytearray(spare)
    for bit in bits:
        found[TAGS_AT + bit // 8] ^= 1 << bit % 8
    return bytes(found)


tags = st.binary(min_size=TAGS_BYTES, max_size=TAGS_BYTES)


@given(tags, st.sampled_from(BITS))
def test_one_wrong_bit_of_tags_or_of_their_code_is_corrected(tags: bytes, bit: int) -> None:
    assert correct_spare_tags(spare_of(tags)) == spare_of(tags)
    assert correct_spare_tags(flipped(spare_of(tags), [bit])) == spare_of(tags)


@given(tags, st.sets(st.sampled_from(BITS), min_size=2, max_size=2))
def test_two_are_not(tags: bytes, bits: set[int]) -> None:
    assert correct_spare_tags(flipped(spare_of(tags), sorted(bits))) is None


@given(tags, st.integers(0, TAGS_AT + CODED_TAGS_BYTES - 1))
def test_without_room_for_a_code_there_is_none(tags: bytes, size: int) -> None:
    assert correct_spare_tags(spare_of(tags)[:size]) is None
