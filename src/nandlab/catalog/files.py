# SPDX-License-Identifier: GPL-2.0-or-later
"""How the catalog's files are read: each is one TOML file, named after what it is.

Adding one edits no other file. A project has files of its own beside its studies, or where
NANDLAB_CATALOG says. No name may be in two folders: what a study means must not depend on where it
is read. The models beside this file are their schema: every field has a sentence, unknown keys are
refused, and every mistake of a file is reported at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.paths import CATALOG
from nandlab.base.strings import Word, does_text_fit_type
from nandlab.catalog.mistakes import list_validation_mistakes
from nandlab.catalog.noun import Noun

M = TypeVar("M", bound=Noun)


PROJECT_FOLDER = "catalog"
"""The folder beside a study, or below the current one, that has a project's own nouns."""
CATALOG_VARIABLE = "NANDLAB_CATALOG"
"""The environment variable that names further folders, as PATH does."""
_study_folder: ContextVar[Path | None] = ContextVar("study", default=None)
KeptNouns = Mapping[tuple[str, str], dict[str, Any]]
"""Entries that a run keeps, by kind and name."""
_kept_nouns: ContextVar[KeptNouns] = ContextVar("kept", default=MappingProxyType({}))


@contextmanager
def use_project_beside_study(folder: Path) -> Iterator[None]:
    """Looks for the project's nouns beside a study in this folder, not in the current one."""
    token = _study_folder.set(folder)
    try:
        yield
    finally:
        _study_folder.reset(token)


@contextmanager
def use_run_nouns(entries: KeptNouns) -> Iterator[None]:
    """Takes a project's own nouns from what a run keeps of them; shipped ones stay today's."""
    token = _kept_nouns.set({**_kept_nouns.get(), **entries})
    try:
        yield
    finally:
        _kept_nouns.reset(token)


def is_shipped_noun(kind: str, name: str) -> bool:
    """Whether nandlab brings a noun of this name."""
    return does_text_fit_type(Word, name) and (CATALOG / kind / f"{name}.toml").is_file()


def is_run_noun(kind: str, name: str) -> bool:
    """Whether a noun is a run's copy, which whoever sent the run has written."""
    return (kind, name) in _kept_nouns.get() and not is_shipped_noun(kind, name)


def list_catalog_folders() -> list[Path]:
    """Where nouns are looked for: the project's own, those of NANDLAB_CATALOG, the shipped."""
    project = (_study_folder.get() or Path()) / PROJECT_FOLDER
    given = [Path(p) for p in os.environ.get(CATALOG_VARIABLE, "").split(os.pathsep) if p]
    for folder in given:
        if not folder.is_dir():
            raise UsageError(f"{CATALOG_VARIABLE}: {folder}: no such folder")
    found = [*([project] if project.is_dir() else []), *given, CATALOG]
    return list(dict.fromkeys(folder.resolve() for folder in found))


def find_noun_file(kind: str, name: str) -> Path:
    """The file of a noun; UsageError if there is none, or one in two folders."""
    named = list_catalog_folders() if does_text_fit_type(Word, name) else []
    paths = [p for f in named if (p := f / kind / f"{name}.toml").is_file()]
    if not paths:
        there = list_noun_names(kind)
        near = suggest_nearest_name(name, there)
        raise UsageError(f"no {name!r} in catalog/{kind}; there are: {', '.join(there)}{near}")
    if len(paths) > 1:
        raise UsageError(f"{name!r} is in {' and in '.join(map(str, paths))}: rename one")
    return paths[0]


def load_noun(kind: str, name: str, model: type[M]) -> M:
    """The catalog's entry ``name`` of a kind ("boards", "chips", ...); UsageError if it is bad."""
    return (
        _load_kept_noun(kind, name, model)
        if is_run_noun(kind, name)
        else load_current_noun(kind, name, model)
    )


def _load_kept_noun(kind: str, name: str, model: type[M]) -> M:
    """A run's copy; what it names beside itself is looked for in the project here."""
    table = _kept_nouns.get()[kind, name]
    try:
        entry = model.model_validate_json(json.dumps(table))
    except ValidationError as e:
        where = f"the run's {name!r} of catalog/{kind}"
        raise UsageError(
            *(f"{where}: {m}" for m in list_validation_mistakes(e, model, table))
        ) from None
    entry._home = (_study_folder.get() or Path()).resolve()
    return entry


def load_current_noun(kind: str, name: str, model: type[M]) -> M:
    """The entry in a file of today, whatever a run keeps."""
    path = find_noun_file(kind, name)
    entry = read_noun_file(path, model)
    if entry.name != name:
        raise UsageError(f"{path}: its name is {entry.name!r} but the file's is {name!r}")
    entry._home = path.parents[2]
    return entry


def list_noun_names(kind: str) -> list[str]:
    """The names of a kind's entries, sorted."""
    there = {p.stem for folder in list_catalog_folders() for p in (folder / kind).glob("*.toml")}
    return sorted(there | {name for of, name in _kept_nouns.get() if of == kind})


def format_noun_origin(kind: str, name: str) -> str:
    """For lists: where a noun is from, if it is not shipped; empty for a shipped one."""
    if is_run_noun(kind, name):
        return "(the run's)"
    path = find_noun_file(kind, name)
    return "" if path.is_relative_to(CATALOG.resolve()) else f"({path})"


def read_noun_file(path: Path, model: type[M]) -> M:
    """A TOML file as its model; UsageError lists every mistake with its place."""
    return validate_data(read_toml(path), model, str(path))


V = TypeVar("V", bound=BaseModel)


def validate_data(data: Any, model: type[V], where: str) -> V:
    """Data as a model; UsageError lists every mistake with its place."""
    try:
        return model.model_validate(data)
    except ValidationError as e:
        raise UsageError(
            *(f"{where}: {m}" for m in list_validation_mistakes(e, model, data))
        ) from None
