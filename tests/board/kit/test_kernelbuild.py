# SPDX-License-Identifier: GPL-2.0-or-later
"""How a kernel's build runs, what it is refused for, and that it leaves all or nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.hostroot import HostRoot
from support.treesmade import write_small_tree
from typer.testing import CliRunner

from nandlab.base.errors import NandlabError, SourceError, ToolError, UsageError
from nandlab.base.paths import find_cache_folder
from nandlab.board.kit import kernelbuild
from nandlab.board.kit.enter import READ_ONLY
from nandlab.board.kit.kernelbuild import (
    CACHE_KIND,
    KernelRequest,
    build_kernel_packages,
    make_kernel_request,
)
from nandlab.board.kit.ownkernel import check_kernel_packages
from nandlab.cli.main import app

RELEASE = "6.1.7-lean"


class StandInRoot(HostRoot):
    """Does what make would do with a kernel's tree, in a moment."""

    def __init__(self, fails: Mapping[str, str] | None = None, release: str = RELEASE) -> None:
        super().__init__()
        self.release = release
        self.targets: list[str] = []
        self.fails = fails or {}

    def check(self, files: object = None) -> None:
        pass

    def run(
        self, argv: Sequence[str], see: Mapping[str, Path] | None = None
    ) -> subprocess.CompletedProcess[str]:
        if argv[0] != "make":
            return super().run(argv, see)
        assert see is not None
        see = {place.removeprefix(READ_ONLY): folder for place, folder in see.items()}
        assert (see["/source"] / "init/main.c").is_file()
        target = argv[-1]
        self.targets.append(target)
        if target in self.fails:
            return subprocess.CompletedProcess(argv, 2, "", self.fails[target])
        steps: dict[str, Callable[[Mapping[str, Path]], None]] = {
            "allnoconfig": _configure,
            "modules": _compile,
            "modules_install": _install,
        }
        steps[target](see)
        if target == "modules":
            write(see["/out"] / "include/config/kernel.release", f"{self.release}\n")
        return subprocess.CompletedProcess(argv, 0, "", "")


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _configure(see: Mapping[str, Path]) -> None:
    asked = (see["/stage"] / "asked").read_text()
    lines = [line for line in asked.splitlines() if "UNKNOWN" not in line]
    symbols = [f"{s}=y" for s in ("CONFIG_TRACEPOINTS", "CONFIG_X86_64")]
    write(see["/out"] / ".config", "\n".join([*lines, *symbols, ""]))


def _compile(see: Mapping[str, Path]) -> None:
    out = see["/out"]
    write(out / "arch/x86/boot/bzImage", "a kernel")
    write(out / "Module.symvers")


def _install(see: Mapping[str, Path]) -> None:
    modules = see["/stage"] / "image/lib/modules" / RELEASE
    for name in ("modules.order", "modules.builtin"):
        write(modules / name)
    (modules / "build").symlink_to("/out")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_small_tree(tmp_path / "linux")


def request_with(tree: Path, text: str) -> KernelRequest:
    fragment = tree.parent / "mine.config"
    fragment.write_text(text)
    return make_kernel_request(tree, [str(fragment)], "amd64")


def list_kept() -> list[Path]:
    kept = find_cache_folder() / CACHE_KIND
    return [p for p in kept.iterdir() if p.is_dir()] if kept.exists() else []


def refuse(tree: Path, root: StandInRoot, text: str = "CONFIG_KASAN=y\n") -> NandlabError:
    with pytest.raises(NandlabError) as error:
        build_kernel_packages(request_with(tree, text), root)
    assert list_kept() == []
    return error.value


def test_a_built_kernel_is_two_packages_that_a_board_can_have(tree: Path) -> None:
    root = StandInRoot()
    packages = build_kernel_packages(request_with(tree, "CONFIG_KASAN=y\n"), root)
    assert root.targets == ["allnoconfig", "modules", "modules_install"]
    assert (packages.release, packages.arch) == (RELEASE, "amd64")
    settings = check_kernel_packages(packages)
    assert settings["CONFIG_KASAN"] == "y"
    (folder,) = list_kept()
    assert not {"out", "stage"} & {p.name for p in folder.iterdir()}


def test_a_kernel_is_built_once_for_a_tree_and_a_configuration(tree: Path) -> None:
    root = StandInRoot()
    first = build_kernel_packages(make_kernel_request(tree, [], "amd64"), root)
    assert build_kernel_packages(make_kernel_request(tree, [], "amd64"), root) == first
    assert len(root.targets) == 3
    other = build_kernel_packages(request_with(tree, "CONFIG_KASAN=y\n"), root)
    (tree / "init/main.c").write_text("int other;\n")
    last = build_kernel_packages(make_kernel_request(tree, [], "amd64"), root)
    assert len({first.image, other.image, last.image}) == 3


def test_a_later_fragment_goes_before_an_earlier_one(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "less.config").write_text("# CONFIG_KASAN_VMALLOC is not set\nCONFIG_SWAP=n\n")
    request = make_kernel_request(tree, ["kasan", str(tmp_path / "less.config")], "amd64")
    assert request.fragment["CONFIG_KASAN"] == "y"
    assert request.fragment["CONFIG_KASAN_VMALLOC"] == "n"
    settings = check_kernel_packages(build_kernel_packages(request, StandInRoot()))
    assert settings["CONFIG_KASAN"] == "y"
    assert {"CONFIG_KASAN_VMALLOC", "CONFIG_SWAP"}.isdisjoint(settings)


def test_a_tree_that_does_not_build_is_refused_with_the_compilers_lines(tree: Path) -> None:
    complaint = "/source/init/main.c:1:5: error: expected ;\nmake[1]: *** [x] Error 1\n"
    error = refuse(tree, StandInRoot({"modules": complaint}))
    assert isinstance(error, SourceError)
    assert error.exit_code == 2
    assert "init/main.c:1:5: error: expected ;" in error.lines


def test_what_the_machine_lacks_is_no_fault_of_the_tree(tree: Path) -> None:
    killed = "cc: fatal error: Killed signal terminated program cc1\n"
    error = refuse(tree, StandInRoot({"modules": killed}))
    assert isinstance(error, ToolError)
    assert not isinstance(error, SourceError)
    with pytest.raises(OSError, match="No space"):
        full = StandInRoot({"modules": "as: cannot write a.o: No space left on device"})
        build_kernel_packages(make_kernel_request(tree, [], "amd64"), full)
    assert list_kept() == []


def test_a_setting_that_is_not_to_be_had_is_refused_before_anything_is_compiled(tree: Path) -> None:
    root = StandInRoot()
    error = refuse(tree, root, "CONFIG_UNKNOWN=y\n")
    assert error.exit_code == 2
    assert "CONFIG_UNKNOWN=y" in str(error)
    error = refuse(tree, root, "# CONFIG_KPROBES is not set\nCONFIG_MODULE_SIG_FORCE=y\n")
    assert "CONFIG_KPROBES" in str(error)
    assert "CONFIG_MODULE_SIG_FORCE" in str(error)
    assert set(root.targets) == {"allnoconfig"}


def test_a_disk_without_room_is_refused_before_anything_runs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_usage(path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=kernelbuild.BUILD_BYTES - 1)

    monkeypatch.setattr(shutil, "disk_usage", find_usage)
    root = StandInRoot()
    assert "NANDLAB_CACHE" in str(refuse(tree, root))
    assert root.targets == []


@pytest.mark.parametrize("release", ["../../x", "6.1.7-Mine", "6.1.7_x", "", "6.1.7 x"])
def test_a_release_that_no_package_can_be_called_by_is_refused(release: str, tree: Path) -> None:
    assert "CONFIG_LOCALVERSION" in str(refuse(tree, StandInRoot(release=release)))


def test_a_tree_that_changes_while_it_is_built_is_refused(tree: Path) -> None:
    request = make_kernel_request(tree, [], "amd64")
    (tree / "init/main.c").write_text("int edit;\n")
    with pytest.raises(UsageError, match="changed"):
        build_kernel_packages(request, StandInRoot())
    assert list_kept() == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--tree", "nowhere"], "nowhere"),
        (["--tree", "."], "no kernel's tree"),
        (["--tree", "linux", "--config", "none.config"], "none.config"),
        (["--tree", "linux", "--packages", "."], "one of"),
        (["--config", "none.config", "--packages", "."], "--tree"),
        ([], "--tree"),
    ],
)
def test_the_command_refuses_and_writes_nothing(
    words: list[str], told: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    words = [word.replace("linux", str(tree)) for word in words]
    error = CliRunner().invoke(app, ["board", "make", "mine", *words]).exception
    assert isinstance(error, NandlabError)
    assert error.exit_code == 2
    assert told in str(error)
    assert list((tmp_path / "project").iterdir()) == []
