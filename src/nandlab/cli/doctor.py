# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what nandlab needs: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.paths import ROOT, cache_dir
from nandlab.board.debian import KEYRING
from nandlab.board.kvm import cached_kernel, probe

PACKAGE_LISTS = ROOT / "setup"


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


def _kernel() -> str | None:
    found = sorted((cache_dir() / "packages").glob("*/release.txt"))
    return ", ".join(f"linux {p.read_text().strip()}, with headers" for p in found) or None


def _file(path: Path) -> str | None:
    return str(path) if path.exists() else None


def checks() -> list[Check]:
    """Checks everything. The check of KVM boots a guest, so this can take half a minute."""
    run_packages = f"apt-get install --no-install-recommends {_packages('run')}"
    test_packages = f"apt-get install --no-install-recommends {_packages('test')}"
    programs: list[tuple[str, list[str], str, bool]] = [
        ("QEMU", ["qemu-system-x86_64", "--version"], run_packages, True),
        ("C compiler", ["gcc", "--version"], run_packages, True),
        ("make", ["make", "--version"], run_packages, True),
        ("depmod", ["depmod", "--version"], run_packages, True),
        ("apt, to fetch the kernel", ["apt-get", "--version"], "use a Debian system", True),
        ("Postmark, for tests", ["postmark", "-v"], test_packages, False),
        ("Chromium, for tests", ["chromium", "--version"], test_packages, False),
    ]
    found = [Check(what, _program(argv), fix, need) for what, argv, fix, need in programs]
    kvm = probe(cached_kernel())
    return [
        *found,
        Check("Debian's archive keys", _file(KEYRING), run_packages),
        Check("kernel and headers, in the cache", _kernel(), "`nandlab run` fetches them", False),
        Check("KVM that boots a guest", kvm.found, kvm.remedy, needed=False),
        Check("cache", str(cache_dir()), ""),
    ]


def examine(look: Callable[[], list[Check]] = checks) -> bool:
    """Prints a line for each check; False if something that is needed is missing."""
    looked = look()
    for check in looked:
        mark = "ok" if check.found else "MISSING" if check.needed else "-"
        print(f"{mark:8} {check.what}: {check.found or 'no; ' + check.remedy}")
    return all(c.found or not c.needed for c in looked)
