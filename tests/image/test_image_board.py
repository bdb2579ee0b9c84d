# SPDX-License-Identifier: GPL-2.0-or-later
"""Images through the board: what goes in comes out, and studies begin there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from support import smalltrial, trees
from support.smalltrial import skip_where_refused
from typer.testing import CliRunner

from nandlab.board.jobs.cargo import Cargo
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.cli.image import image_app
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.simnand import count_operations_between
from nandlab.image import making as imaging
from nandlab.image import tree
from nandlab.plan import study
from nandlab.plan.medium import MOUNTPOINT, Medium
from nandlab.trial import execution, mediumsteps

pytestmark = pytest.mark.board

PART, MIB_GIVEN = "nandsim-small", 8
"""Small pages: what all four can live on."""
NAMES = catalog.list_noun_names("filesystems")
OPTIONS = {
    "jffs2": ["compression=zlib"],
    "ubifs": ["compression=favor-lzo", "journal=1024"],
    "nftl-fat32": ["cluster=1024"],
}


def run(*argv: str | Path) -> str:
    done = CliRunner().invoke(image_app, [str(a) for a in argv], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def make(board: QemuBoard, fs: str, folder: Path, image: Path) -> str:
    chip = ("--chip", PART, "--partition-mib", str(MIB_GIVEN), "--board", board.machine.model.name)
    options = [word for pair in OPTIONS.get(fs, []) for word in ("--set", pair)]
    return run("make", "--fs", fs, *chip, *options, "--from", folder, "-o", image)


def nand_tools_write_it(board: QemuBoard, source: Path, image: Path) -> None:
    """The file, written raw with its spare areas by nandwrite to another chip, is all there."""
    made, chip = chipfile.read_image_files(image)
    on = imaging.make_image_medium(made, board.machine.model)
    hold = imaging.make_image_cargo(on, image.read_bytes(), 1 << 20)
    raw = "nandwrite --quiet --noecc --oob --skip-all-ffs /dev/mtd0 -"
    steps = (
        *imaging.make_medium_load_steps(on),
        Step("write", f"set -o pipefail; {hold.get()} | {raw}"),
        mediumsteps.make_mount_step(on),
        Step("journal", "dmesg | sed -n 's/.*journal size \\([0-9]*\\) bytes.*/\\1/p'"),
        Step("read", f"set -o pipefail; treelist --sums {MOUNTPOINT} | {hold.put()}"),
    )
    record = asyncio.run(board.run(Job(steps, cargo=hold)))
    failed = record.failed()
    assert failed is None, failed.failure()
    # the log's blocks count too; by default it would be 745,984 bytes
    assert 1 << 20 <= int(record["journal"].stdout) < 1.2 * (1 << 20)
    assert record.cargo is not None
    wanted = tree.add_file_checksums(tree.scan_folder_tree(source), source)
    assert (
        tree.format_tree_differences(wanted, tree.parse_treelist(record.cargo), on.filesystem) == []
    )
    assert len(chip.blocks) == on.partition_blocks


STUDY = """
name = "flashed"
question = "?"
board = "{board}"
[matrix]
workloads = [{{ name = "ffsmark", files = 20, transactions = 20 }}]
filesystems = [{{ name = "jffs2", image = "image.nand" }}]
chips = [{{ part = "{part}", partition_mib = {mib} }}]
states = [{{ name = "flashed" }}]
seeds = [1]
"""


def a_trial_begins_from_it_and_repeats(board: QemuBoard, source: Path, image: Path) -> None:
    text = STUDY.format(board=board.machine.model.name, part=PART, mib=MIB_GIVEN)
    study_file = image.with_name("s.toml")
    study_file.write_text(text)
    (spec,) = study.plan_trials(study.read_study_file(study_file))
    assert spec.options["compression"] == "zlib"
    result = asyncio.run(execution.run_trial(spec, board, "test"))
    assert (result.status, result.error, result.kernel_log) == ("ok", None, [])
    assert result.image is not None
    assert (result.image.name, result.image.sha256) == (
        "image.nand",
        chipfile.read_image_head(image).digest(),
    )
    assert result.step("format") is None
    pages = chipfile.measure_used_space(chipfile.read_image_files(image)[1]).pages
    assert result.state.obtained is not None
    assert result.state.obtained.before is not None
    assert result.state.obtained.before >= pages / (MIB_GIVEN * 2048)
    again = asyncio.run(execution.run_trial(spec, board, "test"))
    assert again.model_dump(exclude={"host"}) == result.model_dump(exclude={"host"})


ALSO = {"ubifs": nand_tools_write_it, "jffs2": a_trial_begins_from_it_and_repeats}
"""What else an image is put to, so that it need not be made again."""


@pytest.mark.parametrize("fs", NAMES)
def test_what_goes_in_comes_out(board: QemuBoard, tmp_path: Path, fs: str) -> None:
    skip_where_refused(smalltrial.medium(board, fs), board)
    source, image, out = tmp_path / "source", tmp_path / "image.nand", tmp_path / "out"
    trees.grow(source, odd=fs != "nftl-fat32")
    system = catalog.load_noun("filesystems", fs, FilesystemModel)
    wanted, _ = tree.drop_unstorable_content(
        tree.add_file_checksums(tree.scan_folder_tree(source), source), system
    )
    said = make(board, fs, source, image)
    assert f"{wanted.counts()['files']:,} files with {wanted.counts()['bytes']:,} bytes" in said
    assert f"{image.stat().st_size:,} bytes" in said
    made, chip = chipfile.read_image_files(image)
    assert made.tree.model_dump() == wanted.counts()
    assert f"{chipfile.measure_used_space(chip).pages:,} of {MIB_GIVEN * 2048:,} pages" in said
    # random bytes do not compress: they take at least their own pages
    assert chipfile.measure_used_space(chip).pages * 512 > (1 << 20)

    lines = run("ls", image).splitlines()
    points = {
        e.path: f" -> {tree.escape_file_name(e.target)}" for e in wanted if e.target is not None
    }
    assert [line[52:] for line in lines] == [
        tree.escape_file_name(e.path) + points.get(e.path, "") for e in wanted if e.path
    ]

    run("extract", image, "--to", out, "--set-id")
    found = tree.add_file_checksums(tree.scan_folder_tree(out), out)
    assert tree.format_tree_differences(wanted, found, system) == []
    assert (out / "big").read_bytes() == (source / "big").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "image.nand", "image.nand.json", "out", "source",
    ]  # fmt: skip
    if fs in ALSO:
        ALSO[fs](board, source, image)


@pytest.mark.parametrize("fs", NAMES)
def test_an_image_of_one_tree_is_the_same_each_time(
    board: QemuBoard, tmp_path: Path, fs: str
) -> None:
    skip_where_refused(smalltrial.medium(board, fs), board)
    source, copy = tmp_path / "source", tmp_path / "copy"
    for folder in (source, copy):
        trees.grow(folder, odd=fs != "nftl-fat32")
    make(board, fs, source, tmp_path / "a.nand")
    time.sleep(1.1)  # the tools see another second
    make(board, fs, copy, tmp_path / "b.nand")
    for ending in ("", ".json"):
        a, b = (tmp_path / f"{name}.nand{ending}" for name in "ab")
        assert a.read_bytes() == b.read_bytes(), ending


def test_more_than_the_room_for_it_is_refused_on_the_board(board: QemuBoard) -> None:
    start = board.machine.model.store_start
    hold = Cargo(start, (), start + (3 << 20))
    steps = (
        Step("fits", f"head -c {1 << 20} /dev/zero | {hold.put()}"),
        Step("not", f"head -c {3 << 20} /dev/zero | {hold.put()}"),
    )
    record = asyncio.run(board.run(Job(steps, cargo=hold)))
    assert record["fits"].ok
    assert record.cargo == bytes(1 << 20)
    assert "than the 2097152 bytes" in record["not"].failure()


def reads_of_a_mount(on: Medium, image: ChipImage, board: QemuBoard) -> int:
    hold = imaging.make_image_cargo(on, chipimage.encode_chip_image(image), 1 << 20)
    steps = (*imaging.make_medium_load_steps(on, hold.get()), mediumsteps.make_mount_step(on))
    record = asyncio.run(board.run(Job(steps, cargo=hold)))
    failed = record.failed()
    assert failed is None, failed.failure()
    did = count_operations_between(record["modules"].counts, record["mount"].counts)
    assert did is not None
    return did["reads"]


def test_summaries_save_a_mount_of_jffs2_reads(board: QemuBoard, tmp_path: Path) -> None:
    trees.grow(tmp_path, odd=True)
    reads, pages = {}, {}
    for summaries in ("off", "on"):
        on = smalltrial.medium(board, "jffs2", compression="zlib", summaries=summaries)
        content, _ = tree.drop_unstorable_content(tree.scan_folder_tree(tmp_path), on.filesystem)
        image, _ = imaging.make_filesystem_image(on, tmp_path, content, board)
        reads[summaries] = reads_of_a_mount(on, image, board)
        pages[summaries] = chipfile.measure_used_space(image).pages
    assert pages["off"] < pages["on"] < 1.1 * pages["off"]
    assert reads["off"] > pages["off"]
    assert reads["on"] < 0.9 * reads["off"]
