# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip: how a board loads it, and what it reports."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.board.jobs.job import Step
from nandlab.catalog.chip import ChipModel, Latency

MODULE, SPI_MODULE, PARTED_MODULE = "simnand", "spi_simnand", "parted_simnand"
"""The module of a chip behind a parallel bus, of one behind SPI, and of one with several MTD
partitions; all are simnand's chip."""
SPI_DRIVER = "spinand"
"""The kernel's driver of chips behind SPI."""
DEBUG_FOLDER = "/sys/kernel/debug/simnand"
COUNTERS_FILE = f"{DEBUG_FOLDER}/counters"
IMAGE_FILE = f"{DEBUG_FOLDER}/image"
SAVED_IMAGE = "/tmp/kept-chip"
COUNTS = ("reads", "programs", "erases")
HITS = "buffer_hits"
"""The chip's own word for reads that its page register answered."""
USAGE = ("busy_ns", "warped_ns", "bytes_read", "bytes_written")
"""Of the chip's time and its bus, as a result names them too."""
BIT_COUNTS = {
    "wrong": "flipped_bits",
    "corrected": "ecc_corrected",
    "failed_steps": "ecc_failed",
    "failed_pages": "ecc_failed_pages",
}
"""Of bits that read wrong: a result's words, and the chip's own."""
CHIP_FIFO = "/tmp/chip"

LOAD_DEADLINE_S = 3600


def make_chip_module_parameters(
    chip: ChipModel, partition_blocks: int, chip_store_phys: int, latency: Latency = "typical"
) -> dict[str, str | int]:
    """The chip module's parameters, by name; UsageError if the chip lacks a latency asked for."""
    g, t, ecc = chip.geometry, chip.timing, chip.kernel_ecc
    return {
        "id": ",".join(f"{byte:#04x}" for byte in chip.id),
        "writesize": g.writesize,
        "oobsize": g.oobsize,
        "erasesize": g.erasesize,
        "blocks": g.blocks,
        "bus_bits": g.bus_bits,
        "nop": g.nop,
        "in_order": int(g.in_order),
        **t.array_ns(latency),
        "t_rc_ns": t.t_rc_ns,
        "t_wc_ns": t.t_wc_ns,
        "ecc_strength": ecc.strength,
        "ecc_step": ecc.step,
        "partition_blocks": partition_blocks,
        "array_phys": chip_store_phys,
        **chip.optional_parameters(),
    }


def make_chip_load_step(
    parameters: dict[str, str | int], image: str | None = None, module: str = MODULE
) -> Step:
    """Loads the chip module, behind SPI after the kernel's driver.

    image: the board's command that writes the chip's image to its output; none: an erased chip.
    """
    words = " ".join([f"modprobe {module}", *(f"{k}={v}" for k, v in parameters.items())])
    if module == SPI_MODULE:
        words = f"modprobe {SPI_DRIVER} && {words}"
    if image is None:
        return Step("load", words)
    # The image may be larger than the board's RAM: the module reads it as it comes.
    ferried = f"mkfifo {CHIP_FIFO} && ({image} > {CHIP_FIFO} &)"
    return Step("load", f"{ferried} && {words} image={CHIP_FIFO}", LOAD_DEADLINE_S)


def parse_operation_counts(printed: str) -> dict[str, int]:
    """Page reads, page programs and block erases so far, from what the chip prints of itself."""
    return _parse_rows(printed, COUNTS)


def _parse_rows(printed: str, keys: Sequence[str]) -> dict[str, int]:
    rows = (line.split() for line in printed.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0] in keys}


def count_operations_between(before: str, after: str) -> dict[str, int] | None:
    """What the chip did between two moments, from what it printed of itself at each.

    before: empty where it was not there yet. None: not known, for there was none at the end, or
    another that counts anew.
    """
    had, has = parse_operation_counts(before), parse_operation_counts(after)
    did = {key: has[key] - had.get(key, 0) for key in COUNTS if key in has}
    return did if len(did) == len(COUNTS) and min(did.values()) >= 0 else None


def parse_erased_block_count(printed: str) -> int | None:
    """Blocks of the partition that are erased, from what the chip prints of itself."""
    return _parse_rows(printed, ("blocks_erased",)).get("blocks_erased")


def parse_missed_operation_count(printed: str) -> int:
    """Operations that a real chip's counts lack at the least; a simulated one misses none."""
    return _parse_rows(printed, ("missed",)).get("missed", 0)


def parse_bit_counts(printed: str) -> dict[str, int]:
    """Bits that read wrong so far and what the ECC made of them; empty: the chip does not tell."""
    rows = _parse_rows(printed, tuple(BIT_COUNTS.values()))
    return {word: rows[own] for word, own in BIT_COUNTS.items() if own in rows}


def count_register_hits_between(before: str, after: str) -> int | None:
    """Reads that the page register answered between two moments; None as
    :func:`count_operations_between`."""
    had, has = (_parse_rows(printed, (HITS,)).get(HITS) for printed in (before, after))
    did = None if has is None else has - (had or 0)
    return None if did is None or did < 0 else did


def compute_chip_usage_between(before: str, after: str) -> dict[str, int] | None:
    """Time and bytes of the chip between two moments; None as :func:`count_operations_between`."""
    had, has = (_parse_rows(printed, (*USAGE, HITS)) for printed in (before, after))
    did = {key: value - had.get(key, 0) for key, value in has.items()}
    if not did or min(did.values()) < 0:
        return None
    return {"register_hits" if key == HITS else key: value for key, value in did.items()}


def parse_programmed_page_share(printed: str) -> float | None:
    """Share of the partition's pages that are programmed, from what the chip prints of itself."""
    rows = _parse_rows(printed, ("pages_programmed", "partition_pages"))
    return rows["pages_programmed"] / rows["partition_pages"] if len(rows) == 2 else None


def make_power_cut_command(load: Step, unmount: Step, module: str = MODULE) -> str:
    """The command that takes the power away, and brings back the chip as it was at that moment.

    The file system is gone then. What its unmount writes goes to a chip that is thrown away: no
    kernel is safe on one that does not answer.
    """
    off = (
        f"echo off > {DEBUG_FOLDER}/power && cat {IMAGE_FILE} > {SAVED_IMAGE} && echo on > "
        f"{DEBUG_FOLDER}/power"
    )
    gone = f"{unmount.command} && rmmod {module}"
    return f"{off} && {gone} && {load.command} image={SAVED_IMAGE} && rm {SAVED_IMAGE}"


def make_age_command(days: int, reads: int) -> str:
    """The command that lets days pass, in which each block with data is read so many times."""
    return f"echo {days} {reads} > {DEBUG_FOLDER}/age"


def make_image_pipe_command(put: str) -> str:
    """The command that gives the chip's image to the host; put: what takes it."""
    return f"set -o pipefail; cat {IMAGE_FILE} | {put}"
