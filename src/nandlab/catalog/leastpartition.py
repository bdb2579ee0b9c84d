# SPDX-License-Identifier: GPL-2.0-or-later
"""The smallest partition on which a file system can be made and mounted, by the kernel's rules."""

from __future__ import annotations

from pydantic import Field

from nandlab.base.strings import Lines
from nandlab.catalog.noun import StrictModel

MIB = 1 << 20


class LeastPartition(StrictModel):
    """What a partition must have for a file system to be made and mounted on it, empty."""

    blocks: int = Field(
        default=0, ge=0, description="erase blocks of the file system itself; of UBIFS, its LEBs"
    )
    bytes: int = Field(
        default=0, ge=0, description="further bytes of the file system, in whole blocks"
    )
    below: int = Field(
        default=0, ge=0, description="erase blocks that the layer below it keeps, such as UBI"
    )
    reserve: bool = Field(
        default=False,
        description="whether the blocks that may die, by [wear], are kept too where it is made; "
        "an image that is flashed does without",
    )
    why: Lines = Field(description="in a clause: which blocks these are")
    source: Lines = Field(description="where that is to be read")

    def count_blocks(self, erasesize: int, spare: int, held: int = 0) -> int:
        """Blocks of the partition; spare: of the reserve; held: what an image's content takes."""
        own = self.blocks + -(-self.bytes // erasesize)
        return self.below + max(own, held) + (spare if self.reserve else 0)


def format_block_mib(blocks: int, erasesize: int) -> str:
    """MiB of so many blocks, exactly: partition_mib takes it."""
    return f"{blocks * erasesize / MIB:.15g}"
