# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded load is planned only on file systems that its program could run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import straces

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.workload import TraceWorkload
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec

OPEN = '1 1700000000.000000 openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0644) = 3 <0.000010>'
WRITE = '1 1700000000.100000 write(3, "x"..., 4096) = 4096 <0.000010>'
MAP = "1 1700000000.200000 mmap(NULL, 4096, {}, 3, 0) = 0x7f0000000000 <0.000010>"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "catalog" / "workloads"
    folder.mkdir(parents=True)
    monkeypatch.setenv("NANDLAB_CATALOG", str(tmp_path / "catalog"))
    return folder


def planned(catalog: Path, made: TraceWorkload, *filesystems: str) -> list[TrialSpec]:
    (catalog / f"{made.name}.toml").write_text(made.text())
    told: dict[str, Any] = {
        "name": "t",
        "question": "q",
        "board": "apf27",
        "matrix": {
            "workloads": [{"name": made.name}],
            "filesystems": [{"name": fs} for fs in filesystems],
            "chips": [{"part": "S34ML01G1", "partition_mib": 16}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    return study.plan_trials(study.Study.model_validate(told), "here")


def test_a_recorded_wal_is_refused_on_jffs2_alone(catalog: Path) -> None:
    wal = TraceWorkload(straces.recording("sqlite-wal"), None, "wal")
    with pytest.raises(UsageError) as refused:
        planned(catalog, wal, "jffs2", "ubifs")
    (line,) = str(refused.value).splitlines()
    assert line.startswith("here: matrix.workloads.0: wal on JFFS2: ")
    assert "locking_mode" in line
    assert len(planned(catalog, wal, "ubifs", "yaffs2")) == 2
    rollback = TraceWorkload(straces.recording("sqlite-rollback"), None, "rollback")
    assert len(planned(catalog, rollback, "jffs2", "ubifs")) == 2


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ("PROT_READ|PROT_WRITE, MAP_SHARED", True),
        ("PROT_WRITE, MAP_SHARED", True),
        ("PROT_READ|PROT_WRITE, MAP_PRIVATE", False),
        ("PROT_READ, MAP_SHARED", False),
    ],
)
def test_a_map_is_needed_where_a_program_may_write_through_it(
    catalog: Path, tmp_path: Path, flags: str, refused: bool
) -> None:
    trace = tmp_path / "app.strace"
    trace.write_text("\n".join([OPEN, WRITE, MAP.format(flags)]) + "\n")
    made = TraceWorkload(trace, "/d", "app")
    if refused:
        with pytest.raises(UsageError, match=r"app on JFFS2: .*shared maps"):
            planned(catalog, made, "jffs2")
    else:
        assert len(planned(catalog, made, "jffs2")) == 1
