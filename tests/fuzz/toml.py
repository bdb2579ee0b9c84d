# SPDX-License-Identifier: GPL-2.0-or-later
"""Values as TOML, each on a line; what TOML has not, such as null, is left out."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

from fuzz import texts


def text(value: Any, chance: Random) -> bytes:
    """A TOML file, now and then with words exchanged or cut off."""
    told = value if isinstance(value, dict) else {"x": value}
    lines = [_deep(f"{_key(k)} = {_value(v)}\n", chance) for k, v in told.items() if v is not None]
    found = "".join(lines).encode(errors="surrogatepass")
    return texts.lines_changed(found, chance) if chance.random() < 0.15 else found


def _deep(line: str, chance: Random) -> str:
    """The line, now and then under a key of many words."""
    return "a." * chance.choice((1, 100, 20_000)) + line if chance.random() < 0.01 else line


def _key(key: Any) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = (f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return "{ " + ", ".join(inside) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value if v is not None) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value, default=str)
