# SPDX-License-Identifier: GPL-2.0-or-later
"""The partition in a file: an image of nandlab, a chip that a study kept, or one of a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from nandlab.base.errors import NandlabError, UsageError
from nandlab.chip import file as chipfile
from nandlab.chip import image as chipimage
from nandlab.chip.image import Geometry
from nandlab.onflash.cells import Partition
from nandlab.results.folder import RunFolder


class Told(NamedTuple):
    """What is told of a chip beside its image."""

    filesystem: str | None = None
    blocks: int | None = None
    """Of the partition."""
    ecc_strength: int = 1
    ecc_step: int = 512


def opened(path: Path, partition_mib: float | None = None) -> tuple[Partition, str | None]:
    """The partition in a file of either form, and its file system if it is told.

    partition_mib: MiB from the chip's start; None: what is told of it, or all. UsageError names
    the file.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such image")
    with path.open("rb") as file:
        own = file.read(4) == chipimage.MAGIC.to_bytes(4, "little")
    try:
        if own:
            chip, told = chipimage.decode(path.read_bytes()), _kept_by(path)
        else:
            made, chip = chipfile.read(path)
            ecc = made.chip().ecc
            told = Told(made.filesystem, made.partition_blocks, ecc.strength, ecc.step)
        blocks = _blocks(partition_mib, chip.geometry) if partition_mib else told.blocks
        return Partition(chip, blocks, told.ecc_strength, told.ecc_step), told.filesystem
    except NandlabError as e:
        raise UsageError(str(e) if str(e).startswith(str(path)) else f"{path}: {e}") from None


def _blocks(partition_mib: float, geometry: Geometry) -> int:
    whole = partition_mib * (1 << 20) / geometry.erasesize
    if whole != int(whole) or not 0 < whole <= geometry.blocks:
        raise UsageError(f"--partition-mib {partition_mib:g}: not so many whole blocks of the chip")
    return int(whole)


def _kept_by(path: Path) -> Told:
    """What the trial or the trace tells that kept a chip, if it lies in its folder."""
    traced = path.absolute().parent / "meta.json"
    if traced.is_file():
        meta = json.loads(traced.read_bytes())
        return Told(meta["filesystem"], meta["partition_blocks"])
    run = path.absolute().parents[1]
    if path.absolute().parent.name != "artefacts" or not (run / "run.json").is_file():
        return Told()
    for trial in RunFolder(run).trials():
        if any(kept.sha256 == path.name for kept in trial.artefacts):
            ecc = trial.about("chip").get("ecc", {})
            strength, step = ecc.get("strength", 1), ecc.get("step", 512)
            return Told(trial.filesystem, trial.chip.blocks, strength, step)
    return Told()
