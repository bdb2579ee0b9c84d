# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor says what is here, what is missing and needed, and which ways are open."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.debmirror import Mirror

from nandlab.board.kit import packages
from nandlab.board.kit.root import ENTRY_REMEDY
from nandlab.board.virtual.kvm import KvmProbe
from nandlab.cli import doctor


def told(capsys: pytest.CaptureFixture[str]) -> tuple[bool, dict[str, str]]:
    """Whether all is well, and the rest of the line of each mark and thing."""
    fine = doctor.print_requirement_checks()
    lines = capsys.readouterr().out.splitlines()
    return fine, {line[9:].partition(":")[0]: line for line in lines}


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(packages.PACKAGES_VARIABLE, raising=False)
    monkeypatch.setattr(doctor, "find_root_entry_hindrance", lambda: None)


WAY = "a way to get packages"
HERE = "packages of board apf27, in the cache"


def test_with_a_mirror_nothing_more_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "list_debian_mirrors", lambda: ["http://a/debian"])
    fine, lines = told(capsys)
    assert fine
    assert lines[WAY].startswith("ok ")
    assert "apt, from http://a/debian" in lines[WAY]
    assert lines[HERE].startswith("- ")


def test_without_packages_and_without_a_way_to_get_them_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = Mirror(tmp_path / "mirror")  # of another origin than Debian
    mirror.has()
    monkeypatch.setenv("APT_CONFIG", str(mirror.folder / "apt.conf"))
    fine, lines = told(capsys)
    assert not fine
    assert lines[WAY].startswith("MISSING")
    assert "nandlab board import" in lines[WAY]
    monkeypatch.setenv("PATH", "/nonexistent")
    assert told(capsys)[1][WAY] == lines[WAY]


def test_what_the_user_names_is_a_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "list_debian_mirrors", list)
    monkeypatch.setenv(packages.PACKAGES_VARIABLE, str(tmp_path))
    fine, lines = told(capsys)
    assert fine
    assert f"NANDLAB_PACKAGES={tmp_path}" in lines[WAY]


def test_where_no_root_can_be_entered_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        doctor, "find_root_entry_hindrance", lambda: "unshare: Operation not permitted"
    )
    fine, lines = told(capsys)
    assert not fine
    assert lines["a root of its own for the board"] == (
        f"MISSING  a root of its own for the board: no; {ENTRY_REMEDY} (unshare: Operation not "
        f"permitted)"
    )


def test_a_host_that_cannot_run_the_tools_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    fine, lines = told(capsys)
    assert not fine
    assert "it is aarch64; use another host" in lines["an x86-64 processor"]


def test_kvm_is_tried_only_if_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tried(*_: object) -> KvmProbe:
        raise AssertionError("KVM is tried")

    monkeypatch.setattr(doctor, "probe_kvm", tried)
    told(capsys)
    monkeypatch.setattr(doctor, "probe_kvm", lambda *_: KvmProbe("/dev/kvm", ""))
    doctor.print_requirement_checks(kvm=True)
    assert "KVM that boots a guest: /dev/kvm" in capsys.readouterr().out
