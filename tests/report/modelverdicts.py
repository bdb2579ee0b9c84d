# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of docs/studies/readahead-2014.md: random reads by the rule of 2.6.37 on 32 bits, judged.

Each seed of the study is a member, and the verdicts are those of all papers' claims.
``PYTHONPATH=src:tests python tests/report/modelverdicts.py`` writes the table anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from nandlab.analysis.claims.claimrules import judge_claim_parts
from nandlab.analysis.curves.readpoints import compute_read_ahead_gain
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.base.paths import ROOT
from nandlab.base.units import Form, format_percent, format_ratio
from nandlab.catalog.paper import ClaimPart, Selector

PAGE = ROOT / "docs" / "studies" / "readahead-2014.md"
BEGIN, END = "<!-- the model's verdicts -->\n\n", "\n<!-- end -->\n"
SEEDS = (1, 2, 3, 4, 5)
"""Those of the study."""
COUNTS = (8, 64, 256, 1024)
SIZES = tuple(kib << 10 for kib in (2, 4, 8, 16, 32))
MODELLED = Selector(filesystem="yaffs2", state="fresh")
"""Nothing is run: a claim's part must name one."""

Value = Callable[[int], float]
"""A number of a seed."""
ModelClaim = tuple[str, list[tuple[ClaimPart, Value]]]


@cache
def compute_saved_share(count: int, size: int, mib: int, seed: int) -> float:
    """Of the cache pages read, by turning read-ahead off; requests begin at any byte."""
    point: dict[str, int | float | str] = {"count": count, "size": size, "file_bytes": mib << 20}
    point |= {"pattern": "random_unaligned", "access": "read", "advice": "none"}
    return compute_read_ahead_gain(point, seed, 128, "2.6.37-32bit")


def compare_saved_shares(one: tuple[int, int, int], other: tuple[int, int, int]) -> Value:
    """Off / on of one point over that of another; a point: requests, bytes of each, MiB."""
    return lambda seed: (
        (1 - compute_saved_share(*one, seed)) / (1 - compute_saved_share(*other, seed))
    )


def make_part(label: str, **more: object) -> ClaimPart:
    """A quotient of off over on, or a saving where the paper has a number."""
    plain = {"label": label, "figure": "phase.x", "of": MODELLED, "over": MODELLED}
    return ClaimPart.model_validate({**plain, "saving": "paper" in more, **more})


def list_model_claims() -> list[ModelClaim]:
    """What the paper says of random reads, each with the parts of its claim and their values."""
    small = {"direction": "below 1", "paper": 0.2}
    of_32_mib = [(count, size, 32) for count in COUNTS for size in SIZES]
    return [
        (
            "20 % up to 32 requests",
            [
                (make_part(f"{n} requests", **small), partial(compute_saved_share, n, 4096, 5))
                for n in (8, 16, 32)
            ],
        ),
        (
            "up to 50 % at 256",
            [
                (
                    make_part("256 requests", direction="below 1", paper=0.5),
                    partial(compute_saved_share, 256, 4096, 5),
                )
            ],
        ),
        (
            "up to 60 %",
            [
                (
                    make_part("most, 32 MiB", direction="below 1", paper=0.6),
                    lambda seed: max(compute_saved_share(*p, seed) for p in of_32_mib),
                )
            ],
        ),
        (
            "less at 1024 than at 256, 5 MB",
            [
                (
                    make_part("off / on of 1024 over 256", direction="above 1"),
                    compare_saved_shares((1024, 4096, 5), (256, 4096, 5)),
                )
            ],
        ),
        (
            "2 KB gain slightly more than 4 KB, 32 MB",
            [
                (
                    make_part(f"{n} requests, off / on of 2 over 4 KiB", direction="below 1"),
                    compare_saved_shares((n, 2048, 32), (n, 4096, 32)),
                )
                for n in (64, 256, 1024)
            ],
        ),
        (
            "32 KB: less at 1024 than at 256, 32 MB",
            [
                (
                    make_part("off / on of 1024 over 256", direction="above 1"),
                    compare_saved_shares((1024, 32768, 32), (256, 32768, 32)),
                )
            ],
        ),
    ]


def format_number(part: ClaimPart, spread: Spread) -> str:
    """``256 requests: 52.2 % (48.6 % to 58.1 %)``."""
    form: Form = format_percent if part.saving else format_ratio
    return f"{part.label}: {form(spread.median)} ({form(spread.min)} to {form(spread.max)})"


def render_model_table() -> str:
    """The table, in Markdown."""
    lines = ["| the paper, at random | modelled | the model's verdict |", "|---|---|---|"]
    for text, parts in list_model_claims():
        numbers = [(p, compute_spread([value(s) for s in SEEDS])) for p, value in parts]
        told = "; ".join(format_number(p, s) for p, s in numbers if s)
        lines.append(f"| {text} | {told} | {judge_claim_parts(numbers)} |")
    return "\n".join(lines) + "\n"


def split_page() -> tuple[str, str, str]:
    """The page before its table, the table, and after it."""
    before, rest = PAGE.read_text().split(BEGIN)
    table, after = rest.split(END, 1)
    return before + BEGIN, table, END + after


if __name__ == "__main__":
    before_table, _, after_table = split_page()
    PAGE.write_text(before_table + render_model_table() + after_table)
