# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in a root of its own, with some of the host's paths in it.

    enter.py ROOT STAGE [TARGET SOURCE]... -- COMMAND...

The process gets a mount namespace, and a user namespace unless it is root. There the folder STAGE
becomes a new root: ROOT's folders, the host's /proc and /dev, an empty /tmp, and each SOURCE at its
TARGET, for reading only where the word for TARGET begins with ``ro:``. Nothing is mounted outside
of the namespace, and it ends with the command. The command keeps the process's number and open
files, has no variables of the host's environment, starts in the same folder if the new root has it,
and is killed when its parent ends.

This file is run by itself, and so imports nothing of nandlab. It is run for each trial, and so it
imports little: pathlib and signal would take as long as the rest of it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings  # noqa: F401 - os.execvpe imports it, and cannot once the root is another

READ_ONLY = "ro:"
"""How the place of a path begins that is for reading only."""
FAILED = 125
"""The exit status if the root could not be entered; the last line of stderr says why."""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/"}
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 1 << 12
_MS_REC = 1 << 14
_MS_RELATIME = 1 << 21
_READ_ONLY = 1 | 1 << 5 | _MS_BIND
_MS_PRIVATE = 1 << 18
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_libc = ctypes.CDLL(None, use_errno=True)


def _call_libc(name: str, *words: object) -> None:
    given = [os.fsencode(w) if isinstance(w, str) else w for w in words]
    if getattr(_libc, name)(*given) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _mount(source: str, target: str, kind: str | None = None, flags: int = 0) -> None:
    _call_libc("mount", source, target, kind, ctypes.c_ulong(flags), None)


def _write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _unshare() -> None:
    """A mount namespace of its own; for this, who is not root needs a user namespace too."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _call_libc("unshare", _CLONE_NEWNS)
    except PermissionError:
        _call_libc("unshare", _CLONE_NEWNS | _CLONE_NEWUSER)
        _write_text("/proc/self/setgroups", "deny")
        _write_text("/proc/self/uid_map", f"{uid} {uid} 1")
        _write_text("/proc/self/gid_map", f"{gid} {gid} 1")
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write_text(target, "")
    _mount(source, target, flags=_MS_BIND | _MS_REC)


def _find_mount_flags(path: str) -> int:
    """Flags of a mount that a remount must keep; who is not root may not drop them."""
    flags = os.statvfs(path).f_flag
    same = flags & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    return same | (_MS_RELATIME if flags & os.ST_RELATIME else 0)


def _fill_folder(source: str, stage: str, visible_paths: set[str], left_out: str = "") -> None:
    """Binds what ``source`` has, for reading only; a folder in which something is wanted is filled.

    visible_paths: paths in ``source``. left_out: an entry of ``source`` that is not bound.
    """
    for name in sorted(os.listdir(source)):
        entry, place = f"{source}/{name}", f"{stage}/{name}"
        parts = [path.partition("/") for path in visible_paths]
        inside = {below for first, _, below in parts if first == name}
        if os.path.islink(entry):
            os.symlink(os.readlink(entry), place)
        elif "" in inside or name == left_out:
            continue
        elif inside and os.path.isdir(entry):
            os.makedirs(place, exist_ok=True)
            _fill_folder(entry, place, inside)
        else:
            _bind_read_only(entry, place)


def _bind_read_only(source: str, target: str) -> None:
    _bind(source, target)
    _mount("none", target, flags=_READ_ONLY | _find_mount_flags(target))


def _enter_root(root: str, stage: str, see: dict[str, str], read_only: set[str]) -> None:
    """see: what is seen, by where. read_only: the places of those that are for reading only."""
    try:
        working_folder = os.getcwd()
    except FileNotFoundError:  # it has been removed
        working_folder = "/"
    _unshare()
    _mount("tmpfs", stage, "tmpfs")
    # first what is to be seen: a folder that contains the stage would bring all that is bound there
    for target, source in see.items():
        bind = _bind_read_only if target in read_only else _bind
        bind(source, stage + target)
    os.makedirs(f"{stage}/tmp", exist_ok=True)
    _fill_folder(root, stage, {target.lstrip("/") for target in see}, left_out="tmp")
    os.chroot(stage)
    os.chdir(working_folder if os.path.isdir(working_folder) else "/")


def main(words: list[str]) -> None:
    parent = os.getppid()
    root, stage = words[:2]
    end = words.index("--")
    pairs = zip(words[2:end:2], words[3:end:2], strict=True)
    see = {"/proc": "/proc", "/dev": "/dev"}
    see |= {os.path.normpath(target.removeprefix(READ_ONLY)): source for target, source in pairs}
    marked = [word for word in words[2:end:2] if word.startswith(READ_ONLY)]
    kept = {os.path.normpath(word.removeprefix(READ_ONLY)) for word in marked}
    command = words[end + 1 :]
    try:
        _enter_root(root, stage, see, kept)
        _call_libc("prctl", _PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != parent:
            sys.exit(FAILED)
        os.execvpe(command[0], command, ENVIRONMENT)
    except OSError as e:
        print(f"{command[0]} in {root}: {e.strerror or e}", file=sys.stderr)
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
