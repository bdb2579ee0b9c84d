# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps that a workload may be a list of: for each kind what its file says of it.

Every kind has its own fields. Texts are templates over the workload's parameters. What is wrong
with a list as a whole is in nandlab.catalog.steplist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from nandlab.base.strings import Command, Line, MountWords, Word
from nandlab.catalog import distributions
from nandlab.catalog.noun import Scalar, StrictModel
from nandlab.catalog.words import NAME_PATTERN

TIMED = (
    *("run", "mount", "unmount", "remount", "sync"),
    *("tree", "list", "find", "read", "copy", "delete", "remove"),
)
"""Steps that count unless their file says otherwise; the others prepare."""
UNMOUNTING_STEPS = ("unmount", "cut")
"""Steps that leave the file system not mounted."""

DISTRIBUTION_FIELDS = ("dirs", "files", "size")
"""Fields of a tree that are distributions."""
DATA_FIELDS = ("names", "payload", "compressibility")
"""Fields of a tree that its program has defaults for."""
WalkProgram = Literal["filetree", "busybox"]


def _number_to_text(value: Any) -> Any:
    """A number as templates have it: ``5`` and ``"5"`` are one value."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


TemplateText = Annotated[
    Command, BeforeValidator(_number_to_text, json_schema_input_type=str | float)
]
"""A template; a number may stand for itself."""


AGE_LIMITS = {"days": 36_500, "reads": 10**9, "times": 10_000}
"""The most of each number of a step that lets days pass."""


class WorkloadStep(StrictModel):
    """What a step of any kind says; each is a phase."""

    do: Word = Field(description="what it does: its kind")
    name: str = Field(
        default="", pattern=r"^$|" + NAME_PATTERN, description="its phase; empty: what it does"
    )
    title: Line = Field(default="", description="as tables show it; empty: its name")
    timed: bool | None = Field(
        default=None,
        description="whether totals include it; absent: all do but those that prepare (drop, rest, "
        "age, fill, save, cut)",
    )
    may_fail: bool = Field(default=False, description="whether the trial goes on if it fails")
    always: bool = Field(default=False, description="whether it runs after a failure too")
    when: dict[Word, Scalar] = Field(
        default={}, description="parameters and values with which it is there; empty: always"
    )

    @property
    def phase(self) -> str:
        """Its phase's name."""
        return self.name or self.do

    @property
    def counts(self) -> bool:
        """Whether totals include it."""
        return self.do in TIMED if self.timed is None else self.timed

    @property
    def uses_files(self) -> bool:
        """Whether it works on files, and so needs the file system mounted and warms its cache."""
        return isinstance(self, FileStep)

    @property
    def writes(self) -> bool:
        """Whether it writes to the file system, as far as its file tells."""
        return False

    def templates(self) -> dict[str, str]:
        """Its templates, by field."""
        return {}

    def settled(self, words: Mapping[str, str]) -> Self:
        """The step with its switches set, which templates may turn; ValueError: one is neither."""
        return self


class PlainStep(WorkloadStep):
    """A step that needs no more words."""

    do: Literal["mount", "unmount", "drop", "sync", "save", "cut"] = Field(
        description="mount or unmount the file system; drop the caches; sync; save the chip; cut "
        "the power"
    )


class RemountStep(WorkloadStep):
    """The file system is mounted with other options while it is mounted."""

    do: Literal["remount"]
    options: MountWords = Field(
        min_length=1,
        description="what follows mount -o remount: ro, rw or any other",
    )

    @property
    def writes(self) -> bool:
        return "rw" in self.options.split(",")


class RestStep(WorkloadStep):
    """Waits until the chip is quiet."""

    do: Literal["rest"]
    limit_s: int = Field(
        default=0,
        ge=0,
        le=80_000,
        description="the most seconds of the board's time that it waits; 0: the file system's own",
    )


class AgeStep(WorkloadStep):
    """Days pass for the chip at once, in which its blocks are read; the board's clock stands."""

    do: Literal["age"]
    days: TemplateText = Field(description="days that pass each time: a whole number")
    reads: TemplateText = Field(
        default="0",
        description="reads of each block that holds data, of any of its pages, each time: a whole "
        "number; they take no time and are not counted",
    )
    times: TemplateText = Field(default="1", description="how often: a whole number")
    between: Command = Field(
        default="",
        description="a command after each time, a template, in the job's folder, such as what "
        "reads all to have bit flips found; empty: none",
    )

    def templates(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in (*AGE_LIMITS, "between")}

    def settled(self, words: Mapping[str, str]) -> Self:
        """Its numbers are filled in."""
        numbers = {name: getattr(self, name).format(**words) for name in AGE_LIMITS}
        for name, text in numbers.items():
            if not text.isdecimal() or int(text) > AGE_LIMITS[name]:
                limit = AGE_LIMITS[name]
                raise ValueError(f"{name} must be a whole number up to {limit}, is {text!r}")
        return self.model_copy(update=numbers)


class FileStep(WorkloadStep):
    """A step that works on files of a mounted file system."""

    sync: bool | Command = Field(
        default=False,
        description="whether a sync of its own follows, which the phase tells apart; a text is a "
        "template that gives true or false",
    )

    def settled(self, words: Mapping[str, str]) -> Self:
        if isinstance(self.sync, bool):
            return self
        said = self.sync.format(**words)
        if said not in ("true", "false"):
            raise ValueError(f"sync must be true or false, is {said!r}")
        return self.model_copy(update={"sync": said == "true"})

    def templates(self) -> dict[str, str]:
        return {} if isinstance(self.sync, bool) else {"sync": self.sync}


class RunStep(FileStep):
    """Runs a command in the job's folder."""

    do: Literal["run"]
    command: Command = Field(
        min_length=1, description="the command, a template, in the job's folder"
    )
    tells: bool = Field(
        default=False, description="its last line reports phases and figures of its own"
    )
    reads_only: bool = Field(
        default=False, description="whether its command writes nothing to the file system"
    )

    @property
    def writes(self) -> bool:
        return not self.reads_only

    def templates(self) -> dict[str, str]:
        return super().templates() | {"command": self.command}


class FillStep(FileStep):
    """Fills the flash to the state that is asked for, or one file with random data."""

    do: Literal["fill"]
    file: Command = Field(
        default="",
        description="the file, below the mountpoint, that is filled with random data and synced; "
        "empty: the state of the flash is made",
    )
    share: TemplateText = Field(
        default="1", description="of a file: how much of the free bytes it takes; 1: all there are"
    )

    @property
    def uses_files(self) -> bool:
        return bool(self.file)

    @property
    def writes(self) -> bool:
        return bool(self.file)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> FillStep:
        if not self.file and (self.sync or self.share != "1"):
            raise ValueError("sync and share are of a fill that names a file")
        return self

    def templates(self) -> dict[str, str]:
        return super().templates() | {"file": self.file, "share": self.share}


class RemoveStep(FileStep):
    """Deletes one file."""

    do: Literal["remove"]
    file: Command = Field(min_length=1, description="the file, below the mountpoint")

    @property
    def writes(self) -> bool:
        return True

    def templates(self) -> dict[str, str]:
        return super().templates() | {"file": self.file}


class TreeStep(FileStep):
    """Makes a tree of folders and files, drawn by a seed; docs/filetree.md has its rules."""

    do: Literal["tree"]
    folder: Command = Field(
        min_length=1, description="the folder, below the mountpoint; it is made"
    )
    depth: TemplateText = Field(
        description="levels of folders, the top counted: 1 is one folder with files"
    )
    dirs: TemplateText = Field(description="folders in each folder: a number or a distribution")
    files: TemplateText = Field(description="files in each folder: a number or a distribution")
    size: TemplateText = Field(description="bytes of a file: a number or a distribution")
    names: Command = Field(
        default="f0000", description="names of files: a letter, and as many digits to count in"
    )
    payload: Command = Field(default="random", description="values of the files' bytes")
    compressibility: TemplateText = Field(
        default="0", description="share of the files' bytes that a compressor can take out"
    )
    seed: TemplateText = Field(default="{seed}", description="equal seeds give equal trees")

    @property
    def writes(self) -> bool:
        return True

    def templates(self) -> dict[str, str]:
        names = ("folder", "depth", *DISTRIBUTION_FIELDS, *DATA_FIELDS, "seed")
        return super().templates() | {name: getattr(self, name) for name in names}

    def settled(self, words: Mapping[str, str]) -> Self:
        """Its distributions too are filled in: tables are those of the study's own catalog."""
        texts = {name: getattr(self, name).format(**words) for name in DISTRIBUTION_FIELDS}
        fields = {
            k: distributions.expand_distribution(v)
            if distributions.check_distribution(v) is None
            else v
            for k, v in texts.items()
        }
        return super().settled(words).model_copy(update=fields)


class WalkStep(FileStep):
    """Walks through all that is below a folder."""

    folder: Command = Field(
        default="", description="the folder, below the mountpoint; empty: the mountpoint itself"
    )
    by: Command = Field(
        default="filetree",
        description="what does it: filetree, or busybox's own command; a template that gives one",
    )

    def settled(self, words: Mapping[str, str]) -> Self:
        said = self.by.format(**words)
        if said not in get_args(WalkProgram):
            raise ValueError(f"by must be one of {', '.join(get_args(WalkProgram))}, is {said!r}")
        return super().settled(words).model_copy(update={"by": said})

    def templates(self) -> dict[str, str]:
        return super().templates() | {"folder": self.folder, "by": self.by}


class ListStep(WalkStep):
    """Reads every folder and looks at every entry, as ls -R does; delete deletes what it finds."""

    do: Literal["list", "delete"] = Field(
        description="list: names and attributes of all entries; delete: the folder and all in it, "
        "of the mountpoint what is in it"
    )

    @property
    def writes(self) -> bool:
        return self.do == "delete"


class FindStep(WalkStep):
    """Looks for a name that is not there."""

    do: Literal["find"]
    target: Command = Field(min_length=1, description="the name; that it is found is an error")

    def templates(self) -> dict[str, str]:
        return super().templates() | {"target": self.target}


class ReadStep(WalkStep):
    """Reads files whole."""

    do: Literal["read"]
    list: Command = Field(
        default="",
        description="the job's file that has the paths of those to read, a line each, from the "
        "folder; empty: all files of the folder, in the order of a walk",
    )

    def templates(self) -> dict[str, str]:
        return super().templates() | {"list": self.list}


class CopyStep(FileStep):
    """Copies a folder and all in it within the file system, by busybox's cp -a: what is read is
    made again, with its owner, permissions and times."""

    do: Literal["copy"]
    folder: Command = Field(min_length=1, description="the folder, below the mountpoint")
    to: Command = Field(
        min_length=1, description="the copy, below the mountpoint; nothing may be there"
    )

    @property
    def writes(self) -> bool:
        return True

    def templates(self) -> dict[str, str]:
        return super().templates() | {"folder": self.folder, "to": self.to}


AnyStep = Annotated[
    PlainStep
    | RemountStep
    | RestStep
    | AgeStep
    | RunStep
    | FillStep
    | RemoveStep
    | TreeStep
    | ListStep
    | FindStep
    | ReadStep
    | CopyStep,
    Field(discriminator="do"),
]
"""A step of a list; its ``do`` decides which fields it has."""
