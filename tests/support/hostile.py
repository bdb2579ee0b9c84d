# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of others that try to be more than text: each text of a trial, a run's head, what a trial
ran with, a figures file and a trace's meta.json becomes, one at a time, each of HOSTILE.

    for case in spoiled(whole_trial()):          # and whole_run, _sources, _figures, _meta
        write_run(folder, trial=case.value)      # and run=, sources=
        path.write_text(json.dumps(case.value))  # a figures file, meta.json
        ...                                      # case.place and case.text say what is hostile

What is not spoiled is valid. Every field of the models has a value, and a text where it may have
one: tests/catalog/test_strings.py holds that against the models.
"""

from __future__ import annotations

import copy
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from nandlab.base.gate import read_packed_json
from nandlab.base.paths import ROOT
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.workload import WorkloadModel
from nandlab.results.figuresfile import FiguresFile
from nandlab.results.folder import hash_provenance_content
from nandlab.results.record import Trial
from nandlab.results.seals import seal_json
from nandlab.trace.shapes import TraceMeta
from support import samples, strfields

HOSTILE = {
    "title": "a\x1b]0;pwn\x07b",
    "colour": "\x1b[31mred",
    "newline": "one\ntwo: PWNED",
    "return": "one\rtwo",
    "turned": "a\u202eb",
    "equals": "=1+1",
    "plus": "+1+1",
    "minus": "-1+1",
    "at": "@SUM(1)",
    "tab": "\t=1+1",
}
"""Texts by what they try: to command a terminal, to be a line of their own, to be a formula."""
WORDS = (
    *("a", "1", "count", "bookworm", "amd64", "0" * 64, "0" * 40, "0" * 20, "/dev/a", "y", "100M"),
    *("run_begins", "a_1_all.deb", "AB", "kernel bookworm amd64 amd64"),
)
NUMBERS = (1, 2, 64, 512, 2048, 4096, 0, 0.5, False)
"""With WORDS: of these, one fits each field."""
SHA256 = "ab" * 32
FIGURES = ROOT / "docs/studies/quickstart.figures.json.xz"

Json = dict[str, Any]
Path_ = tuple[str | int, ...]


class Spoiled(NamedTuple):
    """A value of which one text is hostile."""

    place: str
    """Where, as ``phases.0.name``; a key is followed by ``{key}``."""
    text: str
    value: Any


def spoiled(whole: Any, names: Sequence[str] = tuple(HOSTILE)) -> Iterator[Spoiled]:
    """The value with its texts spoiled, one at a time; names: keys of HOSTILE."""
    for path, is_key in places(whole, ()):
        place = ".".join(map(str, path)) + "{key}" * is_key
        for text in (HOSTILE[name] for name in names):
            yield Spoiled(place, text, replaced(whole, path, is_key, text))


def spoiled_throughout(whole: Json, model: type[BaseModel], text: str) -> Json:
    """The value with each text spoiled that its model lets pass."""
    for path, is_key in [*places(whole, ())]:
        candidate = replaced(whole, path, is_key, text)
        with suppress(ValidationError):
            model.model_validate(candidate)
            whole = whole if is_key else candidate
    return whole


def places(value: Any, path: Path_) -> Iterator[tuple[Path_, bool]]:
    """The path of each text in a value, and whether it is a key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), True
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*path, i))
    elif isinstance(value, str):
        yield path, False


def replaced(whole: Any, path: Path_, is_key: bool, text: str) -> Any:
    changed = copy.deepcopy(whole)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if is_key:
        parent[text] = parent.pop(path[-1])
    else:
        parent[path[-1]] = text
    return changed


def whole_trial() -> Json:
    """A trial that ended well, of the run of :func:`whole_run`, with :func:`whole_sources`."""
    data = json.loads(samples.trial().model_dump_json())
    data |= {
        **{"study": "quickstart", "run": "68af8584861a", "key": SHA256},
        "files": {"ffsmark.cfg": "files 5000\n"},
        "texts": {"gave_up": "No space left on device"},
        "kernel_log": ["jffs2: warning"],
        "warnings": [{"code": "kernel_log", "text": "1 line"}],
        "artefacts": [{"name": "chip.image", "kind": "chip image", "sha256": SHA256, "bytes": 1}],
        "measured": {"memory": {"peak": 1}},
        "figures": {"read_per_s": 1.0},
        "series": [{"name": "erases", "unit": "count", "t_ns": [1], "values": [1]}],
        "wear": {
            **{"blocks": 800, "bad": [], "before": 1},
            "readings": [{"after": "settle", "t_ns": 1, "runs": [800, 1]}],
        },
        "provenance": _hashes(whole_sources()),
    }
    data["steps"][0]["command"] = "mount -t jffs2 /dev/mtdblock0 /mnt"
    data["parameters"] |= {"payload": "random"}
    data["phases"][0]["at"] = {"pattern": "sequential"}
    data["chip"]["faults"] = {"endurance": 50}
    whole: Json = completed(data, Trial)
    return whole


def whole_run() -> Json:
    """The head of a run with this one trial."""
    return {**whole_figures()["run"], "trials": [whole_trial()["id"]]}


def whole_sources() -> dict[str, Json]:
    """What the trial ran with, as the catalog has it."""
    return {
        "board": load_noun("boards", "apf27", BoardModel).model_dump(mode="json"),
        "chip": load_noun("chips", "apf27", ChipModel).model_dump(mode="json"),
        "filesystem": load_noun("filesystems", "jffs2", FilesystemModel).model_dump(mode="json"),
        "workload": load_noun("workloads", "ffsmark", WorkloadModel).model_dump(mode="json"),
    }


def whole_figures() -> Json:
    """A figures file of one trial that ended well and of one that failed."""
    data = read_packed_json(FIGURES)
    head, (first, second, *_) = data["run"], data["trials"]
    lock = head["provenance"]["lock"]
    head["provenance"]["lock"] = {name: dict([*files.items()][:1]) for name, files in lock.items()}
    head["trials"] = [first["id"], second["id"]]
    head["packages"] = {"library bookworm amd64 libsqlite3-dev": {"a_1_all.deb": SHA256}}
    head["commit"] = "0" * 40
    failed = {"id": second["id"], "key": second["key"], "status": "board_lost"}
    entries = {
        what: (hash_provenance_content(content), content)
        for what, content in whole_sources().items()
    }
    first["provenance"] = {what: name for what, (name, _) in entries.items()}
    data |= {"trials": [first], "failed": [{**failed, "error": "no answer within 600 s"}]}
    data["sources"] = dict(entries.values())
    whole: Json = completed(data, FiguresFile)
    return whole


def whole_meta() -> Json:
    """meta.json of a trace's folder."""
    data = {
        **{"format": 3, "nandlab": "0.1.0", "command": "cat /mnt/a", "before": "touch /mnt/a"},
        **{"filesystem": "jffs2", "options": {"compression": "none"}, "chip": "apf27"},
        **{"copies": {"/tmp/a": SHA256}, "tracers": ["vfs"], "functions": ["schedule"]},
        **{"stdout": "a\n", "stderr": "b\n", "tracer_status": {"lost": "0"}, "rc": 0},
        "board": whole_figures()["run"]["provenance"],
    }
    whole: Json = completed(data, TraceMeta)
    return whole


def whole_own_meta() -> Json:
    """The same of a trace on a board of the user's own."""
    return {**whole_meta(), "board": {"accel": "none", "kernel": "6.1", "board": "ssh mine"}}


def write_run(
    path: Path,
    *,
    run: Json | None = None,
    trial: Json | None = None,
    sources: Mapping[str, Json] | None = None,
) -> None:
    """A new folder of a run with seals, whatever is in it; what is not named is as it should be."""
    name = whole_trial()["id"]
    trial = trial or whole_trial()
    if sources is not None:
        trial = {**trial, "provenance": _hashes(sources)}
    for folder in ("trials", "provenance"):
        (path / folder).mkdir(parents=True)
    for content in (sources or whole_sources()).values():
        (path / "provenance" / f"{hash_provenance_content(content)}.json").write_text(
            json.dumps(content)
        )
    (path / "run.json").write_bytes(seal_json(json.dumps(run or whole_run())))
    (path / "trials" / f"{name}.json").write_bytes(seal_json(json.dumps(trial)))


def _hashes(contents: Mapping[str, Json]) -> dict[str, str]:
    return {what: hash_provenance_content(content) for what, content in contents.items()}


def completed(value: Any, annotation: Any) -> Any:
    """A value of a type, with what the models in it may have and it has not."""
    annotation, marks = strfields.bare(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is not Any and value in (None, [], {}, ""):
        return example(annotation, marks)
    if isinstance(value, list) and origin is list:
        return [completed(item, args[0]) for item in value]
    if isinstance(value, dict) and origin is dict:
        return {key: completed(inner, args[1]) for key, inner in value.items()}
    if origin in (Union, types.UnionType):
        model = next((a for a in args if _is_model(a)), None)
        return completed(value, model) if model and isinstance(value, dict) else value
    if isinstance(value, dict) and _is_model(annotation):
        whole = {n: completed(value.get(n), t) for n, t in strfields.fields(annotation) if n}
        return {**value, **whole}
    return value


def example(annotation: Any, marks: Sequence[Any] = ()) -> Any:
    """A value of a type with a text wherever one may be; marks: those of the type."""
    annotation, more = strfields.bare(annotation)
    marks = [*marks, *more]
    origin, args = get_origin(annotation), get_args(annotation)
    if _is_model(annotation):
        return {name: example(inner) for name, inner in strfields.fields(annotation) if name}
    if origin in (Union, types.UnionType):
        texts = (a for a in args if strfields.bare(a)[0] is str)
        return example(next(texts, next(a for a in args if a is not type(None))), marks)
    if origin in (dict, list, tuple):
        inner = [example(a) for a in args if a is not ...]
        return dict([inner]) if origin is dict else inner
    tries = get_args(annotation) if origin is Literal else (*WORDS, *NUMBERS)
    whole = strfields.annotated(annotation, marks)
    return next(value for value in tries if strfields.accepts(whole, value))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
