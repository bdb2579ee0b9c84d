# SPDX-License-Identifier: GPL-2.0-or-later
"""The product that a run is for: the settings that are its loads, and its limits.

How long the chip lasts is judged on all loads together: each wears it by its own bytes of a day, as
it did in its own trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.verdicts.limits import Limits
from nandlab.base import amounts, units


@dataclass(frozen=True)
class ProductLoad:
    """One load of the product, as it was run."""

    setting: Setting
    share: float
    """Of the bytes of a day."""


@dataclass(frozen=True)
class Product:
    """What the answer is under."""

    title: str
    loads: tuple[ProductLoad, ...]
    """Those of which there are trials."""
    lacks: int
    """How many loads there are no trials of."""
    limits: Limits


def make_product_from_spec(
    spec: Mapping[str, Any], settings: Sequence[Setting], limits: Limits
) -> Product | None:
    """The product of a run; None if its study has none, or no load of it was measured."""
    table = spec.get("product")
    loads = tuple(_list_product_loads(table, settings)) if table else ()
    if not table or not loads:
        return None
    return Product(
        _make_product_title(table, loads, limits), loads, len(table["loads"]) - len(loads), limits
    )


def _list_product_loads(
    table: Mapping[str, Any], settings: Sequence[Setting]
) -> Iterable[ProductLoad]:
    """The loads of which there are trials, each with its setting."""
    daily = [amounts.parse_size(load["daily_write"], "") for load in table["loads"]]
    for asked, written in zip(table["loads"], daily, strict=True):
        chosen = {k: v for k, v in asked.items() if k not in ("name", "daily_write")}
        for s in settings:
            here = s.workload == asked["name"] and _has_parameters(chosen, s)
            if here and _is_chip(table["chip"], s):
                yield ProductLoad(s, written / sum(daily))


def _has_parameters(chosen: Mapping[str, Any], setting: Setting) -> bool:
    """Whether a workload ran with the parameters that were chosen, and the defaults of others."""
    first = setting.trials[0]
    declared = first.find_source("workload").get("parameters", {})
    wanted = {**{k: p.get("default") for k, p in declared.items()}, **chosen}
    return all(first.parameters.get(k) == v for k, v in wanted.items())


def _is_chip(table: Mapping[str, Any], setting: Setting) -> bool:
    chip = setting.chip
    return (
        table["part"] == chip.part
        and table.get("partition_mib") in (None, chip.partition_mib)
        and table.get("latency", chip.latency) == chip.latency
    )


def _make_product_title(
    told: Mapping[str, Any], loads: Sequence[ProductLoad], limits: Limits
) -> str:
    chip = loads[0].setting.chip
    ram = f", {told['ram_mib']} MiB of RAM" if told.get("ram_mib") else ""
    return (
        f"{chip.part}, {chip.partition_mib:g} MiB{ram}, {units.format_size(limits.daily)} a day "
        f"for "
        f"{units.format_three_figures(limits.years or 0)} years"
    )
