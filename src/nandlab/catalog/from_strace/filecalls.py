# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on open files: what each is in a recorded load, and what it shows of the file's size."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from nandlab.catalog.from_strace.events import Call
from nandlab.catalog.from_strace.follower import CallHandlers, TraceFollower, parse_argument_number
from nandlab.catalog.from_strace.processes import OpenFile

WRITTEN_MAPS_REASON = "maps of files that are written through"
"""Why a shared map of a file is left out that a program may write to."""
MOVED_MAX = 64 << 20
"""Bytes that a call of the replay may ask for."""
PARTS_MAX = 64
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
PART = re.compile(r"iov_len=(\d{1,12})")
SIZE_PATTERN = re.compile(r"st(?:x)?_size=(\d{1,18})")
KIND = re.compile(r"st(?:x)?_mode=S_IF(\w+)")
MODE = re.compile(r"[0-7]{1,7}")
KINDS = {"REG": "file", "DIR": "dir", "LNK": "link"}
WHENCES = ("SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE")
FLUSHES = {
    "SYNC_FILE_RANGE_WAIT_BEFORE": 1,
    "SYNC_FILE_RANGE_WRITE": 2,
    "SYNC_FILE_RANGE_WAIT_AFTER": 4,
}
SYNC_FLAGS = {"RWF_DSYNC": "fdatasync", "RWF_SYNC": "fsync"}
"""Flags of pwritev2 by which a write is durable when it returns -> the call that syncs as much."""
ADVICES = ("NORMAL", "SEQUENTIAL", "RANDOM", "NOREUSE", "WILLNEED", "DONTNEED")


def _parse_lengths(call: Call, moved: int) -> str:
    """Lengths of the parts of a vector; where strace shows not all of them, what was moved."""
    told = TEXT.sub("", call.arg(1))
    parts = PART.findall(told)
    if not parts or "..." in told or len(parts) > PARTS_MAX:
        return str(moved)
    return ",".join(parts)


def _replay_move(f: TraceFollower, call: Call, verb: str, *, vector: bool, placed: bool) -> None:
    opened = f.replayed(call)
    if opened is None or call.result is None:
        return
    moved = call.result
    lengths = (
        _parse_lengths(call, moved) if vector else str(parse_argument_number(call.arg(2)) or 0)
    )
    total = sum(map(int, lengths.split(",")))
    offset = parse_argument_number(call.arg(3)) if placed else None
    if placed and offset == -1:  # preadv2 and pwritev2: at the file's position
        verb, offset = verb.removeprefix("p"), None
    if max(total, moved) > MOVED_MAX:
        f.leave_out(call, "moved more than 64 MiB at once")
        return
    flags = call.arg(4).split("|") if call.name.endswith("v2") else []
    if "RWF_APPEND" in flags:
        f.leave_out(call, f"{call.name} with RWF_APPEND")
        return
    words = (opened.number, lengths) if offset is None else (opened.number, lengths, offset)
    if "read" in verb:
        _note_read(opened, offset, total, moved)
        f.emit(call, verb, *words, returned="" if moved == total else moved)
        return
    if moved < total:  # what reached the file, in one part
        verb = verb.replace("writev", "write")
        words = (opened.number, str(moved), *words[2:])
        f.left_out["writes cut short, replayed with the bytes that were written"] += 1
    _note_write(opened, offset, moved)
    f.emit(call, verb, *words)
    if sync := next((SYNC_FLAGS[flag] for flag in flags if flag in SYNC_FLAGS), None):
        f.left_out[f"{call.name} that is synced, replayed as a write and {sync}"] += 1
        f.emit(call, sync, opened.number)
    if opened.path is not None:
        (f.wrote if opened.calls is None else f.wrote_open)[opened.path[:-1]] += 1


def _note_read(
    opened: OpenFile, offset: int | None, requested_bytes: int, returned_bytes: int
) -> None:
    if opened.node is not None and opened.node.kind != "dir":
        opened.node.size.read(
            opened.position if offset is None else offset, requested_bytes, returned_bytes
        )
    if offset is None:
        opened.position += returned_bytes


def _note_write(opened: OpenFile, offset: int | None, moved: int) -> None:
    size = opened.node.size if opened.node else None
    if size is not None and opened.appends:
        begin = size.append(moved)
        if offset is None and begin is not None:
            opened.position = begin + moved
        return
    if size is not None:
        size.write(opened.position if offset is None else offset, moved)
    if offset is None:
        opened.position += moved


def _replay_llseek(f: TraceFollower, call: Call) -> None:
    """lseek of 32-bit machines, which tells the position in an argument."""
    offset = parse_argument_number(call.arg(2).strip("[]"))
    _replay_lseek(f, replace(call, args=[*call.args[:2], call.arg(3)], result=offset))


def _replay_lseek(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is None or call.result is None:
        return
    offset, whence = parse_argument_number(call.arg(1)) or 0, call.arg(2)
    if whence not in WHENCES:
        f.leave_out(call, f"lseek from {whence}")
        return
    folder = opened.node is not None and opened.node.kind == "dir"
    if folder and (offset or whence != "SEEK_SET"):
        f.leave_out(call, "lseek within a folder")
        return
    opened.position = call.result
    if whence == "SEEK_END" and opened.node is not None:
        opened.node.size.note_size(call.result - offset)
    f.emit(call, "lseek", opened.number, offset, whence, returned=call.result)


def _replay_sync(f: TraceFollower, call: Call, verb: str) -> None:
    opened = f.replayed(call)
    if opened is not None:
        f.emit(call, verb, opened.number)


def _replay_sync_all(f: TraceFollower, call: Call) -> None:
    f.emit(call, "sync")


def _replay_sync_range(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is None:
        return
    turned = call.name != "sync_file_range"  # 32-bit machines have the flags first
    flags, *rest = (call.arg(i) for i in ((1, 2, 3) if turned else (3, 1, 2)))
    offset, size = (parse_argument_number(word) or 0 for word in rest)
    told = sum(FLUSHES.get(word, 0) for word in flags.split("|"))
    f.emit(call, "sync_range", opened.number, offset, size, told)


def _replay_ftruncate(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is not None:
        size = parse_argument_number(call.arg(1)) or 0
        f.emit(call, "ftruncate", opened.number, size)
        if opened.node is not None:
            opened.node.size.cut(size)


def _replay_fallocate(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is None:
        return
    mode, offset, size = (parse_argument_number(call.arg(i)) for i in (1, 2, 3))
    if mode is None:
        f.leave_out(call, f"fallocate with {call.arg(1)}")
        return
    f.emit(call, "fallocate", opened.number, mode, offset or 0, size or 0)
    if not mode and opened.node is not None:
        opened.node.size.write(offset or 0, size or 0)


def replay_fstat(f: TraceFollower, call: Call, stat_text: str) -> None:
    """fstat(2), or one of the others on a descriptor; ``told``: what it returned of the file."""
    opened = f.replayed(call)
    if opened is None:
        return
    f.emit(call, "fstat", opened.number)
    if opened.node is not None:
        opened.node.kind = opened.node.kind or parse_stat_file_kind(stat_text)
        if opened.node.kind != "dir" and (size := SIZE_PATTERN.search(stat_text)):
            opened.node.size.note_size(int(size[1]))


def parse_stat_file_kind(told: str) -> str:
    """What a stat tells a name to be; empty: it does not."""
    found = KIND.search(told)
    return KINDS.get(found[1], "") if found else ""


def _replay_getdents(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is not None:
        if opened.node is not None:
            opened.node.kind = "dir"
        f.emit(call, "getdents", opened.number)


def _replay_fadvise(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    turned = call.name.startswith("arm_")
    word, *rest = (call.arg(i) for i in ((1, 2, 3) if turned else (3, 1, 2)))
    advice = word.removeprefix("POSIX_FADV_")
    if opened is not None and advice in ADVICES:
        offset, size = (parse_argument_number(word) or 0 for word in rest)
        f.emit(call, "fadvise", opened.number, offset, size, f"POSIX_FADV_{advice}")


def _replay_mmap(f: TraceFollower, call: Call) -> None:
    """A map is not replayed; of its file, the trace shows that it is so long at the least."""
    if call.arg(4).startswith("-1") or "MAP_ANON" in call.arg(3):
        return
    opened = f.opened(call, 4)
    if opened is None or not opened.number or call.error:
        return
    writes = "PROT_WRITE" in call.arg(2) and "MAP_SHARED" in call.arg(3)
    f.leave_out(call, WRITTEN_MAPS_REASON if writes else "maps of files, read")


def _replay_copy(f: TraceFollower, call: Call, source: int, to: int, *, placed: bool) -> None:
    """copy_file_range and sendfile, as a read and a write where these are replayed."""
    moved = call.result or 0
    if call.error or moved > MOVED_MAX:
        f.leave_out(call, f"{call.name} failed, or moved more than 64 MiB")
        return
    for verb, index in (("read", source), ("write", to)):
        opened = f.opened(call, index)
        if opened is None or not opened.number:
            continue
        shown = call.arg(index + 1) if placed or verb == "read" else "NULL"
        offset = parse_argument_number(shown.strip("[]")) if "NULL" not in shown else None
        (
            _note_read(opened, offset, moved, moved)
            if verb == "read"
            else _note_write(opened, offset, moved)
        )
        f.left_out[f"{call.name}, replayed as read and write"] += 1
        words = (opened.number, moved) if offset is None else (opened.number, moved, offset)
        f.emit(call, verb if offset is None else f"p{verb}", *words)


def _replay_sendfile(f: TraceFollower, call: Call) -> None:
    """Its offset follows the descriptor that is read."""
    _replay_copy(f, call, 1, 0, placed=False)


def _replay_copy_range(f: TraceFollower, call: Call) -> None:
    _replay_copy(f, call, 0, 2, placed=True)


def _replay_fchmod(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is not None:
        f.emit(call, "fchmod", opened.number, format_load_file_mode(call.arg(1)))


def format_load_file_mode(text: str) -> str:
    """A mode as the recorded load has it."""
    return f"{int(text, 8) & 0o7777:o}" if MODE.fullmatch(text) else "644"


def _replay_fchown(f: TraceFollower, call: Call) -> None:
    opened = f.replayed(call)
    if opened is not None:
        owner, group = (parse_argument_number(call.arg(i)) for i in (1, 2))
        f.emit(call, "fchown", opened.number, -1 if owner is None else owner, group or 0)


def _replay_fstatfs(f: TraceFollower, call: Call) -> None:
    if f.replayed(call) is not None:
        f.emit(call, "statfs")


def _leave_out_lock(f: TraceFollower, call: Call) -> None:
    if f.replayed(call) is not None:
        f.leave_out(call, "locks")


def _count_quiet_call(f: TraceFollower, call: Call) -> None:
    """A call on a file that changes nothing and reads nothing."""
    f.opened(call, 0)


def make_read_write_handlers() -> CallHandlers:
    """Reads and writes by the kernel's names."""
    handlers: CallHandlers = {}
    for way in ("read", "write"):
        handlers[way] = partial(_replay_move, verb=way, vector=False, placed=False)
        handlers[f"{way}v"] = partial(_replay_move, verb=f"{way}v", vector=True, placed=False)
        handlers[f"p{way}64"] = partial(_replay_move, verb=f"p{way}", vector=False, placed=True)
        for name in (f"p{way}v", f"p{way}v2"):
            handlers[name] = partial(_replay_move, verb=f"p{way}v", vector=True, placed=True)
    return handlers


FILE_HANDLERS: CallHandlers = {
    **make_read_write_handlers(),
    "lseek": _replay_lseek,
    "_llseek": _replay_llseek,
    "fsync": partial(_replay_sync, verb="fsync"),
    "fdatasync": partial(_replay_sync, verb="fdatasync"),
    "syncfs": partial(_replay_sync, verb="syncfs"),
    "sync": _replay_sync_all,
    "sync_file_range": _replay_sync_range,
    "sync_file_range2": _replay_sync_range,
    "arm_sync_file_range": _replay_sync_range,
    "ftruncate": _replay_ftruncate,
    "ftruncate64": _replay_ftruncate,
    "fallocate": _replay_fallocate,
    "fstat": lambda f, call: replay_fstat(f, call, call.arg(1)),
    "fstat64": lambda f, call: replay_fstat(f, call, call.arg(1)),
    "getdents64": _replay_getdents,
    "getdents": _replay_getdents,
    "fadvise64": _replay_fadvise,
    "fadvise64_64": _replay_fadvise,
    "arm_fadvise64_64": _replay_fadvise,
    "mmap": _replay_mmap,
    "mmap2": _replay_mmap,
    "sendfile": _replay_sendfile,
    "sendfile64": _replay_sendfile,
    "copy_file_range": _replay_copy_range,
    "fchmod": _replay_fchmod,
    "fchown": _replay_fchown,
    "fchown32": _replay_fchown,
    "flock": _leave_out_lock,
    "epoll_ctl": _count_quiet_call,
    "fstatfs": _replay_fstatfs,
    "fstatfs64": _replay_fstatfs,
}
