# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab space``: what each byte of a chip image is good for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_json, print_lines, print_note
from nandlab.cli.arguments import JsonOption, make_name_completer
from nandlab.cli.flashfile import FlashFileArguments, ImageArgument
from nandlab.cli.optionclasses import expand_option_classes

if TYPE_CHECKING:
    from nandlab.flash.layouts.layout import Layout


@expand_option_classes
def space(
    image: ImageArgument,
    *,
    fs: Annotated[
        str | None,
        typer.Option(
            help="jffs2, ubifs, yaffs2 or nftl-fat32; default: what is on it",
            autocompletion=make_name_completer("filesystems"),
        ),
    ] = None,
    flash_file: FlashFileArguments,
    as_json: JsonOption = False,
    as_map: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", help="write the partition as a map (HTML)"),
    ] = None,
) -> None:
    """Tell what each byte of a chip's partition is: user, metadata, slack, obsolete or free.

    The parts add up to the partition, byte for byte. The file system must have been unmounted: an
    image that is damaged, or was cut off by a loss of power, is refused, with the place.
    """
    from nandlab.flash.layouts.flashfile import read_flash_file_layout

    layout, _ = read_flash_file_layout(image, flash_file.parse(fs))
    for line in layout.notes:
        print_note(f"nandlab: {image}: {line}")
    if as_map is not None:
        _write_map(as_map, layout, image.name)
    if as_json:
        from nandlab.cli.spacesummary import summarize_layout

        print_json(summarize_layout(layout).model_dump(mode="json"), indent=2)
    else:
        print_lines(*_format_lines(layout))


def _write_map(to: Path, layout: Layout, name: str) -> None:
    from nandlab.base.files import encode_page, write_requested_file
    from nandlab.report.charts.spacemap import render_space_map_page

    write_requested_file(to, encode_page(render_space_map_page(layout, name)))


def _format_lines(layout: Layout) -> list[str]:
    from nandlab.flash.layouts.layout import NO_OWNER, ByteKind

    total = layout.partition_bytes
    lines = [f"{layout.filesystem}, {total:,} bytes"]
    for kind, count in layout.sums().items():
        if not count and kind is ByteKind.BAD:
            continue
        lines.append(f"{kind.value:10} {count:>15,} {count / total:7.2%}")
        parts = layout.parts()[kind]
        if len(parts) > 1 or kind in (ByteKind.METADATA, ByteKind.OBSOLETE):
            lines += [f"  {part:32} {n:>15,}" for part, n in parts.items()]
    lines.append(f"{'sum':10} {sum(layout.sums().values()):>15,}")
    for volume in layout.volumes:
        name = f"{'static' if volume.static else 'dynamic'} volume {volume.number}, {volume.name}"
        lines.append(f"{name}: {volume.mapped} of {volume.reserved} blocks")
    stored = sum(e.bytes for e in layout.extents if e.kind is ByteKind.USER and e.owner != NO_OWNER)
    if layout.logical_bytes != stored:
        lines.append(f"user's bytes stand for {layout.logical_bytes:,} bytes of files")
    return lines
