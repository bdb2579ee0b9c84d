# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the docs that repeat what the code or the catalog has.

A page has them between two comments. ``PYTHONPATH=src:tests python tests/support/doctables.py``
writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nandlab.base.paths import DOCS
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.option import Option
from nandlab.cli.schemas import SCHEMAS
from nandlab.traced import cost

COMMAND = "PYTHONPATH=src:tests python tests/support/doctables.py"
BLOCK = re.compile(r"(<!-- table: (.+?) -->\n\n)(.*?)(\n\n<!-- end -->\n)", re.DOTALL)
"""A block: its head, the name of its table, the table, its end."""


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, *rows]
    texts = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(head), *texts[1:]])


def format_option_values(option: Option) -> str:
    """The values that may be given, the default first."""
    offered = [v for v, what in option.values.items() if not what.refused and v != option.default]
    values = ", ".join(f"`{v}`" for v in (option.default, *offered))
    if number := option.number:
        values += f", `{number.min}` to `{number.max}` {number.unit} in steps of {number.step}"
    return values


def render_options(filesystem: str) -> str:
    """The options of a file system."""
    options = load_noun("filesystems", filesystem, FilesystemModel).options
    return render_table(
        ("option", "values, the default first", "what it changes"),
        [(f"`{name}`", format_option_values(o), o.help) for name, o in options.items()],
    )


def render_costs() -> str:
    """What an event of each kind costs to trace, by kernel."""
    costs = cost.read_tracing_costs()
    rows = []
    for name, kind in costs.kinds.items():
        events = [kernel[name] for kernel in costs.kernels.values()]
        rows.append((kind.what, *(f"{e.instructions:,}, {e.probe}" for e in events)))
    return render_table(("event", *costs.kernels), rows)


def render_schemas() -> str:
    """What nandlab schema lists."""
    rows = [(f"`{name}`", form.description) for name, form in SCHEMAS.items()]
    return render_table(("schema", "of"), rows)


TABLES: dict[str, Callable[[], str]] = {
    **{
        f"options of {name}": partial(render_options, name)
        for name in list_noun_names("filesystems")
    },
    "cost of events": render_costs,
    "schemas": render_schemas,
}
"""Every table by its name in a block."""


def list_blocks() -> list[tuple[Path, str, str]]:
    """Each block of the docs: its page, the name of its table, and the table there."""
    return [
        (page, name, table)
        for page in sorted(DOCS.rglob("*.md"))
        for _, name, table, _ in BLOCK.findall(page.read_text())
    ]


def write_blocks() -> None:
    """Puts each table into its block."""
    for page in {page for page, _, _ in list_blocks()}:
        text = page.read_text()
        page.write_text(BLOCK.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}{m[4]}", text))


if __name__ == "__main__":
    write_blocks()
