# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts on a model are the report's, as those on runs."""

from __future__ import annotations

import modelverdicts


def test_the_page_s_table_is_the_model_s() -> None:
    _, table, _ = modelverdicts.split_page()
    assert table == modelverdicts.render_model_table()
