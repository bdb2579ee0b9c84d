# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run's folder has of power cuts beside its trials: a summary of each campaign.

``nandlab powercut RUN`` writes it after each campaign, from the campaign's own folder, which has
all of it. A trial knows the campaigns of its file system, options and chip.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole

FOLDER = "powercut"
FILE = "summary.json"


class Cuts(BaseModel):
    """A campaign in numbers."""

    model_config = ConfigDict(frozen=True)

    filesystem: str
    options: dict[str, str]
    chip: str
    """Its part."""
    kernel: str
    load: str
    faulty: bool
    """Whether the chip failed, instead of its power."""
    operations: int
    """Flash operations of the loads."""
    cut: int
    """Those at which the power was cut."""
    points: int
    excused: dict[str, int]
    """Points that did not hold by class: of unstable cells, or pages that cannot be read."""
    lost: dict[str, int]
    """Points that did not hold by class, and nothing excuses."""

    @property
    def held(self) -> bool:
        return not self.lost


EVERY = TypeAdapter(list[Cuts])


def read(run: Path) -> list[Cuts]:
    """The campaigns beside a run; UsageError if their summary is damaged."""
    path = run / FOLDER / FILE
    if not path.is_file():
        return []
    try:
        return EVERY.validate_json(path.read_bytes())
    except ValidationError:
        raise UsageError(
            f"{path}: damaged: remove it, and run nandlab powercut {run} again"
        ) from None


def write(folder: Path, cuts: list[Cuts]) -> None:
    """Keeps the summary of the campaigns in a folder."""
    write_whole(folder / FILE, EVERY.dump_json(cuts, indent=1))
