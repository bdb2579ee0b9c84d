# SPDX-License-Identifier: GPL-2.0-or-later
"""What campaigns a request means: the media and loads of a study, or one of each by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nandlab.base.digest import digest_json_value
from nandlab.base.errors import UsageError
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.medium import Medium
from nandlab.plan.study import Study, plan_trials
from nandlab.powercut import loads, sql, workloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints
from nandlab.powercut.loads import LoadSet
from nandlab.powercut.wideloads import WIDE_SETS

UNFIT_CHARACTERS = re.compile(r"[^a-z0-9.=]+")


@dataclass(frozen=True)
class Request:
    """Media, and loads by their names; each load is cut on each medium."""

    media: Sequence[Medium]
    loads: Sequence[str]

    def pairs(self) -> Iterator[tuple[Medium, str]]:
        """A load on each medium, then the next load: who is interrupted has something of each."""
        return ((on, name) for name in self.loads for on in self.media)


def make_study_campaign_request(
    study: Study, load_names: Sequence[str], partition_mib: float | None = None
) -> Request:
    """The media of a study that can be written to, and the loads that are named; without a name
    those of its workloads whose calls can be cut.

    UsageError if nothing is left.
    """
    specs = [spec for spec in plan_trials(study) if not spec.filesystem.read_only]
    if any(spec.layout for spec in specs):
        raise UsageError(f"{study.name}: power is cut on chips of one partition")
    fields = [
        name for name in Medium.model_fields if name not in ("faults", "seed", "latency", "spinand")
    ]
    media = [Medium(**{name: getattr(spec, name) for name in fields}) for spec in specs]
    if partition_mib is not None:
        media = [
            m.model_copy(update={"partition_blocks": m.chip.partition_blocks(partition_mib)})
            for m in media
        ]
    media_by_digest = {digest_json_value([m.board.name, m.chip.name, m.recipe()]): m for m in media}
    workload_names = [
        spec.workload.name for spec in specs if workloads.has_workload_few_calls(spec.workload)
    ]
    names = list(dict.fromkeys(load_names or workload_names))
    if not media_by_digest or not names:
        known = ", ".join([*list_load_sets(), sql.SET_NAME, *workloads.SMALL_PARAMETERS])
        raise UsageError(
            f"{study.name}: it has no file system that is written to, or no workload whose calls "
            f"can be cut: give --load ({known})"
        )
    return Request(list(media_by_digest.values()), names)


def find_or_record_loads(name: str, on: Medium, board: QemuBoard) -> LoadSet:
    """The loads of a name: a set of ours, a workload of the catalog, or a file."""
    return find_loads_without_board(name) or workloads.record_workload(name, on, board)


def find_loads_without_board(name: str) -> LoadSet | None:
    """The loads of a name that are there without a board; None: a workload, whose programs must
    run first."""
    if workloads.is_workload_load_name(name):
        return None
    if name == sql.SET_NAME:
        return sql.make_sql_loads()
    if name.endswith(".sql") and Path(name).is_file():
        return sql.parse_sql_loads(name, loads.read_load_file_text(name))
    return find_load_set_named(name)


def list_load_sets() -> dict[str, Callable[[], LoadSet]]:
    """Our loads by their name."""
    return {**loads.LOAD_SETS, **WIDE_SETS}


def find_load_set_named(name: str) -> LoadSet:
    """The loads of a name, or of a file; UsageError names what is wrong with it."""
    sets = list_load_sets()
    if name in sets:
        return sets[name]()
    if not Path(name).is_file():
        raise UsageError(f"--load {name}: no such file, and none of {', '.join(sets)}")
    return loads.parse_loads(name, loads.read_load_file_text(name))


def select_cut_points_of_load(points: CutPoints, loads: LoadSet, title: str | None) -> CutPoints:
    """The points of one load; None: of all. UsageError if there is no such load."""
    if title is None:
        return points
    titles = [load.title for load in loads.loads]
    if title not in titles:
        raise UsageError(f"--title {title}: {loads.name} has no such load")
    return replace(points, first_load=titles.index(title), last_load=titles.index(title))


def make_campaign_folder_name(campaign: Campaign) -> str:
    """The name of a campaign's folder among others: words, and what tells it apart."""
    medium = campaign.medium
    options = [
        f"{k}={v}" for k, v in medium.filesystem.select_changed_options(medium.options).items()
    ]
    words = [medium.filesystem.name, *options, campaign.loads.name.rpartition("/")[2]]
    prefix = UNFIT_CHARACTERS.sub("-", "-".join(words).lower()).strip("-")[:60]
    identity = [
        medium.board.name,
        medium.recipe(),
        medium.chip.name,
        campaign.loads.text(),
        campaign.points.words(),
    ]
    return f"{prefix}-{digest_json_value(identity)[:8]}"
