# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes chip images from folders, lists and extracts them, always through the board.

Where there are tools of the host, they make the file system, and the board flashes it. For YAFFS2
nandlab's own maker takes their place. For NFTL+FAT32, and YAFFS2 on small pages, the board's own
kernel writes the files. Either way the chip is
then saved as it is. The image is kept only if, loaded into a chip and mounted, it gives every file
back with its checksum.
"""

from __future__ import annotations

import asyncio
import re
import tarfile
from dataclasses import replace
from pathlib import Path

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.cargo import Cargo, make_cargo
from nandlab.board.jobs.job import Board, Job, JobRecord, Step
from nandlab.board.virtual.hosttools import HostTools, ToolFailed
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB
from nandlab.catalog.leastpartition import format_block_mib
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.imagefile import ImageDescription, TreeCounts
from nandlab.flash.chip.simnand import IMAGE_FILE
from nandlab.flash.layouts.yaffs2 import CODED_TAGS_BYTES, TAGS_AT
from nandlab.image import tree, treearchive
from nandlab.image.sizes import TABLE_BLOCKS, count_content_blocks
from nandlab.image.tree import FileTree
from nandlab.image.yaffs2maker import PageShape, make_yaffs2_image
from nandlab.plan.medium import MOUNTPOINT, Medium
from nandlab.trial.mediumsteps import (
    make_format_steps,
    make_medium_load_step,
    make_module_load_step,
    make_mount_step,
    make_unmount_step,
)

DEADLINE_S = 24 * 3600
SMALL_PAGE_END = 1024
"""Pages of fewer bytes have YAFFS1's layout."""
LOG_LINES = 3
"""Errors of the kernel's log that are told of a mount that failed: the first is the reason."""
FULL_PATTERN = re.compile("No space left on device|does not fit|partially written")
"""What the board's tools print when the chip is too small."""


def make_image_medium(description: ImageDescription, board: BoardModel) -> Medium:
    """The medium that an image was made for, on a board."""
    system = description.system()
    options = system.resolve_values(description.options, "the image", from_image=True)
    return Medium(
        board=board,
        chip=description.chip(),
        partition_blocks=description.partition_blocks,
        filesystem=system,
        options=options,
    )


def make_image_cargo(medium: Medium, content: bytes, back_bytes: int) -> Cargo:
    """Cargo in the board's memory after the chip's cells."""
    return make_cargo(medium.virtual, medium.cells_bytes, content, back_bytes=back_bytes)


def make_medium_load_steps(medium: Medium, image: str | None = None) -> list[Step]:
    """Loads the chip, erased or from what the board's command ``image`` prints, and the modules."""
    return [make_medium_load_step(medium, image), make_module_load_step(medium)]


def refuse_unfit_medium(medium: Medium, *, without_reserve: bool = False) -> None:
    """UsageError if the file system cannot live on this partition of this chip.

    without_reserve: it is not made here, so UBI may have less of its reserve.
    """
    unfit = medium.filesystem.list_hindrances(
        medium.options, medium.figures(), without_reserve=without_reserve
    )
    if unfit:
        raise UsageError(*(f"{medium.description} cannot be: {why}" for why in unfit))


def make_filesystem_image(
    medium: Medium, folder: Path, content: FileTree, board: Board
) -> tuple[ChipImage, ImageDescription]:
    """Makes an image of a folder; ``content`` is its tree without what the file system loses."""
    version = None
    summed = tree.add_file_checksums(content, folder)
    if medium.filesystem.image.make:
        blob, version = make_image_with_tools(
            medium, folder, tree.hash_checksummed_tree(summed), board
        )
        image = _flash_on_board(medium, blob, board)
    elif (shape := find_yaffs2_shape(medium)) is not None:
        blob = make_yaffs2_image(content, folder, shape, padded=False)
        if len(blob) > medium.cells_bytes:
            raise make_too_large_error(medium)
        image = _flash_on_board(medium, blob, board)
    else:
        image = _unpack_on_board(medium, *treearchive.pack_tree_archives(content, folder), board)
    description = ImageDescription(
        filesystem=medium.filesystem.name,
        options=medium.options,
        part=medium.chip.name,
        partition_blocks=medium.partition_blocks,
        board=medium.board.name,
        tools=version,
        tree=TreeCounts(**content.counts()),
    )
    made_tree = read_image_tree(medium, image, board, sums=True)
    wrong = tree.format_tree_differences(summed, made_tree, medium.filesystem)
    if wrong:
        raise NandlabError("the image does not give back what it was given:", *wrong)
    return image, description


def find_yaffs2_shape(medium: Medium) -> PageShape | None:
    """The pages that nandlab's maker of YAFFS2 images makes; None: the board writes the files.

    On small pages and with tags in the data no tool of that time made images either.
    """
    g = medium.chip.geometry
    if medium.filesystem.image.maker != "yaffs2" or medium.options.get("inband_tags") == "on":
        return None
    if g.writesize < SMALL_PAGE_END or g.oobsize < TAGS_AT + CODED_TAGS_BYTES:
        return None
    return PageShape(g.writesize, g.oobsize, medium.chip.pages_per_block())


def make_image_with_tools(
    medium: Medium, folder: Path, identity: str, board: Board
) -> tuple[bytes, str]:
    """What the host's tools make from a folder, ready to be flashed; and their version.

    identity: a digest of the folder's tree. UsageError if it is too large for the partition.
    """
    recipe = medium.filesystem.image
    words = (
        medium.words() | medium.filesystem.tool_words(medium.options) | _probe_board(medium, board)
    )
    with hold_scratch_folder() as work:
        see = {"/tree": folder.resolve(), "/made": work}
        tools = HostTools(medium.virtual, see, identity)
        out = work / "out"
        words |= {"tree": "/tree", "work": "/made", "out": "/made/out"}
        for name, template in recipe.files.items():
            (work / name).write_text(template.format(**words))
        try:
            for command in recipe.commands(words):
                tools.run(command)
        except ToolFailed as e:
            matches = [re.search(pattern, str(e)) for pattern in recipe.too_large]
            if match := next(filter(None, matches), None):
                blocks = match.groupdict().get("blocks")
                raise make_too_large_error(medium, int(blocks) if blocks else None) from None
            raise
        blob = out.read_bytes()
    if len(blob) > medium.partition_bytes:
        raise make_too_large_error(medium, count_blob_blocks(medium, len(blob)))
    return blob, tools.version(recipe.package)


def count_blob_blocks(medium: Medium, size: int) -> int:
    """Blocks of a file that the tools made; with UBI, without its own."""
    blocks = -(-size // medium.chip.geometry.erasesize)
    return blocks - (
        TABLE_BLOCKS if medium.filesystem.least and medium.filesystem.least.below else 0
    )


def make_too_large_error(medium: Medium, content_blocks: int | None = None) -> UsageError:
    """That a tree does not fit, with the partition that would do if the tree's blocks are known."""
    larger = "take a larger --partition-mib or chip"
    least = None
    if content_blocks is not None:
        least = medium.filesystem.count_least_blocks(
            medium.options, medium.figures(), content_blocks=content_blocks
        )
    if least is not None:
        mib = format_block_mib(least, medium.chip.geometry.erasesize)
        larger = f"it takes --partition-mib {mib} or more"
    return UsageError(f"the tree does not fit: {medium.description} is too small for it; {larger}")


def count_least_partition(medium: Medium, image: ChipImage) -> int | None:
    """Blocks of the smallest partition that has the room of an image; None: not known.

    It is known of what tools make. What the board's kernel writes hangs on the partition.
    """
    if not medium.filesystem.image.make:
        return None
    content_blocks = count_content_blocks(image)
    return medium.filesystem.count_least_blocks(
        medium.options, medium.figures(), content_blocks=content_blocks
    )


def _probe_board(medium: Medium, board: Board) -> dict[str, str]:
    """Figures that the tools need and that only the board can tell."""
    recipe = medium.filesystem.image
    if not recipe.probe:
        return {}
    probes = [
        Step(f"probe-{key}", medium.commands(command)) for key, command in recipe.probe.items()
    ]
    prepare = (
        [Step("prepare", medium.commands(recipe.prepare), DEADLINE_S)] if recipe.prepare else []
    )
    record = _run_job(medium, Job((*make_medium_load_steps(medium), *prepare, *probes)), board)
    return {key: record[f"probe-{key}"].stdout.strip() for key in recipe.probe}


def _flash_on_board(medium: Medium, blob: bytes, board: Board) -> ChipImage:
    """The chip after the board has flashed what the tools made."""
    hold = make_image_cargo(medium, blob, medium.image_bytes)
    return _save_chip(medium, hold, [make_image_flash_step(medium, blob, hold.get())], board)


def make_image_flash_step(medium: Medium, blob: bytes, source: str) -> Step:
    """Flashes what the tools made; source: the board's command that prints it."""
    flash = medium.filesystem.image.flash.replace("{out_bytes}", str(len(blob)))
    return _make_piped_step("write", source, medium.commands(flash))


def _unpack_on_board(medium: Medium, archives: bytes, first_bytes: int, board: Board) -> ChipImage:
    """The chip after the board has made the file system and unpacked what tree.packed made."""
    fs = medium.filesystem
    hold = make_image_cargo(medium, archives, medium.image_bytes)
    unpack = f"tar -x -C {MOUNTPOINT}{' -o' if 'modes' in fs.differs else ''}"
    first = f"dd bs={tarfile.RECORDSIZE} count={first_bytes // tarfile.RECORDSIZE} iflag=fullblock"
    steps = [
        *make_format_steps(medium, DEADLINE_S),
        replace(make_mount_step(medium), deadline_s=DEADLINE_S),
        _make_piped_step(
            "write", hold.get(), f"{{ {first} 2> /dev/null | {unpack} && {unpack}; }}"
        ),
        replace(make_unmount_step(medium), deadline_s=DEADLINE_S),
    ]
    return _save_chip(medium, hold, steps, board)


def _save_chip(medium: Medium, hold: Cargo, steps: list[Step], board: Board) -> ChipImage:
    """The chip after these steps."""
    save = _make_piped_step("save", f"cat {IMAGE_FILE}", hold.put())
    record = _run_job(
        medium, Job((*make_medium_load_steps(medium), *steps, save), cargo=hold), board
    )
    return chipimage.decode_chip_image(_require_cargo(record))


def _make_piped_step(name: str, source: str, sink: str) -> Step:
    return Step(name, f"set -o pipefail; {source} | {sink}", DEADLINE_S)


def _run_job(medium: Medium, job: Job, board: Board) -> JobRecord:
    record = asyncio.run(board.run(job))
    failed = record.failed()
    if failed is None:
        return record
    if failed.step in ("format", "write", "unmount") and FULL_PATTERN.search(failed.stderr):
        raise make_too_large_error(medium)
    raise NandlabError(f"{medium.description}: {failed.failure()}")


def _require_cargo(record: JobRecord) -> bytes:
    if record.cargo is None:
        raise NandlabError("the board returned no data")
    return record.cargo


def _read_from_image(medium: Medium, image: ChipImage, command: str, board: Board) -> bytes:
    """What a command prints on the mounted image."""
    hold = make_image_cargo(medium, chipimage.encode_chip_image(image), MIB)
    steps = (
        *make_medium_load_steps(medium, hold.get()),
        _make_explained_mount_step(medium),
        _make_piped_step("read", command, hold.put()),
    )
    return _require_cargo(_run_job(medium, Job(steps, cargo=hold), board))


def save_mounted_chip(medium: Medium, image: ChipImage, board: Board) -> ChipImage:
    """The chip after a mount and an unmount: what a mount replays or mends is on flash then."""
    hold = make_image_cargo(medium, chipimage.encode_chip_image(image), medium.image_bytes)
    steps = (
        *make_medium_load_steps(medium, hold.get()),
        replace(make_mount_step(medium), deadline_s=DEADLINE_S),
        replace(make_unmount_step(medium), deadline_s=DEADLINE_S),
        _make_piped_step("save", f"cat {IMAGE_FILE}", hold.put()),
    )
    return chipimage.decode_chip_image(
        _require_cargo(_run_job(medium, Job(steps, cargo=hold), board))
    )


def _make_explained_mount_step(medium: Medium) -> Step:
    """A mount that ends with the kernel's first errors if it fails."""
    mount = make_mount_step(medium)
    words = (
        f"{{ {mount.command}; }} || {{ dmesg | grep -i error | head -n {LOG_LINES} >&2; false; }}"
    )
    return replace(mount, command=words, deadline_s=DEADLINE_S)


def read_image_tree(medium: Medium, image: ChipImage, board: Board, sums: bool = False) -> FileTree:
    """The tree of an image; sums: with the checksum of every file."""
    command = f"treelist {'--sums ' if sums else ''}{MOUNTPOINT}"
    found = tree.parse_treelist(_read_from_image(medium, image, command, board))
    return found.exclude_entries(medium.filesystem.own_entries)


def extract_image_files(
    medium: Medium, image: ChipImage, board: Board, to: Path, set_id: bool = False
) -> tuple[FileTree, list[str]]:
    """Reads all files of an image into a folder that is empty or does not exist yet.

    set_id: whether files keep their set-user-ID and set-group-ID bits. Returns what is there then,
    and the paths of devices and FIFOs, which are left out.
    """
    archive = _read_from_image(medium, image, f"tar -c -C {MOUNTPOINT} .", board)
    with hold_scratch_folder(str(to.parent)) as private:
        work = private / "tree"
        own = medium.filesystem.own_entries
        devices = treearchive.unpack_archive(archive, work, skip=own, set_id=set_id)
        extracted = tree.scan_folder_tree(work)
        work.rename(to)
    return extracted, devices


def refuse_extraction_folder(to: Path) -> None:
    """UsageError if files cannot be extracted into this folder."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} is there already and not an empty folder; give another --to")
    if not to.resolve().parent.is_dir():
        raise UsageError(f"{to.parent}: no such folder")
