# SPDX-License-Identifier: GPL-2.0-or-later
"""How the catalog's files are read: each is one TOML file, named after what it is.

Adding one edits no other file. The models beside this file are their schema: every field has a
sentence, unknown keys are refused, and every mistake of a file is reported at once.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.catalog.noun import Noun

M = TypeVar("M", bound=Noun)


def load(kind: str, name: str, model: type[M]) -> M:
    """The catalog's entry ``name`` of a kind ("boards", "chips", ...); UsageError if it is bad."""
    path = CATALOG / kind / f"{name}.toml"
    if not path.exists():
        raise UsageError(f"no {name!r} in catalog/{kind}; there are: {', '.join(names(kind))}")
    entry = parse(path, model)
    if entry.name != name:
        raise UsageError(f"{path}: its name is {entry.name!r} but the file's is {name!r}")
    return entry


def names(kind: str) -> list[str]:
    """The names of a kind's entries, sorted."""
    return sorted(p.stem for p in (CATALOG / kind).glob("*.toml"))


def parse(path: Path, model: type[M]) -> M:
    """A TOML file as its model; UsageError lists every mistake with its place."""
    return validate(read_toml(path), model, str(path))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as e:
        raise UsageError(f"{path}: cannot be read: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: not TOML: {e}") from None


V = TypeVar("V", bound=BaseModel)


def validate(data: Any, model: type[V], where: str) -> V:
    """Data as a model; UsageError lists every mistake with its place."""
    try:
        return model.model_validate(data)
    except ValidationError as e:
        raise UsageError("\n".join(f"{where}: {m}" for m in mistakes(e))) from None


def mistakes(error: ValidationError) -> list[str]:
    """Each mistake as ``place: what is wrong``."""
    return [
        f"{'.'.join(str(part) for part in e['loc']) or 'the file'}: {e['msg']}"
        for e in error.errors()
    ]
