# SPDX-License-Identifier: GPL-2.0-or-later
"""The YAFFS2 core that our Linux port is built with.

It comes from Debian's source package ``u-boot``, at the version that is locked, or from
a folder that the user names. Nothing of it is in this repository.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_json_value, digest_tree
from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.board.kit.partsource import SourceRequest, read_part_files

CORE_FOLDER = "fs/yaffs2"
"""Where the core is in the package's source."""
FILES = "yaffs_*.[ch]"
"""The core's files; the build takes no others of a folder."""
MAIN_FILE = "yaffs_guts.c"
"""The core's main file: a folder without it does not hold the core."""


@dataclass(frozen=True)
class Yaffs2Core:
    """Sources of the core, and where they come from."""

    folder: Path
    origin: str

    def identity(self) -> dict[str, str]:
        """Which core it is, as written into every result."""
        return {"origin": self.origin, "sha256": self._sha256}

    @cached_property
    def _sha256(self) -> str:
        """Of its files, which are the cache's; each trial asks for it several times."""
        return digest_json_value(digest_tree(self.folder))


def prepare_yaffs2_core(source: Files, request: SourceRequest | None = None) -> Yaffs2Core:
    """The core from the files of Debian's source package; request: from there, or a folder, with
    patches."""
    if request is None:
        return _unpack_package(source)
    package = _unpack_package(source) if request.tree is None else None
    files = read_part_files(
        request, package.folder if package else None, package.origin if package else ""
    )

    def make(work: Path) -> None:
        (work / "core").mkdir()
        for path, content in files.content.items():
            (work / "core" / Path(path).name).write_bytes(content)

    inputs = {"files": {Path(path).name: digest for path, digest in files.digests.items()}}
    return Yaffs2Core(make_entry("yaffs2", inputs, make) / "core", files.origin)


def _unpack_package(source: Files) -> Yaffs2Core:
    """The core as Debian's source package has it."""
    archive = next((name for name in source if ".orig.tar." in name), None)
    dsc = next((name for name in source if name.endswith(".dsc")), None)
    if archive is None or dsc is None:
        raise UsageError("the lock's set of YAFFS2's source has no .orig.tar, or no .dsc")

    def make(work: Path) -> None:
        (work / "core").mkdir()
        _unpack_core(make_cached_package_path(source[archive]), work / "core")

    inputs = {"archive": source[archive], "inside": CORE_FOLDER, "form": 1}
    name, _, version = dsc.removesuffix(".dsc").partition("_")
    return Yaffs2Core(make_entry("yaffs2", inputs, make) / "core", f"{name} {version}")


def _unpack_core(archive: Path, folder: Path) -> None:
    """Unpacks the core's files, and nothing else of the archive."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = Path(*Path(member.name).parts[1:])
            if path.parent != Path(CORE_FOLDER) or not path.match(FILES):
                continue
            content = tar.extractfile(member)
            if content is not None:
                (folder / path.name).write_bytes(content.read())
    if not (folder / MAIN_FILE).exists():
        raise NandlabError(f"{archive.name} has no {CORE_FOLDER}/{MAIN_FILE}")
