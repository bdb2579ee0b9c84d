# SPDX-License-Identifier: GPL-2.0-or-later
"""A job file as a workload's file: its jobs as the config, and words for what they tell."""

from __future__ import annotations

import json

from nandlab.catalog.from_fio.jobfile import JobFile, JobSection

CONFIG = "jobs.txt"
COMMAND = f"fiojobs {CONFIG} {{mountpoint}}"
TITLES = {
    "read": "read",
    "write": "write",
    "write_sync": "synchronous write",
    "fsync": "fsync",
    "fdatasync": "fdatasync",
}
DURABLE = ("write_sync", "fsync", "fdatasync")
FIGURES = {
    "runtime": ("runtime", "time", "less", True, True),
    "read_bw": ("bytes read/s", "bytes_per_s", "more", True, False),
    "read_iops": ("reads/s", "per_s", "more", True, False),
    "write_bw": ("bytes written/s", "bytes_per_s", "more", False, True),
    "write_iops": ("writes/s", "per_s", "more", False, True),
}
"""Title, unit, which end is better, and whether a job that reads, that writes, has it."""


def format_workload_file(file: JobFile, name: str) -> str:
    """The workload's file."""
    return "\n".join(
        [
            *_format_head(file),
            "",
            *_format_keys(file, name),
            "",
            f"config = '''\n{format_board_jobs(file)}'''\n",
        ]
    )


def format_board_jobs(file: JobFile) -> str:
    """The jobs as the board's program reads them; {seed} is the trial's."""
    lines = []
    for job in file.jobs:
        options = {"randseed": "{seed}", **job.options}
        lines += [f"[{job.name}]", *(f"{key}={value}" for key, value in options.items())]
    return "".join(f"{line}\n" for line in lines)


def _format_head(file: JobFile) -> list[str]:
    overrides = "".join(f" --set {f'{k}={v}'!a}" for k, v in file.overrides.items())
    return [
        "# Jobs of fio, done by nandlab's own program; docs/fio.md explains it.",
        f"# Made by: nandlab workload from-fio {file.path.name!a}{overrides}",
        *(f"# {note}" for note in file.notes),
    ]


def _format_keys(file: JobFile, name: str) -> list[str]:
    return [
        f"name = {_quote_toml(name)}",
        f"summary = {_quote_toml(_format_summary(file))}",
        'programs = ["fiojobs"]',
        f"command = {_quote_toml(COMMAND)}",
        f"config_file = {_quote_toml(CONFIG)}",
        "phases = [",
        '    { name = "layout", title = "lay out files", timed = false },',
        *(f"    {_format_phase(file, group)}," for group in range(len(file.groups()))),
        "]",
        "operations = [",
        *(
            f"    {_format_operation(file, job, kind)},"
            for job in file.jobs
            for kind in job.kinds()
        ),
        "]",
        "",
        _format_headline(file),
        *(line for job in file.jobs for line in _format_figures(file, job)),
    ]


def _format_summary(file: JobFile) -> str:
    told = [f"{job.name} ({job.rw}, {job.read_number('size'):,} bytes)" for job in file.jobs]
    return f"Jobs of fio: {', '.join(told)}"


def _format_phase(file: JobFile, number: int) -> str:
    group = file.groups()[number]
    if len(group) == 1:
        return f"{{ name = {_quote_toml(group[0].name)}, title = {_quote_toml(group[0].name)} }}"
    title = " and ".join(job.name for job in group)
    return f"{{ name = {_quote_toml(f'group_{number + 1}')}, title = {_quote_toml(title)} }}"


def _prefix_name(file: JobFile, job: JobSection, what: str) -> str:
    return f"{job.name}_{what}" if len(file.jobs) > 1 else what


def _prefix_title(file: JobFile, job: JobSection, what: str) -> str:
    return f"{job.name}: {what}" if len(file.jobs) > 1 else what


def _format_operation(file: JobFile, job: JobSection, kind: str) -> str:
    writes = ", writes = true" if kind != "read" else ""
    durable = ", durable = true" if kind in DURABLE else ""
    title = _quote_toml(_prefix_title(file, job, TITLES[kind]))
    return (
        f"{{ name = {_quote_toml(_prefix_name(file, job, kind))}, title = "
        f"{title}{writes}{durable} }}"
    )


def _format_figures(file: JobFile, job: JobSection) -> list[str]:
    return [
        f"figures.{_prefix_name(file, job, name)} = {{ title = "
        f"{_quote_toml(_prefix_title(file, job, title))}, "
        f'unit = "{unit}", better = "{better}" }}'
        for name, (title, unit, better, of_reads, of_writes) in FIGURES.items()
        if (job.reads and of_reads) or (job.writes and of_writes)
    ]


def _format_headline(file: JobFile) -> str:
    """The time of all jobs; where the job file sets that, p99 of what is durable, or of writes."""
    if not any(job.paced for job in file.jobs):
        return (
            'headline = { figure = "time", noun = "time of all jobs", '
            'best = "finishes all jobs first", told = "all jobs take {v}" }'
        )
    kinds = [(job, kind) for job in file.jobs for kind in job.kinds()]
    durable = [pair for pair in kinds if pair[1] in DURABLE]
    job, kind = next(iter([*durable, *(p for p in kinds if p[1] == "write"), *kinds]))
    title = _prefix_title(file, job, TITLES[kind])
    return (
        f'headline = {{ figure = "latency.{_prefix_name(file, job, kind)}.p99", '
        f"noun = {_quote_toml(f'p99 of {title}')}, best = "
        f"{_quote_toml(f'is soonest at p99 of {title}')}, "
        f"told = {_quote_toml(f'99 % of {title} take {{v}} or less')} }}"
    )


def _quote_toml(text: str) -> str:
    return json.dumps(text)
