# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures that are shipped are those that this checkout gives, on the board that they name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lock
import pytest

from nandlab.base.paths import ROOT
from nandlab.results.published import Published, read

SHIPPED = sorted((ROOT / "docs/studies").glob("*.figures.json"))


TOLD_ELSEWHERE = {"quickstart", "sqlite-real-board"}
"""By the README, and by docs/model.md."""


def chosen(published: Published) -> list[str]:
    """The file's shortest trial by the board's clock, and the first that failed if there is one."""
    shortest = min(published.trials, key=lambda trial: sum(step.ns for step in trial.steps))
    return [shortest.id, *(trial.id for trial in published.failed[:1])]


def reproduce(file: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The chosen trials, run again."""
    some = [word for trial in chosen(read(file)) for word in ("--trial", trial)]
    argv = [sys.executable, "-m", "nandlab", "reproduce", str(file), *some, "--progress", "none"]
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


def trees_in(spec: object) -> set[str]:
    """The root file systems that a study begins trials from."""
    if isinstance(spec, list):
        return {name for each in spec for name in trees_in(each)}
    if not isinstance(spec, dict):
        return set()
    own = {spec["tree"]} if isinstance(spec.get("tree"), str) else set()
    return own | {name for each in spec.values() for name in trees_in(each)}


def test_quickstart_and_each_study_that_has_a_page_ship_their_figures() -> None:
    pages = {page.stem for page in (ROOT / "docs/studies").glob("*.md")}
    shipped = {file.name.removesuffix(".figures.json") for file in SHIPPED} - TOLD_ELSEWHERE
    of_pages = {name: next((p for p in pages if name.startswith(p)), None) for name in shipped}
    assert None not in of_pages.values(), "figures without a page"
    assert set(of_pages.values()) == pages, "a page without figures"


@pytest.mark.board
@pytest.mark.timeout(1200)  # some trials take minutes of a busy host
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.name)
def test_a_trial_of_each_is_reproduced_to_the_nanosecond(file: Path, tmp_path: Path) -> None:
    published = read(file)
    lock.need_locked(published.run.provenance["board"]["name"])
    for tree in trees_in(published.run.spec):
        lock.need_locked_tree(tree)
    done = reproduce(file, tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    told = "2 trials; 1 failed as before" if published.failed else "1 trial"
    assert done.stderr.endswith(f"no difference: {told}\n")


@pytest.mark.board
def test_a_changed_digit_is_found(tmp_path: Path) -> None:
    lock.need_locked("apf27")
    (file,) = (f for f in SHIPPED if f.name.startswith("quickstart"))
    told = json.loads(file.read_text())
    (trial,) = (t for t in told["trials"] if t["id"] == chosen(read(file))[0])
    trial["phases"][1]["ns"] += 1
    (tmp_path / "changed.json").write_text(json.dumps(told))
    done = reproduce(tmp_path / "changed.json", tmp_path)
    was = trial["phases"][1]["ns"]
    assert done.returncode == 1
    assert f".ns: {was} / {was - 1}\n" in done.stdout
