# SPDX-License-Identifier: GPL-2.0-or-later
"""nandlab space: what it prints, and what it refuses, with exit status 2 and the reason."""

from __future__ import annotations

import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.fitting import fits
from support.flashsamples import BLOCKS, FILESYSTEM, chip, packed

from nandlab.base.errors import NandlabError
from nandlab.cli import main
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipImage

MIB = 1 << 20


def mib(layout: str) -> str:
    return str(BLOCKS[layout] * chip(layout).geometry.erasesize / MIB)


def kept(folder: Path, image: ChipImage | bytes) -> Path:
    path = folder / "chip.image"
    path.write_bytes(image if isinstance(image, bytes) else chipimage.encode_chip_image(image))
    return path


def space(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    """Exit status, output and complaint."""
    code = 0
    try:
        main.app(["space", *map(str, argv)], standalone_mode=False)
    except NandlabError as e:
        code = e.exit_code
        print(e, file=sys.stderr)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("layout", BLOCKS)
def test_it_finds_the_file_system_and_tells_every_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    image, to = kept(tmp_path, packed(layout)), tmp_path / "map.html"
    words = ("--partition-mib", mib(layout), "--json", "--map", to)
    code, out, _ = space(capsys, image, *words)
    told = fits("space", out)
    kinds = ("user", "metadata", "slack", "obsolete", "free", "bad")
    assert code == 0 and told["filesystem"] == FILESYSTEM[layout]
    assert sum(told[kind] for kind in kinds) == told["partition"]
    assert told["files"] == 4
    assert to.read_text().startswith("<!doctype html>")
    code, out, _ = space(capsys, image, *words[:2])
    sums = [line for line in out.splitlines() if line.startswith("sum")]
    assert code == 0 and sums[0].split()[1] == f"{told['partition']:,}"


@pytest.mark.parametrize("layout", BLOCKS)
@pytest.mark.parametrize("fs", sorted(set(FILESYSTEM.values())))
def test_another_file_system_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: str, fs: str
) -> None:
    if fs == FILESYSTEM[layout]:
        return
    image = kept(tmp_path, packed(layout))
    code, _, err = space(capsys, image, "--fs", fs, "--partition-mib", mib(layout))
    assert code == 2 and str(image) in err


@pytest.mark.parametrize("layout", BLOCKS)
def test_a_chip_of_another_geometry_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    """The same cells as if pages were half as large: no decoder sums that up wrongly."""
    one = chip(layout)
    g = one.geometry
    half = replace(g, writesize=g.writesize // 2, oobsize=g.oobsize // 2)
    blocks = [replace(b, states=[s for s in b.states for _ in (0, 1)]) for b in one.blocks]
    image = kept(tmp_path, replace(one, geometry=half, blocks=blocks))
    words = ("--fs", FILESYSTEM[layout], "--partition-mib", mib(layout))
    code, _, err = space(capsys, image, *words)
    assert (code == 2 and "Nothing is summed" in err) or "another" in err


def test_a_truncated_or_changed_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = packed("jffs2")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    for data in (whole[: len(whole) // 2], bytes(flipped), whole + b"x", b"\0" * 5000, b""):
        image = kept(tmp_path, data)
        code, out, err = space(capsys, image)
        assert (code, out) == (2, "") and str(image) in err


@pytest.mark.parametrize("geometry", [(0, 64, 4096, 8), (512, 16, 0, 8), (512, 16, 800, 8),
                                      (512, 16, 16384, 1 << 30), (512, 16, 16384, 0)])  # fmt: skip
def test_a_geometry_that_no_chip_has_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], geometry: tuple[int, ...]
) -> None:
    data = bytearray(packed("yaffs1"))
    struct.pack_into("<4I", data, 8, *geometry)
    struct.pack_into("<I", data, 60, zlib.crc32(bytes(data[:60]) + bytes(4)))
    code, _, err = space(capsys, kept(tmp_path, bytes(data)))
    assert code == 2 and "geometry that no chip has" in err


def test_wrong_words_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = kept(tmp_path, packed("yaffs2"))
    for words, why in (
        (("--fs", "ext4"), "known are"),
        (("--partition-mib", "0.1"), "not so many whole blocks"),
        (("--partition-mib", "99999"), "not so many whole blocks"),
        (("--map", tmp_path / "no" / "map.html"), "cannot be written"),
    ):
        code, _, err = space(capsys, image, *words)
        assert code == 2 and why in err
    code, _, err = space(capsys, tmp_path / "none")
    assert code == 2 and "no such file" in err
