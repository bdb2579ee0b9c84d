# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of others is data: none of its texts becomes a line of apt's list, an option of QEMU or
a place outside of where nandlab writes. Each is refused before apt runs or anything is fetched.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusing import ended, refused
from support import hostile

from nandlab.analysis.differences.baselines import read_baseline
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_packed_json
from nandlab.base.paths import CATALOG
from nandlab.board.kit.apt import Apt, PackagesUnavailable, Suite, _run_apt
from nandlab.board.kit.packagesets import KernelSet
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.trial import reproduction

EVIL = "bookworm main\ndeb [trusted=yes] file:/EVIL ./ #"
"""With it, an earlier nandlab's list of sources had a line of its own."""
BOARD = {
    "release": [EVIL, "bookworm main", "bookworm-updates", "../bookworm", "-o", ""],
    "tools": [EVIL, "bookworm [trusted=yes]", "-o"],
    "kernel": ["amd64 evil", "-oDir::Etc=/EVIL", "amd64\nevil", "../../EVIL", "amd64=1"],
    "machine": ["pc,accel=kvm", "pc,dumpdtb=/EVIL", "pc -monitor stdio", "pc\n"],
    "cpu": ["qemu64 -monitor stdio", "qemu64,model-id=/EVIL", "qemu64\n"],
    "cmdline": ["quiet\nevil", "quiet\x1b[2J", "quiet\x00"],
    "name": ["../EVIL", "a/b", "..", "a\nb", "a\x1b[2J"],
}
"""Texts of a board that no board may have."""
CASES = [(field, text) for field, texts in BOARD.items() for text in texts]
LOCKS: list[dict[str, Any]] = [
    {"tools bookworm amd64": {"../../EVIL_1_all.deb": "0" * 64}},
    {"tools bookworm amd64": {"-oEVIL_1_all.deb": "0" * 64}},
    {"tools bookworm amd64": {"evil_1%0aEVIL_all.deb": "0" * 64}},
    {"tools bookworm amd64": {"evil_1%2f..%2f..%2fEVIL_all.deb": "0" * 64}},
    {"tools bookworm amd64": {"evil_1_all.deb": "../../../../../../EVIL" + "0" * 42}},
    {"tools bookworm amd64": {"evil_1_all.deb": "0" * 63}},
    {"tools bookworm amd64": {"evil_1_all.deb": None}},
    {f"tools {EVIL} amd64": {"evil_1_all.deb": "0" * 64}},
    {"tools bookworm amd64": {}},
]
"""Locks that name what is no package of Debian by its SHA-256."""


@pytest.fixture(autouse=True)
def nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache and an apt that leaves a trace; after the test both must be untouched."""
    cache, bin_, folder = (tmp_path / name for name in ("cache", "bin", "away"))
    for path in (bin_, folder):
        path.mkdir()
    for name in ("apt-get", "apt-cache"):
        (bin_ / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/apt-ran\nexit 1\n")
        (bin_ / name).chmod(0o755)
    monkeypatch.setenv("NANDLAB_CACHE", str(cache))
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    yield
    assert not (tmp_path / "apt-ran").exists()
    assert not [p for p in cache.rglob("*") if p.is_file() and p.stat().st_size]
    assert not (cache / "apt").exists()


def lock_changed(lock: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda run: run["provenance"]["lock"].update(lock)


def changed(place: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(run: dict[str, Any]) -> None:
        *way, last = place.split(".")
        parent: Any = run
        for part in way:
            parent = parent[int(part)] if isinstance(parent, list) else parent[part]
        parent[last] = value

    return change


HEADS: dict[str, Callable[[dict[str, Any]], None]] = {
    **{f"{field}={text!r}": changed(f"provenance.board.{field}", text) for field, text in CASES},
    **{f"lock={lock}": lock_changed(lock) for lock in LOCKS},
    **{f"packages={lock}": changed("packages", lock) for lock in LOCKS[:6]},
    **{
        f"{place}={value!r}": changed(place, value)
        for place, value in (
            *(("provenance.accel", v) for v in ("kvm,a=b", "tcg -monitor stdio", "xen", 1)),
            *(("study", v) for v in ("../EVIL", "/EVIL", "a" * 300, "a\nb")),
            *(("id", v) for v in ("../EVIL", "/EVIL", "..", "a\nb")),
            *(("spec.name", v) for v in ("../EVIL", "a" * 300)),
            *(("spec.board", v) for v in ("../../EVIL", "a\nb")),
            ("spec.paper", "../../EVIL"),
            ("spec.matrix.workloads.0.name", "../../EVIL"),
            ("spec.matrix.filesystems.0.name", "../../EVIL"),
            ("spec.matrix.filesystems.0.tree", "../../EVIL"),
            ("spec.matrix.chips.0.part", "../../EVIL"),
            ("spec.matrix.states.0.name", "../EVIL"),
        )
    },
}


@pytest.mark.parametrize("case", HEADS)
def test_a_figures_file_is_refused_before_anything_is_fetched(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = hostile.whole_figures()
    data["run"]["provenance"] = read_packed_json(hostile.FIGURES)["run"]["provenance"]
    HEADS[case](data["run"])
    Path("evil.json").write_text(json.dumps(data))
    place = case.partition("=")[0].split(".")
    named = place[-1] if "accel" not in place else "provenance names no board"
    assert named in refused(capsys, ["reproduce", "evil.json", "--out", "out"])


def test_what_the_bad_ones_are_made_of_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    data = hostile.whole_figures()
    data["run"]["provenance"] = read_packed_json(hostile.FIGURES)["run"]["provenance"]
    Path("good.json").write_text(json.dumps(data))
    wanted = reproduction.plan_reproduction(read_baseline(Path("good.json"))).specs_to_run
    assert [spec.id for spec in wanted] == data["run"]["trials"]
    project(own_board())
    assert ended(["plan", "mine.toml"]) == 0
    assert capsys.readouterr().out
    board_file(Path("good.board"), own_board(), data["run"]["provenance"]["lock"])
    assert "it ends too early" in refused(capsys, ["board", "import", "good.board"])


@pytest.mark.parametrize("case", ["release", "study", "id", "lock"])
def test_so_is_a_run(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = hostile.whole_run()
    changes: dict[str, Callable[[dict[str, Any]], None]] = {
        "release": changed("provenance.board.release", EVIL),
        "study": changed("study", "../EVIL"),
        "id": changed("id", "../EVIL"),
        "lock": lock_changed(LOCKS[0]),
    }
    changes[case](head)
    hostile.write_run(Path("evil"), run=head)
    refused(capsys, ["reproduce", "evil", "--out", "out"])


def toml(board: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in board.items() if value is not None]
    return "".join(lines)


def own_board(**changes: object) -> dict[str, Any]:
    model = load_noun("boards", "apf27", BoardModel)
    data = model.model_dump(mode="json", exclude={"controller", "power"})
    return {**data, "name": "mine", **changes}


def project(board: dict[str, Any], lock: dict[str, Any] | None = None) -> None:
    """A project in the current folder: a board of its own, its lock, and a study on it."""
    folder = Path("catalog/boards")
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(toml(board))
    if lock is not None:
        sets = (f"[{json.dumps(name)}]\n{toml(files)}" for name, files in lock.items())
        (folder / "boards.lock").write_text("\n".join(sets))
    study = (CATALOG.parent / "studies/quickstart.toml").read_text()
    Path("mine.toml").write_text(study.replace('board = "apf27"', 'board = "mine"'))


VERBS = [
    ["plan", "mine.toml"],
    ["run", "mine.toml", "--out", "out"],
    ["run", "quickstart", "--board", "mine", "--out", "out"],
    ["board", "update", "mine"],
    ["board", "export", "x.board", "--board", "mine"],
]


@pytest.mark.parametrize(("field", "text"), CASES)
def test_a_board_of_a_project_is_refused(
    field: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project(own_board(**{field: text}))
    for argv in VERBS[:2]:
        assert f"mine.toml: {field}: " in refused(capsys, argv)


@pytest.mark.parametrize("argv", VERBS, ids=" ".join)
def test_by_every_verb(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    project(own_board(release=EVIL))
    refused(capsys, argv)


@pytest.mark.parametrize("lock", LOCKS, ids=str)
def test_a_lock_of_a_project_is_refused(
    lock: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lock = {name: {k: "" if v is None else v for k, v in f.items()} for name, f in lock.items()}
    project(own_board(), lock)
    refused(capsys, ["board", "export", "x.board", "--board", "mine"])
    assert ended(["run", "mine.toml", "--out", "out"]) == 2
    assert not Path("out").exists()


def board_file(path: Path, board: dict[str, Any], lock: dict[str, Any]) -> None:
    content = json.dumps({"format": 1, "board": board, "lock": lock}).encode()
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("board.json")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize(("field", "text"), CASES)
def test_a_board_file_is_refused(field: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    lock = read_packed_json(hostile.FIGURES)["run"]["provenance"]["lock"]
    board_file(Path("evil.board"), own_board(**{field: text}), lock)
    assert f"its board: {field}: " in refused(capsys, ["board", "import", "evil.board"])


@pytest.mark.parametrize("lock", LOCKS, ids=str)
def test_a_board_file_s_lock_is_refused(
    lock: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    board_file(Path("evil.board"), own_board(), lock)
    assert "evil.board: lock: " in refused(capsys, ["board", "import", "evil.board"])


@pytest.mark.parametrize("release", [EVIL, "bookworm main", "", "a/b"])
def test_apt_s_list_takes_no_release_that_is_none(release: str) -> None:
    """Whatever a model let through, no suite of it can be made."""
    with pytest.raises(UsageError):
        Suite(release, "amd64")
    with pytest.raises(UsageError):
        Suite("bookworm", release)


def test_apt_is_given_no_control_character_and_no_file_that_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        _run_apt("apt-get", "download", "a\nb")
    apt = Apt.__new__(Apt)
    with pytest.raises(PackagesUnavailable):
        apt.download(["a_1"], tmp_path)
    with pytest.raises(UsageError):
        KernelSet(Suite("bookworm", "amd64"), "amd64\nevil").resolve(apt_of_nothing())


def apt_of_nothing() -> Apt:
    apt = Apt.__new__(Apt)
    apt.options = []
    return apt
