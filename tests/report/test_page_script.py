# SPDX-License-Identifier: GPL-2.0-or-later
"""The script of a page is bundled once for all processes, and where nothing can be kept, anew."""

from __future__ import annotations

from pathlib import Path

import pytest
import vl_convert

from nandlab.base import cache
from nandlab.report.charts.charts import SCRIPT, SCRIPT_FILE, SCRIPT_KIND, make_vega_script_bundle

make_again = make_vega_script_bundle.__wrapped__
"""As another process has it."""


def test_the_script_is_bundled_once_and_is_the_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    bundled = list[str]()

    def bundle(snippet: str) -> str:
        """Stands for what takes seconds, and what it returns has both kinds of line ends."""
        bundled.append(snippet)
        return f"vega\r\n{snippet}\n"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    script = make_again()
    assert (make_again(), bundled) == (script, [SCRIPT])
    assert script == f"vega\r\n{SCRIPT}\n"
    # a damaged one is made again
    (kept,) = (tmp_path / "cache" / SCRIPT_KIND).glob(f"*/{SCRIPT_FILE}")
    kept.write_text("damaged")
    cache._list_times.clear()
    assert (make_again(), bundled) == (script, [SCRIPT] * 2)
    # a cache that is no folder keeps nothing
    (tmp_path / "file").touch()
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "file"))
    assert (make_again(), bundled) == (script, [SCRIPT] * 3)
