# SPDX-License-Identifier: GPL-2.0-or-later
"""Images without a board: what is refused, what is written, what a study makes of one."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support import trees
from support.fitting import fits
from typer.testing import CliRunner

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.cargo import Cargo, Store, make_cargo
from nandlab.board.jobs.fake import FakeBoard, FakeResult
from nandlab.board.jobs.job import Job
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.cli.image import image_app
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.chip.imagefile import ImageDescription, TreeCounts
from nandlab.image import making as imaging
from nandlab.image import tree
from nandlab.plan import study
from nandlab.plan.medium import Medium
from nandlab.plan.trialspec import TrialSpec

PAGES, PAGE = 32, 512 + 16
GEOMETRY = ChipGeometry(512, 16, 16384, 2048)
"""That of the part NAND256W3A."""


def system(name: str) -> FilesystemModel:
    return load_noun("filesystems", name, FilesystemModel)


def chip_image() -> ChipImage:
    cells = bytes(range(256)) * (PAGES * PAGE // 256) + bytes(PAGES * PAGE % 256)
    states = [0x81] * 20 + [1] * 2 + [0] * 10
    block = ChipBlock(3, 7, 0, 0, [(3 * PAGES, 5)], states, cells)
    return ChipImage(GEOMETRY, 40, 22, 7, [ChipBlock(0, 1, 2, 0, [], [], b""), block])


def made(**change: object) -> ImageDescription:
    counts = {"files": 2, "hard_links": 0, "folders": 1, "symbolic_links": 0, "bytes": 5}
    told = {
        "filesystem": "nftl-fat32",
        "options": {"write": "back", "cluster": "512"},
        "part": "NAND256W3A",
        "partition_blocks": 64,
        "board": "apf27",
        "tools": None,
        "tree": TreeCounts(**counts),
    }
    return ImageDescription.model_validate(told | change)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a.nand"
    chipfile.write_image_files(path, chip_image(), made())
    return path


def run(*argv: str | Path) -> str:
    """What a command that must be refused says."""
    done = CliRunner().invoke(image_app, [str(a) for a in argv])
    if isinstance(done.exception, NandlabError):
        assert isinstance(done.exception, UsageError)
        return str(done.exception)
    assert done.exit_code == 2
    return done.output


MAKE = {"--fs": "yaffs2", "--chip": "apf27", "--partition-mib": "8", "--from": "D", "-o": "O"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--fs": "ext4"}, "no 'ext4' in catalog/filesystems; there are: erofs, jffs2, "),
        ({"--chip": "6502"}, "no '6502' in catalog/chips"),
        ({"--board": "pdp11"}, "no 'pdp11' in catalog/boards"),
        ({"--from": "nowhere"}, "nowhere: no such folder"),
        ({"--from": "D/file"}, "file: not a folder"),
        ({"-o": "no/such/x"}, "no such folder"),
        ({"-o": "D/file"}, "file is there already"),
        ({"--set": "cache"}, "--set cache: expected NAME=VALUE"),
        ({"--set": "cache=maybe"}, "cache = 'maybe' is none of on, off"),
        ({"--set": "speed=high"}, "yaffs2 has no option 'speed'"),
        ({"--partition-mib": "300"}, "--partition-mib: 300 MiB of a chip of 256 MiB"),
        ({"--partition-mib": "1.01"}, "--partition-mib: a partition is whole blocks"),
        ({"--fs": "nftl-fat32"}, "NFTL+FAT32 on 8 MiB of apf27 cannot be: writesize is 2048"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    (tmp_path / "D").mkdir()
    (tmp_path / "D/file").touch()
    given = MAKE | change
    paths = {k: tmp_path / v for k, v in given.items() if k in ("--from", "-o")}
    before = sorted(tmp_path.rglob("*"))
    argv = [word for pair in (given | paths).items() for word in pair]
    assert said in run("make", *argv)
    assert sorted(tmp_path.rglob("*")) == before


def test_devices_fifos_and_sockets_are_refused_all_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "s"))
        with pytest.raises(UsageError, match=r"(?s)pipe is a FIFO.*is a socket") as e:
            tree.scan_folder_tree(tmp_path)
    assert "an image takes files, folders" in str(e.value)


def named(tmp_path: Path, *names: str) -> tree.FileTree:
    for name in names:
        (tmp_path / name).write_text(name)
    return tree.scan_folder_tree(tmp_path)


@pytest.mark.parametrize("name", ["a:b", "end.", "end ", "q?", "ö", "tab\t", " ", "a*"])
def test_names_that_fat_cannot_hold_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="FAT, so mounted, takes ASCII"):
        tree.refuse_unstorable_names(named(tmp_path, name), system("nftl-fat32"))
    tree.refuse_unstorable_names(tree.scan_folder_tree(tmp_path), system("jffs2"))


def test_names_that_differ_in_case_alone_are_refused_where_they_are_the_same(
    tmp_path: Path,
) -> None:
    found = named(tmp_path, "Makefile", "makefile", "a.b c-d(1)")
    with pytest.raises(UsageError, match="Makefile and makefile: differ in case"):
        tree.refuse_unstorable_names(found, system("nftl-fat32"))
    tree.refuse_unstorable_names(found, system("ubifs"))


def test_what_yaffs2_cannot_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "far").symlink_to("x" * 160)
    with pytest.raises(UsageError, match=r"(?s)lost.found: YAFFS2 has one.*far: .* 160 bytes"):
        tree.refuse_unstorable_names(tree.scan_folder_tree(tmp_path), system("yaffs2"))


def test_what_is_lost_is_told_and_nothing_else(tmp_path: Path) -> None:
    trees.grow(tmp_path / "t", odd=False)
    whole = tree.scan_folder_tree(tmp_path / "t")
    kept, said = tree.drop_unstorable_content(whole, system("nftl-fat32"))
    assert any(line.startswith("left out: symbolic links (2). ") for line in said)
    assert "of their own: hard links (1). FAT" in "\n".join(said)
    assert kept.counts()["files"] == whole.counts()["files"] + 1
    assert kept.counts()["symbolic_links"] == 0
    assert tree.drop_unstorable_content(whole, system("ubifs")) == (whole, [])


def test_an_image_is_two_files_that_are_read_back(image: Path) -> None:
    assert sorted(p.name for p in image.parent.iterdir()) == ["a.nand", "a.nand.json"]
    assert image.stat().st_size == 64 * PAGES * PAGE
    fits("image", chipfile.make_sidecar_path(image).read_text())
    assert chipfile.read_image_files(image) == (made(), chip_image())
    assert chipfile.measure_used_space(chip_image()) == chipfile.UsedSpace(pages=20, blocks=1)
    dump = image.read_bytes()
    assert dump[3 * PAGES * PAGE :][: PAGES * PAGE] == chip_image().blocks[1].cells
    assert set(dump[: 3 * PAGES * PAGE]) == {0xFF}
    size = len(chipimage.encode_chip_image(chip_image()))
    assert size <= chipfile.read_image_head(image).loaded_bytes() < size + 80 * 1024


def test_an_image_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fails(self: Path, to: Path) -> Path:
        if self.name == "cells":
            raise OSError("no")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="no"):
        chipfile.write_image_files(tmp_path / "a.nand", chip_image(), made())
    assert list(tmp_path.iterdir()) == []


def edit(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


def spoil(image: Path, how: str) -> None:
    sidecar = chipfile.make_sidecar_path(image)
    if how == "gone":
        image.unlink()
    elif how == "alone":
        sidecar.unlink()
    elif how == "short":
        os.truncate(image, 1000)
    elif how == "flipped":
        image.write_bytes(b"\0" + image.read_bytes()[1:])
    elif how == "text":
        sidecar.write_text("hello")
    elif how == "plain":
        edit(sidecar, lambda told: told.pop("made"))
    elif how == "geometry":
        edit(sidecar, lambda told: told.update(geometry={**told["geometry"], "oobsize": 64}))  # type: ignore[dict-item]
    else:
        edit(sidecar, lambda told: told["made"].update(part="apf27"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("gone", "a.nand: no such image"),
        ("alone", "a.nand.json: no such image's sidecar"),
        ("short", "a.nand: 1000 bytes, not 1081344: truncated?"),
        ("flipped", "a.nand: corrupt"),
        ("text", "a.nand.json: not JSON"),
        ("plain", "a.nand.json: made: must be given"),
        ("geometry", "is another geometry than that of NAND256W3A"),
        ("part", "is another geometry than that of apf27"),
    ],
)
def test_a_spoilt_image_is_refused_with_the_reason(
    image: Path, tmp_path: Path, how: str, said: str
) -> None:
    spoil(image, how)
    assert said in run("ls", image)
    assert said in run("extract", image, "--to", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_empty_is_not_extracted_into(image: Path) -> None:
    assert "already and not an empty folder" in run("extract", image, "--to", image.parent)
    assert "no such folder" in run("extract", image, "--to", image.parent / "a/b")


def yaffs2() -> Medium:
    chip, fs = load_noun("chips", "NAND256W3A", ChipModel), system("yaffs2")
    board = load_noun("boards", "apf27", BoardModel)
    return Medium(
        board=board,
        chip=chip,
        partition_blocks=64,
        filesystem=fs,
        options=fs.resolve_values({}, ""),
    )


def fake(brings: Callable[[Job], bytes | None], **answers: FakeResult) -> FakeBoard:
    steps = ("load", "modules", "mount", "write", "unmount", "save", "read")
    return FakeBoard({s: answers.get(s, FakeResult()) for s in steps}, brings=brings)


def test_an_image_that_does_not_give_all_back_is_no_image(tmp_path: Path) -> None:
    content = named(tmp_path, "here")
    root = {"path_hex": "", "mode": 0o40755, "uid": 0, "gid": 0, "bytes": 0, "mtime_s": 0}
    line = json.dumps(root | {"inode": 1}).encode()

    def brings(job: Job) -> bytes:
        return line if job.steps[-1].name == "read" else chipimage.encode_chip_image(chip_image())

    with pytest.raises(NandlabError, match=r"(?s)does not give back.*here is missing") as e:
        imaging.make_filesystem_image(yaffs2(), tmp_path, content, fake(brings))
    assert not isinstance(e.value, UsageError)


def test_a_tree_that_does_not_fit_is_the_asker_s_mistake(tmp_path: Path) -> None:
    full = FakeResult(stderr="tar: write error: No space left on device", rc=1)
    with pytest.raises(UsageError, match="fit: YAFFS2 on 1 MiB of NAND256W3A"):
        imaging.make_filesystem_image(
            yaffs2(), tmp_path, named(tmp_path, "x"), fake(lambda job: None, write=full)
        )
    broken = FakeResult(stderr="tar: I/O error", rc=1)
    with pytest.raises(NandlabError, match="write exited with 1: tar: I/O error"):
        imaging.make_filesystem_image(
            yaffs2(),
            tmp_path,
            tree.scan_folder_tree(tmp_path),
            fake(lambda job: None, write=broken),
        )


def test_cargo_lies_after_the_chip_and_before_the_firmware() -> None:
    board = load_noun("boards", "apf27", BoardModel)
    load_ = make_cargo(board, 5 * MIB + 1, b"x" * MIB, back_bytes=MIB)
    assert load_.address == (128 + 16 + 6) * MIB
    assert load_.back_address == (128 + 16 + 8) * MIB
    assert load_.back_address + 4096 + load_.room == (128 + 16 + 640) * MIB
    with pytest.raises(UsageError, match=r"keeps 640 MiB .* needs 264 MiB more"):
        make_cargo(board, 500 * MIB, bytes(MIB), back_bytes=400 * MIB)


def test_cargo_crosses_by_memory() -> None:
    board = load_noun("boards", "apf27", BoardModel)
    hold = Cargo(board.store_start, (b"there", b"and here"), board.store_end)
    with Store(board) as store:
        assert store.read_put_content(hold.find_content_address(0)) is None
        for i, content in enumerate(hold.contents):
            store.put(hold.find_content_address(i), content)
        assert store.read_put_content(hold.find_content_address(0)) == b"there"
        assert store.read_put_content(hold.find_content_address(1)) == b"and here"
        assert store.read_put_content(hold.back_address) is None
    assert hold.get(1) == f"ferry get {board.store_start + MIB:#x}"


STUDY = """
name = "flashed"
question = "?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark" }]
filesystems = [{ name = "nftl-fat32", image = "a.nand" }]
chips = [{ part = "NAND256W3A", partition_mib = 1 }]
states = [{ name = "fresh" }]
seeds = [1]
"""


def planned(folder: Path, *changes: tuple[str, str]) -> TrialSpec:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "s.toml").write_text(text)
    (found,) = study.plan_trials(study.read_study_file(folder / "s.toml"))
    return found


@pytest.fixture
def fit(tmp_path: Path) -> Path:
    """A folder with an image of a part that NFTL can live on."""
    g = load_noun("chips", "nandsim-small", ChipModel).geometry
    geometry = ChipGeometry(g.writesize, g.oobsize, g.erasesize, g.blocks)
    blocks = MIB // g.erasesize
    told = made(part="nandsim-small", partition_blocks=blocks)
    chipfile.write_image_files(tmp_path / "a.nand", ChipImage(geometry, 0, 0, 0, []), told)
    return tmp_path


SMALL = ('part = "NAND256W3A"', 'part = "nandsim-small"')


def test_a_study_takes_the_image_s_options_and_its_content_makes_the_id(fit: Path) -> None:
    spec = planned(fit, SMALL)
    assert spec.options == {"write": "back", "cluster": "512", "read_ahead": "default"}
    assert spec.image is not None
    assert "from a.nand" in spec.title()
    other = planned(fit, SMALL, ('"a.nand" }', '"a.nand", write = "sync" }'))
    assert other.options["write"] == "sync"
    (fit / "a.nand").rename(fit / "b.nand")
    chipfile.make_sidecar_path(fit / "a.nand").rename(fit / "b.nand.json")
    renamed = planned(fit, SMALL, ('"a.nand"', '"b.nand"'))
    edit(fit / "b.nand.json", lambda told: told.update(op_seq=9))
    changed = planned(fit, SMALL, ('"a.nand"', '"b.nand"'))
    empty = planned(fit, SMALL, (', image = "a.nand"', ', cluster = "512"'))
    assert renamed.id == spec.id
    assert len({spec.id, other.id, changed.id, empty.id}) == 4
    with pytest.raises(UsageError, match="changed since the study was planned"):
        assert renamed.image
        renamed.image.head()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([('"a.nand"', '"c.nand"')], "filesystems.0: image: {}/c.nand: no such image"),
        ([('"nftl-fat32"', '"jffs2"')], "image: {}/a.nand is of nftl-fat32, not jffs2"),
        ([("mib = 1 ", "mib = 2 ")], 'part = "nandsim-small", partition_mib = 1 }, not of'),
        ([("mib = 1 ", "mib = 1, faults = { bad_blocks = 1 } ")], "bad blocks of its own"),
        (
            [('"a.nand" }', '"a.nand", cluster = "4096" }')],
            "cluster = '4096': {}/a.nand was made with '512', and it is fixed",
        ),
    ],
)
def test_a_study_refuses_what_cannot_begin_from_the_image(
    fit: Path, changes: list[tuple[str, str]], said: str
) -> None:
    with pytest.raises(UsageError) as e:
        planned(fit, SMALL, *changes)
    assert said.replace("{}", str(fit)) in str(e.value)
