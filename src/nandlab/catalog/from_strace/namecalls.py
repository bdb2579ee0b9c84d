# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls by names: what each is in a recorded load, and what it shows to be there, or not."""

from __future__ import annotations

import re
from functools import partial

from nandlab.catalog.from_strace.events import Call
from nandlab.catalog.from_strace.filecalls import (
    SIZE_PATTERN,
    format_load_file_mode,
    parse_stat_file_kind,
    replay_fstat,
)
from nandlab.catalog.from_strace.follower import CallHandlers, TraceFollower, parse_argument_number
from nandlab.catalog.from_strace.names import NameNode, PathParts
from nandlab.catalog.from_strace.processes import OpenFile
from nandlab.catalog.from_strace.words import parse_string_argument, quote_load_word

FLAGS = (
    *("O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_SYNC"),
    *("O_DSYNC", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NONBLOCK"),
    *("O_NOATIME", "O_PATH", "O_LARGEFILE"),
)
"""Flags of open that the replay knows."""
OPENAT2 = {
    "flags": re.compile(r"flags=([\w|]+)"),
    "mode": re.compile(r"mode=(0[0-7]*)"),
}


def _parse_flags(f: TraceFollower, call: Call, text: str) -> list[str]:
    given = text.split("|")
    found = [flag for flag in given if flag in FLAGS]
    for flag in sorted({*given} - {*found}):
        f.leave_out(call, f"{flag}, which is left out of opens")
    return found


def replay_open(f: TraceFollower, call: Call) -> tuple[OpenFile, bool] | None:
    """open, openat, openat2 and creat: the open file that its descriptor will stand for."""
    folder, index = (None, 0) if call.name in ("open", "creat") else (0, 1)
    text, bits = call.arg(index + 1), call.arg(index + 2)
    if call.name == "creat":
        text, bits = "O_WRONLY|O_CREAT|O_TRUNC", call.arg(1)
    if call.name == "openat2":
        told = {k: found[1] for k, p in OPENAT2.items() if (found := p.search(text))}
        text, bits = told.get("flags", "O_RDONLY"), told.get("mode", "")
    where = f.find_path(call, folder, index)
    path = f.path(call, folder, index)
    if path is None:
        return None if call.error else (OpenFile(where), "O_CLOEXEC" in text)
    if "O_TMPFILE" in text:
        f.leave_out(call, "opens with O_TMPFILE, and what is done with their files")
        return None if call.error else (OpenFile(where), "O_CLOEXEC" in text)
    if call.error:
        _replay_failed_open(f, call, path, text, bits)
        return None
    opened = OpenFile(where, node=_find_opened_node(f, path, text))
    if opened.node is None:
        f.leave_out(call, "opens of files that another program made")
        return opened, "O_CLOEXEC" in text
    opened.number = f.take_number()
    opened.appends = "O_APPEND" in text
    f.emit(call, "open", opened.number, *_format_open(f, call, path, text, bits))
    return opened, "O_CLOEXEC" in text


def _format_open(f: TraceFollower, call: Call, path: PathParts, text: str, bits: str) -> list[str]:
    flags = _parse_flags(f, call, text)
    if {"O_WRONLY", "O_RDWR", "O_CREAT"} & set(flags):
        f.note_write(path)
    return [
        f.word(path),
        "|".join(flags) or "O_RDONLY",
        *([format_load_file_mode(bits)] if "O_CREAT" in text else []),
    ]


def _find_opened_node(f: TraceFollower, path: PathParts, text: str) -> NameNode | None:
    """What an open that succeeded has found or made."""
    kind = "dir" if "O_DIRECTORY" in text else ""
    if "O_CREAT" in text and path:
        node = f.names.make(path, "file") if "O_EXCL" in text else f.names.maybe(path)
    else:
        node = f.names.existing(path, kind, follow="O_NOFOLLOW" not in text)
    if node is not None and "O_TRUNC" in text:
        node.size.cut(0)
    return node


def _replay_failed_open(
    f: TraceFollower, call: Call, path: PathParts, text: str, bits: str
) -> None:
    if f.failed(call):
        return
    if call.error == "ENOENT" and "O_CREAT" not in text:
        f.names.absent(path)
    elif call.error == "EEXIST":
        f.names.existing(path, "file", follow=False)
    elif call.error == "EISDIR":
        f.names.existing(path, "dir")
    elif call.error == "ENOTDIR":
        f.names.existing(path if "O_DIRECTORY" in text else path[:-1], "file")
    number = f.take_number()
    f.emit(
        call, "open", number, *_format_open(f, call, path, text, bits), returned=f"-{call.error}"
    )
    f.give_number(number)


def _replay_lookup(
    f: TraceFollower,
    call: Call,
    verb: str,
    folder: int | None,
    index: int,
    answer_index: int | None = None,
) -> None:
    """A call that looks a name up: stat, access, readlink.

    answer_index: the argument that the kernel writes its answer to.
    """
    path = f.path(call, folder, index)
    if path is None or f.failed(call, *(["EINVAL"] if verb == "readlink" else [])):
        return
    if call.error == "ENOENT":
        f.names.absent(path)
    elif call.error == "ENOTDIR":
        f.names.existing(path[:-1], "file")
    elif call.error != "ENAMETOOLONG":
        _note_lookup(f, call, verb, path, "" if answer_index is None else call.arg(answer_index))
    f.emit(call, verb, f.word(path), returned=f"-{call.error}" if call.error else "")


def _note_lookup(f: TraceFollower, call: Call, verb: str, path: PathParts, answer: str) -> None:
    """A name that is there; what a stat or a readlink tells of it."""
    kind = "link" if verb == "readlink" and not call.error else parse_stat_file_kind(answer)
    node = f.names.existing(path, kind, follow=verb not in ("lstat", "readlink"))
    if node is None:
        f.leave_out(call, "look-ups of files that another program made")
        return
    if node.kind in ("", "file") and (size := SIZE_PATTERN.search(answer)):
        node.size.note_size(int(size[1]))
    if kind == "link" and verb == "readlink":
        target = parse_string_argument(answer)
        node.target = node.target or (
            None if target is None else _translate_target(f, path, target)
        )


def _translate_target(f: TraceFollower, path: PathParts, target: bytes) -> bytes:
    """Where a symbolic link leads: a path from the root below the folder becomes one from it."""
    parts = f.inside(tuple(p for p in target.split(b"/") if p)) if target[:1] == b"/" else None
    if parts is None:
        return target
    return b"/".join([*([b".."] * (len(path) - 1)), *parts]) or b"."


def _replay_stat_at(f: TraceFollower, call: Call, flags: int, answer_index: int) -> None:
    """newfstatat and statx: of a descriptor, a link, or what a link leads to."""
    flag_words = call.arg(flags)
    if call.arg(1) in ('""', "NULL"):
        replay_fstat(f, call, call.arg(answer_index))
        return
    verb = "lstat" if "AT_SYMLINK_NOFOLLOW" in flag_words else "stat"
    _replay_lookup(f, call, verb, 0, 1, answer_index)


def _replay_mkdir(f: TraceFollower, call: Call, folder: int | None, index: int) -> None:
    path = f.path(call, folder, index)
    if path is None or f.failed(call):
        return
    if call.error == "EEXIST":
        f.names.existing(path, "", follow=False)
    elif not call.error:
        f.names.make(path, "dir")
    _add_name_operation(
        f, call, "mkdir", path, f.word(path), format_load_file_mode(call.arg(index + 1))
    )


def _add_name_operation(
    f: TraceFollower, call: Call, verb: str, path: PathParts, *words: str | int
) -> None:
    """A call that changes a name, or that failed to."""
    f.emit(call, verb, *words, returned=f"-{call.error}" if call.error else "")
    f.note_write(path)


def _replay_unlink(
    f: TraceFollower, call: Call, folder: int | None, index: int, verb: str = "unlink"
) -> None:
    path = f.path(call, folder, index)
    if path is None or f.failed(call):
        return
    if "AT_REMOVEDIR" in call.arg(index + 1):
        verb = "rmdir"
    known = (
        _can_replay_rmdir(f, call, path) if verb == "rmdir" else _can_replay_unlink(f, call, path)
    )
    if not known:
        f.leave_out(call, f"{verb} of what another program made")
        return
    if not call.error:
        f.names.remove(path)
    _add_name_operation(f, call, verb, path, f.word(path))


def _can_replay_unlink(f: TraceFollower, call: Call, path: PathParts) -> bool:
    """Whether an unlink can be replayed."""
    if call.error == "ENOENT":
        f.names.absent(path)
    elif call.error == "EISDIR":
        f.names.existing(path, "dir")
    elif call.error == "ENOTDIR":
        f.names.existing(path[:-1], "file")
    elif not call.error:
        return f.names.existing(path, follow=False) is not None
    return True


def _can_replay_rmdir(f: TraceFollower, call: Call, path: PathParts) -> bool:
    """Whether an rmdir can be replayed."""
    if call.error == "ENOENT":
        f.names.absent(path)
    elif call.error == "ENOTDIR":
        f.names.existing(path, "file", follow=False)
    elif call.error in ("ENOTEMPTY", "EEXIST"):
        node = f.names.existing(path, "dir")
        if node is not None and not any(node.children.values()):
            f.names.existing((*path, b".something"), "file")
    elif not call.error:
        return f.names.existing(path, "dir") is not None
    return True


def _replay_rename(f: TraceFollower, call: Call, old: int, new: int, folders: bool) -> None:
    old_at, new_at = (old - 1, new - 1) if folders else (None, None)
    paths = _find_two_paths(f, call, old_at, old, new_at, new)
    if paths is None or f.failed(call):
        return
    flags = call.arg(new + 1) if call.name == "renameat2" else ""
    verb = "exchange" if "EXCHANGE" in flags else "rename"
    verb = "rename_new" if "NOREPLACE" in flags else verb
    if call.error == "ENOENT":
        f.names.absent(paths[0])
    elif call.error:
        f.names.existing(paths[0], follow=False)
        _note_rename_target(f, call, paths[1])
    elif not f.names.rename(*paths, exchange=verb == "exchange"):
        f.leave_out(call, "rename of what another program made")
        return
    _add_name_operation(f, call, verb, paths[1], *map(f.word, paths))


def _note_rename_target(f: TraceFollower, call: Call, path: PathParts) -> None:
    """What a rename found where it was to go."""
    if call.error in ("ENOTEMPTY", "EEXIST", "EISDIR"):
        kind = "dir" if call.error != "EEXIST" else ""
        node = f.names.existing(path, kind, follow=False)
        if call.error == "ENOTEMPTY" and node is not None and not any(node.children.values()):
            f.names.existing((*path, b".something"), "file")


def _find_two_paths(
    f: TraceFollower, call: Call, old_at: int | None, old: int, new_at: int | None, new: int
) -> tuple[PathParts, PathParts] | None:
    """The two paths of a rename or link; one that is elsewhere gets a name of its own below."""
    paths = f.path(call, old_at, old), f.path(call, new_at, new)
    if paths == (None, None) or (None in paths and call.error):
        return None
    if None in paths:
        f.leave_out(call, "across the folder's edge, replayed with a name below it")
    return paths[0] or f.outside(), paths[1] or f.outside()


def _replay_link(f: TraceFollower, call: Call, folders: bool) -> None:
    spots = (0, 1, 2, 3) if folders else (None, 0, None, 1)
    paths = _find_two_paths(f, call, *spots)
    if paths is None or f.failed(call):
        return
    if call.error == "ENOENT":
        f.names.absent(paths[0])
    elif call.error:
        f.names.existing(paths[0], follow=False)
        f.names.existing(paths[1], follow=False)
    elif not f.names.link(*paths):
        f.leave_out(call, "link of what another program made")
        return
    _add_name_operation(f, call, "link", paths[1], *map(f.word, paths))


def _replay_symlink(f: TraceFollower, call: Call, folder: int | None, index: int) -> None:
    path, target = f.path(call, folder, index), parse_string_argument(call.arg(0))
    if path is None or target is None or f.failed(call):
        return
    target = _translate_target(f, path, target)
    if call.error == "EEXIST":
        f.names.existing(path, follow=False)
    elif not call.error and (made := f.names.make(path, "link")) is not None:
        made.target = target
    _add_name_operation(f, call, "symlink", path, quote_load_word(target), f.word(path))


def _replay_truncate(f: TraceFollower, call: Call) -> None:
    path = f.path(call, None, 0)
    if path is None or f.failed(call):
        return
    size = parse_argument_number(call.arg(1)) or 0
    if call.error == "ENOENT":
        f.names.absent(path)
    elif not call.error and (node := f.names.existing(path, "file")) is not None:
        node.size.cut(size)
    _add_name_operation(f, call, "truncate", path, f.word(path), size)


def _replay_change(f: TraceFollower, call: Call, verb: str, folder: int | None, index: int) -> None:
    """chmod, chown and utimensat."""
    if call.arg(index) in ('""', "NULL"):
        _replay_fd_change(f, call, verb, index)
        return
    path = f.path(call, folder, index)
    if path is None or f.failed(call):
        return
    if call.error == "ENOENT":
        f.names.absent(path)
    elif not call.error:
        f.names.existing(path)
    link = "AT_SYMLINK_NOFOLLOW" in " ".join(call.args[index + 1 :])
    verb = f"l{verb}" if link and verb in ("chown", "utimes") else verb
    _add_name_operation(f, call, verb, path, f.word(path), *_list_change_words(call, verb, index))


def _list_change_words(call: Call, verb: str, index: int) -> list[str | int]:
    if verb == "chmod":
        return [format_load_file_mode(call.arg(index + 1))]
    if verb in ("chown", "lchown"):
        given = (parse_argument_number(call.arg(index + i)) for i in (1, 2))
        return [-1 if n is None else n for n in given]
    return []


def _replay_fd_change(f: TraceFollower, call: Call, verb: str, index: int) -> None:
    """The same on a descriptor: futimens, fchownat with AT_EMPTY_PATH."""
    opened = f.replayed(call)
    if opened is not None:
        f.emit(call, f"f{verb}", opened.number, *_list_change_words(call, verb, index))


def _replay_statfs(f: TraceFollower, call: Call) -> None:
    if f.path(call, None, 0) is not None and not f.failed(call) and not call.error:
        f.emit(call, "statfs")


NAME_HANDLERS: CallHandlers = {
    "stat": partial(_replay_lookup, verb="stat", folder=None, index=0, answer_index=1),
    "stat64": partial(_replay_lookup, verb="stat", folder=None, index=0, answer_index=1),
    "lstat": partial(_replay_lookup, verb="lstat", folder=None, index=0, answer_index=1),
    "lstat64": partial(_replay_lookup, verb="lstat", folder=None, index=0, answer_index=1),
    "newfstatat": partial(_replay_stat_at, flags=3, answer_index=2),
    "fstatat64": partial(_replay_stat_at, flags=3, answer_index=2),
    "statx": partial(_replay_stat_at, flags=2, answer_index=4),
    "access": partial(_replay_lookup, verb="access", folder=None, index=0),
    "faccessat": partial(_replay_lookup, verb="access", folder=0, index=1),
    "faccessat2": partial(_replay_lookup, verb="access", folder=0, index=1),
    "readlink": partial(_replay_lookup, verb="readlink", folder=None, index=0, answer_index=1),
    "readlinkat": partial(_replay_lookup, verb="readlink", folder=0, index=1, answer_index=2),
    "mkdir": partial(_replay_mkdir, folder=None, index=0),
    "mkdirat": partial(_replay_mkdir, folder=0, index=1),
    "unlink": partial(_replay_unlink, folder=None, index=0),
    "unlinkat": partial(_replay_unlink, folder=0, index=1),
    "rmdir": partial(_replay_unlink, folder=None, index=0, verb="rmdir"),
    "rename": partial(_replay_rename, old=0, new=1, folders=False),
    "renameat": partial(_replay_rename, old=1, new=3, folders=True),
    "renameat2": partial(_replay_rename, old=1, new=3, folders=True),
    "link": partial(_replay_link, folders=False),
    "linkat": partial(_replay_link, folders=True),
    "symlink": partial(_replay_symlink, folder=None, index=1),
    "symlinkat": partial(_replay_symlink, folder=1, index=2),
    "truncate": _replay_truncate,
    "truncate64": _replay_truncate,
    "statfs": _replay_statfs,
    "statfs64": _replay_statfs,
    "chmod": partial(_replay_change, verb="chmod", folder=None, index=0),
    "fchmodat": partial(_replay_change, verb="chmod", folder=0, index=1),
    "chown": partial(_replay_change, verb="chown", folder=None, index=0),
    "chown32": partial(_replay_change, verb="chown", folder=None, index=0),
    "lchown": partial(_replay_change, verb="lchown", folder=None, index=0),
    "lchown32": partial(_replay_change, verb="lchown", folder=None, index=0),
    "fchownat": partial(_replay_change, verb="chown", folder=0, index=1),
    "utimensat": partial(_replay_change, verb="utimes", folder=0, index=1),
    "utimensat_time64": partial(_replay_change, verb="utimes", folder=0, index=1),
    "utimes": partial(_replay_change, verb="utimes", folder=None, index=0),
    "utime": partial(_replay_change, verb="utimes", folder=None, index=0),
}
