# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that are planted in the journal and in torn operations: its test sees each of them.

Each is a copy of the module's source with one line changed, built with tests/c/test_journal.c.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from nandlab.base.paths import TARGET

ROOT = Path(__file__).resolve().parents[2]
CHIP = TARGET / "modules" / "simnand"
JOURNAL = TARGET / "modules" / "powercut"
FLAGS = ["gcc", "-std=gnu11", "-O1", "-w", "-I", str(CHIP), "-I", str(JOURNAL)]

PLANTED = {
    "the replay goes one operation too far": (
        "journal.c",
        "while (journal->at < operations) {",
        "while (journal->at <= operations && journal->at < journal->recorded) {",
    ),
    "the replay stops one operation early": (
        "journal.c",
        "while (journal->at < operations) {",
        "while (journal->at + 1 < operations) {",
    ),
    "undoing brings what was after, not before": (
        "journal.c",
        "restore(journal, entry, &entry->before);",
        "restore(journal, entry, &entry->after);",
    ),
    "an erase is lost": (
        "journal.c",
        "array_erase(chip);\n\tif (noted)",
        "array_erase(chip);\n\tif (0)",
    ),
    "a program is lost": ("journal.c", "array_program(chip);\n", ";\n"),
    "a program is done twice": (
        "journal.c",
        "array_program(chip);\n",
        "array_program(chip);\n\tarray_program(chip);\n",
    ),
    "the spare area is not kept": (
        "journal.c",
        "memcpy(cells_of(chip, page), from, chip->page_bytes);",
        "memcpy(cells_of(chip, page), from, chip->params.writesize);",
    ),
    "a block's wear is not brought back": ("journal.c", "block->wear = side->wear;", ""),
    "a page's state is not brought back": (
        "journal.c",
        "memcpy(&chip->state[entry->first], from,",
        "memcpy(&(u16[64]){0}, from,",
    ),
    "the operations' number is not brought back": (
        "journal.c",
        "chip->op_seq = side->op_seq;",
        "",
    ),
    "the check's last operation is not undone": (
        "journal.c",
        "while (journal->entries > entries) {",
        "while (journal->entries > entries + 1) {",
    ),
    "a mark is an operation late": (
        "journal.c",
        ".ops = journal->recorded,",
        ".ops = journal->recorded + 1,",
    ),
    "marks are not numbered": ("journal.c", ".mark = mark,", ".mark = 0,"),
    "a full journal is not told": (
        "journal.c",
        "if (journal->lost)\n\t\treturn -ENOSPC;\n\tif (journal->mode",
        "if (journal->mode",
    ),
    "a torn program sets a bit": (
        "torn.c",
        "cells[i] &= wanted[i] | (u8)~done;",
        "cells[i] = wanted[i] ^ (u8)(~done & 1);",
    ),
    "a torn program clears what nobody asked for": (
        "torn.c",
        "cells[i] &= wanted[i] | (u8)~done;",
        "cells[i] &= done ^ 0xff;",
    ),
    "a torn page is behind good ECC": ("torn.c", "left ? state | PAGE_GARBLED : state", "state"),
    "a page is spoilt of which nothing changed": ("torn.c", "if (left && !cleared)", "if (0)"),
    "a few bits are one too many": ("torn.c", "#define FEW_BITS  8", "#define FEW_BITS  9"),
    "what is a few is the same for each seed": (
        "torn.c",
        "draw(seed, DRAW_HOW, row), FEW_BITS",
        "1, FEW_BITS",
    ),
    "a torn erase is behind good ECC": (
        "torn.c",
        "chip->state[page] |= PAGE_GARBLED;",
        "",
    ),
    "a torn erase clears a bit": (
        "torn.c",
        "cells[i] |= some_bits(",
        "cells[i] &= some_bits(",
    ),
    "a torn erase does not wear": ("torn.c", "block->wear = entry->after.wear;", ""),
    "what is done is not whole": (
        "torn.c",
        "if (variant == TORN_PREFIX)",
        "if (variant == TORN_PREFIX || variant == TORN_DONE)",
    ),
    "an unstable page is stable": ("torn.c", "\tif (unstable->reads_left)", "\tif (1)"),
    "an unstable page is never right": ("torn.c", "if (unstable->reads_left)", "if (0)"),
    "an unstable page outlives its erase": (
        "journal.c",
        "journal->unstable.on = false;\n\tarray_erase",
        ";\n\tarray_erase",
    ),
    "pages of other blocks are unstable too": (
        "torn.c",
        "if (!unstable->on || chip->row < unstable->first ||",
        "if (!unstable->on ||",
    ),
    "another tear each time": (
        "torn.c",
        "return prng(seed, PRNG_TEAR_BITS, what, n);",
        "static u64 again;\n\treturn prng(seed + again++, PRNG_TEAR_BITS, what, n);",
    ),
    "what the chip takes while it is checked is time": (
        "journal.c",
        "take_time(journal->chip, &(struct journal_times){0});",
        "",
    ),
}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All but the journal and its torn operations, built once."""
    out = tmp_path_factory.mktemp("rest")
    renamed = re.findall(r"-Darray_\w+=cut_\w+", (JOURNAL / "Kbuild").read_text())
    listed = re.findall(r"^simnand-chip \S?= (.*)$", (CHIP / "Kbuild").read_text(), re.M)
    sources = [CHIP / name.replace(".o", ".c") for name in " ".join(listed).split()]
    for source in (*sources, ROOT / "tests" / "c" / "test_journal.c"):
        more = renamed if source.name == "decode.c" else []
        argv = [*FLAGS, *more, "-c", str(source), "-o", str(out / f"{source.stem}.o")]
        subprocess.run(argv, check=True, timeout=120)
    return [str(each) for each in sorted(out.glob("*.o"))]


def verdict(rest: list[str], tmp_path: Path, file: str = "", old: str = "", new: str = "") -> str:
    for name in ("journal.c", "torn.c"):
        text = (JOURNAL / name).read_text()
        if name == file:
            assert old in text, f"{file} has no such line any more: {old}"
            text = text.replace(old, new, 1)
        (tmp_path / name).write_text(text)
    own = [str(tmp_path / name) for name in ("journal.c", "torn.c")]
    program = str(tmp_path / "test")
    subprocess.run([*FLAGS, *own, *rest, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=120)
    return done.stdout


def test_without_a_fault_all_is_well(rest: list[str], tmp_path: Path) -> None:
    assert verdict(rest, tmp_path) == "all well\n"


QUICK = (
    "the replay goes one operation too far",
    "an erase is lost",
    "a torn page is behind good ECC",
)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in PLANTED]
)
def test_a_fault_in_the_journal_is_caught(name: str, rest: list[str], tmp_path: Path) -> None:
    assert "all well" not in verdict(rest, tmp_path, *PLANTED[name])
