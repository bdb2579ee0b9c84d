# SPDX-License-Identifier: GPL-2.0-or-later
"""A project's own chips and workloads, as its run keeps them: a run is of use without its project.

A chip is numbers. A workload's commands reach the shell of a virtual board alone (see
powercut/workloads.py). File systems are left out: their commands make images on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nandlab.catalog.files import KeptNouns, is_shipped_noun
from nandlab.results.record import Run, Trial

NOUN_PLACES: Final = {
    "chips": ("chips", "part", "chip"),
    "workloads": ("workloads", "name", "workload"),
}
"""By kind: the list in a study's matrix, its key for a name, and what a trial calls the content."""


def list_run_own_nouns(head: Run) -> set[tuple[str, str]]:
    """The chips and workloads of the run's study that nandlab does not bring: kind and name."""
    beside = head.spec.get("beside")
    places = [head.spec.get("matrix"), *(beside if isinstance(beside, list) else [])]
    return {
        (kind, name)
        for place in places
        for kind, (key, called, _) in NOUN_PLACES.items()
        for name in _list_names(place, key, called)
        if not is_shipped_noun(kind, name)
    }


def _list_names(place: Any, key: str, called: str) -> Iterator[str]:
    """The names in one list of a matrix, as far as it is one."""
    told = place.get(key) if isinstance(place, dict) else None
    for each in told if isinstance(told, list) else []:
        name = each.get(called) if isinstance(each, dict) else None
        if isinstance(name, str):
            yield name


def collect_wanted_nouns(
    noun_keys: set[tuple[str, str]], contents: Iterator[Mapping[str, dict[str, Any]]]
) -> KeptNouns:
    """The wanted nouns among what trials ran with.

    One that trials had in several forms (a workload of steps, by its parameters) is left out: only
    its project has the whole of it.
    """
    content_by_noun: dict[tuple[str, str], dict[str, Any]] = {}
    several: set[tuple[str, str]] = set()
    for sources in contents if noun_keys else ():
        for kind, (_, _, source_name) in NOUN_PLACES.items():
            content = sources.get(source_name, {})
            key = kind, str(content.get("name"))
            if key in noun_keys and content_by_noun.setdefault(key, content) != content:
                several.add(key)
    return {key: content for key, content in content_by_noun.items() if key not in several}


def collect_run_own_nouns(head: Run, trials: Iterator[Trial]) -> KeptNouns:
    """Of a run by its trials, which are read only if its study names nouns of its own."""
    return collect_wanted_nouns(list_run_own_nouns(head), (trial.sources for trial in trials))
