# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

PART = ".part-"
"""Begin of the name of a file that is being written."""


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name once all of it is on the disk; the folder must be there.

    A reader sees the old file or the new one, never a part. OSError names the path.
    """
    part = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PART, delete=False) as out:
            part = Path(out.name)
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.chmod(0o644)
        part.replace(path)
    except BaseException as e:
        if part is not None:
            part.unlink(missing_ok=True)
        ours = isinstance(e, OSError) and (part is None or e.filename in (None, str(part)))
        if isinstance(e, OSError) and ours and e.errno is not None:
            raise OSError(e.errno, os.strerror(e.errno), str(path)) from None
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole: see writing_whole."""
    with writing_whole(path) as out:
        out.write(content)


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes files that belong together: none has its name before all are on the disk.

    The first is the last to get its name: the one that speaks of the others.
    """
    with ExitStack() as stack:
        for path, content in files:
            out = stack.enter_context(writing_whole(path))
            out.write(content)
            out.flush()
