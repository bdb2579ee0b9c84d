# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to change a value such as JSON and TOML have: leaf, type, key, depth, length."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 2, 255, 65536, 2**31, 2**32, 2**63, 2**64, 10**30, 0.5, 1e308, -0.0)
ODD = (math.nan, math.inf, -math.inf)
"""What Python's own JSON takes, and others do not."""
TEXTS = (
    *(
        "",
        " ",
        "x",
        "0",
        "-1",
        "1e999",
        "None",
        "../x",
        "/etc/passwd",
        "a/b",
        ".",
        "..",
        "é",
        "\x00",
    ),
    *("\x1b[31m", "a\nb", "=1+1", "%s{0}", "\ud800", "x" * 300, "9" * 5000, "ok", "true"),
)
DEEP = 3000
"""Lists in lists: more than Python's stack."""
Place = tuple[Any, Any]
"""A container and the key or index of one of its values."""


def places(value: Any) -> Iterator[Place]:
    """Every place of a value, from the outermost."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def changed(value: Any, chance: Random, most: int = 3) -> Any:
    """A copy with one to so many changes; keys and types too, and now and then all of it."""
    if chance.random() < 0.02:
        return other(value, chance)
    found = copy.deepcopy(value)
    for _ in range(chance.randint(1, most)):
        if there := list(places(found)):
            inside, key = chance.choice(there)
            chance.choice(WAYS)(inside, key, chance)
    return found


def other(value: Any, chance: Random) -> Any:
    """Something else: near the value, or of any kind."""
    if chance.random() < 0.5:
        if isinstance(value, bool):
            return chance.choice((not value, int(value), None))
        if isinstance(value, int | float):
            return chance.choice((*NUMBERS, value + 1, value - 1, -value, float(value), str(value)))
        if isinstance(value, str):
            at = chance.randrange(len(value) + 1)
            return chance.choice(
                (value[:at], value + "x", value[:at] + "\x1b" + value[at:], value * 9)
            )
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice((None, True, False)),
        lambda: chance.choice(([], {}, [[]], [{}], {"": None}, [None] * 50)),
        lambda: chance.choice(ODD),
    )
    return chance.choice(kinds)()


def _replace(inside: Any, key: Any, chance: Random) -> None:
    inside[key] = other(inside[key], chance)


def _remove(inside: Any, key: Any, chance: Random) -> None:
    del inside[key]


def _rename(inside: Any, key: Any, chance: Random) -> None:
    if isinstance(inside, dict):
        inside[chance.choice((*TEXTS, f"{key}x"))] = inside.pop(key)


def _add(inside: Any, key: Any, chance: Random) -> None:
    if isinstance(inside, dict):
        inside[chance.choice(TEXTS)] = copy.deepcopy(inside[key])
    else:
        inside.insert(key, copy.deepcopy(inside[key]))


def _swap(inside: Any, key: Any, chance: Random) -> None:
    to = chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
    inside[key], inside[to] = inside[to], inside[key]


def _wrap(inside: Any, key: Any, chance: Random) -> None:
    inside[key] = chance.choice(([inside[key]], {"x": inside[key]}, {str(key): inside[key]}))


WAYS = (_replace, _replace, _replace, _replace, _remove, _rename, _add, _swap, _wrap)


def as_json(value: Any, chance: Random) -> bytes:
    """A value as JSON, now and then far too deep, cut off, with a key twice, or not UTF-8."""
    text = json.dumps(value, ensure_ascii=chance.random() < 0.9).encode(errors="surrogatepass")
    spoil = chance.random()
    if spoil < 0.01:
        return text.replace(b"null", b"[" * DEEP + b"]" * DEEP) or b"[" * DEEP
    if spoil < 0.02:
        return b"[" * 100_000 + text
    if spoil < 0.04:
        return text[: chance.randrange(len(text) + 1)]
    if spoil < 0.05:
        return text.replace(b'":', b'":' + b"9" * 5000 + b',"x":', 1)
    if spoil < 0.06:
        return text.replace(b"e", b"\xff", 1)
    return text
