# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that are planted in the journal and in torn operations: its tests see each of them.

Each is a copy of the module's source with a line changed, built with tests/c/test_journal.c and
with tests/c/test_torn.c, and has the check of these that must fail first: its function and its
words.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.journalled import (
    CHIP,
    JOURNAL,
    list_chip_sources,
    list_journal_sources,
    make_way_list_flag,
)

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("test_journal.c", "test_torn.c")
FLAGS = ["gcc", "-std=gnu11", "-O1", "-w", "-I", str(CHIP), "-I", str(JOURNAL)]
FLAGS += ["-I", str(JOURNAL / "ways"), make_way_list_flag()]

PLANTED = {
    "the replay goes one operation too far": (
        "journal.c",
        "while (journal->at < operations) {",
        "while (journal->at <= operations && journal->at < journal->recorded) {",
        "test_goto: now.ops is 31, not then.ops = 30",
    ),
    "the replay stops one operation early": (
        "journal.c",
        "while (journal->at < operations) {",
        "while (journal->at + 1 < operations) {",
        "test_goto: now.ops is 83, not then.ops = 84",
    ),
    "undoing brings what was after, not before": (
        "journal.c",
        "restore(journal, entry, &entry->before);",
        "restore(journal, entry, &entry->after);",
        "check_undone: now.ops is 31, not then.ops = 30",
    ),
    "an erase is not recorded": (
        "journal.c",
        "array_erase(chip);\n\tif (noted)",
        "array_erase(chip);\n\tif (0)",
        "test_goto: journal.recorded is 113, not OPERATIONS = 120",
    ),
    "a program is lost": (
        "journal.c",
        "array_program(chip);\n",
        ";\n",
        "test_through: memcmp(is, page, 2112) is",
    ),
    "a program is done twice": (
        "journal.c",
        "array_program(chip);\n",
        "array_program(chip);\n\tarray_program(chip);\n",
        "test_through: chip.faults.programs is 2, not 1",
    ),
    "the spare area is not kept": (
        "journal.c",
        "memcpy(cells_of(chip, page), from, chip->page_bytes);",
        "memcpy(cells_of(chip, page), from, chip->params.writesize);",
        "test_goto: now.spare is",
    ),
    "a block's wear is not brought back": (
        "journal.c",
        "block->wear = side->wear;",
        "",
        "test_goto: now.wear is",
    ),
    "a page's state is not brought back": (
        "journal.c",
        "memcpy(&chip->state[entry->first], from,",
        "memcpy(&(u16[64]){0}, from,",
        "test_goto: now.pages is",
    ),
    "the operations' number is not brought back": (
        "journal.c",
        "chip->op_seq = side->op_seq;",
        "",
        "test_goto: now.ops is 150, not then.ops = 30",
    ),
    "the check's first operation is not undone": (
        "journal.c",
        "while (journal->entries > entries) {",
        "while (journal->entries > entries + 1) {",
        "check_undone: now.ops is 31, not then.ops = 30",
    ),
    "a mark is an operation late": (
        "journal.c",
        ".ops = journal->recorded,",
        ".ops = journal->recorded + 1,",
        "test_marks: mark[0].ops is 1, not 0",
    ),
    "marks are not numbered": (
        "journal.c",
        ".mark = mark,",
        ".mark = 0,",
        "test_marks: mark[0].mark is 0, not 7",
    ),
    "a full journal is not told": (
        "journal.c",
        "if (journal->lost)\n\t\treturn -ENOSPC;\n\tif (journal->mode",
        "if (journal->mode",
        "test_full: journal_goto(&journal, 1) is 0, not -ENOSPC",
    ),
    "a program that fails once is done": (
        "journal.c",
        "if (once_program_fails(chip))\n\t\treturn;",
        "once_program_fails(chip);",
        "test_once: chip.state[6] is",
    ),
    "a program that fails once fails ever after": (
        "once.c",
        "if (!*left || --*left)",
        "if (!*left || (*left > 1 && --*left))",
        "test_once: program(&chip, 6, 0, page, 2112) & STATUS_FAIL is 1, not 0",
    ),
    "a read that fails once fails ever after": (
        "once.c",
        "once.page = CHIP_NO_PAGE;\n\tonce.failed",
        "once.failed",
        "test_once: once_read_fails(7) is 1, not false",
    ),
    "a torn program sets a bit": (
        "torn.c",
        "cells[i] &= wanted[i] | (u8)~done[i];",
        "cells[i] = wanted[i] | (u8)~done[i];",
        "check_torn_program: bits_set(was, is, 2112) is",
    ),
    "a torn program clears what nobody asked for": (
        "torn.c",
        "cells[i] &= wanted[i] | (u8)~done[i];",
        "cells[i] &= done[i] ^ 0xff;",
        "check_torn_program: bits_set(is, goal, 2112) is",
    ),
    "a torn page is behind good ECC": (
        "torn.c",
        "left ? goal->state | PAGE_GARBLED : goal->state",
        "goal->state",
        "check_torn_program: failed_steps(chip, row, back) is 0, not 4",
    ),
    "a page is spoilt of which nothing changed": (
        "torn.c",
        "if (left && !cleared)",
        "if (0)",
        "check_torn_program: failed_steps(chip, row, back) is 4, not 0",
    ),
    "a few bits are one too many": (
        "ways/few.c",
        "#define FEW_BITS  8",
        "#define FEW_BITS  9",
        'check_torn_program: wrong <= (is_named(way, "few") ? 8 : 0) is 0',
    ),
    "what is a few is the same for each seed": (
        "ways/few.c",
        "draw(tear->seed, DRAW_HOW, row), FEW_BITS",
        "1, FEW_BITS",
        "test_torn_programs: most_wrong is 1, not 8",
    ),
    "a torn erase is behind good ECC": (
        "torn.c",
        "chip->state[page] |= PAGE_GARBLED;",
        "",
        "check_torn_erase: failed_steps(chip, 64, back) is 0, not 4",
    ),
    "a torn erase clears a bit": (
        "ways/subset.c",
        "cells[i] |= pick_bits(",
        "cells[i] &= pick_bits(",
        "check_torn_erase: bits_set(is, was, sizeof(was)) is",
    ),
    "a torn erase does not wear": (
        "torn.c",
        "block->wear = entry->after.wear;",
        "",
        "check_torn_erase: chip->block[1].wear is 0",
    ),
    "what is done is not whole": (
        "torn.c",
        "if (way->program)\n",
        "if (!way->program && !way->after)\n"
        "\t\tmemset(goal->done, 0, 1000);\n\tif (way->program)\n",
        "check_torn_program: done is 0, not true",
    ),
    "an unstable page is stable": (
        "torn.c",
        "\tif (unstable->reads_left)",
        "\tif (1)",
        "test_unstable: memcmp(back, page, 2112) != 0 is 0, not true",
    ),
    "an unstable page is never right": (
        "torn.c",
        "if (unstable->reads_left)",
        "if (0)",
        "check_torn_program: right_reads(chip, row, goal, 1) is 0, not 1",
    ),
    "an unstable page outlives its erase": (
        "journal.c",
        "journal->unstable.on = false;\n\tarray_erase",
        ";\n\tarray_erase",
        "test_unstable: right_reads(&chip, 5, page, 20) is 0, not 20",
    ),
    "pages of other blocks are unstable too": (
        "torn.c",
        "if (!unstable->on || chip->row < unstable->first ||\n"
        "\t    chip->row >= unstable->first + pages)",
        "if (!unstable->on)",
        "test_unstable: right_reads(&chip, 70, page, 20) is 0, not 20",
    ),
    "another tear each time": (
        "ways/prefix.c",
        "u32 upto = prng_below(draw(tear->seed,",
        "static u64 again;\n\tu32 upto = prng_below(draw(tear->seed + again++,",
        "check_torn_program: memcmp(back, is, 2112) is",
    ),
    "what the chip takes while it is checked is time": (
        "journal.c",
        "take_time(journal->chip, &(struct journal_times){0});",
        "",
        "test_times: chip.params.t_r_ns + chip.params.t_prog_ns is 225000, not 0",
    ),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The objects of the tests without a fault, by the name of their source: built once."""
    out = tmp_path_factory.mktemp("sound")
    renamed = re.findall(r"-Darray_\w+=cut_\w+", (JOURNAL / "Kbuild").read_text())
    sources = [Path(name) for name in (*list_chip_sources(), *list_journal_sources())]
    sources += [ROOT / "tests" / "c" / name for name in TESTS]
    for source in sources:
        more = renamed if source.name == "decode.c" else []
        compiled(source, out / f"{source.name}.o", *more)
    return {source.name: str(out / f"{source.name}.o") for source in sources}


def compiled(source: Path, to: Path, *more: str) -> None:
    argv = [*FLAGS, *more, "-c", str(source), "-o", str(to)]
    subprocess.run(argv, check=True, timeout=120)


def planted(tmp_path: Path, file: str, old: str, new: str) -> dict[str, str]:
    """The object of a file with the fault in it."""
    text = (JOURNAL / file).read_text()
    assert old in text, f"{file} has no such line any more: {old}"
    name = Path(file).name
    (tmp_path / name).write_text(text.replace(old, new, 1))
    compiled(tmp_path / name, tmp_path / f"{name}.o")
    return {name: str(tmp_path / f"{name}.o")}


def said(objects: dict[str, str], test: str, tmp_path: Path) -> tuple[int, list[str], str]:
    """The exit status of a test, its lines, and what it says of errors."""
    program = str(tmp_path / "test")
    linked = [each for name, each in objects.items() if name == test or name not in TESTS]
    subprocess.run(["gcc", *linked, "-o", program], check=True, timeout=120)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("test", TESTS)
def test_without_a_fault_all_is_well(test: str, sound: dict[str, str], tmp_path: Path) -> None:
    assert said(sound, test, tmp_path) == (0, ["all well"], "")


@pytest.mark.parametrize("name", PLANTED)
def test_a_fault_in_the_journal_is_caught_by_name(
    name: str, sound: dict[str, str], tmp_path: Path
) -> None:
    """The check that fails first is the one of what was planted, and each test runs to its end."""
    *plant, check = PLANTED[name]
    objects = sound | planted(tmp_path, *plant)
    failed: list[str] = []
    for test in TESTS:
        status, lines, errors = said(objects, test, tmp_path)
        assert status in (0, 1) and not errors, lines
        failed += lines if status else []
    assert failed, "neither test sees it"
    _, _, first = failed[0].partition(": ")
    assert first.startswith(check)
