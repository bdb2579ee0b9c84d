# SPDX-License-Identifier: GPL-2.0-or-later
"""`nandlab image sizes`: what is asked for, what is told, and nothing left when it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support import trees
from support.fitting import fits
from typer.testing import CliRunner

from nandlab.base.errors import NandlabError
from nandlab.base.paths import CATALOG
from nandlab.board import opening
from nandlab.board.jobs.fake import FakeBoard
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.cli import sizes as cli
from nandlab.cli.image import image_app
from nandlab.image import making, survey, tree
from nandlab.image.sizes import ImageSize
from nandlab.image.survey import SurveyRow, SurveySource, SurveyTask
from nandlab.image.surveyrecord import make_sizes_row


def system(name: str) -> FilesystemModel:
    return load_noun("filesystems", name, FilesystemModel)


def asked(*names: str, part: str = "nandsim-small") -> tuple[list[SurveyTask], list[SurveyRow]]:
    models = [system(name) for name in names]
    model, chip = load_noun("boards", "apf27", BoardModel), load_noun("chips", part, ChipModel)
    config = {f"CONFIG_{s}": "y" for s in ("JFFS2_LZO", "JFFS2_ZLIB", "UBIFS_FS_LZO")}
    board = FakeBoard(kernel_config=config)
    return survey.plan_survey(models, model, chip, chip.partition_blocks(8), board)


def row(compression: str | None, pages: int, own: int = 0, name: str = "ubifs") -> SurveyRow:
    return SurveyRow(name, "UBIFS", compression, ImageSize(pages, own, (pages - own) * 512))


def test_each_compression_is_asked_for_once_and_none_first() -> None:
    assert [r.compression for r in survey.list_filesystem_rows(system("jffs2"))] == [
        "none", "lzo", "zlib", "rtime",
    ]  # fmt: skip
    assert [r.compression for r in survey.list_filesystem_rows(system("squashfs"))][:2] == [
        "none",
        "gzip",
    ]
    assert [r.compression for r in survey.list_filesystem_rows(system("yaffs2"))] == [None]


def test_what_cannot_be_is_a_row_with_its_reason() -> None:
    todo, cannot = asked("jffs2", "ubifs", "yaffs2")
    assert [(a.row.filesystem, a.row.compression) for a in todo] == [
        ("jffs2", "none"), ("jffs2", "lzo"), ("jffs2", "zlib"), ("ubifs", "none"), ("ubifs", "lzo"),
        ("yaffs2", None),
    ]  # fmt: skip
    assert todo[1].medium.options["compression"] == "lzo"
    told = {r.compression: r.hindrances for r in cannot}
    (no_zstd,) = told["zstd"]
    assert "lacks CONFIG_UBIFS_FS_ZSTD: --source ubifs=package,zstd=true " in no_zstd
    assert len(told["favor-lzo"]) == 1, "of two symbols it lacks one"
    assert "rtime" in told["rtime"][0]
    (no_small_pages,) = asked("nftl-fat32", part="apf27")[1]
    assert no_small_pages.hindrances[0].startswith("writesize is 2048, must be at most 512")


def test_what_is_saved_is_of_the_pages_without_headers() -> None:
    rows = survey.add_saving_shares(
        [
            row("none", 120, 20),
            row("lzo", 70, 20),
            row(None, 50, 0, "yaffs2"),
            row("lz4", 5, 0, "x"),
        ]
    )
    assert [r.saved for r in rows] == [None, 0.5, None, None]


def test_the_table_has_figures_or_a_reason() -> None:
    failed = SurveyRow(
        "x", "X", "lz4", hindrances=("it cannot hold this:", "  a name", "another", "more")
    )
    packed = replace(row("lzo", 700, 200), least_mib="2.875")
    rows = survey.add_saving_shares([row("none", 1200, 200), packed, failed])
    assert list(cli._format_table(rows)) == [
        "file system  compression  pages  UBI's own  others    bytes   saved  least MiB",
        "UBIFS        none         1,200        200   1,000  512,000       -          -",
        "UBIFS        lzo            700        200     500  256,000  50.0 %      2.875",
        "X            lz4          cannot be: it cannot hold this: a name; and 2 more",
    ]
    assert make_sizes_row(rows[1]).model_dump() == {
        "filesystem": "ubifs", "compression": "lzo", "pages": 700, "own_header_pages": 200,
        "pages_without_own_headers": 500, "bytes": 256000, "saved": 0.5, "why_not": None,
        "least_mib": 2.875, "lost": [], "seconds": 0,
    }  # fmt: skip
    assert make_sizes_row(failed).pages is None
    assert (make_sizes_row(failed).why_not or "").splitlines()[1] == "  a name"


def source(folder: Path) -> SurveySource:
    (folder / "tree").mkdir()
    (folder / "tree/a").write_text("a")
    return SurveySource(folder / "tree", tree.scan_folder_tree(folder / "tree"))


def test_reasons_come_back_from_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NandlabError("no", "way")

    monkeypatch.setattr(making, "make_filesystem_image", refuse)
    todo, _ = asked("jffs2", "yaffs2")
    told: list[SurveyRow] = []
    found = survey.make_survey_rows(todo, source(tmp_path), FakeBoard(), 2, told.append)
    assert [(r.filesystem, r.compression) for r in found] == [
        (a.row.filesystem, a.row.compression) for a in todo
    ]
    assert {r.hindrances for r in found} == {("no", "way")}
    assert len(told) == len(found)


def test_a_process_that_dies_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die_or_stay(on: object, *_: object) -> None:
        (tmp_path / str(os.getpid())).touch()
        if getattr(on, "options", {}).get("compression") == "none":
            os._exit(7)
        time.sleep(600)

    monkeypatch.setattr(making, "make_filesystem_image", die_or_stay)
    todo, _ = asked("jffs2")
    with pytest.raises(NandlabError, match=r"JFFS2 none: .* ended with 7"):
        survey.make_survey_rows(todo, source(tmp_path), FakeBoard(), 2, lambda row: None)
    pids = [int(p.name) for p in tmp_path.iterdir() if p.name.isdecimal()]
    assert pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_process_that_misses_a_signal_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = tmp_path / "stays"

    def die_or_be_deaf(on: object, *_: object) -> None:
        if getattr(on, "options", {}).get("compression") == "none":
            while not stays.exists():
                time.sleep(0.01)
            os._exit(7)
        hears = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stays.touch()
        time.sleep(1)
        signal.signal(signal.SIGTERM, hears)
        time.sleep(600)

    monkeypatch.setattr(making, "make_filesystem_image", die_or_be_deaf)
    todo, _ = asked("jffs2")
    with pytest.raises(NandlabError, match="ended with 7"):
        survey.make_survey_rows(todo, source(tmp_path), FakeBoard(), 2, lambda row: None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--from": "none"}, "no such folder"),
        ({"--chip": "x"}, "no 'x' in catalog/chips"),
        ({"--fs": "ext4"}, "no 'ext4' in catalog/filesystems"),
        ({"--partition-mib": "1.01"}, "--partition-mib: a partition is whole blocks"),
        ({"--partition-mib": "0"}, "--partition-mib: 0 MiB has no block"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    given = {"--from": str(tmp_path), "--chip": "apf27", "--partition-mib": "8"} | change
    argv = ["sizes", *(word for pair in given.items() for word in pair)]
    done = CliRunner().invoke(image_app, argv)
    assert done.exit_code != 0
    assert said in str(done.exception)


def test_file_systems_of_other_kernels_have_a_board_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All file systems of a project whose files name other sources of one part."""
    folder = tmp_path / "catalog/filesystems"
    folder.mkdir(parents=True)
    shipped = (CATALOG / "filesystems/yaffs2.toml").read_text()
    for name, core in (("mine", "package"), ("yours", "elsewhere")):
        text = shipped.replace('"yaffs2"', f'"{name}"', 1)
        (folder / f"{name}.toml").write_text(f'{text}\n[source.yaffs2]\ntree = "{core}"\n')
    monkeypatch.chdir(tmp_path)
    opened: list[list[str]] = []

    def open_fake_board(model: BoardModel) -> FakeBoard:
        opened.append([source.tree for source in model.source.values()])
        return FakeBoard()

    def refuse(*_: object) -> None:
        raise NandlabError("no", "way")

    monkeypatch.setattr(opening, "open_board", open_fake_board)
    monkeypatch.setattr(making, "make_filesystem_image", refuse)
    source(tmp_path)
    where = ["--from", "tree", "--chip", "nandsim-small", "--partition-mib", "8"]
    names = ["mine", "yours", "yaffs2"]
    systems = [word for name in names for word in ("--fs", name)]
    done = CliRunner().invoke(image_app, ["sizes", *where, *systems, "--json"])
    rows = fits("sizes", done.stdout)["rows"]
    assert [(row["filesystem"], row["why_not"]) for row in rows] == [
        (name, "no\nway") for name in names
    ]
    assert opened == [["package"], [str(folder.parent.parent / "elsewhere")], []]


@pytest.mark.board
def test_sizes_are_those_of_the_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the compressions that are compared here; each takes the board four jobs."""
    list_all = survey.list_filesystem_rows
    compared = {None, "none", "lzo"}

    def list_compared_rows(of: FilesystemModel) -> list[SurveyRow]:
        return [row for row in list_all(of) if row.compression in compared]

    monkeypatch.setattr(survey, "list_filesystem_rows", list_compared_rows)
    (tmp_path / "tree").mkdir()
    trees.grow(tmp_path / "tree", odd=True)
    (tmp_path / "tree/words").write_text("the same words again, " * 10_000)
    where = ["--from", str(tmp_path / "tree"), "--chip", "nandsim-small", "--partition-mib", "8"]
    board = ["--board", os.environ.get("NANDLAB_TEST_BOARD", "apf27")]
    systems = ["--fs", "ubifs", "--fs", "nftl-fat32"]
    done = CliRunner().invoke(
        image_app, ["sizes", *where, *board, *systems, "--json"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    told = fits("sizes", done.stdout)
    assert told["tree"]["files"] == tree.scan_folder_tree(tmp_path / "tree").counts()["files"]
    rows = {(r["filesystem"], r["compression"]): r for r in told["rows"]}
    plain, lzo = rows["ubifs", "none"], rows["ubifs", "lzo"]
    assert plain["own_header_pages"] == lzo["own_header_pages"] == 512, "a header of each block"
    assert lzo["pages_without_own_headers"] < plain["pages_without_own_headers"]
    assert lzo["saved"] == round(1 - lzo["bytes"] / plain["bytes"], 4)
    assert "cannot hold this tree" in rows["nftl-fat32", None]["why_not"]


@pytest.mark.board
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_it_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "tree").mkdir()
    trees.grow(tmp_path / "tree", odd=True)
    scratch = tmp_path / "s"  # short, so that the board's sockets are in it too
    scratch.mkdir()
    # a shell starts background jobs with SIGINT ignored, which children inherit
    argv = ["env", "--default-signal=INT", sys.executable, "-m", "nandlab", "image", "sizes"]
    argv += [
        "--from",
        str(tmp_path / "tree"),
        "--chip",
        "nandsim-small",
        "--partition-mib",
        "8",
        "--fs",
        "ubifs",
    ]
    env = {**os.environ, "TMPDIR": str(scratch)}
    assert tempfile.tempdir is None or env["TMPDIR"]
    running = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, start_new_session=True)
    assert running.stderr is not None
    while b"images to make" not in (line := running.stderr.readline()):
        assert line, "it ended"
    deadline = time.monotonic() + 60
    while not list(scratch.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(scratch.iterdir()), "it had begun to make images"
    running.send_signal(how)
    assert running.wait(timeout=60) != 0
    assert list(scratch.iterdir()) == []
    members = [p for p in Path("/proc").glob("[0-9]*/stat") if _session(p) == running.pid]
    assert members == []


def _session(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None
