# SPDX-License-Identifier: GPL-2.0-or-later
"""The map of a partition, in a real browser: what pointing at a cell tells."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from nandlab.flash.layouts.layout import ByteKind, Extent, Layout
from nandlab.report.charts.spacemap import render_space_map_page

ERASE, PAGE = 4096, 512
EXTENTS = [
    Extent(0, 100, ByteKind.METADATA, "headers", 7),
    Extent(100, 1436, ByteKind.USER, "data", 7),
    Extent(1536, 512, ByteKind.OBSOLETE, "old <data>", 0),
    Extent(2048, 2048 + ERASE, ByteKind.FREE, "erased", 0),
]
LAYOUT = Layout(
    "jffs2", 2 * ERASE, ERASE, PAGE, EXTENTS, {1: "/", 7: "/a </script> file"}, {7: 1436}, [], {}
)


def test_the_page_has_the_exact_bytes_of_each_kind() -> None:
    text = render_space_map_page(LAYOUT, "x & y.nand")
    assert "x &amp; y.nand" in text and "old &lt;data&gt;" in text
    assert re.findall(r"<strong>([\d,]+)</strong>", text) == ["1,436", "100", "0", "512", "6,144"]
    assert text.count("</script>") == 1


@pytest.mark.browser
def test_pointing_at_a_cell_tells_its_place_and_file(tmp_path: Path) -> None:
    (tmp_path / "map.html").write_text(render_space_map_page(LAYOUT, "x"))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1200, "height": 800})
        wrong: list[str] = []
        view.on("pageerror", lambda e: wrong.append(str(e)))
        view.goto(f"file://{tmp_path}/map.html")
        cell = view.evaluate("[g.left, g.px, g.tw]")
        view.locator("#map").hover(position={"x": cell[0] + 2, "y": 2})
        told = view.locator("#tip").inner_text()
        view.locator("#map").hover(position={"x": cell[0] + 3 * cell[1] + 2, "y": 2})
        old = view.locator("#tip").inner_text()
        listed = view.locator("#files tr").all_inner_texts()
        seen = view.locator("#legend").bounding_box()
        browser.close()
    assert not wrong
    assert told.splitlines()[0] == "block 0, page 0, byte 0"
    assert "412 B user: data of /a </script>" in told
    assert "100 B metadata: headers of /a </script>" in told
    assert "512 B obsolete: old <data>" in old and cell[2] >= 4
    assert [row.split("\t") for row in listed] == [["/a </script> file", "1,436", "1,536", "1"]]
    assert seen is not None and seen["y"] + seen["height"] < 400
