# SPDX-License-Identifier: GPL-2.0-or-later
"""Read-only file systems on the real kernel: images, trials, read-ahead, kinds of volumes, cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import smalltrial, trees
from support.cases import DETACH, UNLOAD, Cases, find_first_equals, run_cases
from support.smalltrial import skip_where_refused

from nandlab.base.errors import UsageError
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.simnand import count_operations_between, make_power_cut_command
from nandlab.image import making as imaging
from nandlab.image import tree
from nandlab.plan import study
from nandlab.plan.matrix import ChipChoice
from nandlab.plan.medium import Medium
from nandlab.trial import execution, mediumsteps
from nandlab.trial.runner import refuse_unsupported_kernel

pytestmark = [pytest.mark.board, pytest.mark.timeout(900)]
"""Some run one job for many tests."""

NAMES = [
    n
    for n in list_noun_names("filesystems")
    if load_noun("filesystems", n, FilesystemModel).read_only
]
LARGER = ChipChoice(part="nandsim-small", partition_mib=16)
EVERY = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xdist_group(f"made-{n}")) for n in NAMES]
)
"""The tests of one file system share its image."""
WORKLOAD = '''
name = "look"
summary = "?"
command = """find {mountpoint} -type f -exec cat {{}} + > /dev/null && \\
echo '{{"figures": {{"n": 1}}}}'"""
reads_only = true
'''
STUDY = """
name = "flashed"
question = "?"
board = "{board}"
[matrix]
workloads = [{{ name = "look" }}]
filesystems = [
    {{ name = "{name}", image = "a.nand" }},
    {{ name = "{name}", image = "a.nand", read_ahead = 8 }},
]
chips = [{{ part = "nandsim-small", partition_mib = 8 }}]
states = [{{ name = "flashed" }}]
seeds = [1]
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("source")
    trees.grow(found, odd=True)
    return found


def on_chip(board: QemuBoard, name: str, **options: str) -> Medium:
    """The file system on a chip that is large enough for the options."""
    # of the smaller one UBI would keep more than half, if told to keep the most
    chip = LARGER if options.get("reserve") == "80" else smalltrial.CHIP
    return smalltrial.medium(board, name, chip, **options)


@cache
def made(board: QemuBoard, source: Path, name: str, **options: str) -> tuple[Medium, ChipImage]:
    """An image of the source; making it reads each file back and compares it."""
    on = skip_where_refused(on_chip(board, name, **options), board)
    content, warnings = tree.drop_unstorable_content(tree.scan_folder_tree(source), on.filesystem)
    assert warnings == [], "it keeps all that a tree has"
    return on, imaging.make_filesystem_image(on, source, content, board)[0]


def played(board: QemuBoard, on: Medium, image: ChipImage, *steps: Step) -> JobRecord:
    """Runs steps on a chip with the image; the module is loaded and nothing is mounted."""
    hold = imaging.make_image_cargo(on, chipimage.encode_chip_image(image), 1 << 20)
    record = asyncio.run(
        board.run(Job((*imaging.make_medium_load_steps(on, hold.get()), *steps), cargo=hold))
    )
    failed = record.failed()
    assert failed is None, failed.failure()
    return record


@EVERY
def test_a_trial_reads_it_and_repeats(
    board: QemuBoard, source: Path, tmp_path: Path, name: str
) -> None:
    on, image = made(board, source, name)
    told = chipfile.ImageDescription(
        filesystem=name,
        options=on.options,
        part=on.chip.name,
        partition_blocks=on.partition_blocks,
        board=on.board.name,
        tools=None,
        tree=chipfile.TreeCounts(**tree.scan_folder_tree(source).counts()),
    )
    chipfile.write_image_files(tmp_path / "a.nand", image, told)
    (tmp_path / "catalog/workloads").mkdir(parents=True)
    (tmp_path / "catalog/workloads/look.toml").write_text(WORKLOAD)
    (tmp_path / "s.toml").write_text(STUDY.format(board=board.machine.model.name, name=name))
    specs = study.plan_trials(study.read_study_file(tmp_path / "s.toml"))
    results = [asyncio.run(execution.run_trial(spec, board, "test")) for spec in (*specs, specs[0])]
    for result in results:
        assert (result.status, result.error, result.kernel_log) == ("ok", None, [])
        assert result.step("format") is None
        assert result.measured["counters"]["ubi_max_ec"] == 0
    assert results[0].model_dump(exclude={"host"}) == results[2].model_dump(exclude={"host"})
    assert results[1].measured["read_ahead"] == {"kib": 8}


def interrupted(on: Medium, nth: int) -> list[Step]:
    """A cut of the power just as a file was read; then the chip as it was, and every file."""
    return [
        mediumsteps.make_mount_step(on, f"mount-{nth}"),
        Step(f"read-{nth}", f"head -c {nth * 100_000} /mnt/big > /dev/null"),
        Step(
            f"cut-{nth}",
            make_power_cut_command(
                mediumsteps.make_medium_load_step(on), mediumsteps.make_unmount_step(on)
            ),
        ),
        mediumsteps.make_mount_step(on, f"again-{nth}"),
        Step(f"sums-{nth}", f"treelist --sums /mnt > /tmp/sums-{nth}"),
        mediumsteps.make_unmount_step(on, f"unmount-{nth}"),
    ]


@cache
def played_whole(board: QemuBoard, source: Path, name: str) -> JobRecord:
    """What the tests below look at, in one job: writes are refused, two mounts by the kernel's own
    read-ahead, and power cuts."""
    on, image = made(board, source, name)
    number = on.filesystem.options["read_ahead"].number
    assert number is not None
    refused = Step("touch", "! touch /mnt/new && { mount -o remount,rw /mnt; ! rm /mnt/empty; }")
    same = " && ".join(f"cmp /tmp/sums-1 /tmp/sums-{n}" for n in range(2, 6))
    return played(
        board,
        on,
        image,
        mediumsteps.make_mount_step(on),
        Step("look", f"cat {number.file}"),
        refused,
        mediumsteps.make_unmount_step(on),
        mediumsteps.make_mount_step(on, "again"),
        Step("look-again", f"cat {number.file}"),
        mediumsteps.make_unmount_step(on, "unmount-again"),
        *(step for nth in range(1, 6) for step in interrupted(on, nth)),
        Step("end", f"{same} && cat /tmp/sums-1"),
    )


@EVERY
def test_the_kernel_reads_ahead_by_itself_as_the_catalog_says(
    board: QemuBoard, source: Path, name: str
) -> None:
    number = made(board, source, name)[0].filesystem.options["read_ahead"].number
    assert number is not None
    record = played_whole(board, source, name)
    assert {int(record[s].stdout) for s in ("look", "look-again")} == {number.kernel_default}


@EVERY
def test_nothing_can_be_written(board: QemuBoard, source: Path, name: str) -> None:
    record = played_whole(board, source, name)
    assert record["touch"].stderr.count("Read-only file system") == 2
    did = count_operations_between(record["modules"].counts, record["unmount"].counts)
    assert did is not None
    assert did["programs"] == did["erases"] == 0


@EVERY
def test_a_static_volume_is_read_whole_at_its_first_open(
    board: QemuBoard, source: Path, name: str
) -> None:
    reads = {}
    for volume in ("dynamic", "static"):
        on, image = made(board, source, name, volume=volume)
        pages = chipfile.measure_used_space(image).pages
        if on == made(board, source, name)[0]:
            record = played_whole(board, source, name)
        else:
            record = played(board, on, image, mediumsteps.make_mount_step(on))
        did = count_operations_between(record["modules"].counts, record["mount"].counts)
        assert did is not None
        reads[volume] = did["reads"]
    headers = 2 * on.partition_blocks
    assert reads["dynamic"] < headers + 100
    assert reads["static"] >= reads["dynamic"] + pages - headers


def every_value(name: str) -> list[dict[str, str]]:
    """Each value of each option, one at a time."""
    options = load_noun("filesystems", name, FilesystemModel).options
    return [{k: v} for k, o in options.items() for v, what in o.values.items() if not what.refused]


WAYS = [(name, way) for name in NAMES for way in every_value(name)]
WAYS += [("squashfs", {"block": "1024", "fragments": "off"})]
LONG = {"squashfs": [pytest.mark.long]}
"""One of them in make test: the ways of a file system share a job."""


class Probed:
    """A board that tells the figures that ways to make an image ask for.

    Before :meth:`answer` it only takes note of what is asked, and then all is asked in one job.
    """

    def __init__(self, board: QemuBoard) -> None:
        self._board = board
        self._jobs: dict[tuple[Step, ...], str] = {}
        self._records: Cases | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)

    def answer(self) -> None:
        """Asks for all that was noted."""
        cases = {name: (*steps, DETACH, UNLOAD) for steps, name in self._jobs.items()}
        self._records = run_cases(self._board, cases)

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        name = self._jobs.setdefault(job.steps, str(len(self._jobs)))
        if self._records is None:
            raise Unanswered
        return self._records[name]


class Unanswered(Exception):
    """A figure of the board is asked for that is not known yet."""


def offered(board: QemuBoard, name: str) -> Iterator[tuple[str, Medium]]:
    """Each way to make a file system that the kernel can read, by its options."""
    for _, options in (way for way in WAYS if way[0] == name):
        with suppress(UsageError):
            on = on_chip(board, name, **options)
            refuse_unsupported_kernel([on], board.kernel_config, "here")
            yield str(options), on


def flash_every_way(board: QemuBoard, source: Path, name: str) -> Cases:
    """A job that flashes each way to make a file system, and reads every file back."""
    probed = Probed(board)
    sums = tree.hash_checksummed_tree(
        tree.add_file_checksums(tree.scan_folder_tree(source), source)
    )
    every = dict(offered(board, name))
    first = find_first_equals(every)
    media = {way: every[way] for way in dict.fromkeys(first.values())}
    for on in media.values():
        with suppress(Unanswered):
            imaging.make_image_with_tools(on, source, sums, probed)
    probed.answer()
    blobs = {
        w: imaging.make_image_with_tools(on, source, sums, probed)[0] for w, on in media.items()
    }
    hold = make_cargo(
        board.machine.model, max(on.cells_bytes for on in media.values()), *blobs.values()
    )
    cases = {
        way: (
            *imaging.make_medium_load_steps(on),
            imaging.make_image_flash_step(on, blobs[way], hold.get(i)),
            mediumsteps.make_mount_step(on),
            Step("read", "treelist --sums /mnt"),
            mediumsteps.make_unmount_step(on),
            UNLOAD,
        )
        for i, (way, on) in enumerate(media.items())
    }
    return run_cases(board, cases, hold).name_again(first)


@pytest.fixture(scope="module")
def every_way(board: QemuBoard, source: Path) -> Callable[[str], Cases]:
    """flash_every_way() by the file system's name, run once for each."""
    return cache(lambda name: flash_every_way(board, source, name))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(n, o, marks=[pytest.mark.xdist_group(f"ways-{n}"), *LONG.get(n, ())])
        for n, o in WAYS
    ],
    ids=str,
)
def test_every_way_to_make_it_gives_the_files_back(
    every_way: Callable[[str], Cases],
    board: QemuBoard,
    source: Path,
    name: str,
    options: dict[str, str],
) -> None:
    on = skip_where_refused(on_chip(board, name, **options), board)
    record = every_way(name)[str(options)]
    found = tree.parse_treelist(record["read"].stdout.encode(errors="surrogateescape"))
    wanted = tree.add_file_checksums(tree.scan_folder_tree(source), source)
    assert (
        tree.format_tree_differences(
            wanted, found.exclude_entries(on.filesystem.own_entries), on.filesystem
        )
        == []
    )
    did = count_operations_between(record["modules"].counts, record["write"].counts)
    assert did is not None
    assert did["programs"] > (1 << 20) / 512


@EVERY
def test_what_does_not_fit_is_refused(board: QemuBoard, tmp_path: Path, name: str) -> None:
    (tmp_path / "big").write_bytes(bytes(range(256)) * 40 * 1024)
    on = skip_where_refused(smalltrial.medium(board, name, compression="none"), board)
    with pytest.raises(UsageError, match="the tree does not fit"):
        imaging.make_filesystem_image(on, tmp_path, tree.scan_folder_tree(tmp_path), board)


@EVERY
def test_after_a_power_cut_all_is_there(board: QemuBoard, source: Path, name: str) -> None:
    on, _ = made(board, source, name)
    record = played_whole(board, source, name)
    found = tree.parse_treelist(record["end"].stdout.encode())
    wanted = tree.add_file_checksums(tree.scan_folder_tree(source), source)
    assert tree.format_tree_differences(wanted, found, on.filesystem) == []
