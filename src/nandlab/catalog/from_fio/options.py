# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's options that the board's program knows, and how their values are read.

Each reader takes a value as fio's job file has it and gives it as ``device/programs/fiojobs`` takes
it: plain numbers in fio's usual units, or words. ValueError says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ValueParser = Callable[[str], str]

BINARY, DECIMAL = 1024, 1000
HEXADECIMAL = re.compile(r"0x[0-9a-f]{1,16}", re.IGNORECASE)
SIZE = re.compile(r"(\d+)(?:([kmgt])(b|i|ib)?|b)?", re.IGNORECASE)
PERCENTAGE = re.compile(r"\d+(?:\.\d+)?%+")
TIME = re.compile(r"(\d+)(us|usec|ms|msec|s|m|h|d)?", re.IGNORECASE)
MICROSECONDS = {
    **{"us": 1, "usec": 1, "ms": 1000, "msec": 1000},
    **{"s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6},
}
RANGES = {
    "rwmixread": (0, 100),
    "rwmixwrite": (0, 100),
    "buffer_compress_percentage": (0, 100),
    "nrfiles": (1, 100_000),
    "numjobs": (1, 64),
    "loops": (1, 1_000_000),
    "thinktime_blocks": (1, 10**12),
    "iodepth": (1, 1 << 20),
    "number_ios": (1, 10**12),
}
NUMBER_MAX = 10**15
BS_MAX = 16 << 20


def parse_fio_size(value: str) -> int:
    """Bytes: k, kb and ki are 1024 to fio, and KiB is 1000."""
    if HEXADECIMAL.fullmatch(value):
        return require_in_range(int(value, 16))
    if PERCENTAGE.fullmatch(value):
        raise ValueError(
            "a share is of files that are there before, and a job's files are made here (fio asks "
            "for a size too then): write bytes, such as 8m"
        )
    size = SIZE.fullmatch(value)
    if size is None:
        raise ValueError("expected bytes as a whole number with k, m, g or t, such as 64k")
    number, prefix, more = size.groups()
    base = DECIMAL if (more or "").lower() == "ib" else BINARY
    return require_in_range(
        int(number) * base ** ("kmgt".index(prefix.lower()) + 1 if prefix else 0)
    )


def require_in_range(number: int, least: int = 0, most: int = NUMBER_MAX) -> int:
    if not least <= number <= most:
        raise ValueError(f"must be {least} to {most:,}")
    return number


def _make_bytes_parser(least: int, most: int = NUMBER_MAX) -> ValueParser:
    return lambda value: str(require_in_range(parse_fio_size(value), least, most))


def _parse_pair(value: str) -> str:
    """One for reads and writes, or one for each; what is left out stays as it is: 0."""
    parts = value.split(",")
    if len(parts) > 3:
        raise ValueError("expected one value, or one each for reads, writes and trims")
    parts = parts[:2]  # no job trims
    return ",".join(str(parse_fio_size(part)) if part or len(parts) == 1 else "0" for part in parts)


def _parse_block_sizes(value: str) -> str:
    parts = value.split(",")
    if len(parts) > 3:
        raise ValueError("expected one size, or one each for reads, writes and trims")
    usual = "4k"
    sizes = [require_in_range(parse_fio_size(p or usual), 1, BS_MAX) for p in parts[:2]]
    return ",".join(map(str, sizes))


def _make_count_parser(name: str) -> ValueParser:
    least, most = RANGES.get(name, (0, NUMBER_MAX))
    return lambda value: str(require_in_range(parse_fio_size(value), least, most))


def _make_time_parser(unit_us: int, usual_us: int) -> ValueParser:
    """In whole units; without a suffix it is in fio's usual one."""
    unit_name = "seconds" if unit_us == MICROSECONDS["s"] else "microseconds"

    def read(value: str) -> str:
        match = TIME.fullmatch(value)
        if match is None:
            raise ValueError("expected a whole number with us, ms, s, m, h or d")
        number, suffix = int(match[1]), match[2]
        us = number * (MICROSECONDS[suffix.lower()] if suffix else usual_us)
        if us % unit_us:
            raise ValueError(f"must be whole {unit_name}")
        return str(require_in_range(us // unit_us, 0, 10**9 if unit_us == 1 else 86400))

    return read


def _parse_flag(value: str) -> str:
    if value not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return value


def _make_choice_parser(**words: str) -> ValueParser:
    def read(value: str) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return words[value]

    return read


def _map_to_same(*words: str) -> dict[str, str]:
    return {word: word for word in words}


def _parse_filename(value: str) -> str:
    folder, _, name = value.rpartition("/")
    if folder == "/dev" or folder.startswith("/dev/"):
        raise ValueError("is a device; a job's files are in the mountpoint")
    if not re.fullmatch(r"[A-Za-z0-9_.+-]+", name) or name in (".", ".."):
        raise ValueError("must be the name of one file, of letters and digits")
    return name


def _parse_job_name(value: str) -> str:
    if not value:
        raise ValueError("must be a job's name")
    return value


QUEUING_ENGINES = ("libaio", "posixaio")
"""Engines that queue requests. The kernel does those that go through the page cache one after the
other, in the call that hands them over."""
SAME_ENGINES = {"pvsync": "psync", "pvsync2": "psync", "vsync": "sync"}
"""Engines that hand over a list of buffers, and the engine that does the same with one buffer."""
_SECOND, _US = MICROSECONDS["s"], 1
_FLAGS = (
    *("end_fsync", "fsync_on_close", "direct", "invalidate", "overwrite", "unlink"),
    *("time_based", "norandommap", "stonewall", "exitall", "new_group"),
)
_COUNTS = (
    *("rwmixread", "rwmixwrite", "nrfiles", "fsync", "fdatasync", "thinktime_blocks"),
    *("loops", "numjobs", "randseed", "buffer_compress_percentage", "number_ios"),
)
OPTIONS: dict[str, ValueParser] = {
    "rw": _make_choice_parser(
        **_map_to_same("read", "write", "randread", "randwrite", "rw", "randrw"), readwrite="rw"
    ),
    "bs": _parse_block_sizes,
    "size": _make_bytes_parser(1),
    "filesize": _make_bytes_parser(1),
    "io_size": _make_bytes_parser(1),
    "filename": _parse_filename,
    "file_service_type": _make_choice_parser(**_map_to_same("roundrobin", "sequential")),
    "sync": _make_choice_parser(
        **{"0": "none", "1": "sync"}, **_map_to_same("none", "sync", "dsync")
    ),
    "fadvise_hint": _make_choice_parser(**_map_to_same("0", "1", "random", "sequential")),
    "fallocate": _make_choice_parser(**_map_to_same("none", "native"), **{"0": "none"}),
    "rate": _parse_pair,
    "rate_iops": _parse_pair,
    "thinktime": _make_time_parser(_US, _US),
    "startdelay": _make_time_parser(_SECOND, _SECOND),
    "runtime": _make_time_parser(_SECOND, _SECOND),
    "ioengine": _make_choice_parser(
        **_map_to_same("psync", "sync", *SAME_ENGINES, *QUEUING_ENGINES)
    ),
    "offset": _make_bytes_parser(0),
    "blockalign": _make_bytes_parser(1, BS_MAX),
    "wait_for": _parse_job_name,
    "exit_what": _make_choice_parser(**_map_to_same("group", "stonewall", "all")),
    "iodepth": _make_count_parser("iodepth"),
    "buffered": _parse_flag,
    **dict.fromkeys(_FLAGS, _parse_flag),
    **{name: _make_count_parser(name) for name in _COUNTS},
}
"""Every option that has an effect."""
ALIASES = {
    **{"readwrite": "rw", "blocksize": "bs", "io_limit": "io_size", "timeout": "runtime"},
    **{"wait_for_previous": "stonewall", "file_size": "filesize"},
    **{"threads": "thread", "ba": "blockalign"},
}
VALUELESS_OPTIONS = (
    *("time_based", "norandommap", "stonewall", "group_reporting", "thread", "new_group"),
    "exitall",
    *("disable_lat", "disable_clat", "disable_slat", "gtod_reduce", "minimal", "direct"),
)
"""Options that a line may name without a value."""
IGNORED_OPTIONS = {
    "directory": "files are in the mountpoint",
    "group_reporting": "the jobs of numjobs are told as one in any case",
    "thread": "each job is a process, on one processor",
    "description": "it is kept in no result",
    "name": "in a file, the section's name is the job's",
    "randrepeat": "a trial repeats; its seed is the study's, or randseed",
    "create_serialize": "files are laid out one after the other, before the jobs begin",
    **dict.fromkeys(
        ("ratemin", "rate_min", "rate_iops_min", "ratecycle"),
        "a job that is slower goes on; its rate is among its figures",
    ),
    **dict.fromkeys(
        (
            *("dedupe_percentage", "dedupe_mode", "dedupe_global"),
            "dedupe_working_set_percentage",
        ),
        "no file system here keeps equal blocks once",
    ),
    **dict.fromkeys(
        ("iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_low"),
        "requests are made one after the other",
    ),
    "random_generator": "the order of blocks is drawn by a generator of our own",
    **dict.fromkeys(
        (
            "cpus_allowed",
            "cpus_allowed_policy",
            "numa_cpu_nodes",
            "numa_mem_policy",
            *("nice", "prio", "prioclass"),
        ),
        "the board has one processor and nothing beside the jobs",
    ),
    **dict.fromkeys(
        (
            *("disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement"),
            *("clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list"),
            *("gtod_reduce", "write_bw_log", "write_lat_log", "write_iops_log", "log_avg_msec"),
            *("per_job_logs", "bwavgtime", "iopsavgtime", "kb_base", "unit_base", "eta"),
            *("eta-newline", "output", "output-format", "minimal", "unified_rw_reporting"),
        ),
        "every latency is kept in any case; fio's own logs and forms are not made",
    ),
}
"""Options that change nothing here, whatever their value, and why."""
FIXED_OPTIONS = {
    "allrandrepeat": ("1", "a trial repeats; its seed is the study's, or randseed"),
    "create_fsync": ("1", "files are synced when they are laid out"),
    "create_on_open": ("0", "files are laid out before the jobs begin"),
    "rate_process": ("linear", "requests come at equal intervals"),
    "thinktime_spin": ("0", "the processor idles between requests"),
    "zero_buffers": ("0", "write buffer_compress_percentage=100 instead"),
    "refill_buffers": ("1", "every request has data of its own"),
    "scramble_buffers": ("1", "every request has data of its own"),
    "verify": ("0", "what is read is not compared"),
}
"""Options with the one value that can be had, and why."""
REFUSAL_REASONS = {
    "ioengine": "requests are made by system calls, one after the other",
    "include": "give the job file whole",
    "ramp_time": "every request is measured: begin from a state of the flash instead",
    "filename": "jobs may share one file of the mountpoint by its name",
    "flow": "the share of each job is what the processor and the flash give it",
    "io_submit_mode": "a request is made when the one before it is done",
    "random_distribution": "each block, or each of a zone, is as likely as any other",
    "zonemode": "files have no zones",
}
