# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of commits, in a folder: a run for each content of the sources, made once.

``commits.json`` says which study and which sources the folder is of. ``runs/CONTENT`` is the run
of a content, a folder as of any run. ``unbuilt/CONTENT.json`` says why a content does not build.
Two commits with the same sources are one content. So a command that was interrupted finds all that
it had done, and so does another command over the same study and sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_json
from nandlab.base.scratch import hold_scratch_folder
from nandlab.base.strings import Digest, FreeText, StudyName
from nandlab.catalog.files import list_noun_names, load_noun, validate_data
from nandlab.catalog.part import KIND, PartModel
from nandlab.history.gittree import (
    Commit,
    GitTree,
    ScratchRepository,
    hash_content,
    list_paths_in_commit,
    make_scratch_repository,
)
from nandlab.results.folder import RunFolder

HEAD = "commits.json"
FORMAT = 1
NAME_LETTERS = 20
"""Letters of a content's hash that its run is named by."""
COMPILER_ERROR = "error:"
"""What a compiler's line has that says why it ended."""
SOURCE_KEYS = ("command", "initramfs", "modules", "sources", "yaffs2_core")
"""Of a board's identity, what other sources change: RAM that is found for what is available too."""
NO_BUILDER = "0"
"""Of a folder that was written before builders were named."""
Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class SourceFault(NandlabError):
    """The sources of a commit do not build; the lines say why."""


class _FolderModel(BaseModel):
    """What is read; a folder of another version may have more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class CommitsHead(_FolderModel):
    """What a folder's runs are of."""

    format: Count = FORMAT
    identity: Digest = Field(
        description="a hash of the study, its board, and how the sources are built"
    )
    study: StudyName
    builder: Digest = Field(
        default=NO_BUILDER,
        description="a hash of what builds the sources: compiler, kernel, and how parts are built",
    )


class UnbuiltContent(_FolderModel):
    """Sources that do not build."""

    format: Count = FORMAT
    commit: Digest = Field(description="the first commit that was tried with these sources")
    reason: list[FreeText] = Field(description="what the compiler complains of")
    builder: Digest = Field(
        default=NO_BUILDER, description="of what built them; what another builds is tried again"
    )


RunSources = Callable[[Path, Path, Sequence[str]], RunFolder]
"""Runs the study with a commit's sources: (the folder that has the commit's files at their places
below the tree's top, the run's folder, ids of the trials to run; none: all). SourceFault where the
sources do not build."""


@dataclass(frozen=True)
class CommitRun:
    """What a commit's sources gave."""

    commit: Commit
    folder: RunFolder | None
    """None: the sources do not build."""
    reason: tuple[str, ...] = ()
    """Why they do not."""

    @property
    def fault(self) -> str:
        """The line of the reason that tells most: the compiler's first error."""
        errors = (line.strip() for line in self.reason if COMPILER_ERROR in line)
        return next(errors, self.reason[0] if self.reason else "")


@dataclass(frozen=True)
class CommitRuns:
    """Runs a study on commits of a tree, and keeps each run in a folder."""

    tree: GitTree
    paths: tuple[str, ...]
    """Where the sources are, from the tree's top; empty text: the top itself."""
    path: Path
    run_sources: RunSources
    scratch: ScratchRepository
    home: Path
    """A scratch folder for the files of commits."""
    builder: str = NO_BUILDER
    """The hash of what builds the sources now."""
    boards: set[str] = field(default_factory=set)
    """Hashes of the boards that the runs of this command were made on; never more than one."""

    def run(self, commit: Commit, trials: Sequence[str] = (), *, anew: bool = False) -> CommitRun:
        """The run of a commit with these trials, all by default; what is there is not run again.

        anew: the board is made and compared even where all is there. UsageError if the run was made
        on another board than that, or than another run of this command.
        """
        content = hash_content(self.tree, commit, self.paths)
        if content is None:
            return CommitRun(commit, None, (f"it has no {' or '.join(self.paths)}",))
        name = content[:NAME_LETTERS]
        note = self.path / "unbuilt" / f"{name}.json"
        if note.exists():
            unbuilt = read_unbuilt_content(note)
            if unbuilt.builder == self.builder:
                return CommitRun(commit, None, tuple(unbuilt.reason))
            note.unlink()
        folder = RunFolder(self.path / "runs" / name)
        try:
            if anew or not _has_trials(folder, trials):
                folder = self._run_exported(commit, folder.path, trials)
            self._refuse_another_board(folder)
            return CommitRun(commit, folder)
        except SourceFault as e:
            unbuilt = UnbuiltContent(commit=commit.sha, reason=list(e.lines), builder=self.builder)
            _write_model(note, unbuilt)
            return CommitRun(commit, None, e.lines)

    def _refuse_another_board(self, folder: RunFolder) -> None:
        """UsageError if a run was made on another board than those before it."""
        self.boards.add(_digest_run_board(folder))
        if len(self.boards) > 1:
            raise folder.make_taken_error()

    def _run_exported(self, commit: Commit, out: Path, trials: Sequence[str]) -> RunFolder:
        """Runs the study with the files of a commit, which are removed afterwards."""
        with hold_scratch_folder(str(self.home)) as work:
            there = list_paths_in_commit(self.tree, commit, self.paths)
            self.scratch.export(commit, there, work / "tree")
            out.parent.mkdir(parents=True, exist_ok=True)
            return self.run_sources(work / "tree", out, trials)


def _digest_run_board(folder: RunFolder) -> str:
    """The hash of a run's board without what commits' sources make of it."""
    provenance = {k: v for k, v in folder.head().provenance.items() if k not in SOURCE_KEYS}
    parts = provenance.get("parts")
    if isinstance(parts, dict):
        kinds = [load_noun(KIND, name, PartModel) for name in list_noun_names(KIND)]
        built = {f"{module}.ko" for part in kinds for module in part.modules}
        provenance["parts"] = {name: digest for name, digest in parts.items() if name not in built}
    return digest_json_value(provenance)


def open_commit_runs(
    head: CommitsHead,
    sources: tuple[GitTree, Sequence[str]],
    path: Path,
    run_sources: RunSources,
    home: Path,
) -> CommitRuns:
    """The runs of a folder, which is made if need be; UsageError if it is of something else.

    sources: the tree, and where in it the sources are. home: a scratch folder.
    """
    tree, paths = sources
    if (path / HEAD).exists():
        kept = read_commits_head(path)
        if kept.identity != head.identity:
            raise UsageError(
                f"{path}: it has the commits of another study, board or source ({kept.study}): "
                "give another --out, or remove that folder"
            )
    else:
        path.mkdir(parents=True, exist_ok=True)
        _write_model(path / HEAD, head)
    scratch = make_scratch_repository(tree, home / "repository")
    return CommitRuns(tree, tuple(paths), path, run_sources, scratch, home, head.builder)


def _has_trials(folder: RunFolder, trials: Sequence[str]) -> bool:
    """Whether a run is there and has these trials, or all of its own."""
    if not (folder.path / "run.json").exists():
        return False
    missing = set(folder.missing())
    return not missing.intersection(trials) if trials else not missing


def read_commits_head(path: Path) -> CommitsHead:
    """What a folder's runs are of; UsageError if it does not say so."""
    return validate_data(read_json(path / HEAD), CommitsHead, str(path / HEAD))


def read_unbuilt_content(path: Path) -> UnbuiltContent:
    """Why sources do not build, from its file."""
    return validate_data(read_json(path), UnbuiltContent, str(path))


def _write_model(path: Path, model: BaseModel) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole_file(path, f"{model.model_dump_json()}\n".encode())
