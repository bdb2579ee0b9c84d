# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures that are shipped: each belongs to a page, and a page tells of which commit they are.

They are figures of a release. What today's board gives is held by tests/trial/test_golden.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nandlab.base.paths import ROOT
from nandlab.results.figuresfile import read_figures_file

FOLDER = ROOT / "docs/studies"
ENDING = ".figures.json.xz"
SHIPPED = sorted(FOLDER.glob(f"*{ENDING}"))
PAGES = sorted(FOLDER.glob("*.md"))
TOLD_ELSEWHERE = {
    "quickstart": "README.md",
    "readahead-traps": "docs/studies/readahead-2014.md",
    "sqlite-2014": "docs/studies/readahead-2014.md",
    "sqlite-real-board": "docs/model.md",
}
"""Studies without a page of their own, and which page tells their figures."""
HEAD = re.compile(r"^\*Figures of .*\*$", re.MULTILINE)
"""The line of a page, before its first chapter, that tells of which commit its figures are."""
COMMIT = re.compile(r"`([0-9a-f]{12})`")

UNPUBLISHED = {"bit-rot", "fastmap", "first-boot", "kernel-versions", "ubifs-options"}
"""Pages of studies since the last release: their figures are published with the next."""


def study_of(file: Path) -> str:
    return file.name.removesuffix(ENDING)


def files_of(page: Path) -> Iterator[Path]:
    """The figures files that a page of studies has: those whose study begins as it does."""
    for file in SHIPPED:
        if study_of(file).startswith(page.stem) and study_of(file) not in TOLD_ELSEWHERE:
            yield file


def test_quickstart_and_each_study_that_has_a_page_ship_their_figures() -> None:
    of_pages = {page: list(files_of(page)) for page in PAGES}
    assert {page.stem for page, files in of_pages.items() if not files} == UNPUBLISHED
    told = {study_of(file) for files in of_pages.values() for file in files} | set(TOLD_ELSEWHERE)
    assert told == {study_of(file) for file in SHIPPED}
    for study, page in TOLD_ELSEWHERE.items():
        assert f"{study}{ENDING}" in (ROOT / page).read_text()


def test_all_are_packed() -> None:
    assert list(FOLDER.glob("*.json")) == []


@pytest.mark.parametrize("file", SHIPPED, ids=study_of)
def test_a_file_tells_the_clean_commit_that_it_is_of(file: Path) -> None:
    assert re.fullmatch("[0-9a-f]{12}", read_figures_file(file).run.commit or "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_head_of_a_page_tells_the_commit_of_its_files(page: Path) -> None:
    before, _, _ = page.read_text().partition("\n## ")
    if page.stem in UNPUBLISHED:
        assert "no figures file is published yet" in before
        return
    (line,) = HEAD.findall(before)
    commits = {study_of(file): read_figures_file(file).run.commit for file in files_of(page)}
    assert set(COMMIT.findall(line)) == set(commits.values())
    if len(set(commits.values())) > 1:
        for study, commit in commits.items():
            assert f"{study.removeprefix(page.stem + '-')} `{commit}`" in line
