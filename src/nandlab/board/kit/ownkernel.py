# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of the user's own: the packages of `make bindeb-pkg`, and whether a board can run it.

Whoever gives the packages has built them. They are looked through before anything of them is
unpacked: each member has its place inside the root, and the kernel has what the board runs on.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from nandlab.base.errors import UsageError
from nandlab.base.gate import open_regular_file
from nandlab.base.strings import PackageFile, does_text_fit_type
from nandlab.board.kit import deb
from nandlab.catalog.arch import ARCHS

PACKAGE = re.compile(
    r"linux-(image|headers)-([a-z0-9][a-z0-9.+~-]*)_[A-Za-z0-9.+~%-]+_([a-z0-9]+)\.deb"
)
"""The files of `make bindeb-pkg`: what it is, the kernel's release, the architecture."""
DEBUG_SUFFIX = "-dbg"
CONFIG_BYTES_MAX = 4 << 20
MEMBERS_MAX = 200_000
"""Of a package; headers have some 20,000."""
UNPACKED_BYTES_MAX = 4 << 30
SETTING = re.compile(r"^(CONFIG_\w+)=(.*)$", re.MULTILINE)
PACK_REMEDY = "build the packages again, by `make bindeb-pkg KDEB_COMPRESS=xz`"

NEEDED_SETTINGS: Mapping[str, str] = {
    "CONFIG_MODULES": "the simulated chip is a module",
    "CONFIG_MODVERSIONS": "by its checksums modules are seen to fit the kernel before they run",
    "CONFIG_PRINTK": "what the kernel complains of is read",
    "CONFIG_BLK_DEV_INITRD": "the board's files are an initramfs",
    "CONFIG_RD_GZIP": "the initramfs is packed as gzip",
    "CONFIG_BINFMT_ELF": "init is an ELF program",
    "CONFIG_BINFMT_SCRIPT": "steps are scripts",
    "CONFIG_PROC_FS": "init mounts it",
    "CONFIG_SYSFS": "init mounts it",
    "CONFIG_DEVTMPFS": "init mounts it",
    "CONFIG_TMPFS": "init mounts it",
    "CONFIG_DEBUG_FS": "init mounts it, and the chip's counters are there",
    "CONFIG_DEVMEM": "jobs come through memory",
    "CONFIG_KALLSYMS": "tracers look up functions",
    "CONFIG_KPROBES": "tracers and the idle loop need it",
    "CONFIG_TRACEPOINTS": "memory is measured by them; CONFIG_FUNCTION_TRACER brings them",
    "CONFIG_BLOCK": "UBI's and NFTL's block devices",
    "CONFIG_MTD": "flash",
    "CONFIG_MTD_RAW_NAND": "the simulated chip",
}
"""What every board needs of its kernel, built in or as a module, and for what."""
NEEDED_BY_ARCH: Mapping[str, Mapping[str, str]] = {
    "amd64": {
        "CONFIG_X86_64": "the board's programs have 64 bits",
        "CONFIG_SERIAL_8250_CONSOLE": "console and status channel",
        "CONFIG_CPU_IDLE": "the idle loop that repeats exactly",
        "CONFIG_X86_PM_TIMER": "the processor's own timer is calibrated by it",
        "CONFIG_X86_IOPL_IOPERM": "init writes to a port when a job is done",
    },
    "armhf": {
        "CONFIG_ARM_PATCH_PHYS_VIRT": "memory begins at 1 GiB, and not at 0",
        "CONFIG_ARM_THUMB": "Debian's programs are Thumb code",
        "CONFIG_SERIAL_AMBA_PL011_CONSOLE": "the console",
        "CONFIG_SERIAL_8250_PCI": "the status channel",
        "CONFIG_PCI_HOST_GENERIC": "the doorbell is a PCI device",
    },
}
"""What boards of an architecture need besides."""
REFUSED_SETTINGS: Mapping[str, str] = {
    "CONFIG_MODULE_SIG_FORCE": "nandlab's modules have no signature",
    "CONFIG_TRIM_UNUSED_KSYMS": "nandlab's modules use symbols that it removes",
    "CONFIG_RANDSTRUCT_FULL": "nandlab's modules are built by another compiler's plugins",
}
"""What no board's kernel may have, and why."""


@dataclass(frozen=True)
class KernelPackages:
    """The packages of a kernel in a folder."""

    release: str
    """As ``uname -r`` gives it."""
    arch: str
    image: Path
    headers: Path


def find_kernel_packages(folder: Path) -> KernelPackages:
    """The image and the headers in a folder; UsageError unless it has exactly one of each."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one with the packages of the kernel")
    matches = [(path, PACKAGE.fullmatch(path.name)) for path in sorted(folder.iterdir())]
    named = [(path, m) for path, m in matches if m and not m[2].endswith(DEBUG_SUFFIX)]
    by_kind = {
        kind: [(path, m) for path, m in named if m[1] == kind] for kind in ("image", "headers")
    }
    for kind, there in by_kind.items():
        if len(there) != 1:
            listed = f" ({', '.join(path.name for path, _ in there)})" if there else ""
            raise UsageError(
                f"{folder}: {len(there)} packages linux-{kind}-RELEASE_VERSION_ARCH.deb{listed}, "
                "and one is needed: name a folder with what one `make bindeb-pkg` built"
            )
    (image, of_image), (headers, of_headers) = by_kind["image"][0], by_kind["headers"][0]
    if of_image.groups()[1:] != of_headers.groups()[1:]:
        raise UsageError(
            f"{folder}: {image.name} and {headers.name} are of two kernels: keep one in the folder"
        )
    if of_image[3] not in ARCHS:
        raise UsageError(f"{image}: boards are of {' and '.join(ARCHS)}, and this is {of_image[3]}")
    for path in (image, headers):
        if not does_text_fit_type(PackageFile, path.name):
            raise UsageError(f"{path}: no name of a package; set a plain CONFIG_LOCALVERSION")
    return KernelPackages(of_image[2], of_image[3], image, headers)


def check_kernel_packages(packages: KernelPackages) -> dict[str, str]:
    """The configuration of the kernel; UsageError if a board cannot run it or be built for it."""
    release = packages.release
    config_file = f"boot/config-{release}"
    config = _read_members(
        packages.image,
        {
            f"boot/vmlinuz-{release}",
            config_file,
            *(f"usr/lib/modules/{release}/modules.{name}" for name in ("order", "builtin")),
        },
        config_file,
    )
    top = f"usr/src/linux-headers-{release}"
    _read_members(packages.headers, {f"{top}/Makefile", f"{top}/Module.symvers", f"{top}/.config"})
    settings = parse_kernel_config(config)
    check_kernel_settings(settings, packages.arch, str(packages.image))
    return settings


def parse_kernel_config(text: str) -> dict[str, str]:
    """The values of a kernel's configuration by symbol."""
    return dict(SETTING.findall(text))


def check_kernel_settings(settings: Mapping[str, str], arch: str, where: str) -> None:
    """UsageError if a kernel of this configuration cannot be a board's."""
    needed = {**NEEDED_SETTINGS, **NEEDED_BY_ARCH[arch]}
    mistakes = [
        f"{where}: {symbol} is not set, and a board needs it: {why}"
        for symbol, why in needed.items()
        if settings.get(symbol) not in ("y", "m")
    ]
    mistakes += [
        f"{where}: {symbol} is set, and no board can have it: {why}"
        for symbol, why in REFUSED_SETTINGS.items()
        if settings.get(symbol) == "y"
    ]
    if mistakes:
        raise UsageError(*mistakes, "change the kernel's configuration and build it again")


def _read_members(package: Path, needed: set[str], text: str = "") -> str:
    """Looks through a package: UsageError if a member may not be unpacked or one is missing.

    needed: paths in the root. The answer is the content of ``text``, one of them.
    """
    content, lacking, size = b"", set(needed), 0
    try:
        with open_regular_file(package):
            pass
        with deb.open_package_tar(package, str(package)) as tar:
            for number, member in enumerate(tar):
                name = _check_member(member, package)
                size += member.size
                if number >= MEMBERS_MAX or size > UNPACKED_BYTES_MAX:
                    raise UsageError(f"{package}: it unpacks to more than a kernel has")
                lacking.discard(name)
                if name == text:
                    if member.size > CONFIG_BYTES_MAX:
                        raise UsageError(f"{package}: {name}: no configuration has so many bytes")
                    content = b"".join(deb.read_member_blocks(tar, member))
    except (LZMAError, zlib.error, OSError) as e:
        raise UsageError(f"{package}: damaged: {e}; {PACK_REMEDY}") from None
    except UsageError as e:
        raise UsageError(*e.args, PACK_REMEDY) from None
    if lacking:
        raise UsageError(f"{package}: it has no {min(lacking)}; {PACK_REMEDY}")
    return content.decode(errors="replace")


def _check_member(member: tarfile.TarInfo, package: Path) -> str:
    """A member's path in the root; UsageError if it is of a kind that no kernel's package has."""
    name = deb.map_path_into_root(member.name)
    if not (member.isreg() or member.isdir() or member.issym()):
        raise UsageError(f"{package}: {member.name}: neither a file nor a folder nor a link")
    if member.issym() and _leads_out(name, member.linkname):
        raise UsageError(f"{package}: {member.name}: the link leads out of the package's root")
    return name


def _leads_out(name: str, to: str) -> bool:
    """Whether a relative link at a path goes up past the root; an absolute one starts there."""
    parts = [] if to.startswith("/") else list(PurePosixPath(name).parts[:-1])
    for part in _list_path_words(to):
        if part == "..":
            if not parts:
                return True
            parts.pop()
        else:
            parts.append(part)
    return False


def _list_path_words(path: str) -> Iterator[str]:
    return (part for part in path.split("/") if part not in ("", "."))
