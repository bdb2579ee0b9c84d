# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's folder: values of its head, a trial or what it ran with changed, and sealed again."""

from __future__ import annotations

import contextlib
import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from support import samples

from fuzz import texts, values
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.base.digest import digest_bytes, digest_json_value
from nandlab.results.record import HASH_LETTERS
from nandlab.results.seals import DamagedFile, seal_json, unseal_json

WORDS = (
    *(["show", "run"], ["show", "run", "--json"], ["show", "run", "--format", "csv"]),
    *(["show", "run", "--format", "markdown"], ["show", "run", "--figure", "chip.*"]),
    *(["advise", "run"], ["advise", "run", "--json"], ["compare", "run", "sound"]),
    *(["publish", "run", "-o", "f.json"], ["reprice", "run", "--set", "t_r_ns=1"]),
    *(["merge", "out", "run"], ["check", "--run", "run", "--against", "sound"]),
)


@cache
def sound() -> Files:
    """A small run: two file systems, two states, a failure and a lost board."""
    trials = [
        samples.trial(fs, state, 1)
        for fs in ("jffs2", "ubifs")
        for state in (samples.FRESH, samples.AGED)
    ]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        samples.folder(run, [*trials, samples.failed(), samples.board_lost()], ["never-run-1"])
        return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file()}


def draw(chance: Random) -> Files:
    files = dict(sound())
    for _ in range(chance.randint(1, 2)):
        name = chance.choice(sorted(files) if chance.random() < 0.7 else ["run.json"])
        with contextlib.suppress(DamagedFile):  # by the change before
            _change(files, name, chance)
    whole = {f"run/{name}": content for name, content in files.items()}
    words = chance.choice(WORDS)
    if "sound" in words:
        whole |= {f"sound/{name}": content for name, content in sound().items()}
    return whole | {"words.json": json.dumps(words).encode()}


def _change(files: Files, name: str, chance: Random) -> None:
    """Changes a file, and makes its seal or its name right again."""
    told = values.changed(unseal_json(files[name]), chance)
    text = values.as_json(told, chance)
    if chance.random() < 0.05:
        files[name] = texts.bytes_changed(files[name], chance)
    elif name.startswith("provenance/") and chance.random() < 0.9:
        _rename(files, name, f"provenance/{digest_json_value(told)[:HASH_LETTERS]}.json", text)
    elif name.startswith("provenance/") or chance.random() < 0.1:
        files[name] = text
    else:
        files[name] = _sealed(text)


def _rename(files: Files, old: str, new: str, content: bytes) -> None:
    """What trials ran with, under its new digest, which they tell too."""
    del files[old]
    files[new] = content
    for name in [n for n in files if n.startswith("trials/")]:
        text = files[name].replace(Path(old).stem.encode(), Path(new).stem.encode())
        files[name] = seal_json(json.dumps(unseal_json(_bare(text)), separators=(",", ":")))


def _sealed(text: bytes) -> bytes:
    """As results/seals.py does it, of bytes that may be no text."""
    body = text.rstrip().removesuffix(b"}")
    return body + b',\n"sha256":"%s"}\n' % digest_bytes(body).encode()


def _bare(content: bytes) -> bytes:
    """A sealed file without its seal."""
    if (seal := content.rfind(b',\n"sha256"')) < 0:
        raise DamagedFile("it has no seal")
    return content[:seal] + b"}"


def take(folder: Path) -> None:
    command(*json.loads((folder / "words.json").read_text()))


DEVICE = Target(draw, take, cases=20)
