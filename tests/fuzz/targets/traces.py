# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder: its tables made anew of changed events, its JSON changed."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random

import duckdb
from support.tracefolders import traced

from fuzz import texts, values
from fuzz.command import command
from fuzz.target import Files, Target

WORDS = (["show"], ["parts"], ["parts", "--json"], ["brief"], ["report"])


@cache
def sound() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        path = traced(Path(folder) / "t").path
        return {p.name: p.read_bytes() for p in path.iterdir()}


def draw(chance: Random) -> Files:
    files = dict(sound())
    for name in ("meta.json", "summary.json"):
        if chance.random() < 0.4:
            files[name] = values.as_json(values.changed(json.loads(files[name]), chance), chance)
    if chance.random() < 0.3:
        files["events.parquet"] = texts.bytes_changed(files["events.parquet"], chance)
    elif chance.random() < 0.4:
        files["events.parquet"] = _parquet(texts.lines_changed(files["events.csv"], chance))
    if chance.random() < 0.05:
        del files[chance.choice(sorted(files))]
    whole = {f"t/{name}": content for name, content in files.items()}
    words = ["trace", *chance.choice(WORDS)]
    return whole | {"words.json": json.dumps([*words[:2], "t", *words[2:]]).encode()}


def _parquet(csv: bytes) -> bytes:
    """A table with the columns and rows of a CSV, whatever they are; not one: no table."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        made, out = Path(folder) / "e.csv", Path(folder) / "e.parquet"
        made.write_bytes(csv)
        try:
            con.sql(f"SELECT * FROM read_csv('{made}', delim = ';')").write_parquet(str(out))
        except duckdb.Error:
            return csv
        return out.read_bytes()


def take(folder: Path) -> None:
    command(*json.loads((folder / "words.json").read_text()))


DEVICE = Target(draw, take, cases=12)
