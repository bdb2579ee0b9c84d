# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of a group run in one worker: what they share is made once."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def shared() -> object:
    return object()


def group(request: pytest.FixtureRequest) -> str | None:
    """The group by which xdist sends this test to a worker; None: it stands alone."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("no tests are sent to workers in groups")
    node: str = request.node.nodeid
    return node.rpartition("@")[2] if "@" in node else None


def test_a_test_that_shares_nothing_has_no_group(request: pytest.FixtureRequest) -> None:
    assert group(request) is None


def test_a_fixture_of_a_module_groups_its_tests(
    request: pytest.FixtureRequest, shared: object
) -> None:
    assert group(request) == "test_groups"


@pytest.mark.xdist_group("named")
def test_a_named_group_stays(request: pytest.FixtureRequest, shared: object) -> None:
    assert group(request) == "named"
