# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's and a board's file of the catalog from what a user's own board was measured to take.

With them a study runs on a virtual board that is like the one on the desk, and repeats to the
nanosecond there. What is measured is what programs see at the MTD device; the parts of a latency
are worked out from it: a page and its spare area alone differ by what moving the page takes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.files import write_whole_file
from nandlab.board.jobs.job import Job, Step
from nandlab.board.own.remote import RemoteBoard
from nandlab.catalog.board import BoardModel, Controller
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun, validate_data
from nandlab.catalog.noun import Noun

PROBE = "probe"
PROBE_S = 1800
LOOP_INSTRUCTIONS = 4
"""Of a turn of flashprobe's loop."""
LIKE_BOARDS = {"arm": "apf27-arm"}
"""The virtual board that a machine is like, by how ``uname -m`` begins; else OTHERS."""
DEFAULT_LIKE_BOARD = "apf27"
RAM_MIN_MIB, RAM_MAX_MIB = 96, 1024
SHIFT_MAX = 10
M = TypeVar("M", ChipModel, BoardModel)


@dataclass(frozen=True)
class BoardMeasurement:
    """What flashprobe told of a board."""

    board: str
    machine: str
    kernel: str
    ram_mib: int
    figures: Mapping[str, int]
    day: str

    @property
    def source(self) -> str:
        """Where a figure is from, in words."""
        return f"Measured on {self.board}, {self.kernel}, on {self.day}, by flashprobe"


async def measure_board(
    board: RemoteBoard, name: str, machine: str, kernel: str, mtd: int
) -> BoardMeasurement:
    """Measures a board by its erased partition; NandlabError where the probe fails."""
    steps = (
        Step(PROBE, f"flashprobe --device /dev/mtd{mtd}", PROBE_S),
        Step("ram", "grep MemTotal: /proc/meminfo"),
    )
    record = await board.run(Job(steps))
    if failed := record.failed():
        raise NandlabError(f"{name}: {failed.failure()}: {failed.stderr.strip()}")
    told = {k: v for k, v in json.loads(record[PROBE].stdout).items() if isinstance(v, int)}
    ram_mib = int(record["ram"].stdout.split()[1]) // 1024
    day = datetime.now(UTC).date().isoformat()
    return BoardMeasurement(name, machine, kernel, ram_mib, told, day)


def make_measured_chip_model(part: ChipModel, measurement: BoardMeasurement) -> ChipModel:
    """The part with the latencies that were measured."""
    g, figures = part.geometry, measurement.figures
    page = g.writesize + g.oobsize
    moved_ns = (figures["read_ns"] - figures["spare_read_ns"]) / g.writesize
    # a driver that reads the whole page for its spare area does not tell what moving it takes
    is_known = moved_ns >= 1
    ns_per_byte = figures["read_ns"] // page
    cycle = round(moved_ns) if is_known else min(part.timing.t_rc_ns, ns_per_byte)
    source = measurement.source
    how = f"{source}: a page's read less its spare area's, by byte: bus, driver and ECC."
    if not is_known:
        how = (
            f"Of {part.name}, at most a page's read by byte: a spare area took as long as it, "
            "so what moving takes is not told apart."
        )
    reads = f"{source}: a page's read ({figures['read_ns']} ns) less what moving it takes."
    writes = f"{source}: a page's program ({figures['program_ns']} ns) less what moving it takes."
    timing = {
        "t_r_ns": max(0, figures["read_ns"] - page * cycle),
        "t_prog_ns": max(0, figures["program_ns"] - page * cycle),
        "t_bers_ns": figures["erase_ns"],
        "t_rc_ns": cycle,
        "t_wc_ns": cycle,
    }
    left_out_text = (
        "Left out: the longest that was measured is told, not the most that it can take: "
    )
    sources = {
        "t_r_ns": reads,
        "t_prog_ns": writes,
        "t_bers_ns": f"{source}: the erase of a written block, median.",
        "t_rc_ns": how,
        "t_wc_ns": "Assumed: equal to t_rc_ns.",
        "t_r_max_ns": f"{left_out_text}{figures['read_max_ns']} ns with the bus.",
        "t_prog_max_ns": f"{left_out_text}{figures['program_max_ns']} ns with the bus.",
        "t_bers_max_ns": f"{left_out_text}{figures['erase_max_ns']} ns.",
    }
    return _change_model(
        part,
        name=_chip_name(part, measurement.board),
        summary=(
            f"{part.name} as it was measured on the board {measurement.board}, {measurement.day}."
        ),
        timing=timing,
        sources={**part.sources, **{f"timing.{k}": v for k, v in sources.items()}},
    )


def compute_instruction_ns(measurement: BoardMeasurement) -> float:
    """What an instruction takes, by the loop."""
    return measurement.figures["loop_ps"] / 1000 / LOOP_INSTRUCTIONS


def make_measured_board_model(part: ChipModel, measurement: BoardMeasurement) -> BoardModel:
    """A virtual board that is like the one that was measured."""
    like = load_noun("boards", _find_like_board(measurement.machine), BoardModel)
    ns = compute_instruction_ns(measurement)
    shift = min(SHIFT_MAX, max(0, round(math.log2(ns)))) if ns > 0 else 0
    figures, t = measurement.figures, part.timing
    controller_figures = {
        "read_ns": figures["read_ns"],
        "program_ns": figures["program_ns"],
        "t_r_ns": min(t.t_r_ns, figures["read_ns"]),
        "t_prog_ns": min(t.t_prog_ns, figures["program_ns"]),
        "page_bytes": part.geometry.writesize + part.geometry.oobsize,
    }
    sources = {
        "read_ns": f"{measurement.source}: median of pages.",
        "program_ns": f"{measurement.source}: median of pages.",
        "t_r_ns": f"Of {part.name}; at most what was measured in all.",
        "t_prog_ns": f"Of {part.name}; at most what was measured in all.",
        "page_bytes": f"Of {part.name}.",
    }
    controller = Controller(measured=measurement.board, sources=sources, **controller_figures)
    return _change_model(
        like,
        name=_board_name(measurement.board),
        summary=(
            f"{like.name} with the pace and the RAM of {measurement.board}: "
            f"{_format_pace(measurement, ns)}"
        ),
        ram_mib=min(RAM_MAX_MIB, max(RAM_MIN_MIB, measurement.ram_mib)),
        icount_shift=shift,
        controller=controller.model_dump(),
        power=None,
    )


def _format_pace(measurement: BoardMeasurement, ns: float) -> str:
    sums, copies = (
        measurement.figures[f"{what}_bytes_per_s"] / 1e6 for what in ("checksum", "copy")
    )
    rates = f"checksums of {sums:.3g} MB/s, copies of {copies:.3g} MB/s"
    return f"measured on {measurement.day}: {ns:.2g} ns an instruction of a loop, {rates}"


def _find_like_board(machine: str) -> str:
    return next(
        (name for begins, name in LIKE_BOARDS.items() if machine.startswith(begins)),
        DEFAULT_LIKE_BOARD,
    )


def _change_model(model: M, **change: object) -> M:
    told = {**model.model_dump(), **change}
    return validate_data(told, type(model), str(change["name"]))


def choose_new_catalog_paths(part: ChipModel, name: str, catalog: Path) -> list[Path]:
    """Where the chip's and the board's file go; UsageError if one is there already."""
    paths = [
        catalog / "chips" / f"{_chip_name(part, name)}.toml",
        catalog / "boards" / f"{_board_name(name)}.toml",
    ]
    if existing := next((path for path in paths if path.exists()), None):
        raise UsageError(f"{existing} is there already: remove it, or name another catalog by -o")
    return paths


def write_catalog_files(
    part: ChipModel, measurement: BoardMeasurement, catalog: Path
) -> list[Path]:
    """Writes both files into a catalog; where they are."""
    paths = choose_new_catalog_paths(part, measurement.board, catalog)
    for path, noun in zip(
        paths,
        (make_measured_chip_model(part, measurement), make_measured_board_model(part, measurement)),
        strict=True,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole_file(path, format_noun_toml(noun).encode())
    return paths


def _chip_name(part: ChipModel, name: str) -> str:
    return f"{part.name}-{name}"


def _board_name(name: str) -> str:
    return f"{name}-model"


def format_noun_toml(model: Noun) -> str:
    """A catalog file of a noun."""
    told = model.model_dump(exclude_none=True, exclude_defaults=True)
    return "".join(_format_table(told, ""))


def _format_table(values: Mapping[str, Any], path: str) -> list[str]:
    """A table's own values, then the tables in it."""
    plain = {k: v for k, v in values.items() if not isinstance(v, dict)}
    lines = [f"\n[{path}]\n"] if path and plain else []
    lines += [f"{_format_key(k)} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in plain.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _format_table(
                value, f"{path}.{_format_key(key)}" if path else _format_key(key)
            )
    return lines


def _format_key(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key)
