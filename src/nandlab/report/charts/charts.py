# SPDX-License-Identifier: GPL-2.0-or-later
"""The one module that knows vl-convert: Vega-Lite dictionaries to SVG, PNG and the page's script.

Nothing is fetched: the library carries Vega, and specs that name an address are refused.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nandlab.base.cache import make_entry
from nandlab.base.errors import UsageError
from nandlab.base.ulimits import refuse_drawing_below_limits

VegaSpec = dict[str, Any]
PNG_SCALE = 2.0
SCRIPT = "window.vegaEmbed = vegaEmbed;"
"""The page's own part of its script."""
SCRIPT_KIND, SCRIPT_FILE = "vega-scripts", "vega.js"
"""The folder of the cache that keeps scripts, and the file of each."""
ARIA_LABEL_PATTERN = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
"""Vega's words for each mark: the page has one for the chart, in its title and its table."""
WHITE_GROUND_PATTERN = re.compile(r'<rect [^>]*fill="white"/>')
"""What lies below a chart in a document."""


@dataclass(frozen=True)
class Chart:
    """A chart in two widths over the same data."""

    name: str
    """File name without suffix, and the anchor in the page."""
    title: str
    caption: str
    """What is drawn, and what it does not say."""
    datasets: dict[str, list[dict[str, Any]]]
    wide: VegaSpec
    narrow: VegaSpec

    def spec(self, *, narrow: bool = False) -> VegaSpec:
        """The whole Vega-Lite spec, data included."""
        return {**(self.narrow if narrow else self.wide), "datasets": self.datasets}

    def svg(self) -> str:
        """The wide form on white, for documents."""
        return self._wide

    def inline(self, *, narrow: bool = False) -> str:
        """One form as a part of a page, in its colours."""
        svg = self._drawn(narrow=True) if narrow else self._wide
        return WHITE_GROUND_PATTERN.sub("", svg, count=1)

    @cached_property
    def _wide(self) -> str:
        """Drawn once, however often it is asked for."""
        return self._drawn(narrow=False)

    def _drawn(self, *, narrow: bool) -> str:
        import vl_convert  # large, and what only shows tables draws nothing

        refuse_drawing_below_limits()
        svg = vl_convert.vegalite_to_svg(
            {**self.spec(narrow=narrow), "background": "white"}, allowed_base_urls=["data:"]
        )
        name = f"{self.name}-narrow" if narrow else self.name
        return _prefix_svg_ids(ARIA_LABEL_PATTERN.sub("", str(svg)), name)


def _prefix_svg_ids(svg: str, name: str) -> str:
    """Numbers the ids under the chart's own name; Vega counts on from chart to chart."""
    found = dict.fromkeys(re.findall(r'id="((?:clip|gradient_)\d+)"', svg))
    own = {old: f"{name}-{i}" for i, old in enumerate(found)}
    return re.sub(r"(?:clip|gradient_)\d+\b", lambda m: own.get(m[0], m[0]), svg)


def convert_svg_to_png(svg: str) -> bytes:
    """An SVG of :meth:`Chart.svg` as PNG at twice its size."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))


@functools.cache
def make_vega_script_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script (0.9 MB); defines ``vegaEmbed``.

    It depends on the library alone, and bundling takes two seconds of a processor: the cache keeps
    it. A cache that cannot be written to, or is another user's, keeps nothing.
    """
    import vl_convert

    def make(work: Path) -> None:
        (work / SCRIPT_FILE).write_bytes(str(vl_convert.javascript_bundle(SCRIPT)).encode())

    inputs = {"vl-convert": version("vl-convert-python"), "script": SCRIPT}
    try:
        return (make_entry(SCRIPT_KIND, inputs, make) / SCRIPT_FILE).read_bytes().decode()
    except (OSError, UsageError):
        return str(vl_convert.javascript_bundle(SCRIPT))
