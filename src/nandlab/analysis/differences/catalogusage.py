# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of the catalog a trial used: what it did not use cannot have moved it.

The catalog grows: a file system gains options, a board or a chip gains what is only told of it. A
trial from before has none of that. It is the same trial all the same, if it used none of it: its
steps and files are its own, and compared. So these parts are left out of a comparison:

- an option at its default, where that adds nothing to any command and asks nothing of the kernel,
  or one that came after the trial ran;
- the values of an option that were not chosen;
- what of a board or a chip is only told beside figures;
- what is refused of values and of chips: a trial that ran was not;
- where a file system's figures and promises are to be read;
- which functions' RAM the kernel takes back: where a trial measured that, its steps name them;
- how a file system is drawn, and which decoder reads its chip;
- a key that says nothing: an empty one is one that an older catalog did not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nandlab.catalog.board import UNSIMULATED_KEYS
from nandlab.results.record import Trial

UNUSED_CHIP_KEYS = {"bus", "energy", "retention", "sources", "spi", "summary"}
"""Keys of a chip that are only told; a figure that simnand takes is in the command loading it."""
UNUSED_FILESYSTEM_KEYS = {"memory_reclaimable", "chip_needs", "least", "decoder", "colour"}
"""Keys of a file system that no step has, but for an instrument's, which names them itself."""
CITATION_KEYS = {"source"}
"""Keys of a table of a file system that say where it is to be read."""
BOUND_KEYS = {"min", "max", "at_most"}
"""Keys of a workload's parameter that refuse values: a trial that ran has none of these."""


def find_options_without_effect(trial: Trial) -> set[str]:
    """The trial's options that do nothing at all: at their default, or unknown to its catalog."""
    known = trial.find_source("filesystem").get("options", {})
    return {k for k, v in trial.options.items() if known and _is_idle_option(known.get(k), v)}


def select_effective_options(trial: Trial, compared_trial: Trial | None) -> dict[str, str]:
    """The trial's options but for those that it leaves alone and the compared trial does not know.

    compared_trial: None stands for a trial that knows none of them.
    """
    if compared_trial and trial.options.keys() <= compared_trial.options.keys():
        return dict(trial.options)
    unknown = find_options_without_effect(trial) - set(
        compared_trial.options if compared_trial else ()
    )
    return {k: v for k, v in trial.options.items() if k not in unknown}


def select_used_catalog_entries(trial: Trial) -> dict[str, Any]:
    """What of its sources the trial used."""
    cut: dict[str, Callable[[Any], Any]] = {
        "board": lambda entry: (
            entry | {"board": _remove_keys(entry.get("board"), UNSIMULATED_KEYS)}
        ),
        "workload": lambda entry: (
            entry | {"parameters": _remove_bounds(entry.get("parameters") or {})}
        ),
        "chip": lambda entry: _remove_keys(entry, UNUSED_CHIP_KEYS),
        "filesystem": lambda entry: _select_used_filesystem(trial, entry),
    }
    entries = {k: v for k, v in trial.sources.items() if k not in UNSIMULATED_KEYS}
    return {k: _remove_empty_keys(cut[k](v) if k in cut else v) for k, v in entries.items()}


def _select_used_filesystem(trial: Trial, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What of its file system's entry the trial used."""
    used = {k: v for k, v in entry.items() if k not in UNUSED_FILESYSTEM_KEYS}
    options = _select_used_options(trial, used.get("options") or {})
    return {k: _remove_keys(v, CITATION_KEYS) for k, v in used.items()} | {"options": options}


def _is_idle_option(option: Mapping[str, Any] | None, value: str) -> bool:
    """Whether an option is at its default, and that empty but for its help; None: no option."""
    if option is None:
        return True
    if value != option.get("default") or value not in option.get("values", {}):
        return False
    return not _remove_empty_keys(_remove_keys(option["values"][value], {"help"}))


def _select_used_options(trial: Trial, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the trial used, each with the value that it chose."""
    alone, options_by_name = find_options_without_effect(trial), {}
    for name, value in trial.options.items():
        if name in options and name not in alone:
            values = options[name].get("values", {})
            choice_fields = (
                {"values": {value: values[value]}, "number": None} if value in values else {}
            )
            options_by_name[name] = options[name] | choice_fields
    return options_by_name


def _remove_bounds(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _remove_keys(told, BOUND_KEYS) for name, told in parameters.items()}


def _remove_keys(told: Any, keys: set[str]) -> Any:
    return {k: v for k, v in told.items() if k not in keys} if isinstance(told, dict) else told


def _remove_empty_keys(told: Any) -> Any:
    """A catalog's text without the keys that say nothing."""
    if not isinstance(told, dict):
        return told
    said = {k: _remove_empty_keys(v) for k, v in told.items()}
    return {k: v for k, v in said.items() if v not in (None, "", [], {}) and v is not False}
