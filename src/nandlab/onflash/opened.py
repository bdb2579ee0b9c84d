# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies on flash, from a file: an image of nandlab, a chip that a study or a trace kept, a dump
of the user's own chip, or what jffs2dump prints of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import mapped, open_regular, read_json
from nandlab.base.strings import Line
from nandlab.catalog.files import validate
from nandlab.chip import file as chipfile
from nandlab.chip import image as chipimage
from nandlab.chip.image import ChipImage, Geometry
from nandlab.onflash import dump, every, jffs2, jffs2nodes, jffs2scan, jffs2text
from nandlab.onflash.cells import Partition
from nandlab.onflash.dump import Shape
from nandlab.onflash.jffs2nodes import Dropped
from nandlab.onflash.layout import Layout
from nandlab.onflash.othershape import refuse_other
from nandlab.results.folder import RunFolder

SPARE_NEEDED = ("yaffs2", "nftl-fat32")
"""File systems that keep in the spare areas what belongs to what."""
BEGIN = 512
"""Bytes of a file that tell its form."""


class Told(NamedTuple):
    """What is told of a chip beside its image."""

    filesystem: str | None = None
    blocks: int | None = None
    """Of the partition."""
    ecc_strength: int = 1
    ecc_step: int = 512


class _Traced(BaseModel):
    """What the meta.json of a trace tells of its chip (trace/shapes.py has all of it)."""

    filesystem: Line
    partition_blocks: int = Field(strict=True, ge=1)


class Asked(NamedTuple):
    """What the user tells of a file."""

    filesystem: Line | None = None
    partition_mib: float | None = None
    """MiB from the chip's start; None: what the image says, or all."""
    shape: Shape | None = None
    """Of a dump, or of the chip that jffs2dump was given; None: the file says it itself."""


def read(path: Path, asked: Asked, *, tolerant: bool = False) -> tuple[Layout, list[Dropped]]:
    """Where everything is, and what of it could not be read.

    tolerant: nodes of JFFS2 that cannot be read are dropped and told; else they are an error.
    UsageError names the file, what is wrong with it, and what to do.
    """
    begin = _begin(path)
    if jffs2text.is_text(begin):
        return _text(path, asked, tolerant=tolerant)
    partition, told = opened(path, asked.partition_mib, asked.shape)
    try:
        name = asked.filesystem or told or every.found(partition)
        if asked.shape and name in SPARE_NEEDED:
            dump.refuse_foreign(path)
        if asked.shape and not asked.shape.oob and name in SPARE_NEEDED:
            raise UsageError(f"no file system that can be read without spare areas; {dump.HOW}")
        if not tolerant:
            return every.decode(partition, name), []
        if name != "jffs2":
            return every.salvage(partition, name)
        found = jffs2scan.scanned(partition)
        if asked.shape and found.dropped:
            refuse_other(path, asked.shape, found.dropped, found.order)
        layout, dropped = jffs2.salvaged(found, jffs2nodes.Shaped.of(partition))
        if not asked.shape:
            return layout, dropped
        seen = bool(asked.shape.oob) or jffs2.page_seen(found, asked.shape.page)
        return replace(layout, page_seen=seen), dropped + jffs2.missing(layout)
    except UsageError as e:
        raise _of(path, e) from None


def _begin(path: Path) -> bytes:
    """The first bytes of a file; UsageError if there are none."""
    with open_regular(path) as file:
        begin = file.read(BEGIN)
    if not begin:
        raise UsageError(f"{path}: empty: {dump.HOW}, or make it with nandlab image make")
    return begin


def _of(path: Path, e: NandlabError) -> UsageError:
    return UsageError(str(e) if str(e).startswith(str(path)) else f"{path}: {e}")


def _text(path: Path, asked: Asked, *, tolerant: bool) -> tuple[Layout, list[Dropped]]:
    if asked.shape is None:
        raise UsageError(f"{path}: a text of jffs2dump: give the chip's --page and --erase-block")
    if asked.filesystem not in {None, "jffs2"}:
        raise UsageError(f"{path}: a text of jffs2dump: no {asked.filesystem}")
    if asked.partition_mib:
        raise UsageError(f"{path}: a text of jffs2dump: --partition-mib is of images and dumps")
    found, shaped = jffs2text.read(path, asked.shape)
    if found.dropped and not tolerant:
        raise UsageError(f"{path}: {found.dropped[0].why}: damaged. Nothing is summed")
    try:
        layout, dropped = jffs2.salvaged(found, shaped)
        layout = replace(layout, page_seen=jffs2.page_seen(found, asked.shape.page))
        return layout, dropped + (jffs2.missing(layout) if tolerant else [])
    except UsageError as e:
        raise _of(path, e) from None


def opened(
    path: Path, partition_mib: float | None = None, shape: Shape | None = None
) -> tuple[Partition, str | None]:
    """The partition in a file, and its file system if it is told.

    partition_mib: MiB from the chip's start; None: what is told of it, or all. shape: of a dump.
    UsageError names the file.
    """
    own = _begin(path)[:4] == chipimage.MAGIC.to_bytes(4, "little")
    if shape is not None:
        return _dumped(path, partition_mib, shape, itself=own or chipfile.sidecar_of(path).exists())
    try:
        if own:
            with mapped(path) as cells:
                chip, told = chipimage.decode(cells), _kept_by(path)
        elif not chipfile.sidecar_of(path).exists():
            raise UsageError(
                f"{path}: no image of nandlab's, for there is no {path.name}.json; of a dump of a "
                "chip, give --page, --erase-block and --oob"
            )
        else:
            made, chip = chipfile.read(path)
            ecc = made.chip().ecc
            told = Told(made.filesystem, made.partition_blocks, ecc.strength, ecc.step)
        blocks = _blocks(partition_mib, chip.geometry) if partition_mib else told.blocks
        return Partition(chip, blocks, told.ecc_strength, told.ecc_step), told.filesystem
    except NandlabError as e:
        raise _of(path, e) from None


def _dumped(
    path: Path, partition_mib: float | None, shape: Shape, *, itself: bool
) -> tuple[Partition, None]:
    """The partition in a dump."""
    if itself:
        raise UsageError(f"{path}: tells its geometry itself: leave --page and the others out")
    chip = dump.read(path, dump.checked(shape))
    return Partition(chip, _all_dumped(path, partition_mib, chip)), None


def _all_dumped(path: Path, partition_mib: float | None, chip: ChipImage) -> int:
    """The partition's blocks; UsageError if some may have been left out of the dump.

    nanddump skips bad blocks by itself, and the dump does not tell.
    """
    there = chip.geometry.blocks
    if partition_mib is None and there & (there - 1):
        size = there * chip.geometry.erasesize / (1 << 20)
        raise UsageError(
            f"{path}: {there} blocks are no whole chip: if nanddump skipped bad blocks, "
            f"{dump.HOW}; if that is the partition, give --partition-mib {size:g}"
        )
    if partition_mib is None:
        return there
    blocks = partition_mib * (1 << 20) / chip.geometry.erasesize
    if blocks > there:
        raise UsageError(
            f"{path}: {there} blocks, the partition has {blocks:g}: the dump was cut off, or "
            f"nanddump skipped bad blocks: {dump.HOW}"
        )
    return _blocks(partition_mib, chip.geometry)


def _blocks(partition_mib: float, geometry: Geometry) -> int:
    whole = partition_mib * (1 << 20) / geometry.erasesize
    if whole != int(whole) or not 0 < whole <= geometry.blocks:
        raise UsageError(f"--partition-mib {partition_mib:g}: not so many whole blocks of the chip")
    return int(whole)


def _kept_by(path: Path) -> Told:
    """What the trial or the trace tells that kept a chip, if it lies in its folder."""
    traced = path.absolute().parent / "meta.json"
    if traced.is_file():
        meta = validate(read_json(traced), _Traced, str(traced))
        return Told(meta.filesystem, meta.partition_blocks)
    run = path.absolute().parents[1]
    if path.absolute().parent.name != "artefacts" or not (run / "run.json").is_file():
        return Told()
    for trial in RunFolder(run).trials():
        if any(kept.sha256 == path.name for kept in trial.artefacts):
            ecc = trial.about("chip").get("ecc", {})
            strength, step = ecc.get("strength", 1), ecc.get("step", 512)
            return Told(trial.filesystem, trial.chip.blocks, strength, step)
    return Told()
