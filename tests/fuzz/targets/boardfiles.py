# SPDX-License-Identifier: GPL-2.0-or-later
"""Board files: a board and a lock whose values are changed, packages whose digests are right."""

from __future__ import annotations

import hashlib
import json
import tarfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import texts, values
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.board.kit import boardfile
from nandlab.board.kit.kit import list_board_package_sets
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

KINDS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)


@cache
def sound() -> tuple[str, dict[str, bytes]]:
    """The head of a board file, as JSON, and its packages by their digests."""
    model = load_noun("boards", "apf27", BoardModel)
    board = model.model_dump(mode="json", exclude={"controller", "power"}) | {"name": "mine"}
    lock: dict[str, dict[str, str]] = {}
    packages: dict[str, bytes] = {}
    for each in list_board_package_sets(model):
        content = f"a package of {each.name}".encode()
        sha256 = hashlib.sha256(content).hexdigest()
        packages[sha256] = content
        lock[each.name] = {f"made_1_{len(lock)}.deb": sha256}
    return json.dumps({"format": boardfile.FORMAT, "board": board, "lock": lock}), packages


def draw(chance: Random) -> Files:
    text, packages = sound()
    head = json.loads(text)
    if chance.random() < 0.4 and packages:
        packages, head = _resealed(packages, head, chance)
    if chance.random() < 0.7:
        key = chance.choice(("board", "lock", None))
        head = (
            values.changed(head, chance)
            if key is None
            else head | {key: values.changed(head[key], chance)}
        )
    members = [(boardfile.HEAD, values.as_json(head, chance))]
    members += [(boardfile.FOLDER + name, packages[name]) for name in sorted(packages)]
    content = archive(members, chance)
    return {"b.board": texts.bytes_changed(content, chance) if chance.random() < 0.1 else content}


def _resealed(
    packages: dict[str, bytes], head: dict[str, Any], chance: Random
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Another content of a package, under its own digest in archive and lock."""
    old = chance.choice(sorted(packages))
    content = texts.bytes_changed(packages[old], chance)
    new = hashlib.sha256(content).hexdigest()
    told = json.loads(json.dumps(head).replace(old, new)) if chance.random() < 0.8 else head
    return {k: v for k, v in packages.items() if k != old} | {new: content}, told


def archive(members: list[tuple[str, bytes]], chance: Random) -> bytes:
    """The tar, now and then with members of other names, kinds, places and sizes."""
    if chance.random() < 0.1:
        chance.shuffle(members)
    if chance.random() < 0.1:
        members.append(chance.choice(members))
    if chance.random() < 0.05:
        members.pop()
    blocks = [_member(name, content, chance) for name, content in members]
    return b"".join(blocks) + bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, content: bytes, chance: Random) -> bytes:
    """A member's header, whose checksum is right, and its content in whole blocks."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    if chance.random() < 0.02:
        info.name = chance.choice(("../x", "/etc/x", name + "/", name * 9, "packages/"))
    if chance.random() < 0.02:
        info.type, info.linkname = chance.choice(KINDS), "../../x"
    if chance.random() < 0.02:
        info.size = chance.choice((0, len(content) + 600, 1 << 33, 1 << 62))
    head = info.tobuf(tarfile.PAX_FORMAT if chance.random() < 0.5 else tarfile.GNU_FORMAT)
    return head + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def take(folder: Path) -> None:
    command("board", "import", "b.board")


DEVICE = Target(draw, take)
