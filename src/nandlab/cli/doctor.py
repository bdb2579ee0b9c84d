# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what nandlab needs: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.base.paths import DOCS, INSTALLED, ROOT, find_cache_folder
from nandlab.base.printer import print_lines
from nandlab.board.kit import packages
from nandlab.board.kit.apt import KEYRING, list_debian_mirrors
from nandlab.board.kit.kit import (
    PACKAGE_REMEDY,
    find_unpacked_kernel,
    find_unpacked_tools,
    list_board_package_sets,
    read_board_package_lock,
    seems_to_have_package_set,
)
from nandlab.board.kit.root import ENTRY_REMEDY as ROOT_WAYS
from nandlab.board.kit.root import find_root_entry_hindrance
from nandlab.board.virtual.kvm import probe_kvm
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

PACKAGE_LISTS = ROOT / "setup"
BOARD = "apf27"
"""The board that is asked after: that of the quickstart."""


@dataclass(frozen=True)
class Requirement:
    """One thing that was checked: what was found, and the remedy if nothing was."""

    name: str
    state: str | None
    remedy: str
    needed: bool = True


def _list_packages(name: str) -> str:
    lines = (PACKAGE_LISTS / f"apt-{name}.txt").read_text().splitlines()
    return " ".join(line for line in lines if line and not line.startswith("#"))


def _find_program(argv: list[str]) -> str | None:
    if shutil.which(argv[0]) is None:
        return None
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0]


def _check_processor() -> Requirement:
    here = platform.machine()
    remedy = f"it is {here}; use another host, or a container engine that emulates x86-64"
    return Requirement("an x86-64 processor", here if here == "x86_64" else None, remedy)


def _check_root() -> Requirement:
    way = "as root, by chroot" if os.getuid() == 0 else "in a user namespace"
    why = find_root_entry_hindrance()
    return Requirement(
        "a root of its own for the board", None if why else way, f"{ROOT_WAYS} ({why})"
    )


def _check_board(model: BoardModel) -> Iterator[Requirement]:
    """Whether the locked packages are here, and if not, whether there is a way to get them."""
    sets = list_board_package_sets(model)
    lock = read_board_package_lock(model)
    missing = [
        each.name for each in sets if not seems_to_have_package_set(each, lock.get(each.name, {}))
    ]
    told = None if missing else f"{', '.join(each.name for each in sets)}"
    yield Requirement(
        f"packages of board {BOARD}, in the cache", told, "`nandlab run` fetches them", False
    )
    ways = [f"{packages.PACKAGES_VARIABLE}={path}" for path in packages.list_user_package_sources()]
    if KEYRING.exists() and (found := list_debian_mirrors()):
        ways.append(f"apt, from {', '.join(found)}")
    yield Requirement(
        "a way to get packages", ", ".join(ways) or None, PACKAGE_REMEDY, needed=bool(missing)
    )


def _check_test_tools() -> Iterator[Requirement]:
    """What the tests need; a wheel has no tests."""
    if INSTALLED:
        return
    remedy = f"apt-get install --no-install-recommends {_list_packages('test')}"
    tools: list[tuple[str, list[str]]] = [
        ("C compiler, for tests", ["gcc", "--version"]),
        ("Postmark, for tests", ["postmark", "-v"]),
        ("Chromium, for tests", ["chromium", "--version"]),
    ]
    for what, argv in tools:
        yield Requirement(what, _find_program(argv), remedy, needed=False)


def _check_kvm(model: BoardModel) -> Requirement:
    """Whether KVM boots a guest; that may take half a minute."""
    kernel = find_unpacked_kernel(model)
    kvm = probe_kvm(find_unpacked_tools(model), kernel.vmlinuz if kernel else None)
    return Requirement("KVM that boots a guest", kvm.result, kvm.remedy, needed=False)


def probe_machine_requirements(*, kvm: bool = False) -> Iterator[Requirement]:
    """Checks everything, KVM only if that is asked for."""
    model = load_noun("boards", BOARD, BoardModel)
    yield _check_processor()
    yield _check_root()
    yield from _check_board(model)
    yield from _check_test_tools()
    if kvm:
        yield _check_kvm(model)
    yield Requirement("cache", str(find_cache_folder()), "")
    yield Requirement("pages that help names as docs/NAME.md", str(DOCS), "")


def print_requirement_checks(*, kvm: bool = False) -> bool:
    """Prints a line for each check as it is done; False if something needed is missing."""
    looked = []
    for check in probe_machine_requirements(kvm=kvm):
        looked.append(check)
        mark = "ok" if check.state else "MISSING" if check.needed else "-"
        print_lines(f"{mark:8} {check.name}: {check.state or 'no; ' + check.remedy}")
    return all(c.state or not c.needed for c in looked)
