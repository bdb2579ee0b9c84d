# SPDX-License-Identifier: GPL-2.0-or-later
"""What a newcomer meets first: the make targets and the installing of packages."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import tomllib
from subprocess import CompletedProcess

import pytest

from nandlab.base.paths import ROOT

NOBODY = 65534


def without_rights(script: str, argv: list[str], fds: list[int]) -> CompletedProcess[str]:
    """Runs a script of setup/ as a user without rights; it comes by descriptor."""
    with (ROOT / "setup" / script).open() as text:
        return subprocess.run(
            argv,
            stdin=text,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            pass_fds=fds,
            preexec_fn=_drop_rights,
        )


def install(packages: str) -> CompletedProcess[str]:
    """Runs install-packages so; the list comes by descriptor too."""
    with tempfile.TemporaryFile("w+") as names:
        names.write(packages)
        names.flush()
        os.fchmod(names.fileno(), 0o644)
        names.seek(0)
        argv = ["sh", "-s", "--", f"/dev/fd/{names.fileno()}"]
        return without_rights("install-packages", argv, [names.fileno()])


def _drop_rights() -> None:
    if os.getuid() == 0:
        os.setuid(NOBODY)


def test_nothing_missing_asks_for_nothing() -> None:
    done = install("# a comment\nmake\nlibc6-dev # another\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_rights_the_one_line_is_printed_and_the_status_is_2() -> None:
    done = install("make\nno-such-a\nno-such-b\n")
    assert done.returncode == 2
    assert "apt-get install --no-install-recommends no-such-a no-such-b\n" in done.stderr


def test_a_bare_debian_without_rights_says_what_to_do_and_ends_with_2() -> None:
    done = without_rights("fresh", ["bash", "-s"], [])
    assert done.returncode == 2
    assert done.stderr.startswith("setup/fresh: a bare Debian needs root: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_bare_debians_of_both_releases_run_both_commands() -> None:
    told = would_run("fresh")
    assert (
        "for release in bookworm trixie; do setup/fresh $release 'make demo && make test'" in told
    )
    told = would_run("fresh", "RELEASE=trixie", "COMMANDS=make demo")
    assert "for release in trixie; do setup/fresh $release 'make demo'" in told


def test_help_lists_the_targets() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("setup", "build", "demo", "study", "test", "fresh", "lint"):
        assert f"  {target} " in done.stdout


def would_run(*command: str) -> str:
    """What make would do, told and not done."""
    done = subprocess.run(
        ["make", "-n", *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return " ".join(done.stdout.split())


def test_a_study_runs_to_its_report_by_name_and_members() -> None:
    told = would_run("study", "STUDY=ffsmark-2015", "MEMBERS=1")
    assert "/nandlab run ffsmark-2015 --members 1 |" in told
    assert "/nandlab report $run" in told


def test_the_container_does_what_the_readme_says_in_debian_s_stable_release() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    steps = [line.partition(" ")[2] for line in lines if line.startswith(("RUN ", "CMD "))]
    assert steps[1:] == ["make setup", "make demo"]
    assert set(steps[0].split()[-3:]) == {"ca-certificates", "git", "make"}
    assert "FROM ${BASE}" in lines
    (base,) = (line for line in lines if line.startswith("ARG BASE="))
    release = base.removeprefix("ARG BASE=debian:")
    assert f"make fresh RELEASE={release}" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("name", ["run", "dev", "farm"])
def test_python_packages_are_pinned_by_hash(name: str) -> None:
    """And the list has all that pyproject.toml asks for, the tools that build nandlab too."""
    text = (ROOT / f"setup/python-{name}.txt").read_text().replace("\\\n", " ")
    pinned = set()
    for line in text.splitlines():
        requirement, *hashes = line.split(" --hash=")
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64} *", h) for h in hashes), line
        pinned.add(re.match(r"([a-z0-9-]+)==[\w.]+", requirement)[1])  # type: ignore[index]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    wanted += {"run": [], "dev": extras["dev"][1:], "farm": project["dependency-groups"]["farm"]}[
        name
    ]
    wanted += extras["distributed"] if name != "run" else []
    names = {re.match(r"[\w.-]+", w)[0].replace(".", "-") for w in wanted}  # type: ignore[index]
    assert names <= pinned


def test_the_demo_is_the_whole_quickstart() -> None:
    assert "/nandlab run quickstart |" in would_run("demo")
