# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a real output fits the schema that nandlab gives of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from nandlab.cli import schemas


@cache
def validator(name: str) -> Any:
    schema = schemas.make_json_schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def fits(name: str, told: Any) -> Any:
    """The JSON, given as text or read already, which must fit ``nandlab schema NAME``."""
    found = json.loads(told, parse_constant=_no_number) if isinstance(told, str) else told
    wrong = [f"{e.json_path}: {e.message[:200]}" for e in validator(name).iter_errors(found)]
    assert not wrong, f"{name}: {wrong[:5]}"
    return found


def _no_number(word: str) -> None:
    raise AssertionError(f"JSON has no {word}")
