# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """A reader sees the old file or the new one, never a part; the folder must be there."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as out:
        part = Path(out.name)
        try:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
            part.chmod(0o644)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
