# SPDX-License-Identifier: GPL-2.0-or-later
"""What two runs did not have alike: board, kernel, chips, file systems, loads. It is told before
figures, for it may be why they moved.

A board's identity is compared as today's model of boards has it: a key at its default is no
difference to a run that is older than the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic import ValidationError

from nandlab.analysis.differences import catalogusage
from nandlab.analysis.differences.compare import ABSENT, Difference, list_value_differences
from nandlab.catalog.board import UNSIMULATED_KEYS, BoardModel
from nandlab.catalog.noun import dump_noun_identity
from nandlab.results.record import Trial

PATHS_SHOWN_MAX = 4
"""How many places of one kind are named in a line."""
VALUE_LETTERS_MAX = 40
"""Letters of a value in a line."""
TRIAL_SOURCE_NAMES: Final[dict[str, tuple[str, Callable[[Trial], str]]]] = {
    "chip": ("chip", lambda t: t.chip.part),
    "filesystem": ("file system", lambda t: t.filesystem),
    "workload": ("load", lambda t: t.workload),
    "programs": ("programs", lambda t: ""),
    "packages": ("packages of programs", lambda t: ""),
}
"""What a trial runs with beside its board: its kind in words, and the name of a trial's own."""
SOURCES_BY_HASH = {"programs", "packages"}
"""Of these only names say anything to a reader."""
MODEL_PATH, KERNEL_PATH, PACKAGES_PATH = "board.board", "board.kernel", "board.lock"
"""Places of a board's identity that are told apart from its parts."""


def compare_board_identities(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """Where the identities of two boards differ, such as ``board.kernel``."""
    models = [_strip_model_defaults(told.get("board")) for told in (a, b)]
    if None not in models:
        a, b = ({**told, "board": model} for told, model in zip((a, b), models, strict=True))
    return list_value_differences(a, b, "board")


def _strip_model_defaults(value: object) -> dict[str, Any] | None:
    """A board's model without what is at its default; None: it is none of today's."""
    if not isinstance(value, dict):
        return None
    try:
        return dump_noun_identity(
            BoardModel.model_validate({**value, "summary": ""}), *UNSIMULATED_KEYS
        )
    except ValidationError:
        return None


def format_setup_differences(
    boards: Sequence[Difference], pairs: Iterable[tuple[Trial, Trial]]
) -> list[str]:
    """A line for each thing that is not the same; boards: as of_boards() has them."""
    return [*format_board_differences(boards), *_list_trial_source_differences(pairs)]


def format_board_differences(differences: Sequence[Difference]) -> Iterator[str]:
    """The board's model, its kernel, its packages, its other parts."""
    model = [d for d in differences if _is_within_path(d, MODEL_PATH)]
    kernel = [d for d in differences if _is_within_path(d, KERNEL_PATH)]
    packages = [d for d in differences if _is_within_path(d, PACKAGES_PATH)]
    parts = [d for d in differences if d not in (*model, *kernel, *packages)]
    if model:
        yield f"board: {_format_value_changes(model, MODEL_PATH)}"
    for each in kernel:
        yield f"kernel: {_format_value(each.a)}, now {_format_value(each.b)}"
    if packages:
        yield f"packages of the board: {_format_paths_under(packages, PACKAGES_PATH)}"
    if parts:
        yield f"other parts of the board: {_format_paths_under(parts, 'board')}"


def _list_trial_source_differences(pairs: Iterable[tuple[Trial, Trial]]) -> Iterator[str]:
    """What trials ran with beside their board, each with how many trials it is another for."""
    by_source: dict[tuple[str, str], dict[str, Difference]] = {}
    trials: dict[tuple[str, str], int] = {}
    for then, now in pairs:
        for kind, found in _compare_trial_sources(then, now):
            key = kind, TRIAL_SOURCE_NAMES[kind][1](now)
            by_source.setdefault(key, {}).update({d.path: d for d in found})
            trials[key] = trials.get(key, 0) + 1
    for (kind, name), places in by_source.items():
        differences = list(places.values())
        by_name = kind in SOURCES_BY_HASH
        text = (
            _format_paths_under(differences, "")
            if by_name
            else _format_value_changes(differences, "")
        )
        count_text = f"{trials[kind, name]} trial{'s' if trials[kind, name] > 1 else ''}"
        title = " ".join(filter(None, (TRIAL_SOURCE_NAMES[kind][0], name)))
        yield f"{title}: {text} ({count_text})"


def _compare_trial_sources(then: Trial, now: Trial) -> Iterator[tuple[str, list[Difference]]]:
    """What one of a pair ran with that the other did not; what a side does not tell is left out."""
    same = then.provenance == now.provenance and then.options == now.options
    if same or not then.provenance or not now.provenance:
        return
    then_entries = catalogusage.select_used_catalog_entries(then)
    now_entries = catalogusage.select_used_catalog_entries(now)
    for kind in TRIAL_SOURCE_NAMES:
        sides = then_entries.get(kind), now_entries.get(kind)
        if None not in sides and (found := list_value_differences(*sides, "")):
            yield kind, found


def _is_within_path(difference: Difference, place: str) -> bool:
    return difference.path == place or difference.path.startswith(f"{place}.")


def _format_paths_under(found: Sequence[Difference], under: str) -> str:
    """The first few places, without what they are all under."""
    return format_first_paths([d.path.removeprefix(under).removeprefix(".") for d in found])


def _format_value_changes(differences: Sequence[Difference], under: str) -> str:
    """``t_r_ns 25000, now 50000``, for the first few places."""
    changes = [
        f"{d.path.removeprefix(under).removeprefix('.')} {_format_value(d.a)}, now "
        f"{_format_value(d.b)}"
        for d in differences[:PATHS_SHOWN_MAX]
    ]
    rest_text = (
        f" and {len(differences) - PATHS_SHOWN_MAX} more"
        if len(differences) > PATHS_SHOWN_MAX
        else ""
    )
    return "; ".join(changes) + rest_text


def _format_value(value: object) -> str:
    if value is ABSENT or value is None:
        return "none"
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_LETTERS_MAX else f"{text[: VALUE_LETTERS_MAX - 3]}..."


def format_first_paths(places: Sequence[str]) -> str:
    """The first few places by name, and how many more there are."""
    more = f" and {len(places) - PATHS_SHOWN_MAX} more" if len(places) > PATHS_SHOWN_MAX else ""
    return f"{', '.join(places[:PATHS_SHOWN_MAX])}{more}"
