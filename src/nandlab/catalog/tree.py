# SPDX-License-Identifier: GPL-2.0-or-later
"""A root file system as the catalog describes it: named Debian packages, and what is left out."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, model_validator

from nandlab.base.strings import Command, DebianArch, Line, PackageName, Release
from nandlab.catalog.noun import Noun, StrictModel

InsidePath = Annotated[str, Field(pattern=r"^[^/\s\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*$")]
"""A path, or a pattern of paths, from the tree's top folder on."""


class TreeContents(StrictModel):
    """What a tree has once it is unpacked, links and its top folder apart."""

    folders: int = Field(ge=1)
    files: int = Field(ge=1, description="regular files, each counted once")
    links: int = Field(ge=0, description="symbolic links")
    bytes: int = Field(ge=1, description="of all files")


class TreeModel(Noun):
    """A root file system that is unpacked from Debian packages; no script of theirs is run.

    In patterns ``*`` is any part of a name, ``**`` any part of a path. A folder that is left out
    is so with all that is in it.
    """

    release: Release = Field(description="Debian's release, such as bookworm")
    arch: DebianArch = Field(description="Debian's architecture, such as armel")
    packages: list[PackageName] = Field(
        min_length=1, description="what is unpacked; what these depend on is not added"
    )
    leave_out: list[InsidePath] = Field(default=[], description="patterns of what is left out")
    keep: list[InsidePath] = Field(
        default=[], description="patterns of what stays although it is left out"
    )
    merged_usr: bool = Field(
        default=True, description="whether /bin, /sbin and /lib are links into /usr"
    )
    links: dict[InsidePath, Line] = Field(
        default={},
        description="symbolic links that Debian's scripts would make, and where they lead",
    )
    copies: dict[InsidePath, InsidePath] = Field(
        default={}, description="files that Debian's scripts would copy, and from which"
    )
    texts: dict[InsidePath, Command] = Field(default={}, description="files that no package has")
    holds: TreeContents | None = Field(
        default=None, description="what it has once unpacked; absent: not known, and not checked"
    )

    @model_validator(mode="after")
    def _no_package_twice(self) -> TreeModel:
        twice = sorted({p for p in self.packages if self.packages.count(p) > 1})
        if twice:
            raise ValueError(f"packages: more than once: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _paths_stay_inside(self) -> TreeModel:
        for path in (*self.links, *self.copies, *self.copies.values(), *self.texts):
            if ".." in path.split("/"):
                raise ValueError(f"{path}: leads out of the tree")
        return self

    def has(self, path: str) -> bool:
        """Whether a path of a package belongs to the tree."""
        if any(compile_glob(p).fullmatch(path) for p in self.keep):
            return True
        above = path.split("/")
        paths = ["/".join(above[: n + 1]) for n in range(len(above))]
        return not any(compile_glob(p).fullmatch(each) for p in self.leave_out for each in paths)


_compiled_globs: dict[str, re.Pattern[str]] = {}


def compile_glob(glob: str) -> re.Pattern[str]:
    """A pattern of paths as a regular expression."""
    if glob not in _compiled_globs:
        words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
        parts = re.split(r"(\*\*|\*|\?)", glob)
        _compiled_globs[glob] = re.compile("".join(words.get(p, re.escape(p)) for p in parts))
    return _compiled_globs[glob]
