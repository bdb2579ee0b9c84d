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

from nandlab.analysis import used
from nandlab.analysis.compare import ABSENT, Difference, differences
from nandlab.catalog.board import TOLD, BoardModel
from nandlab.catalog.noun import identity
from nandlab.results.record import Trial

PLACES_MAX = 4
"""How many places of one kind are named in a line."""
VALUE_SHOWN = 40
"""Letters of a value in a line."""
NAMES: Final[dict[str, tuple[str, Callable[[Trial], str]]]] = {
    "chip": ("chip", lambda t: t.chip.part),
    "filesystem": ("file system", lambda t: t.filesystem),
    "workload": ("load", lambda t: t.workload),
    "programs": ("programs", lambda t: ""),
    "packages": ("packages of programs", lambda t: ""),
}
"""What a trial runs with beside its board: its kind in words, and the name of a trial's own."""
BY_HASH = {"programs", "packages"}
"""Of these only names say anything to a reader."""
MODEL, KERNEL, PACKAGES = "board.board", "board.kernel", "board.lock"
"""Places of a board's identity that are told apart from its parts."""


def of_boards(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """Where the identities of two boards differ, such as ``board.kernel``."""
    models = [_model(told.get("board")) for told in (a, b)]
    if None not in models:
        a, b = ({**told, "board": model} for told, model in zip((a, b), models, strict=True))
    return list(differences(a, b, "board"))


def _model(told: object) -> dict[str, Any] | None:
    """A board's model without what is at its default; None: it is none of today's."""
    if not isinstance(told, dict):
        return None
    try:
        return identity(BoardModel.model_validate({**told, "summary": ""}), *TOLD)
    except ValidationError:
        return None


def lines(boards: Sequence[Difference], pairs: Iterable[tuple[Trial, Trial]]) -> list[str]:
    """A line for each thing that is not the same; boards: as of_boards() has them."""
    return [*board_lines(boards), *_of_trials(pairs)]


def board_lines(found: Sequence[Difference]) -> Iterator[str]:
    """The board's model, its kernel, its packages, its other parts."""
    model = [d for d in found if _within(d, MODEL)]
    kernel = [d for d in found if _within(d, KERNEL)]
    packages = [d for d in found if _within(d, PACKAGES)]
    parts = [d for d in found if d not in (*model, *kernel, *packages)]
    if model:
        yield f"board: {_valued(model, MODEL)}"
    for each in kernel:
        yield f"kernel: {_value(each.a)}, now {_value(each.b)}"
    if packages:
        yield f"packages of the board: {_places(packages, PACKAGES)}"
    if parts:
        yield f"other parts of the board: {_places(parts, 'board')}"


def _of_trials(pairs: Iterable[tuple[Trial, Trial]]) -> Iterator[str]:
    """What trials ran with beside their board, each with how many trials it is another for."""
    seen: dict[tuple[str, str], dict[str, Difference]] = {}
    trials: dict[tuple[str, str], int] = {}
    for then, now in pairs:
        for what, found in _unlike(then, now):
            key = what, NAMES[what][1](now)
            seen.setdefault(key, {}).update({d.path: d for d in found})
            trials[key] = trials.get(key, 0) + 1
    for (what, name), places in seen.items():
        every = list(places.values())
        by_name = what in BY_HASH
        told = _places(every, "") if by_name else _valued(every, "")
        of = f"{trials[what, name]} trial{'s' if trials[what, name] > 1 else ''}"
        yield f"{' '.join(filter(None, (NAMES[what][0], name)))}: {told} ({of})"


def _unlike(then: Trial, now: Trial) -> Iterator[tuple[str, list[Difference]]]:
    """What one of a pair ran with that the other did not; what a side does not tell is left out."""
    same = then.provenance == now.provenance and then.options == now.options
    if same or not then.provenance or not now.provenance:
        return
    told, other = used.sources(then), used.sources(now)
    for what in NAMES:
        sides = told.get(what), other.get(what)
        if None not in sides and (found := list(differences(*sides, ""))):
            yield what, found


def _within(difference: Difference, place: str) -> bool:
    return difference.path == place or difference.path.startswith(f"{place}.")


def _places(found: Sequence[Difference], under: str) -> str:
    """The first few places, without what they are all under."""
    return listed([d.path.removeprefix(under).removeprefix(".") for d in found])


def _valued(found: Sequence[Difference], under: str) -> str:
    """``t_r_ns 25000, now 50000``, for the first few places."""
    told = [
        f"{d.path.removeprefix(under).removeprefix('.')} {_value(d.a)}, now {_value(d.b)}"
        for d in found[:PLACES_MAX]
    ]
    more = f" and {len(found) - PLACES_MAX} more" if len(found) > PLACES_MAX else ""
    return "; ".join(told) + more


def _value(value: object) -> str:
    if value is ABSENT or value is None:
        return "none"
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_SHOWN else f"{text[: VALUE_SHOWN - 3]}..."


def listed(places: Sequence[str]) -> str:
    """The first few places by name, and how many more there are."""
    more = f" and {len(places) - PLACES_MAX} more" if len(places) > PLACES_MAX else ""
    return f"{', '.join(places[:PLACES_MAX])}{more}"
