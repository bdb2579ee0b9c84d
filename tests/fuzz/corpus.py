# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that once were found: ``corpus/DEVICE/NAME.tar.xz``, the files as they were drawn.

A seed alone would not do: after a change to its target it stands for another case.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from fuzz.target import Files

FOLDER = Path(__file__).parent / "corpus"


def kept(name: str) -> list[Path]:
    """The kept cases of a target."""
    return sorted((FOLDER / name).glob("*.tar.xz"))


def read(path: Path) -> Files:
    with tarfile.open(path) as tar:
        return {m.name: content.read() for m in tar if (content := tar.extractfile(m))}


def keep(name: str, label: str, files: Files) -> Path:
    """Adds a case; its file."""
    path = FOLDER / name / f"{label}.tar.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        for member, content in sorted(files.items()):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path
