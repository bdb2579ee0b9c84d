# SPDX-License-Identifier: GPL-2.0-or-later
"""A project outside the clone: its own program and workloads, and nothing changed in nandlab."""

from __future__ import annotations

import asyncio
import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from support import lock
from support.commandline import run_command
from support.trialsatonce import RecordedTrial, run_trials_at_once

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import read_toml
from nandlab.base.paths import CATALOG, DEVICE, ROOT
from nandlab.board.jobs import programs
from nandlab.board.jobs.build import build_program
from nandlab.board.jobs.job import Job, Step
from nandlab.board.kit.root import Root
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.files import load_noun, use_project_beside_study
from nandlab.catalog.workload import WorkloadModel
from nandlab.flash.chip.image import decode_chip_image
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.trial import steps

EXAMPLE = ROOT / "docs" / "examples" / "device"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "device"
    shutil.copytree(EXAMPLE, folder)
    return folder


def specs(project: Path) -> list[TrialSpec]:
    return study.plan_trials(study.read_study_file(project / "device.toml"))


FRESH = '    { name = "fresh" },\n'
AGED = '    { name = "aged", valid = 0.3, invalid = 0.2, mix = 1 },\n'


def keep_state(project: Path, board: QemuBoard, state: str) -> str:
    """The project's study on this board with one of its states: a board starts for each trial."""
    text = (project / "device.toml").read_text()
    assert text.count(FRESH) == text.count(AGED) == 1
    text = text.replace(FRESH + AGED, state)
    return text.replace('board = "apf27"', f'board = "{board.machine.model.name}"')


def nandlab(project: Path, *words: str) -> str:
    done = run_command(*words, cwd=project, deadline_s=890)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.board
@pytest.mark.timeout(900)
def test_its_workloads_have_tables_charts_rankings_and_advice(
    board: QemuBoard, project: Path
) -> None:
    (project / "device.toml").write_text(keep_state(project, board, AGED))
    run = nandlab(project, "run", "device.toml", "--progress", "none").split()[-1]
    shown = " ".join(nandlab(project, "show", "--all", run).split())
    assert "appending replaying records/s erases" in shown
    assert "first mount appending replaying off second mount" in shown
    advice = nandlab(project, "advise", "--all", run)
    assert "records a second are stored (" in advice
    assert "the second mount takes" in advice
    page = (project / nandlab(project, "report", run).strip()).read_text()
    assert "takes the most records" in page
    assert "is mounted again first" in page
    for chart in ("journal-time", "journal-throughput", "journal-latency", "reboot-flash"):
        assert f'id="{chart}"' in page
    nandlab(project, "compare", run, run)
    trials = list(RunFolder(project / run).trials())
    check_counts(trials, {"ffsmark", "journal", "settle"})
    check_states(trials)


def check_counts(trials: list[Trial], programs: set[str]) -> None:
    """What was done is counted, in each phase of a list of steps; programs: those it ran."""
    assert {t.error for t in trials} == {None}
    journal = [t for t in trials if t.workload == "journal"]
    for t in journal:
        assert t.operations == {"append": 300, "replay": 300}
        appending = t.phase("appending")
        assert appending is not None and appending.chip is not None
        assert appending.chip.programs >= 300 * 200 // t.chip.writesize
    reboot = next(t for t in trials if t.workload == "reboot")
    assert [p.name for p in reboot.phases] == [
        *("fill", "first_mount", "before_appending", "before_replaying"),
        *("off", "second_mount", "list", "after_appending", "after_replaying"),
    ]
    assert all(p.chip is not None for p in reboot.phases)
    assert not [s.name for s in reboot.steps if s.name.startswith("chip-") or s.name == "programs"]
    assert set(reboot.find_source("programs")) == programs


def check_states(trials: list[Trial]) -> None:
    """What the state step made is told."""
    for t in trials:
        assert t.state.obtained is not None
        assert t.state.obtained.valid == pytest.approx(0.3, abs=0.03)


CUT = """
name = "cut"
summary = "What was synced is there after a cut, what was not may be gone; the chip is kept"
steps = [
    { do = "mount" },
    { do = "run", name = "store", command = "echo precious > {mountpoint}/a && sync" },
    { do = "run", name = "busy", command = "exec 5> {mountpoint}/b; echo lost >&5" },
    { do = "cut" },
    { do = "save" },
    { do = "mount", name = "again" },
    { do = "run", name = "look", command = "grep -q precious {mountpoint}/a" },
    { do = "run", name = "may", command = "false", may_fail = true },
    { do = "remount", options = "ro" },
    { do = "run", name = "refused", command = "! touch {mountpoint}/c" },
]
"""


ATTACHED_ONCE = '{ name = "ubifs", attach = "once" },'


def test_a_cut_frees_the_chip_of_a_ubi_that_stays_attached(project: Path) -> None:
    (project / "catalog" / "workloads" / "cut.toml").write_text(CUT)
    own = (project / "device.toml").read_text()
    own = own.replace('{ name = "journal" }, { name = "reboot" }', '{ name = "cut" }')
    own = own.replace("filesystems = [", f"filesystems = [{ATTACHED_ONCE}")
    (project / "device.toml").write_text(own)
    job = steps.make_trial_job(specs(project)[0])
    cut = next(step for step in job.steps if step.name == "cut")
    assert "&& umount /mnt && ubidetach -d 0 && rmmod simnand" in cut.command


@pytest.mark.board
def test_power_is_cut_and_the_chip_is_kept(board: QemuBoard, project: Path) -> None:
    (project / "catalog" / "workloads" / "cut.toml").write_text(CUT)
    own = keep_state(project, board, FRESH)
    own = own.replace('{ name = "journal" }, { name = "reboot" }', '{ name = "cut" }')
    # a UBI that stays attached over unmounts must let go of the chip that is cut
    own = own.replace("filesystems = [", f"filesystems = [{ATTACHED_ONCE}")
    (project / "device.toml").write_text(own.replace("seeds = [1, 2]", "seeds = [1]"))
    run = nandlab(project, "run", "device.toml", "--progress", "none").split()[-1]
    folder = RunFolder(project / run)
    for trial in folder.trials():
        assert trial.error is None
        (kept,) = trial.artefacts
        image = folder.artefact_path(kept.sha256).read_bytes()
        assert len(image) == kept.bytes
        assert b"precious" in b"".join(b.cells for b in decode_chip_image(image).blocks)
        cut, again = trial.phase("cut"), trial.phase("again")
        assert cut is not None and cut.chip is None
        assert again is not None and again.chip is not None and again.chip.reads > 0
    shutil.rmtree(project / run)
    assert nandlab(project, "run", "device.toml", "--progress", "none").split()[-1] == run
    assert all(t.origin for t in folder.trials())
    assert folder.artefact_path(kept.sha256).exists()


@pytest.mark.board
def test_a_file_system_is_added_by_its_file_alone(board: QemuBoard, project: Path) -> None:
    """JFFS2 under another name, with an option that the shipped one has not."""
    text = (CATALOG / "filesystems" / "jffs2.toml").read_text()
    text = text.replace('name = "jffs2"', 'name = "mine"', 1)
    text = text.replace('title = "JFFS2"', 'title = "Mine"', 1)
    added = """
[options.atime]
help = "Whether reading a file sets its time of access."
default = "off"
values = { on = "relatime", off = "noatime" }

[differs]
"""
    systems = project / "catalog" / "filesystems"
    systems.mkdir()
    (systems / "mine.toml").write_text(text.replace("\n[differs]\n", added, 1))
    own = keep_state(project, board, FRESH)
    i, j = own.index("filesystems = ["), own.index("chips = [")
    own = own[:i] + 'filesystems = [{ name = "mine" }, { name = "mine", atime = "on" }]\n' + own[j:]
    (project / "device.toml").write_text(own.replace("seeds = [1, 2]", "seeds = [1]"))
    run = nandlab(project, "run", "device.toml", "--progress", "none").split()[-1]
    shown = nandlab(project, "show", run)
    assert "Mine atime=off" in shown
    assert "Mine atime=on" in shown
    trials = list(RunFolder(project / run).trials())
    assert {t.state.name for t in trials} == {"fresh"}
    check_counts(trials, {"journal", "settle"})
    mounts = {t.options["atime"]: t.steps for t in trials if t.workload == "journal"}
    words = {k: next(s.command for s in v if s.name == "mount") for k, v in mounts.items()}
    assert "noatime" in str(words["off"])
    assert "relatime" in str(words["on"])


FREE_STATES = ("fresh", "free", "pages")


@pytest.fixture(scope="module")
def aged_trials(board: QemuBoard) -> dict[str, RecordedTrial]:
    """Small trials on states, of which none needs a board of its own."""
    words = read_toml(study.find_study_file("quickstart")) | {"board": board.machine.model.name}
    words["matrix"] |= {
        "workloads": [{"name": "ffsmark", "files": 20, "transactions": 20, "payload": "postmark"}],
        "filesystems": [{"name": fs, "compression": "none"} for fs in ("jffs2", "ubifs")],
        "chips": [{"part": "apf27", "partition_mib": 32}],
        "states": [
            {"name": "fresh"},
            {"name": "free", "valid": 0.5, "of": "free"},
            {"name": "pages", "valid": 0.5},
        ],
        "seeds": [1],
    }
    words.pop("beside", None)
    specs = {
        f"{spec.filesystem.name} {spec.state.name}": spec
        for spec in study.plan_trials(study.Study.model_validate(words))
    }
    return run_trials_at_once(board, {**specs, "lifetime": plan_aged_lifetime(board)})


def plan_aged_lifetime(board: QemuBoard) -> TrialSpec:
    words = read_toml(study.find_study_file("lifetime")) | {"board": board.machine.model.name}
    words.pop("beside")
    words["matrix"] |= {
        "workloads": [{"name": "lifetime", "rounds": 2, "files": 20, "transactions": 20}],
        "filesystems": [{"name": "jffs2", "compression": "none"}],
        "states": [{"name": "aged", "valid": 0.3, "invalid": 0.1}],
        "seeds": [1],
    }
    (spec,) = study.plan_trials(study.Study.model_validate(words))
    return spec


@pytest.mark.board
@pytest.mark.parametrize("fs", ["jffs2", "ubifs"])
def test_a_state_of_the_free_bytes_is_what_the_free_bytes_allow(
    aged_trials: dict[str, RecordedTrial], fs: str
) -> None:
    found = [aged_trials[f"{fs} {state}"].trial for state in FREE_STATES]
    assert [t.error for t in found] == [None, None, None]
    assert [lock.doubts(t.warnings) for t in found] == [[], [], []]
    shares = {t.state.name: t.state.obtained for t in found}
    free, pages = shares["free"], shares["pages"]
    assert free is not None
    assert pages is not None
    assert (free.valid, free.invalid) == (None, None)
    assert free.programmed is not None
    assert pages.valid == pytest.approx(0.5, abs=0.03)
    # UBI and UBIFS hold back much of a small chip; JFFS2 next to nothing
    low, high = {"jffs2": (0.47, 0.55), "ubifs": (0.10, 0.40)}[fs]
    assert low < free.programmed - (free.before or 0) < high


@pytest.mark.board
def test_an_aged_lifetime_really_ages(aged_trials: dict[str, RecordedTrial]) -> None:
    result = aged_trials["lifetime"].trial
    assert result.error is None
    assert result.state.obtained is not None
    assert result.state.obtained.valid == pytest.approx(0.3, abs=0.03)
    assert result.state.obtained.invalid == pytest.approx(0.1, abs=0.03)
    assert result.figures["rounds"] == 2


def found(job: Job) -> dict[str, Path]:
    """The programs that a job names; their folders stand for them."""
    return programs.build_job_programs(job, lambda folder: folder)


@pytest.mark.board
def test_a_program_is_built_when_a_job_names_it_and_not_before(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Root
) -> None:
    build = partial(build_program, tools)
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    job = steps.make_trial_job(specs(project)[0])
    assert not (tmp_path / "cache").exists()
    assert set(programs.build_job_programs(job, build)) == {"journal", "settle"}
    (project / "programs" / "journal" / "journal.c").write_text("int main(void) { return 1 }")
    assert set(programs.build_job_programs(job, build)) == {
        "journal",
        "settle",
    }  # a process builds each once
    build_program.cache_clear()
    with pytest.raises(NandlabError, match=r"journal\.c"):
        programs.build_job_programs(job, build)
    shutil.rmtree(project / "programs")
    with pytest.raises(UsageError, match="no program 'journal'"):
        programs.build_job_programs(job, build)


def test_a_program_is_named_by_a_whole_word_of_a_command() -> None:
    def named(command: str, **files: bytes) -> set[str]:
        return set(found(Job((Step("a", command),), files)))

    assert named("true") == set()
    assert named("cat settle.c ffsmark-2 unsettle") == set()
    assert named("/usr/bin/settle --quiet-ms 1; (ffsmark)") == {"ffsmark", "settle"}
    assert named("sh script", script=b"# as fileload does; see replay\nfsops /mnt\n") == set()
    assert named("ferry get 0") == set()
    assert {"ffsmark", "settle"} <= set(found(Job()))


def test_a_step_brings_the_programs_that_its_workload_lists() -> None:
    def listed(command: str, *programs: str) -> set[str]:
        return set(found(Job((Step("a", command, programs=programs),))))

    assert listed("sh script settle", "fsops") == {"fsops"}
    assert listed("true") == set()
    with pytest.raises(UsageError, match=r"no program .fsop..*fsops"):
        listed("true", "fsop")
    with pytest.raises(UsageError, match="step a runs ffsmark: name it"):
        listed("ffsmark --json", "fsops")


def test_a_project_s_program_has_a_name_of_its_own(project: Path) -> None:
    (project / "programs" / "lib").mkdir()
    (project / "programs" / "lib" / "mine.c").write_text("")
    assert "journal" in found(steps.make_trial_job(specs(project)[0]))
    shutil.copytree(project / "programs" / "journal", project / "programs" / "settle")
    assert found(Job((Step("a", "true"),), home=project)) == {}
    with pytest.raises(UsageError, match=r"programs are called settle: .*rename yours"):
        found(steps.make_trial_job(specs(project)[0]))


@pytest.mark.board
def test_equal_sources_of_two_names_are_two_programs(project: Path, tools: Root) -> None:
    shutil.copytree(project / "programs" / "journal", project / "programs" / "mylog")
    job = Job((Step("a", "journal; mylog"),), home=project)
    built = programs.build_job_programs(job, partial(build_program, tools))
    assert all(path.exists() and path.name == name for name, path in built.items())
    assert set(built) == {"journal", "mylog"}


@pytest.mark.board
def test_the_rules_of_the_build_are_part_of_what_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: Root
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    shutil.copytree(DEVICE, tmp_path / "device")
    monkeypatch.setattr("nandlab.board.jobs.build.DEVICE", tmp_path / "device")
    folder = tmp_path / "device" / "programs" / "settle"
    before = build_program(tools, folder).read_bytes()
    rules = tmp_path / "device" / "programs" / "Makefile"
    rules.write_text(rules.read_text().replace("-O2", "-O0"))
    build_program.cache_clear()
    assert build_program(tools, folder).read_bytes() != before


@pytest.mark.board
def test_a_program_called_as_a_command_of_the_board_is_refused(
    board: QemuBoard, project: Path
) -> None:
    (project / "programs" / "journal").rename(project / "programs" / "sort")
    with pytest.raises(UsageError, match="sort is a command of the board"):
        asyncio.run(board.run(Job((Step("a", "sort x"),), home=project)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            'command = "journal {valid_percent}"',
            r"\{valid_percent\} stands for nothing; there are: ",
        ),
        (
            'command = "find -exec cat {} +"',
            r"\{\} stands for nothing; .*brace itself is written twice",
        ),
        (
            'command = "a"\n[figures]\nx = { title = "x", unit = "per_s", parameter = "y" }',
            "figures: there is no parameter 'y'",
        ),
        (
            'command = "a"\n[figures]\nx = { title = "x", unit = "per_s", over = "phase.b" }',
            "journal: figures.x.over: phase.b: no phase is called b; there are: none",
        ),
        (
            'command = "a"\noperations = [{ name = "store" }]\n[headline]\n'
            'figure = "latency.stoer.p99"\nnoun = "n"\nbest = "b"',
            "headline.figure: latency.stoer.p99: no operation is called stoer; there are: store",
        ),
        (
            'command = "a"\n[headline]\nfigure = "own.speed"\nnoun = "n"\nbest = "b"',
            "headline.figure: no figure 'own.speed'",
        ),
        ('command = "a"\nconfig = "x"\nconfig_file = "steps"', "a job has a file of that name"),
        (
            'steps = [{ do = "mount" }, { do = "run", name = "load", command = "ls" }]',
            "a trial has a step load of its own",
        ),
    ],
)
def test_a_workload_that_cannot_be_is_refused_when_it_is_read(
    project: Path, words: str, said: str
) -> None:
    file = project / "catalog" / "workloads" / "journal.toml"
    file.write_text(f'name = "journal"\nsummary = "s"\n{words}\n')
    with pytest.raises(UsageError, match=said):
        specs(project)


@pytest.mark.parametrize(
    ("steps_", "said"),
    [
        ([{"do": "run", "command": "ls"}], "step run: it is not mounted then"),
        ([{"do": "mount"}, {"do": "mount", "name": "b"}], "step b: it is mounted already"),
        ([{"do": "mount"}, {"do": "mount"}], "steps of one name: mount"),
        ([{"do": "mount"}, {"do": "run"}], "steps.1.command: must be given"),
        ([{"do": "mount", "tells": True}], "steps.0.tells: there is no such key"),
        ([{"do": "mount"}, {"do": "remount"}], "steps.1.options: must be given"),
        ([{"do": "dance"}], "steps.0: do = 'dance' is none of 'mount'"),
        ([], "it is a command or a list of steps"),
    ],
)
def test_a_list_that_cannot_be_is_refused(
    project: Path, steps_: list[dict[str, object]], said: str
) -> None:
    path = project / "catalog" / "workloads" / "bad.toml"
    listed = ", ".join(
        "{" + ", ".join(f"{k} = {json.dumps(v)}" for k, v in step.items()) + "}" for step in steps_
    )
    path.write_text(f'name = "bad"\nsummary = "s"\nsteps = [{listed}]\n')
    with (
        use_project_beside_study(project),
        pytest.raises(UsageError, match=said.replace("(", r"\(")),
    ):
        load_noun("workloads", "bad", WorkloadModel)
