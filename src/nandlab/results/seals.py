# SPDX-License-Identifier: GPL-2.0-or-later
"""Results that tell whether their file is as it was written.

The last member of a sealed file's JSON object is the SHA-256 of all bytes before it. It belongs to
the file, not to the result: no comparison and no hash of a result has it. A file from before there
were seals has none, and is read as it is.
"""

from __future__ import annotations

import re
from typing import Any

from nandlab.base.digest import digest_bytes
from nandlab.base.gate import parse_json

SEAL_PATTERN = re.compile(rb',\n"sha256":"([0-9a-f]{64})"\}\n\Z')
"""To the byte as it is written, so that no change of the seal's own bytes goes unseen."""


class DamagedFile(ValueError):
    """What is wrong with a file, in a clause."""


def seal_json(text: str) -> bytes:
    """A JSON object's text with its seal; an object without members has none."""
    body = text.rstrip().removesuffix("}").rstrip().encode()
    return body + b',\n"sha256":"%s"}\n' % digest_bytes(body).encode()


def unseal_json(content: bytes) -> dict[str, Any]:
    """The object of a file, without its seal; Damaged if it is none, or not as it was written."""
    seal = SEAL_PATTERN.search(content, max(0, len(content) - 256))
    body = content[: seal.start()] if seal else content
    if seal and digest_bytes(body) != seal[1].decode():
        raise DamagedFile("it is not as it was written")
    try:
        value = parse_json(body + b"}" if seal else body)
    except ValueError as e:
        raise DamagedFile(f"it is not JSON: {e}") from None
    if not isinstance(value, dict):
        raise DamagedFile("it is no JSON object")
    return value
