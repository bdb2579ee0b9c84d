# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload asks of a file system and of its partition, as its file declares it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import Field, model_validator

from nandlab.base.strings import Lines, Word
from nandlab.catalog.filesystem import Difference
from nandlab.catalog.noun import Scalar, StrictModel


def matches_parameters(when: Mapping[str, Scalar], parameters: Mapping[str, object]) -> bool:
    """Whether all these parameters have these values."""
    return all(parameters.get(name) == value for name, value in when.items())


class Need(StrictModel):
    """Values of parameters with which the workload cannot be, or not on every file system."""

    when: dict[Word, Scalar] = Field(
        default={}, description="the values, by parameter; absent: whatever they are"
    )
    not_differs: Difference | None = Field(
        default=None,
        description="refused on file systems that differ from tmpfs so; absent: on all",
    )
    why: Lines = Field(min_length=1, description="in a clause: why it cannot be")
    cure: Lines = Field(min_length=1, description="in a clause: what to set instead")

    @model_validator(mode="after")
    def _refuses_not_all(self) -> Need:
        if not self.when and self.not_differs is None:
            raise ValueError("when or not_differs must be given: else it could be nowhere")
        return self

    def unmet(self, parameters: Mapping[str, Scalar], differs: Collection[str]) -> str | None:
        """What is wrong on a file system that differs so; None: nothing."""
        if not matches_parameters(self.when, parameters):
            return None
        if self.not_differs is not None and self.not_differs not in differs:
            return None
        asked = " with ".join(f"{name} = {value!r}" for name, value in self.when.items())
        return f"{asked}: {self.why}; {self.cure}" if asked else f"{self.why}; {self.cure}"


class StoredData(StrictModel):
    """The least that the workload keeps on flash: so many of something, each of so many bytes."""

    count: Word | None = Field(
        default=None, description="the parameter that has how many; absent: one"
    )
    bytes: int = Field(default=0, ge=0, description="bytes of each, whatever parameters say")
    times: dict[Word, int] = Field(
        default={}, description="by parameter, how many bytes more each has for 1 of it"
    )

    def parameters(self) -> set[str]:
        """The parameters that it names."""
        return {*self.times} | ({self.count} if self.count else set())

    def least(self, parameters: Mapping[str, Scalar]) -> int:
        """Bytes of all of it, with these parameters."""
        each = self.bytes + sum(int(parameters[name]) * n for name, n in self.times.items())
        return each * (int(parameters[self.count]) if self.count else 1)


class WrittenData(StoredData):
    """About what the workload writes while it is measured, told in the same way."""

    syncs: int = Field(default=0, ge=0, description="syncs that it makes, whatever parameters say")

    synced_every: Word | None = Field(
        default=None,
        description="the parameter after how many of it a sync comes, which programs a page at "
        "least; absent: no sync of its own is counted",
    )

    def parameters(self) -> set[str]:
        return super().parameters() | ({self.synced_every} if self.synced_every else set())

    def pages(self, parameters: Mapping[str, Scalar], writesize: int) -> int:
        """The page programs that it takes on any file system, about and at the least."""
        total = self.least(parameters)
        if self.count is None or self.synced_every is None:
            return max(total // writesize, self.syncs)
        count = int(parameters[self.count])
        every = min(count, int(parameters[self.synced_every]))
        syncs, each = -(-count // every), -(-total * every // max(1, count))
        return syncs * max(1, each // writesize)
