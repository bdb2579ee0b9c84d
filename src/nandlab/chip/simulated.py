# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip: how a board loads it, and what it reports."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.board.job import Step
from nandlab.catalog.chip import ChipModel, Latency

FOLDER = "/sys/kernel/debug/simnand"
COUNTERS = f"{FOLDER}/counters"
IMAGE = f"{FOLDER}/image"
KEPT = "/tmp/kept-chip"
COUNTS = ("reads", "programs", "erases")
HITS = "buffer_hits"
"""The chip's own word for reads that its page register answered."""
USAGE = ("busy_ns", "warped_ns", "bytes_read", "bytes_written")
"""Of the chip's time and its bus, as a result names them too."""
CHIP_FIFO = "/tmp/chip"

LOAD_DEADLINE_S = 3600


def chip_parameters(
    chip: ChipModel, partition_blocks: int, chip_store_phys: int, latency: Latency = "typical"
) -> dict[str, str | int]:
    """The chip module's parameters, by name; UsageError if the chip lacks a latency asked for."""
    g, t, ecc = chip.geometry, chip.timing, chip.ecc
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


def load_step(parameters: dict[str, str | int], image: str | None = None) -> Step:
    """Loads the chip module.

    image: the board's command that writes the chip's image to its output; none: an erased chip.
    """
    words = " ".join(["modprobe simnand", *(f"{k}={v}" for k, v in parameters.items())])
    if image is None:
        return Step("load", words)
    # The image may be larger than the board's RAM: the module reads it as it comes.
    ferried = f"mkfifo {CHIP_FIFO} && ({image} > {CHIP_FIFO} &)"
    return Step("load", f"{ferried} && {words} image={CHIP_FIFO}", LOAD_DEADLINE_S)


def counts(printed: str) -> dict[str, int]:
    """Page reads, page programs and block erases so far, from what the chip prints of itself."""
    return _rows(printed, COUNTS)


def _rows(printed: str, keys: Sequence[str]) -> dict[str, int]:
    rows = (line.split() for line in printed.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0] in keys}


def between(before: str, after: str) -> dict[str, int] | None:
    """What the chip did between two moments, from what it printed of itself at each.

    before: empty where it was not there yet. None: not known, for there was none at the end, or
    another that counts anew.
    """
    had, has = counts(before), counts(after)
    did = {key: has[key] - had.get(key, 0) for key in COUNTS if key in has}
    return did if len(did) == len(COUNTS) and min(did.values()) >= 0 else None


def erased(printed: str) -> int | None:
    """Blocks of the partition that are erased, from what the chip prints of itself."""
    return _rows(printed, ("blocks_erased",)).get("blocks_erased")


def missed(printed: str) -> int:
    """Operations that a real chip's counts lack at the least; a simulated one misses none."""
    return _rows(printed, ("missed",)).get("missed", 0)


def hits_between(before: str, after: str) -> int | None:
    """Reads that the page register answered between two moments; None as :func:`between`."""
    had, has = (_rows(printed, (HITS,)).get(HITS) for printed in (before, after))
    did = None if has is None else has - (had or 0)
    return None if did is None or did < 0 else did


def usage_between(before: str, after: str) -> dict[str, int] | None:
    """Time and bytes of the chip between two moments; None as :func:`between`."""
    had, has = (_rows(printed, (*USAGE, HITS)) for printed in (before, after))
    did = {key: value - had.get(key, 0) for key, value in has.items()}
    if not did or min(did.values()) < 0:
        return None
    return {"register_hits" if key == HITS else key: value for key, value in did.items()}


def programmed(printed: str) -> float | None:
    """Share of the partition's pages that are programmed, from what the chip prints of itself."""
    rows = _rows(printed, ("pages_programmed", "partition_pages"))
    return rows["pages_programmed"] / rows["partition_pages"] if len(rows) == 2 else None


def cut(load: Step, unmount: Step) -> str:
    """The command that takes the power away, and brings back the chip as it was at that moment.

    The file system is gone then. What its unmount writes goes to a chip that is thrown away: no
    kernel is safe on one that does not answer.
    """
    off = f"echo off > {FOLDER}/power && cat {IMAGE} > {KEPT} && echo on > {FOLDER}/power"
    gone = f"{unmount.command} && rmmod simnand"
    return f"{off} && {gone} && {load.command} image={KEPT} && rm {KEPT}"


def save(put: str) -> str:
    """The command that gives the chip's image to the host; put: what takes it."""
    return f"set -o pipefail; cat {IMAGE} | {put}"
