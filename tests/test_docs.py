# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documentation repeats of the catalog is what the catalog says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import doctables

from nandlab.base.paths import ROOT
from nandlab.catalog import files as catalog
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.cli.main import make_parser


def chapter_of(model: FilesystemModel) -> str:
    """Its chapter in docs/filesystems.md."""
    chapters = (ROOT / "docs" / "filesystems.md").read_text().split("\n## ")
    (chapter,) = (text for text in chapters if text.startswith(f"{model.title}\n"))
    return chapter


BLOCKS = doctables.list_blocks()


def test_each_table_of_the_code_is_in_a_page() -> None:
    assert sorted(name for _, name, _ in BLOCKS) == sorted(doctables.TABLES)


@pytest.mark.parametrize(("page", "name", "table"), BLOCKS, ids=[name for _, name, _ in BLOCKS])
def test_a_table_of_the_docs_is_that_of_the_code(page: Path, name: str, table: str) -> None:
    assert table == doctables.TABLES[name](), f"{page}: {doctables.COMMAND} writes it anew"


@pytest.mark.parametrize("name", catalog.list_noun_names("filesystems"))
def test_the_options_of_a_file_system_are_in_its_chapter(name: str) -> None:
    model = catalog.load_noun("filesystems", name, FilesystemModel)
    assert f"<!-- table: options of {name} -->" in chapter_of(model)


@pytest.mark.parametrize("name", catalog.list_noun_names("filesystems"))
def test_what_is_promised_after_a_power_cut_is_in_its_chapter(name: str) -> None:
    model = catalog.load_noun("filesystems", name, FilesystemModel)
    assert model.power is not None, "the advice needs it"
    words = " ".join(chapter_of(model).split())
    assert f"*Promised:* {model.power.promises}." in words
    assert f"*Tested:* {model.power.tested}." in words
    assert f"*Source:* {model.power.source}" in words


LITERALS = re.compile(r'"\s+f?"')
"""Between two pieces of one text in Python's source."""
MESSAGE = re.compile(r"^### `(.+)`$", re.MULTILINE)


def test_each_message_of_the_troubleshooting_page_is_one_of_nandlab_s() -> None:
    sources = (ROOT / "src" / "nandlab").rglob("*.py")
    said = "\n".join(LITERALS.sub("", path.read_text()) for path in sources)
    messages = MESSAGE.findall((ROOT / "docs" / "troubleshooting.md").read_text())
    assert len(messages) > 15
    parts = [part for message in messages for part in message.split("...")]
    assert [part for part in parts if part.strip() not in said] == []


def test_every_page_is_linked_from_another() -> None:
    pages = {path.relative_to(ROOT / "docs"): path for path in (ROOT / "docs").rglob("*.md")}
    texts = [path.read_text() for path in [*pages.values(), *ROOT.glob("*.md")]]
    linked = [name for text in texts for name in re.findall(r"\]\(([^)#]+\.md)", text)]
    assert [str(n) for n in pages if not any(link.endswith(n.name) for link in linked)] == []


FINDING = re.compile(r"^\| (.+?) \| .+ \|$", re.MULTILINE)
"""A line of the head of a page of docs/findings."""
HEAD = [
    "File system",
    "Kernels",
    "Effect",
    "Physical or model",
    "Cause",
    "Patch",
    "Upstream",
    "Test",
]


def test_each_finding_has_the_same_head_and_a_row_in_the_list() -> None:
    folder = ROOT / "docs" / "findings"
    pages = sorted(path.name for path in folder.glob("[0-9][0-9]-*.md"))
    assert len(pages) > 8
    for page in pages:
        text = (folder / page).read_text()
        head, _, rest = text.partition("\n## Reproducer\n")
        assert (page, FINDING.findall(head)) == (page, HEAD)
        assert "*Run:*" in rest, page
    rows = re.findall(r"^\| (\d+) \| \[.+?\]\((.+?)\) \|", (folder / "README.md").read_text(), re.M)
    assert [name for _, name in rows] == pages
    assert [number for number, _ in rows] == [name[:2] for name in pages]


def test_the_page_that_chooses_a_file_system_is_short() -> None:
    assert len((ROOT / "docs" / "power-cuts-seen.md").read_bytes()) <= 8192


FENCE = re.compile(r"^ *```[a-z ]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z][a-z0-9-]*")
OF_ANOTHER = (" -- ", " | ", "; ", " && ", ")", " #", " > ")
"""Ends the words of nandlab's own command in a line of a shell."""


def commands() -> Iterator[tuple[str, str]]:
    """Each call of nandlab in the documentation, but for what it was once, with its page."""
    for page in {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "CHANGELOG.md"}:
        text = page.read_text().replace("\\\n", " ")
        blocks = "\n".join(FENCE.findall(text))
        calls = re.findall(r"(?:^|[$(] ?|\s)nandlab (.*)", blocks, re.MULTILINE)
        calls += re.findall(r"`nandlab ([^`]+)`", MESSAGE.sub("", FENCE.sub("", text)))
        for call in calls:
            yield page.name, re.split("|".join(map(re.escape, OF_ANOTHER)), call)[0]


def test_each_command_of_the_documentation_is_one() -> None:
    seen = Counter[str]()
    for page, call in commands():
        command: Any = make_parser()
        words = call.split()
        while hasattr(command, "commands") and words:
            if words[0].startswith("-"):
                if command.name != "trace":
                    break
                words.insert(0, "run")
            assert words[0] in command.commands, f"{page}: nandlab {call}"
            seen[words[0]] += 1
            command = command.commands[words.pop(0)]
        known = {name for param in command.params for name in param.opts + param.secondary_opts}
        given = {option for word in words for option in OPTION.findall(word) if word[0] == "-"}
        assert given <= known | {"--help"}, f"{page}: nandlab {call}"
    assert len(seen) > 15
