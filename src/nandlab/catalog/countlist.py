# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar ``counts`` of a workload's parameter: whole numbers from 1 up, between commas."""

from __future__ import annotations

NUMBERS_MAX = 1000
"""The most numbers of a list."""
DIGITS_MAX = 9


def check_count_list(text: str) -> str | None:
    """What is wrong with a list, or None."""
    each = expand_count_list(text).split(",")
    if len(each) > NUMBERS_MAX:
        return f"must have {NUMBERS_MAX} numbers at the most, has {len(each)}"
    for number in each:
        plain = number.isascii() and number.isdigit() and len(number) <= DIGITS_MAX
        if not plain or not int(number):
            return f"must be numbers from 1 up with commas between, such as 1,10: {number!r} in it"
    return None


def expand_count_list(text: str) -> str:
    """A list as programs take it, without blanks."""
    return "".join(text.split())
