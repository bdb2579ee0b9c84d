# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what nandlab needs: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.base.paths import DOCS, INSTALLED, ROOT, cache_dir
from nandlab.base.printer import write_lines
from nandlab.board.kvm import probe
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load
from nandlab.kit import packages
from nandlab.kit.apt import KEYRING, mirrors
from nandlab.kit.kit import WAYS, kernel_here, lock_of, seen, tools_here, wanted
from nandlab.kit.root import WAYS as ROOT_WAYS
from nandlab.kit.root import hindrance

PACKAGE_LISTS = ROOT / "setup"
BOARD = "apf27"
"""The board that is asked after: that of the quickstart."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what was found, and the remedy if nothing was."""

    what: str
    found: str | None
    remedy: str
    needed: bool = True


def _packages(name: str) -> str:
    lines = (PACKAGE_LISTS / f"apt-{name}.txt").read_text().splitlines()
    return " ".join(line for line in lines if line and not line.startswith("#"))


def _program(argv: list[str]) -> str | None:
    if shutil.which(argv[0]) is None:
        return None
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0]


def _processor() -> Check:
    here = platform.machine()
    remedy = f"it is {here}; use another host, or a container engine that emulates x86-64"
    return Check("an x86-64 processor", here if here == "x86_64" else None, remedy)


def _root() -> Check:
    way = "as root, by chroot" if os.getuid() == 0 else "in a user namespace"
    why = hindrance()
    return Check("a root of its own for the board", None if why else way, f"{ROOT_WAYS} ({why})")


def _board(model: BoardModel) -> Iterator[Check]:
    """Whether the locked packages are here, and if not, whether there is a way to get them."""
    sets = wanted(model)
    lock = lock_of(model)
    missing = [each.name for each in sets if not seen(each, lock.get(each.name, {}))]
    told = None if missing else f"{', '.join(each.name for each in sets)}"
    yield Check(
        f"packages of board {BOARD}, in the cache", told, "`nandlab run` fetches them", False
    )
    ways = [f"{packages.VARIABLE}={path}" for path in packages.named()]
    if KEYRING.exists() and (found := mirrors()):
        ways.append(f"apt, from {', '.join(found)}")
    yield Check("a way to get packages", ", ".join(ways) or None, WAYS, needed=bool(missing))


def _tests() -> Iterator[Check]:
    """What the tests need; a wheel has no tests."""
    if INSTALLED:
        return
    remedy = f"apt-get install --no-install-recommends {_packages('test')}"
    tools: list[tuple[str, list[str]]] = [
        ("C compiler, for tests", ["gcc", "--version"]),
        ("Postmark, for tests", ["postmark", "-v"]),
        ("Chromium, for tests", ["chromium", "--version"]),
    ]
    for what, argv in tools:
        yield Check(what, _program(argv), remedy, needed=False)


def _kvm(model: BoardModel) -> Check:
    """Whether KVM boots a guest; that may take half a minute."""
    kernel = kernel_here(model)
    kvm = probe(tools_here(model), kernel.vmlinuz if kernel else None)
    return Check("KVM that boots a guest", kvm.found, kvm.remedy, needed=False)


def checks(*, kvm: bool = False) -> Iterator[Check]:
    """Checks everything, KVM only if that is asked for."""
    model = load("boards", BOARD, BoardModel)
    yield _processor()
    yield _root()
    yield from _board(model)
    yield from _tests()
    if kvm:
        yield _kvm(model)
    yield Check("cache", str(cache_dir()), "")
    yield Check("pages that help names as docs/NAME.md", str(DOCS), "")


def examine(*, kvm: bool = False) -> bool:
    """Prints a line for each check as it is done; False if something needed is missing."""
    looked = []
    for check in checks(kvm=kvm):
        looked.append(check)
        mark = "ok" if check.found else "MISSING" if check.needed else "-"
        write_lines(f"{mark:8} {check.what}: {check.found or 'no; ' + check.remedy}")
    return all(c.found or not c.needed for c in looked)
