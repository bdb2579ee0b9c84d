# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's root file system: an initramfs of busybox, mtd-utils, init and ferry.

Of the kernel's modules it has those that init loads, and the index of all that a job may bring.
"""

from __future__ import annotations

import lzma
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.cpio import Archive
from nandlab.board.jobs.modules import (
    INDEXES,
    LOADED_BY_NAME,
    MODULES,
    ModuleSet,
    add_module_dependencies,
    normalize_module_name,
    parse_module_dependencies,
    strip_module_signature,
)
from nandlab.board.kit.kernel import Kernel
from nandlab.board.kit.kit import Kit
from nandlab.board.kit.root import Root

MTD_TOOLS = [
    *("flash_erase", "flash_eraseall", "flash_lock", "flash_unlock"),
    *("mtdinfo", "nanddump", "nandtest", "nandwrite"),
    *("nftl_format", "nftldump"),
    *("ubiattach", "ubidetach", "ubiformat", "ubimkvol", "ubinfo", "ubirmvol", "ubiupdatevol"),
]
"""Programs of mtd-utils that need the C library only."""

ELF = b"\x7fELF"
APPLETS_BEGIN = b"\0[\0[[\0"
"""How the table of busybox's commands begins."""
MODPROBE = "sbin/modprobe"
"""The command that the kernel starts, where it looks for it."""
NEEDED_LIBRARY = re.compile(r"\(NEEDED\).*\[(.+)\]")
"""What readelf tells of a library that a program needs."""


def make_initramfs(kit: Kit, own_programs: Mapping[str, Path], modules: ModuleSet) -> Archive:
    """The initramfs: the same inputs give the same bytes.

    own_programs: by their path on the board.
    """
    cpio = Archive()
    for folder in ("proc", "sys", "dev", "tmp", "mnt", "etc", "root"):
        cpio.folder(folder)
    cpio.device("dev/console", 5, 1)
    cpio.file("etc/profile", b"PS1='nandlab:\\w# '\n")
    _add_busybox(cpio, kit.kernel)
    _add_tools(cpio, kit)
    for where, program in sorted(own_programs.items()):
        cpio.file(where, program.read_bytes(), 0o755)
    _add_modules(cpio, kit, modules)
    return cpio


def list_command_names(paths: list[str]) -> list[str]:
    """The names of the commands among the paths of an initramfs."""
    return sorted(p.rpartition("/")[2] for p in paths if re.match(r"(usr/)?s?bin/", p))


def _add_busybox(cpio: Archive, kernel: Kernel) -> None:
    busybox = (kernel.root.path / "bin/busybox").read_bytes()
    cpio.file("bin/busybox", busybox, 0o755)
    runs_here = not kernel.arch.cross
    listed = kernel.root.checked(["/bin/busybox", "--list-full"]).split() if runs_here else []
    for applet in sorted(set(listed or _list_applets(busybox)) - {"bin/busybox"}):
        cpio.link(applet, "/bin/busybox")


def _list_applets(busybox: bytes) -> list[str]:
    """The paths of a busybox's commands, by its own table: names in order, an empty one ends it.

    It does not tell their folders: all are in one, but for those that mtd-utils have too.
    """
    table = busybox[busybox.index(APPLETS_BEGIN) + 1 :]
    names = table[: table.index(b"\0\0")].decode().split("\0")
    return [*(f"bin/{name}" for name in names if name not in MTD_TOOLS), MODPROBE]


def _add_tools(cpio: Archive, kit: Kit) -> None:
    root, arch = kit.kernel.root, kit.kernel.arch
    tools = [f"usr/sbin/{t}" for t in MTD_TOOLS if (root.path / "usr/sbin" / t).exists()]
    tools.append("sbin/mkfs.fat")
    for tool in tools:
        cpio.file(tool, (root.path / tool).read_bytes(), 0o755)
    binary = [p for p in tools if (root.path / p).read_bytes().startswith(ELF)]
    shell = ("/bin/busybox", "sh")
    libraries = (
        _list_foreign_libraries(kit, binary)
        if arch.cross
        else list_loaded_libraries(root, arch.loader, binary, shell)
    )
    loader = Path(arch.loader).name
    for library in libraries:
        home = Path(arch.loader).parent if library.name == loader else f"lib/{arch.triplet}"
        content = (root.path / library.relative_to("/")).read_bytes()
        cpio.file(f"{home}/{library.name}".lstrip("/"), content, 0o755)


def list_loaded_libraries(
    root: Root, loader: str, programs: list[str], shell: tuple[str, ...]
) -> list[Path]:
    """The libraries that programs of a root load, and their loader, as paths in the root.

    shell: the root's own, as it is called.
    """
    asked = f"for p; do {loader} --inhibit-cache --list /$p || exit 1; done"
    told = root.checked([*shell, "-c", asked, "sh", *programs])
    found = {line.split(" => ")[-1].split()[0] for line in told.splitlines()}
    return sorted(Path(p) for p in found if p.startswith("/"))


def _list_foreign_libraries(kit: Kit, programs: list[str]) -> list[Path]:
    """The same of programs that cannot run here, by what they and their libraries name."""
    root, arch = kit.kernel.root, kit.kernel.arch
    todo, libraries = [Path("/", program) for program in programs], set[Path]()
    while todo:
        see = {"/board": root.path}
        argv = [f"{arch.cross}readelf", "-d", *(f"/board{path}" for path in todo)]
        names = set(NEEDED_LIBRARY.findall(kit.tools.checked(argv, see=see)))
        needed = {Path("/lib", arch.triplet, name) for name in names}
        todo = sorted(needed - libraries)
        libraries |= needed
    return sorted(libraries)


def unpack_kernel_modules(kernel: Kernel, own_modules: list[Path], folder: Path) -> ModuleSet:
    """The board's modules, ours too, and those that they need, unpacked into a folder."""
    paths = {
        normalize_module_name(p.name.partition(".")[0]): p for p in kernel.modules.rglob("*.ko*")
    }
    paths |= {p.stem: p for p in own_modules}
    needs: dict[str, tuple[str, ...]] = {}

    def take(name: str) -> tuple[str, ...] | None:
        if name not in paths:
            return None  # built into this kernel
        content = _read_module(paths[name])
        (folder / f"{name}.ko").write_bytes(content)
        needs[name] = (*parse_module_dependencies(content), *LOADED_BY_NAME.get(name, ()))
        return needs[name]

    all_names = add_module_dependencies([*(p.stem for p in own_modules), *MODULES], take)
    only = {name: tuple(n for n in needs[name] if n in needs) for name in all_names}
    return ModuleSet(folder, f"lib/modules/{kernel.release}", only)


def _read_module(module: Path) -> bytes:
    """A module of a kernel's package as the board loads it."""
    content = module.read_bytes()
    return strip_module_signature(lzma.decompress(content) if module.suffix == ".xz" else content)


def _add_modules(cpio: Archive, kit: Kit, modules: ModuleSet) -> None:
    """Adds init's modules, and depmod's index of all that there are."""
    with _index_modules(kit, modules) as home:
        for name in [*(f"{name}.ko" for name in modules.in_image), *INDEXES]:
            cpio.file(f"{modules.home}/{name}", (home / name).read_bytes())


@contextmanager
def _index_modules(kit: Kit, modules: ModuleSet) -> Iterator[Path]:
    """A folder with all modules and depmod's index of them."""
    kernel = kit.kernel
    with hold_scratch_folder() as folder:
        home = folder / modules.home
        home.mkdir(parents=True)
        for name in modules.needs:
            shutil.copy(modules.folder / f"{name}.ko", home)
        for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            shutil.copy(kernel.modules / index, home)
        see = {"/image": folder}
        kit.tools.checked(["depmod", "-b", "/image", kernel.release], see=see)
        yield home


def compress_initramfs(initramfs: bytes, tools: Root) -> bytes:
    """The initramfs as gzip, by the board's own tools: another gzip may pack into other bytes."""
    with hold_scratch_folder() as folder:
        (folder / "image").write_bytes(initramfs)
        tools.checked(["gzip", "-n", "-6", "/scratch/image"], see={"/scratch": folder})
        return (folder / "image.gz").read_bytes()
