# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on descriptors, folders and processes: they move no data, and no load has them."""

from __future__ import annotations

import re

from nandlab.catalog.from_strace.events import Call
from nandlab.catalog.from_strace.follower import (
    CallHandlers,
    TraceFollower,
    parse_argument_number,
    resolve_path,
)
from nandlab.catalog.from_strace.namecalls import replay_open
from nandlab.catalog.from_strace.processes import OpenFile
from nandlab.catalog.from_strace.words import parse_string_argument

PAIR = re.compile(r"\[(\d{1,9})(?:<.*?>)?, (\d{1,9})")
MadeDescriptor = tuple[OpenFile, bool] | None


def _follow_close(f: TraceFollower, call: Call) -> None:
    fd = _parse_fd(call, 0)
    if fd is not None and not call.error:
        opened = f.processes.file(call.pid, fd)
        f.elsewhere += opened is not None and not opened.number
        f.processes.close(call.pid, fd)


def _parse_fd(call: Call, index: int) -> int | None:
    return parse_argument_number(call.arg(index))


def _follow_close_range(f: TraceFollower, call: Call) -> None:
    first, last = _parse_fd(call, 0), _parse_fd(call, 1)
    if call.error or first is None or "CLOEXEC" in call.arg(2):
        return
    most = first - 1 if last is None else last
    for fd in f.processes.descriptors(call.pid):
        if first <= fd <= most:
            f.processes.close(call.pid, fd)


def _follow_dup(f: TraceFollower, call: Call) -> MadeDescriptor:
    if call.error:
        return None
    # a duplicate of what is not known takes the place of what was there
    return f.opened(call, 0) or OpenFile(None), "O_CLOEXEC" in call.arg(2)


def _follow_fcntl(f: TraceFollower, call: Call) -> MadeDescriptor:
    """Duplicates, the flag of close-on-exec, O_APPEND; locks are told."""
    command, fd = call.arg(1), _parse_fd(call, 0)
    if call.error:
        return None
    if command in ("F_DUPFD", "F_DUPFD_CLOEXEC"):
        opened = f.opened(call, 0)
        return None if opened is None else (opened, command.endswith("CLOEXEC"))
    if command == "F_SETFD" and fd is not None:
        f.processes.set_closes(call.pid, fd, closes="FD_CLOEXEC" in call.arg(2))
        return None
    opened = f.opened(call, 0)
    if opened is None or not opened.number:
        return None
    if "LK" in command:
        f.leave_out(call, "locks")
    elif command == "F_SETFL" and ("O_APPEND" in call.arg(2)) != opened.appends:
        f.leave_out(call, "fcntl that changes O_APPEND")
    return None


def _make_fileless_descriptor(f: TraceFollower, call: Call) -> MadeDescriptor:
    """Sockets and the like."""
    del f
    return None if call.error else (OpenFile(None), "CLOEXEC" in " ".join(call.args))


def _follow_pair(f: TraceFollower, call: Call) -> None:
    """pipe and socketpair: both of their descriptors are told in brackets."""
    found = PAIR.search(" ".join([*call.args[:1], *call.args[3:]]))
    if found is not None and not call.error:
        closes = "CLOEXEC" in " ".join(call.args)
        for fd in map(int, found.groups()):
            f.processes.put(call.pid, fd, OpenFile(None), closes=closes)


def _follow_clone(f: TraceFollower, call: Call) -> None:
    if call.result is not None and call.result > 0:
        f.processes.begin(call.result, call.pid, " ".join(call.args))


def _follow_unshare(f: TraceFollower, call: Call) -> None:
    if not call.error and "CLONE_FILES" in call.arg(0):
        f.processes.unshare(call.pid)


def _follow_execve(f: TraceFollower, call: Call) -> None:
    if not call.error:
        f.processes.execve(call.pid)


def _follow_chdir(f: TraceFollower, call: Call) -> None:
    if not call.error:
        f.processes.get(call.pid).place.cwd = f.find_path(call, None, 0)


def _follow_fchdir(f: TraceFollower, call: Call) -> None:
    opened = None if call.error else f.opened(call, 0)
    if opened is not None:
        now = opened.node.path if opened.node is not None else None
        where = opened.path if now is None else (*f.below, *now)
        f.processes.get(call.pid).place.cwd = where


def _follow_chroot(f: TraceFollower, call: Call) -> None:
    """Paths mean others from now on: nothing that follows could be right."""
    path = parse_string_argument(call.arg(0))
    if not call.error and path is not None and resolve_path(path) != ():
        f.leave_out(call, "chroot, after which paths are of another root")


PROCESS_HANDLERS: CallHandlers = {
    "close": _follow_close,
    "close_range": _follow_close_range,
    "pipe": _follow_pair,
    "pipe2": _follow_pair,
    "socketpair": _follow_pair,
    "clone": _follow_clone,
    "clone3": _follow_clone,
    "fork": _follow_clone,
    "vfork": _follow_clone,
    "unshare": _follow_unshare,
    "execve": _follow_execve,
    "execveat": _follow_execve,
    "chdir": _follow_chdir,
    "fchdir": _follow_fchdir,
    "chroot": _follow_chroot,
    "getcwd": lambda f, call: None,
}

DESCRIPTOR_MAKERS: CallHandlers = {
    **dict.fromkeys(("open", "openat", "openat2", "creat"), replay_open),
    **dict.fromkeys(("dup", "dup2", "dup3"), _follow_dup),
    **dict.fromkeys(("fcntl", "fcntl64"), _follow_fcntl),
    **dict.fromkeys(
        (
            *("socket", "accept", "accept4", "epoll_create", "epoll_create1", "eventfd"),
            *("eventfd2", "timerfd_create", "signalfd", "signalfd4", "inotify_init"),
            *("inotify_init1", "memfd_create", "pidfd_open", "perf_event_open", "userfaultfd"),
            *("fanotify_init", "io_uring_setup", "bpf"),
        ),
        _make_fileless_descriptor,
    ),
}
"""Calls that make a descriptor."""

FILELESS_CALLS = frozenset(
    (
        *("futex", "brk", "mprotect", "munmap", "madvise", "mremap", "mincore", "mlock", "munlock"),
        *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait"),
        *("sigaltstack", "sigreturn", "sigaction", "sigprocmask", "tgkill", "tkill", "kill"),
        *("arch_prctl", "set_tid_address", "set_robust_list", "rseq", "prlimit64", "getrlimit"),
        *("setrlimit", "ugetrlimit", "getrandom", "getpid", "getppid", "gettid", "getpgrp"),
        *("getpgid", "setpgid", "setsid", "getsid", "getuid", "geteuid", "getgid", "getegid"),
        *("getuid32", "geteuid32", "getgid32", "getegid32", "getresuid", "getresgid", "setuid"),
        *("setgid", "setresuid", "setresgid", "setgroups", "getgroups", "capget", "capset"),
        *("prctl", "uname", "sysinfo", "times", "time", "gettimeofday", "clock_gettime"),
        *("clock_gettime64", "clock_getres", "clock_nanosleep", "clock_nanosleep_time64"),
        *("nanosleep", "getitimer", "setitimer", "alarm", "pause", "timer_create"),
        *("timer_settime", "timer_gettime", "timer_delete", "sched_yield", "sched_getaffinity"),
        *("sched_setaffinity", "sched_getparam", "sched_getscheduler", "sched_setscheduler"),
        *("getpriority", "setpriority", "getrusage", "wait4", "waitid", "waitpid", "umask"),
        *("poll", "ppoll", "select", "_newselect", "pselect6", "epoll_wait", "epoll_pwait"),
        *("exit", "exit_group", "restart_syscall", "membarrier", "set_tls", "cacheflush"),
        *("futex_time64", "ppoll_time64", "pselect6_time64", "set_thread_area", "personality"),
    )
)
"""Calls that are about no file: they are counted, and not looked at."""
