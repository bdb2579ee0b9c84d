# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab chip``: the parts of the catalog, each figure with its unit and its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.base.printer import print_lines
from nandlab.cli.arguments import make_name_completer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from nandlab.catalog.chip import ChipModel

chip_app = typer.Typer(no_args_is_help=True, help="The NAND parts of the catalog.")

SECTIONS = ("geometry", "timing", "ecc", "endurance", "retention", "energy", "bad_blocks", "spi")
UNITS = {
    "writesize": "bytes",
    "oobsize": "bytes",
    "erasesize": "bytes",
    "bus_bits": "bits",
    "strength": "bits",
    "step": "bytes",
    "pe_cycles": "cycles",
}
"""Units of the keys whose names do not end in a unit."""
UNIT_SUFFIXES = {
    "_ns": "ns",
    "_ppt": "bits in 10^12",
    "_mv": "mV",
    "_ma": "mA",
    "_ua": "uA",
    "_percent": "%",
    "_mhz": "MHz",
}
UNKNOWN = "not known"


@dataclass(frozen=True)
class Figure:
    """One figure of a part, as it is shown."""

    key: str
    value: str
    meaning: str
    source: str


def find_chip_figure_unit(key: str) -> str:
    """The unit of a figure; empty if it has none."""
    for ending, name in UNIT_SUFFIXES.items():
        if key.endswith(ending):
            return name
    return UNITS.get(key, "")


def _format_value(key: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value)
    if isinstance(value, str):
        return value
    text = f"{value:,g}" if isinstance(value, float) else f"{value:,}"
    return f"{text} {find_chip_figure_unit(key)}".rstrip()


def list_chip_figures(chip: ChipModel) -> Iterator[Figure]:
    """Every figure of a part, known or not, in the order of a catalog file."""
    identity = " ".join(f"{byte:02X}" for byte in chip.id)
    described = type(chip).model_fields["id"].description or ""
    yield Figure("id", identity, described, chip.sources.get("id", ""))
    if chip.spi is not None:
        about_bus = type(chip).model_fields["bus"].description or ""
        yield Figure("bus", chip.bus, about_bus, chip.sources.get("bus", ""))
    for section in SECTIONS:
        part: BaseModel | None = getattr(chip, section)
        about = chip.sources.get(section, "")
        if part is None and section == "spi":
            continue
        if part is None:
            yield Figure(section, UNKNOWN, "", about)
            continue
        for key, field in type(part).model_fields.items():
            dotted = f"{section}.{key}"
            value = _format_value(key, getattr(part, key))
            source = chip.sources.get(dotted, about)
            yield Figure(dotted, value, field.description or "", source)


def format_least_partitions(chip: ChipModel) -> Iterator[str]:
    """The smallest partition of a chip that each file system can be made on, a line each."""
    from nandlab.base.errors import UsageError
    from nandlab.catalog.files import list_noun_names, load_noun
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.catalog.leastpartition import format_block_mib

    g = chip.geometry
    for name in list_noun_names("filesystems"):
        try:
            system = load_noun("filesystems", name, FilesystemModel)
        except UsageError as e:
            yield f"{name}: not read: {e.lines[0]}"
            continue
        options = system.resolve_values({}, name)
        least = system.count_least_blocks(options, chip.figures(g.blocks))
        if system.least is None or least is None:
            yield f"{system.title}: {UNKNOWN}"
        elif unfit := system.list_hindrances(options, chip.figures(min(least, g.blocks))):
            yield f"{system.title}: cannot be: {unfit[0]}"
        else:
            mib = format_block_mib(least, g.erasesize)
            yield f"{system.title}: {mib} MiB, {least} blocks: {system.least.why}"


@chip_app.command("list")
def list_chips() -> None:
    """List the chips of the catalog. One whose file cannot be read is a line that says why, and the
    exit status is 2.
    """
    from nandlab.base.errors import UsageError
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import format_noun_origin, list_noun_names, load_noun

    broken = False
    for name in list_noun_names("chips"):
        try:
            chip = load_noun("chips", name, ChipModel)
        except UsageError as e:
            broken = True
            print_lines(f"{name:16} not read: {'; '.join(e.lines)}")
            continue
        g = chip.geometry
        size = f"{g.blocks * g.erasesize >> 20} MiB"
        pages = f"{g.writesize:>5} + {g.oobsize:<4}"
        line = (
            f"{name:16} {chip.cell}  {size:>9}  {pages} {chip.summary} "
            f"{format_noun_origin('chips', name)}"
        )
        print_lines(line.rstrip())
    if broken:
        raise typer.Exit(2)


@chip_app.command()
def show(
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART",
            help="a chip of the catalog",
            autocompletion=make_name_completer("chips"),
        ),
    ],
) -> None:
    """Print every figure of a chip with its unit and its source, and the smallest partition that
    each file system can be made on.
    """
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load_noun

    chip = load_noun("chips", part, ChipModel)
    print_lines(f"{chip.name}: {chip.vendor}, {chip.cell}", chip.summary)
    if "name" in chip.sources:
        print_lines(f"source: {chip.sources['name']}")
    for figure in list_chip_figures(chip):
        print_lines("", f"{figure.key} = {figure.value}")
        if figure.meaning:
            print_lines(f"    {figure.meaning}")
        if figure.source:
            print_lines(f"    source: {figure.source}")
        if figure.key == "ecc.step" and chip.ecc_note:
            print_lines(f"    note: {chip.ecc_note}")
    print_lines("", "least partition of each file system, with its options at their defaults")
    for line in format_least_partitions(chip):
        print_lines(f"    {line}")
