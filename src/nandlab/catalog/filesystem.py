# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system as the catalog describes it: commands, options, and what it demands.

The commands of a file are templates, run by the board's shell. ``{mtd}`` is the partition's
number, ``{mountpoint}`` where to mount, ``{options}`` the words for ``mount -o``, and each option's
own name stands for what its chosen value adds to a command.

An option that is a number is written to a file of the kernel's in the step of each mount.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.strings import Colour, Command, Empty, Line, Lines, Word
from nandlab.catalog.imagetools import IMAGE_WORDS, ImageTools
from nandlab.catalog.leastpartition import LeastPartition, format_block_mib
from nandlab.catalog.noun import Noun, StrictModel
from nandlab.catalog.option import ChipBound, ChipFigure, ChipNeed, KernelNeed, Option, OptionValue
from nandlab.catalog.part import Sources
from nandlab.catalog.powerpromise import Power
from nandlab.catalog.volumelayout import count_layout_blocks
from nandlab.catalog.wearout import Wear

Difference = Literal[
    "hard_links", "symbolic_links", "modes", "case", "precise_times", "truncate_times",
    "empty_writes", "inode_numbers", "steady_directories",
    "shared_writable_maps", "folder_links", "unreadable_pages", "attributes",
    "errors_once", "name_times", "change_times", "folder_times",
]  # fmt: skip
"""How a file system may differ from tmpfs; docs/conformance.md tells what each name excuses."""

BUILT_IN_WORDS = ("mtd", "mountpoint", "options")


class Settle(StrictModel):
    """How to know that the background work after a mount has ended."""

    quiet_ms: int = Field(ge=1, description="how long the chip must have done nothing, ms")
    limit_s: int = Field(ge=1, description="stop waiting after this, board seconds, and say so")
    threads: list[Command] = Field(
        default=[],
        description="names of the kernel threads that do this work, for a chip that counts "
        "nothing: templates as the commands are",
    )


FileOperation = Literal[
    "read_page", "readahead", "write_begin", "write_end", "write_page", "write_pages",
    "look_up", "create",
]  # fmt: skip
Cause = Literal[
    "link",
    "symlink",
    "make_node",
    "read_folder",
    "garbage_collection",
    "wear_leveling",
    "commit",
    "checkpoint",
    "write_buffer",
    "erase",
    "mount_scan",
]
FILE_OPERATIONS: tuple[str, ...] = get_args(FileOperation)
"""What the kernel asks of a file system for a file's pages, and of names before it opens a file;
vfsmon knows their arguments."""
CAUSES: tuple[str, ...] = get_args(Cause)
"""What a file system does by itself, or for a call before vfsmon sees the call. funcmon times it;
it is the cause of the flash operations inside."""
Symbol = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:]*$", max_length=63)]


class MomentAveraging(StrictModel):
    """Of a file system whose work hangs on the moment at which it begins: how many even it out."""

    moments: int = Field(ge=2, description="phase offsets that each seed was run at")
    off: float = Field(
        gt=0, lt=1, description="largest error of a seed's median over them that was seen: a share"
    )


class RepricingAccuracy(StrictModel):
    """How far times that were foretold for other parts were off, once these were run."""

    off: float = Field(gt=0, lt=1, description="largest error of a total that was seen: a share")
    why: Lines = Field(
        min_length=1, description="in a clause: what it does otherwise on another part"
    )
    source: Lines = Field(description="where each of the errors is to be read")
    evened: MomentAveraging | None = Field(
        default=None, description="if more moments of a seed even its work out; absent: not tried"
    )


class FirstWrite(StrictModel):
    """What a freshly flashed one puts off until something must be durable."""

    advice: Lines = Field(min_length=1, description="in a sentence: what to do, and why")
    source: Line = Field(min_length=1, description="the page of docs that has it measured")


class Names(StrictModel):
    """What a file system demands of names."""

    pattern: Line = Field(description="regular expression of the names that it can hold")
    why: Lines = Field(description="in a clause: what a name may not have")

    @model_validator(mode="after")
    def _is_a_pattern(self) -> Names:
        try:
            re.compile(self.pattern)
        except re.error as e:
            raise ValueError(f"pattern: {e}") from None
        return self


class FilesystemModel(Noun):
    """A file system: how to make, mount and unmount it on an MTD partition."""

    title: Line = Field(description="as people write it")
    modules: list[Word] = Field(description="kernel modules it needs, in order")
    source: Sources = Field(
        default={},
        description="parts of the kernel that it takes from another source than the package of the "
        "board's kernel, by the part's name; absent: none",
    )
    format: list[Command] = Field(description="commands that make it on an erased partition")
    mount: Command = Field(description="command that mounts it on a partition that was just found")
    unmount: list[Command] = Field(description="commands that take it away, down to the MTD device")
    settle: Settle
    read_only: bool = Field(
        default=False, description="whether it is only read: an image is flashed, nothing formatted"
    )
    options: dict[Word, Option] = Field(default_factory=dict)
    chip_needs: list[ChipNeed] = Field(default=[], description="bounds on the chip")
    chip_parameters: dict[Literal["name", "partition_name"], Word] = Field(
        default_factory=dict, description="how simnand must present itself, by its parameters"
    )
    kernel: list[KernelNeed] = Field(
        default=[], description="symbols of the kernel, as an option's value has them"
    )
    harmless_log: list[Line] = Field(
        default=[], description="patterns of lines of the kernel log that mean no trouble"
    )
    memory_of: list[Word] = Field(
        default=[],
        description="kernel modules whose allocations are the file system's own; empty: not known",
    )
    memory_reclaimable: list[Symbol] | None = Field(
        default=None,
        description="of these, the kernel functions whose allocations it takes back under "
        "pressure: inodes and what goes with them; null: not known",
    )
    counters: Command | None = Field(
        default=None,
        description="command that prints what it counts itself, `name value` a line; null: nothing",
    )
    differs: dict[Difference, Lines] = Field(
        default_factory=dict, description="how it truly differs from tmpfs, in a sentence"
    )
    differs_only: dict[Difference, ChipBound] = Field(
        default_factory=dict, description="the chips on which it differs so; absent: on all"
    )
    power: Power | None = Field(
        default=None, description="what is there after a power cut; absent: not told"
    )
    image: ImageTools = Field(default=ImageTools(), description="how an image is made")
    names: Names | None = Field(default=None, description="absent: any name")
    link_bytes_max: int | None = Field(
        default=None, ge=1, description="longest target of a symbolic link; absent: any"
    )
    wear: Wear | None = Field(default=None, description="absent: its end is not foretold")
    least: LeastPartition | None = Field(
        default=None, description="the smallest partition that will do; absent: not known"
    )
    repriced: RepricingAccuracy | None = Field(
        default=None, description="absent: nobody ran what was foretold for another part"
    )
    first_write: FirstWrite | None = Field(
        default=None, description="absent: its first durable write was not seen to wait"
    )
    unmodelled_reads: Lines = Field(
        default="", description="why its reads are not foretold from the flash; empty: they are"
    )
    own_entries: list[Line] = Field(
        default=[], description="entries of its root that it makes by itself"
    )

    decoder: Word | Empty = Field(
        default="",
        description="the layout that it has on flash, by the name of its decoder; "
        "empty: the one of its own name, if there is one",
    )
    colour: Colour | Empty = Field(
        default="", description="of its lines and marks in charts, #RRGGBB; empty: by its name"
    )
    kernel_type: Word | Empty = Field(
        default="", description="in /proc/filesystems; empty: its name"
    )
    symbols: dict[FileOperation | Cause, list[Symbol]] = Field(
        default_factory=dict,
        description="operation -> kernel functions that may do it; the first that exists is taken",
    )

    @model_validator(mode="after")
    def _an_image_is_all_that_is_only_read(self) -> FilesystemModel:
        if self.read_only and (self.format or not self.image.make):
            raise ValueError("read_only: it is made as an image (image.make), and has no format")
        return self

    @model_validator(mode="before")
    @classmethod
    def _type_is_its_name(cls, data: Any) -> Any:
        return {"kernel_type": data.get("name", ""), **data} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _commands_use_words_that_are_there(self) -> FilesystemModel:
        known_words = {*BUILT_IN_WORDS, *self.options}
        clash = known_words & set(BUILT_IN_WORDS) & set(self.options)
        if clash:
            raise ValueError(f"an option cannot be named {sorted(clash)}")
        files = [option.number.file for option in self.options.values() if option.number]
        other_commands = (*self.unmount, *files, self.counters or "", *self.settle.threads)
        for command in (*self.format, self.mount, *other_commands):
            used_words = {name for _, name, _, _ in Formatter().parse(command) if name is not None}
            if used_words - known_words:
                raise ValueError(
                    f"{command!r} uses {sorted(used_words - known_words)}: no such option"
                )
        self._image_uses_words_that_are_there(known_words)
        return self

    def _image_uses_words_that_are_there(self, known_words: set[str]) -> None:
        tools = self.image
        if lost := tools.also.keys() - self.options.keys():
            raise ValueError(f"image.also: there is no option {min(lost)!r}")
        known_words = {*known_words, *IMAGE_WORDS, *get_args(ChipFigure), *tools.probe}
        also = [line for lines in tools.also.values() for line in lines]
        for command in (tools.prepare, tools.flash, *tools.make, *also, *tools.files.values()):
            used_words = {name for _, name, _, _ in Formatter().parse(command) if name is not None}
            if used_words - known_words:
                raise ValueError(
                    f"image: {command!r} uses {sorted(used_words - known_words)}: no such word"
                )

    def resolve_values(
        self, choices: Mapping[str, str], where: str, from_image: bool = False
    ) -> dict[str, str]:
        """Every option with its value; UsageError for what this file system does not offer.

        from_image: it is made as an image or begins from one; its first mount does not make it.
        """
        wrong = [
            f"{where}: {self.name} has no option {key!r}; it has: {', '.join(self.options) or '-'}"
            f"{suggest_nearest_name(key, self.options)}"
            for key in choices
            if key not in self.options
        ]
        for key, value in choices.items():
            if key in self.options:
                wrong += [f"{where}: {self.name}: {w}" for w in self._wrong(key, value, from_image)]
        if wrong:
            raise UsageError(*wrong)
        return {key: choices.get(key, option.default) for key, option in self.options.items()}

    def _wrong(self, key: str, value: str, from_image: bool) -> Iterable[str]:
        option = self.options[key]
        if wrong := option.explain_mistake(value):
            yield f"{key} = {value!r} {wrong}"
        elif option.value(value).image_only and not from_image:
            yield (
                f"{key} = {value!r} is set when an image is made, not by mount: begin from one of "
                f"`nandlab image make --fs {self.name} --set {key}={value} ...`"
            )
        elif from_image and option.is_layout(value):
            yield f"{key} = {value!r} is for an erased chip: an image has the volumes it has"

    def _values(self, chosen: Mapping[str, str]) -> dict[str, OptionValue]:
        return {key: self.options[key].value(value) for key, value in chosen.items()}

    def select_changed_options(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """The options whose value is not the default."""
        return {k: v for k, v in chosen.items() if v != self.options[k].default}

    def list_layouts(self, chosen: Mapping[str, str]) -> list[str]:
        """Layouts of UBI volumes beside its own, in words, as the options say; mostly none."""
        return [v for k, v in chosen.items() if k in self.options and self.options[k].is_layout(v)]

    def mount_options(self, chosen: Mapping[str, str]) -> str:
        """The words for ``mount -o``."""
        words = [value.mount for value in self._values(chosen).values()]
        return ",".join(["ro" if self.read_only else "rw", *(w for w in words if w)])

    def mount_commands(self, chosen: Mapping[str, str]) -> list[str]:
        """Templates of the commands of a mount: it, then what is set on what is mounted."""
        numbers = {key: option.number for key, option in self.options.items() if option.number}
        return [self.mount] + [
            number.command(key, chosen[key])
            for key, number in numbers.items()
            if key in chosen and self.options[key].is_number(chosen[key])
        ]

    def words(self, chosen: Mapping[str, str], mtd: str, mountpoint: str) -> dict[str, str]:
        """What the templates of the commands are filled with."""
        return {
            "mtd": mtd,
            "mountpoint": mountpoint,
            "options": self.mount_options(chosen),
            **{key: value.words for key, value in self._values(chosen).items()},
        }

    def tool_words(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """What the options' names stand for in the commands that make an image."""
        return {key: value.tool for key, value in self._values(chosen).items()}

    def count_least_blocks(
        self,
        chosen: Mapping[str, str],
        figures: Mapping[str, int],
        *,
        content_blocks: int = 0,
        without_reserve: bool = False,
    ) -> int | None:
        """Blocks of the smallest partition of a chip that will do; None: not known.

        held: blocks that an image's own content takes. without_reserve: UBI may have less of it, as
        on a chip that was flashed with an image.
        """
        if self.least is None:
            return None
        chip_blocks, spare = figures["chip_blocks"], 0
        if self.wear and self.least.reserve and not without_reserve:
            spare = self.wear.count_spare_blocks(
                chosen, figures["partition_blocks"], chip_blocks, 0
            )
        sizes = figures["erasesize"], figures["writesize"]
        beside = sum(count_layout_blocks(layout, *sizes) for layout in self.list_layouts(chosen))
        return self.least.count_blocks(figures["erasesize"], spare, content_blocks) + beside

    def _check_size(
        self, chosen: Mapping[str, str], figures: Mapping[str, int], without_reserve: bool
    ) -> str | None:
        """What is wrong with a partition that is too small; None: nothing, or not known."""
        least = self.count_least_blocks(chosen, figures, without_reserve=without_reserve)
        if self.least is None or least is None or figures["partition_blocks"] >= least:
            return None
        beside = "".join(f", beside the volumes {v!r}" for v in self.list_layouts(chosen))
        return (
            f"partition_blocks is {figures['partition_blocks']}, must be at least {least}, which "
            f"are {format_block_mib(least, figures['erasesize'])} MiB: {self.least.why}{beside}"
        )

    def list_hindrances(
        self,
        chosen: Mapping[str, str],
        figures: Mapping[str, int],
        *,
        without_reserve: bool = False,
    ) -> list[str]:
        """Why it cannot live on a chip of these figures with these options; empty: it can.

        without_reserve: it is not made here, so UBI may have less of its reserve.
        """
        hindrances = [need.unmet(figures) for need in self.chip_needs]
        hindrances.append(self._check_size(chosen, figures, without_reserve))
        for key, value in self._values(chosen).items():
            for need in value.chip_needs:
                unmet = need.unmet(figures)
                hindrances.append(unmet and f"{key} = {chosen[key]!r}: {unmet}")
        return [text for text in hindrances if text]

    def list_differences(self, figures: Mapping[str, int]) -> dict[Difference, str]:
        """How it differs from tmpfs on a chip of these figures (ChipModel.figures)."""
        return {
            name: told
            for name, told in self.differs.items()
            if name not in self.differs_only or self.differs_only[name].holds(figures)
        }

    def list_part_needs(self, chosen: Mapping[str, str]) -> list[tuple[str, str]]:
        """Each part of the kernel that options need a source of, and what asks for it."""
        return [
            (part, f"{self.title} with {key} = {chosen[key]!r}")
            for key, value in self._values(chosen).items()
            for part in value.parts
        ]

    def kernel_needs(self, chosen: Mapping[str, str]) -> list[tuple[str, str]]:
        """Each symbol of ``kernel``, the file system's and its options', and what asks for it."""
        needs = [(symbol, self.title) for symbol in self.kernel]
        for key, value in self._values(chosen).items():
            needs += [
                (symbol, f"{self.title} with {key} = {chosen[key]!r}") for symbol in value.kernel
            ]
        return needs
