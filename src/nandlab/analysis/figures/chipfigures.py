# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that are counted on the chip: operations, wear of its blocks, what it held, its image.

Their names, behind the family's, are those of nandlab.analysis.figures.figures.
"""

from __future__ import annotations

from functools import partial

from nandlab.analysis.figures import totals, wear
from nandlab.analysis.figures.figure import Figure, FigureReader, make_figure
from nandlab.analysis.figures.workloadwords import Words
from nandlab.results.record import Trial

CHIP_OPERATION_TITLES = {
    "reads": "page reads",
    "programs": "page programs",
    "erases": "block erases",
}


def find_chip_figure(key: str, words: Words) -> Figure | None:
    """The figure chip.KEY; None: there is none."""
    if key == "amplification":
        return make_figure(
            "chip.amplification", "write amplification", "ratio", totals.compute_write_amplification
        )
    if key not in CHIP_OPERATION_TITLES:
        return None
    read = partial(totals.count_chip_operations, operation=key)
    return make_figure(f"chip.{key}", CHIP_OPERATION_TITLES[key], "count", read, short=key)


def _find_instrument_wear_figure(key: str) -> Figure | None:
    """Of the instrument: since the load's first step, or (all.) the first formatting included."""
    part, _, name = key.partition(".")
    if part == "own" and name in wear.UBI_WEAR_FIGURES:
        own: FigureReader = lambda t: t.measured.get("wear", {}).get(key)  # noqa: E731
        return make_figure(f"wear.{key}", wear.UBI_WEAR_FIGURES[name], "count", own)
    has_format = part == "all"
    name = name if has_format else key
    if name not in wear.EVENNESS_FIGURES:
        return None
    title, quantity = wear.EVENNESS_FIGURES[name]

    def read(trial: Trial) -> float | None:
        evenness = (
            wear.compute_all_erase_evenness(trial)
            if has_format
            else wear.compute_load_erase_evenness(trial)
        )
        value = None if evenness is None else getattr(evenness, name)
        return None if value is None else float(value)

    title += ", formatting included" if has_format else ""
    better = "" if name in ("never_share", "min") else "less"
    return make_figure(f"wear.{key}", title, quantity, read, better=better)


def find_wear_figure(key: str, words: Words) -> Figure | None:
    """The figure wear.KEY; None: there is none."""
    if key not in wear.WEAR_SPREAD_FIGURES:
        return _find_instrument_wear_figure(key)
    return _make_wear_spread_figure(key)


def _make_wear_spread_figure(key: str) -> Figure:
    title, value = wear.WEAR_SPREAD_FIGURES[key]

    def read(trial: Trial) -> float | None:
        spread = wear.compute_load_erase_spread(trial) or totals.find_erase_spread(trial)
        return None if spread is None else value(spread)

    return make_figure(
        f"wear.{key}", title, "count", read, short="spread" if key == "spread" else ""
    )


def find_blocks_figure(key: str, words: Words) -> Figure | None:
    """The figure blocks.KEY; None: there is none."""
    if key not in CHIP_OPERATION_TITLES:
        return None
    read = partial(totals.count_operations_of_blocks, operation=key)
    return make_figure(
        f"blocks.{key}", f"{CHIP_OPERATION_TITLES[key]} in all", "count", read, short=key
    )


def find_state_figure(key: str, words: Words) -> Figure | None:
    """The figure state.KEY; None: there is none."""
    if key not in ("before", "valid", "invalid", "programmed"):
        return None

    def read(trial: Trial) -> float | None:
        shares = trial.state.obtained
        value = None if shares is None else getattr(shares, key)
        return None if value is None else float(value)

    return make_figure(f"state.{key}", f"obtained: {key}", "share", read, better="")


IMAGE_FIGURES = {"pages": ("image, pages", "count"), "bytes": ("image, bytes", "bytes")}
"""What is told of an image, in which quantity."""


def find_image_figure(key: str, words: Words) -> Figure | None:
    """The figure image.KEY; None: there is none."""
    if key not in IMAGE_FIGURES:
        return None
    title, quantity = IMAGE_FIGURES[key]

    def read(trial: Trial) -> float | None:
        image = trial.image
        if image is None or image.pages is None or image.own_header_pages is None:
            return None
        return image.pages - image.own_header_pages if key == "pages" else image.bytes

    return make_figure(f"image.{key}", title, quantity, read, short="image")
