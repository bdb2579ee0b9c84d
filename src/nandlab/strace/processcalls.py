# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls on descriptors, folders and processes: they move no data, and no load has them."""

from __future__ import annotations

import re

from nandlab.strace.events import Call
from nandlab.strace.follow import Follower, Handlers, number, whole
from nandlab.strace.namecalls import open_
from nandlab.strace.processes import Opened
from nandlab.strace.words import string

PAIR = re.compile(r"\[(\d{1,9})(?:<.*?>)?, (\d{1,9})")
Made = tuple[Opened, bool] | None


def _close(f: Follower, call: Call) -> None:
    fd = _fd(call, 0)
    if fd is not None and not call.error:
        opened = f.processes.file(call.pid, fd)
        f.elsewhere += opened is not None and not opened.number
        f.processes.close(call.pid, fd)


def _fd(call: Call, index: int) -> int | None:
    return number(call.arg(index))


def _close_range(f: Follower, call: Call) -> None:
    first, last = _fd(call, 0), _fd(call, 1)
    if call.error or first is None or "CLOEXEC" in call.arg(2):
        return
    most = first - 1 if last is None else last
    for fd in f.processes.descriptors(call.pid):
        if first <= fd <= most:
            f.processes.close(call.pid, fd)


def _dup(f: Follower, call: Call) -> Made:
    if call.error:
        return None
    # a duplicate of what is not known takes the place of what was there
    return f.opened(call, 0) or Opened(None), "O_CLOEXEC" in call.arg(2)


def _fcntl(f: Follower, call: Call) -> Made:
    """Duplicates, the flag of close-on-exec, O_APPEND; locks are told."""
    what, fd = call.arg(1), _fd(call, 0)
    if call.error:
        return None
    if what in ("F_DUPFD", "F_DUPFD_CLOEXEC"):
        opened = f.opened(call, 0)
        return None if opened is None else (opened, what.endswith("CLOEXEC"))
    if what == "F_SETFD" and fd is not None:
        f.processes.set_closes(call.pid, fd, closes="FD_CLOEXEC" in call.arg(2))
        return None
    opened = f.opened(call, 0)
    if opened is None or not opened.number:
        return None
    if "LK" in what:
        f.leave_out(call, "locks")
    elif what == "F_SETFL" and ("O_APPEND" in call.arg(2)) != opened.appends:
        f.leave_out(call, "fcntl that changes O_APPEND")
    return None


def _no_file(f: Follower, call: Call) -> Made:
    """Sockets and the like."""
    del f
    return None if call.error else (Opened(None), "CLOEXEC" in " ".join(call.args))


def _pair(f: Follower, call: Call) -> None:
    """pipe and socketpair: both of their descriptors are told in brackets."""
    found = PAIR.search(" ".join([*call.args[:1], *call.args[3:]]))
    if found is not None and not call.error:
        closes = "CLOEXEC" in " ".join(call.args)
        for fd in map(int, found.groups()):
            f.processes.put(call.pid, fd, Opened(None), closes=closes)


def _clone(f: Follower, call: Call) -> None:
    if call.result is not None and call.result > 0:
        f.processes.begin(call.result, call.pid, " ".join(call.args))


def _unshare(f: Follower, call: Call) -> None:
    if not call.error and "CLONE_FILES" in call.arg(0):
        f.processes.unshare(call.pid)


def _execve(f: Follower, call: Call) -> None:
    if not call.error:
        f.processes.execve(call.pid)


def _chdir(f: Follower, call: Call) -> None:
    if not call.error:
        f.processes.get(call.pid).place.cwd = f.where(call, None, 0)


def _fchdir(f: Follower, call: Call) -> None:
    opened = None if call.error else f.opened(call, 0)
    if opened is not None:
        now = opened.node.path if opened.node is not None else None
        where = opened.where if now is None else (*f.below, *now)
        f.processes.get(call.pid).place.cwd = where


def _chroot(f: Follower, call: Call) -> None:
    """Paths mean others from now on: nothing that follows could be right."""
    path = string(call.arg(0))
    if not call.error and path is not None and whole(path) != ():
        f.leave_out(call, "chroot, after which paths are of another root")


HANDLERS: Handlers = {
    "close": _close,
    "close_range": _close_range,
    "pipe": _pair,
    "pipe2": _pair,
    "socketpair": _pair,
    "clone": _clone,
    "clone3": _clone,
    "fork": _clone,
    "vfork": _clone,
    "unshare": _unshare,
    "execve": _execve,
    "execveat": _execve,
    "chdir": _chdir,
    "fchdir": _fchdir,
    "chroot": _chroot,
    "getcwd": lambda f, call: None,
}

MAKERS: Handlers = {
    **dict.fromkeys(("open", "openat", "openat2", "creat"), open_),
    **dict.fromkeys(("dup", "dup2", "dup3"), _dup),
    **dict.fromkeys(("fcntl", "fcntl64"), _fcntl),
    **dict.fromkeys(
        (
            *("socket", "accept", "accept4", "epoll_create", "epoll_create1", "eventfd"),
            *("eventfd2", "timerfd_create", "signalfd", "signalfd4", "inotify_init"),
            *("inotify_init1", "memfd_create", "pidfd_open", "perf_event_open", "userfaultfd"),
            *("fanotify_init", "io_uring_setup", "bpf"),
        ),
        _no_file,
    ),
}
"""Calls that make a descriptor."""

NO_FILES = frozenset(
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
