# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign takes of a file system's commands: how it is mounted before it is cut."""

from __future__ import annotations

import pytest

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut.job import make_cutcheck_options


def medium(**options: str) -> Medium:
    system = load_noun("filesystems", "ubifs", FilesystemModel)
    chip = load_noun("chips", "apf27", ChipModel)
    return Medium(
        board=load_noun("boards", "apf27", BoardModel),
        chip=chip,
        partition_blocks=chip.partition_blocks(8),
        filesystem=system,
        options=system.resolve_values(options, "here"),
    )


def test_a_parameter_of_a_module_is_set_by_the_mount_before() -> None:
    plain = make_cutcheck_options(medium())
    assert plain[plain.index("--ubi") + 1] == "0"
    assert make_cutcheck_options(medium(fastmap="on")) == plain


@pytest.mark.parametrize("options", [{"reserve": "40"}, {"attach": "once"}, {"read_ahead": "8"}])
def test_what_cutcheck_does_not_do_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="powercut"):
        make_cutcheck_options(medium(**options))
