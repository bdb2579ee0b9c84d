# SPDX-License-Identifier: GPL-2.0-or-later
"""Things that are added by a file alone: each module of a folder has one under a common name."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
"""nandlab's own folder."""


def list_module_names(package: str) -> list[str]:
    """The modules of a package of nandlab, sorted; none of them is imported."""
    folder = TOP.joinpath(*package.split(".")[1:])
    return sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if not m.ispkg)


@cache
def find_module_values(package: str, name: str) -> dict[str, Any]:
    """What the modules of a package have under this name, by module; others are left out."""
    modules = {m: import_module(f"{package}.{m}") for m in list_module_names(package)}
    return {m: getattr(module, name) for m, module in modules.items() if hasattr(module, name)}
