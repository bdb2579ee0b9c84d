# SPDX-License-Identifier: GPL-2.0-or-later
"""From a trial to the steps that the board runs.

Every trial begins the same way: load the chip, load the modules, make the file system. For a
workload that is a command, the file system is then mounted and comes to rest. A workload that is a
list of steps mounts it itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nandlab.board.jobs.cargo import Cargo, make_cargo
from nandlab.board.jobs.job import Job, Setup, Step
from nandlab.catalog.step import (
    AGE_LIMITS,
    UNMOUNTING_STEPS,
    AgeStep,
    FileStep,
    RemountStep,
    RestStep,
    WorkloadStep,
)
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.chip import simnand
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import filesteps
from nandlab.trial.instruments.instrument import Moment
from nandlab.trial.instruments.instruments import list_trial_instruments
from nandlab.trial.mediumsteps import (
    make_detach_step,
    make_format_steps,
    make_idle_wait_step,
    make_medium_load_step,
    make_module_load_step,
    make_mount_step,
    make_partition_cleanup_step,
    make_unmount_step,
    select_chip_module,
)

NS_PER_MS = 1_000_000
MS_PER_S = 1000
AT_ONCE_MS = 100
"""A load begins one to two times so long after an ageing that members share: it takes a board some
50 ms to unpack what a member brings."""
WORK_DEADLINE_S = 24 * 3600
REST_BEFORE, UNMOUNT_AFTER = "rest-before-", "unmount-after-"
"""What the names of the steps around a fill begin with; no step of a workload has a hyphen."""
UNMOUNT = "unmount-at-end"
SAVE_CHIP_STEP = "chip-saved"
"""The step that brings the chip back for an instrument."""
BRING_BACK_STEP = "brought-back"
"""The step that brings back what an instrument asks for."""
STATE_BEFORE = "fill-to-state"
"""The step that makes the state where a workload has another step called fill."""


def make_trial_job(spec: TrialSpec) -> Job:
    """The job that runs a trial."""
    hold = _make_cargo(spec)
    before = _make_setup_steps(
        spec.at_setup(), hold.get() if hold and spec.image is not None else None
    )
    last = [make_partition_cleanup_step(spec)] if spec.is_own_board else []
    steps = [
        *before,
        *_make_load_steps(spec, hold),
        *last,
        Step("kernel-log", "dmesg -r", always=True),
    ]
    offset = round(spec.phase_offset_ms * NS_PER_MS)
    files, home = _make_files(spec), spec.workload.home
    if spec.setup_seed is None:
        return Job(tuple(steps), files, offset, hold, home)
    shared = frozenset(files.keys() - make_workload_config_file(spec).keys())
    if _begins_at_once(spec):
        setup = Setup(len(before), shared, AT_ONCE_MS)
        return Job(tuple(steps), files, offset, hold, home, setup)
    return Job(tuple(steps), files, 0, hold, home, Setup(len(before), shared, MS_PER_S, offset))


def _begins_at_once(spec: TrialSpec) -> bool:
    """Whether the load begins right after the ageing: a wait in between would change the state."""
    return spec.aged and not spec.workload.steps


def make_trial_job_without_image(spec: TrialSpec) -> Job:
    """The job of the trial as it would be without a chip image; reads no image."""
    return make_trial_job(spec.model_copy(update={"image": None}))


def _make_cargo(spec: TrialSpec) -> Cargo | None:
    """The chip images that are carried to the board and from it; None: neither."""
    contents: list[bytes] = []
    if spec.image is not None:
        _, image = chipfile.read_image_files(spec.image.head().path)
        contents.append(chipimage.encode_chip_image(image))
    back_bytes = spec.image_bytes if _saves_chip(spec) or _saves_chip_for_instrument(spec) else 0
    back_bytes = max([back_bytes, *(i.back.room(spec) for i in list_trial_instruments(spec))])
    if not contents and not back_bytes:
        return None
    return make_cargo(spec.virtual, spec.cells_bytes, *contents, back_bytes=back_bytes)


def _saves_chip(spec: TrialSpec) -> bool:
    """Whether the workload saves the chip itself."""
    return any(step.do == "save" for step in spec.workload.steps)


def _saves_chip_for_instrument(spec: TrialSpec) -> bool:
    """Whether the chip is saved for an instrument when all is over."""
    return not _saves_chip(spec) and any(i.back.saves_chip for i in list_trial_instruments(spec))


def _make_files(spec: TrialSpec) -> dict[str, bytes]:
    return {
        **make_workload_config_file(spec),
        **(make_state_fill_files(spec.at_setup()) if spec.aged else {}),
    }


def make_workload_config_file(spec: TrialSpec) -> dict[str, bytes]:
    """The workload's configuration file, by its name; empty if it has none."""
    name = spec.workload.config_file
    return {name: fill_workload_template(spec, spec.workload.config).encode()} if name else {}


def make_steps_until_formatted(spec: TrialSpec, image: str | None = None) -> list[Step]:
    """The steps from a board without a chip to a file system that is made.

    image: the board's command that writes the chip's image to stdout, if the trial begins from one;
    nothing is formatted then.
    """
    return [
        make_medium_load_step(spec, image),
        *_make_moment_steps(spec, "loaded"),
        make_module_load_step(spec),
        *(make_format_steps(spec) if image is None else []),
        *_make_moment_steps(spec, "formatted"),
    ]


def make_steps_until_mounted(spec: TrialSpec, image: str | None = None) -> list[Step]:
    """The steps from a board without a chip to a file system that is mounted and at rest.

    image: as :func:`make_steps_until_formatted` has it.
    """
    return [
        *make_steps_until_formatted(spec, image),
        make_mount_step(spec),
        make_idle_wait_step(spec),
    ]


def _make_setup_steps(spec: TrialSpec, image: str | None) -> list[Step]:
    """The steps from a board without a chip to where the load begins, on the state asked for.

    image: as :func:`make_steps_until_formatted` has it.
    """
    if spec.workload.steps:
        makes_state = any(_makes_state(step) for step in spec.workload.steps)
        apart = spec.aged and not makes_state
        return [
            *make_steps_until_formatted(spec, image),
            *(_make_separate_fill(spec, *list_state_fill_steps(spec)) if apart else ()),
        ]
    steps = [*make_steps_until_mounted(spec, image), *_make_moment_steps(spec, "mounted")]
    return [*steps, make_fill_step(spec)] if spec.aged else steps


def _make_load_steps(spec: TrialSpec, hold: Cargo | None) -> Iterator[Step]:
    """The steps of the load, to a file system that is unmounted after it."""
    if spec.workload.steps:
        yield from _make_list_steps(spec, hold)
        return
    yield from _make_moment_steps(spec, "ready")
    yield Step(
        "workload",
        fill_workload_template(spec, spec.workload.command),
        deadline_s=WORK_DEADLINE_S,
        programs=tuple(spec.workload.programs),
    )
    yield from (
        *_make_moment_steps(spec, "worked"),
        make_unmount_step(spec),
        *_make_unmounted_steps(spec, hold),
    )


def _make_list_steps(spec: TrialSpec, hold: Cargo | None) -> Iterator[Step]:
    """The steps of a workload that is a list, with those of the instruments."""
    steps = spec.workload.steps
    mounts = [i for i, step in enumerate(steps) if step.do == "mount"]
    ends = _find_last_unmount(steps)
    for i, step in enumerate(steps):
        if i == ends:
            yield from _make_moment_steps(spec, "worked")
        yield from _make_board_steps(spec, step, hold, mounted=_is_mounted_after(steps[:i]))
        yield from _make_after_steps(spec, step.phase)
        if mounts and i == mounts[0]:
            yield from (*_make_moment_steps(spec, "mounted"), *_make_moment_steps(spec, "ready"))
        if i == ends:
            yield from _make_unmounted_steps(spec, hold)
    if ends is None and mounts:
        yield from (
            *_make_moment_steps(spec, "worked"),
            make_unmount_step(spec, UNMOUNT),
            *_make_unmounted_steps(spec, hold),
        )


def _make_unmounted_steps(spec: TrialSpec, hold: Cargo | None) -> list[Step]:
    """What follows the last unmount for the instruments' sake."""
    steps = _make_moment_steps(spec, "unmounted")
    if hold is not None and _saves_chip_for_instrument(spec):
        steps.append(
            Step(
                SAVE_CHIP_STEP,
                simnand.make_image_pipe_command(hold.put()),
                WORK_DEADLINE_S,
                beside=True,
            )
        )
    commands = [i.back.command for i in list_trial_instruments(spec) if i.back.command]
    for brings in commands if hold is not None else ():
        brought = f"set -o pipefail; {brings} | {hold.put() if hold else ''}"
        steps.append(Step(BRING_BACK_STEP, brought, WORK_DEADLINE_S, beside=True))
    return [*steps, *_make_moment_steps(spec, "over")]


def _is_mounted_after(steps: Sequence[WorkloadStep]) -> bool:
    """Whether the file system is mounted after these steps."""
    moves = ("mount", *UNMOUNTING_STEPS)
    return next((s.do == "mount" for s in reversed(steps) if s.do in moves), False)


def _find_last_unmount(steps: Sequence[WorkloadStep]) -> int | None:
    """Index of the step that takes the file system away for good; None: no step does."""
    if _is_mounted_after(steps):
        return None
    return next((i for i in reversed(range(len(steps))) if steps[i].do in UNMOUNTING_STEPS), None)


def _make_board_steps(
    spec: TrialSpec, step: WorkloadStep, hold: Cargo | None, *, mounted: bool
) -> Iterator[Step]:
    """The board's steps for a step of a list; an unmounted file system is mounted for a fill."""
    name = step.phase
    if _makes_state(step):
        if mounted:
            yield make_fill_step(spec, name) if spec.aged else Step(name, "true")
        else:
            yield from _make_separate_fill(spec, name)
        return
    yield Step(
        name,
        _make_command(spec, step, hold),
        deadline_s=max(WORK_DEADLINE_S, make_idle_wait_step(spec).deadline_s),
        always=step.always,
        may_fail=step.may_fail,
        programs=tuple(spec.workload.programs) if step.do == "run" else None,
    )
    if isinstance(step, FileStep) and step.sync:
        yield Step(f"{filesteps.SYNC_PREFIX}{name}", "sync", WORK_DEADLINE_S)


def _make_command(spec: TrialSpec, step: WorkloadStep, hold: Cargo | None) -> str:
    """The board's command for a step of a list, but for the making of a state."""
    if isinstance(step, FileStep):
        return filesteps.make_file_step_command(spec, step, make_template_words(spec))
    if isinstance(step, RemountStep):
        return f"mount -o remount,{step.options} {MOUNTPOINT}"
    if isinstance(step, AgeStep):
        return _make_age_command(step, make_template_words(spec))
    if isinstance(step, RestStep):
        return make_idle_wait_step(spec, limit_s=step.limit_s).command
    commands = {
        "mount": make_mount_step(spec).command,
        "unmount": make_unmount_step(spec).command,
        "drop": "echo 3 > /proc/sys/vm/drop_caches",
        "sync": "sync",
        "save": simnand.make_image_pipe_command(hold.put()) if hold else "false",
        "cut": simnand.make_power_cut_command(
            make_medium_load_step(spec.at_setup()),
            make_detach_step(spec),
            select_chip_module(spec),
        ),
    }
    return commands[step.do]


def _make_age_command(step: AgeStep, words: dict[str, str]) -> str:
    """Lets days pass so many times, each with the command that follows it."""
    days, reads, times = (int(getattr(step, name)) for name in AGE_LIMITS)
    once = [simnand.make_age_command(days, reads), step.between.format(**words)]
    each = " && ".join(filter(None, once))
    return f"i=0; while [ $i -lt {times} ]; do {{ {each}; }} || exit 1; i=$((i + 1)); done"


def _make_separate_fill(spec: TrialSpec, name: str) -> Iterator[Step]:
    """Mounts a file system, fills it, and unmounts it again; on fresh flash all but the filling.

    So what a first mount does, such as JFFS2's marking of all blocks, is done in every state.
    """
    yield from (
        make_mount_step(spec, f"mount-to-{name}"),
        make_idle_wait_step(spec, f"{REST_BEFORE}{name}"),
        make_fill_step(spec, name) if spec.aged else Step(name, "true"),
        make_unmount_step(spec, f"{UNMOUNT_AFTER}{name}"),
    )


def _make_moment_steps(spec: TrialSpec, moment: Moment) -> list[Step]:
    """The steps of the instruments at a moment of the trial."""
    found = (
        instrument.steps.make_steps(spec).get(moment) for instrument in list_trial_instruments(spec)
    )
    return [step for step in found if step is not None]


def _make_after_steps(spec: TrialSpec, name: str) -> list[Step]:
    """The steps of the instruments after a step of a list."""
    found = (instrument.steps.after(spec, name) for instrument in list_trial_instruments(spec))
    return [step for step in found if step is not None]


def map_idle_wait_seconds(spec: TrialSpec) -> dict[str, int]:
    """The names that steps may have which wait until the chip is at rest, and for how many seconds
    at the most."""
    steps, usual = spec.workload.steps, spec.filesystem.settle.limit_s
    names = ["settle", *(f"{REST_BEFORE}{name}" for name in list_state_fill_steps(spec))]
    own = {step.phase: step.limit_s or usual for step in steps if isinstance(step, RestStep)}
    return {**dict.fromkeys(names, usual), **own}


def _makes_state(step: WorkloadStep) -> bool:
    """Whether it makes the state that the study asks for."""
    return step.do == "fill" and not step.uses_files


def list_state_fill_steps(spec: TrialSpec) -> list[str]:
    """The names of the steps that make the state that the study asks for."""
    steps = spec.workload.steps
    names = [step.phase for step in steps if _makes_state(step)]
    taken = any(step.phase == "fill" for step in steps)
    return names or [STATE_BEFORE if taken else "fill"]


def list_fill_step_names(name: str) -> tuple[str, ...]:
    """A fill and the step that may follow it before the load, in order."""
    return (name, f"{UNMOUNT_AFTER}{name}")


def make_fill_step(spec: TrialSpec, name: str = "fill") -> Step:
    """Brings the flash to the state that is asked for; needs :func:`make_state_fill_files`."""
    return Step(name, "ffsmark --json fill.cfg", WORK_DEADLINE_S)


def make_state_fill_files(spec: TrialSpec) -> dict[str, bytes]:
    """FFSMark's commands that bring the flash to the state asked for, with next to no files."""
    state = spec.state
    text = (
        f"set location {MOUNTPOINT}\nset number 1\nset transactions 0\nset seed {spec.seed}\n"
        f"set buffering false\nset fill creation valid {state.valid * 100:g}\n"
        f"set fill creation invalid {state.invalid * 100:g}\nset fill mix {state.mix:g}\n"
        f"set fill of {state.of}\nset fill keep true\nrun\nquit\n"
    )
    return {"fill.cfg": text.encode()}


def fill_workload_template(spec: TrialSpec, template: str) -> str:
    """A template of the workload's catalog file, with its placeholders filled in."""
    return template.format(**make_template_words(spec))


def make_template_words(spec: TrialSpec) -> dict[str, str]:
    """What stands for each placeholder of the workload's templates."""
    known, used = spec.workload.parameters, spec.workload.words()
    values = {k: known[k].word(v) for k, v in spec.parameters.items() if k in used}
    return {**values, "seed": str(spec.seed), "mountpoint": MOUNTPOINT}
