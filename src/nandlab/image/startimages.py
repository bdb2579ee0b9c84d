# SPDX-License-Identifier: GPL-2.0-or-later
"""What trials begin from: an image of a root file system is made once, and what it takes is told.

An image of a tree is kept in the cache, by all that it depends on: the tree, the file system with
its options, the chip and its partition, the board. Interrupted, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from nandlab.base.cache import find_entry_path, make_entry
from nandlab.base.digest import digest_file, digest_json_value
from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.board.jobs.job import Board
from nandlab.board.kit import trees
from nandlab.board.kit.kit import fetch_board_tools, find_image_tool_packages, make_tool_package_set
from nandlab.board.virtual.hosttools import STEADY
from nandlab.catalog.noun import dump_noun_identity
from nandlab.flash.chip import imagefile as chipfile
from nandlab.image import making, tree
from nandlab.image.sizes import measure_image_size
from nandlab.plan.matrix import Faults
from nandlab.plan.medium import Medium
from nandlab.plan.start import ImageFootprint, ImageStart, TreeStart, check_image_start
from nandlab.plan.trialspec import TrialSpec

IMAGE_FORM = 1
"""Part of a made image's key: raise it when the same tree gives another image."""
IMAGE_FILE = "image.nand"


def fetch_trials_tree_packages(specs: Sequence[TrialSpec], *, strictly: bool) -> list[TrialSpec]:
    """The trials, their trees' packages in the cache.

    strictly: UsageError if the locked packages are not to be had; else the newest are taken then,
    and the trials are of another tree.
    """
    starts: dict[str, TreeStart] = {}
    for start in _list_tree_starts(specs):
        if start.sha256 not in starts:
            files, moved = trees.fetch_tree_package_set(
                start.tree, start.packages, strictly=strictly
            )
            words = {"packages": dict(files), "sha256": trees.digest_tree_inputs(start.tree, files)}
            starts[start.sha256] = start.model_copy(update={**words, "moved": moved})
    return [
        s.model_copy(update={"image": starts[s.image.sha256]})
        if isinstance(s.image, TreeStart)
        else s
        for s in specs
    ]


def _list_tree_starts(specs: Iterable[TrialSpec]) -> list[TreeStart]:
    return [s.image for s in specs if isinstance(s.image, TreeStart)]


class StartImageMaker:
    """Makes the images of trials on a board, each once, and tells what it makes."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._ready: dict[str, ImageStart] = {}

    def ready(self, specs: Sequence[TrialSpec]) -> list[TrialSpec]:
        """The trials with the images that they begin from; UsageError for a tree too large."""
        todo = {}
        for spec in specs:
            if isinstance(spec.image, TreeStart):
                inputs = self._inputs(spec, spec.image)
                if not find_entry_path("images", inputs).is_dir():
                    todo[digest_json_value(inputs)] = spec
        for n, spec in enumerate(todo.values(), 1):
            text = f"making image {n} of {len(todo)}: {_format_spec(spec)}"
            print_note(text)
            self._image(spec)
        return [self._with_image(spec) for spec in specs]

    def _with_image(self, spec: TrialSpec) -> TrialSpec:
        if isinstance(spec.image, TreeStart):
            made = spec.image.model_copy(update={"made": self._image(spec)})
            return spec.model_copy(update={"image": made})
        if isinstance(spec.image, ImageStart):
            return spec.model_copy(update={"image": self._add_footprint(spec.image)})
        return spec

    def _add_footprint(self, start: ImageStart) -> ImageStart:
        """The image with what it takes of its chip."""
        if start.sha256 not in self._ready:
            made, image = chipfile.read_image_files(start.head().path)
            self._ready[start.sha256] = start.model_copy(
                update={"takes": ImageFootprint(**vars(measure_image_size(image, made.chip())))}
            )
        return self._ready[start.sha256]

    def _image(self, spec: TrialSpec) -> ImageStart:
        """The image of a trial's tree, made if the cache does not have it."""
        assert isinstance(spec.image, TreeStart)
        inputs = self._inputs(spec, spec.image)
        image_start = self._ready.get(digest_json_value(inputs))
        if image_start is None:
            folder = make_entry("images", inputs, lambda work: self._make(spec, work / IMAGE_FILE))
            head = chipfile.read_image_head(folder / IMAGE_FILE)
            wrong = check_image_start(head, spec.chip, spec.partition_blocks, 0, spec.virtual)
            if wrong:
                raise UsageError(*wrong)
            start = ImageStart(name=spec.image.name, path=head.path, sha256=head.digest())
            image_start = self._ready[digest_json_value(inputs)] = self._add_footprint(start)
        return image_start

    def _inputs(self, spec: TrialSpec, start: TreeStart) -> dict[str, object]:
        """All that an image depends on."""
        return {
            "tree": start.sha256,
            "medium": spec.recipe(),
            "chip": dump_noun_identity(spec.chip, "summary", "sources", "energy"),
            "board": self._board.identity,
            "makers": dict(find_image_tool_packages(spec.virtual, spec.filesystem.image.package)),
            "tools": digest_file(STEADY),
            "form": IMAGE_FORM,
        }

    def _make(self, spec: TrialSpec, path: Path) -> None:
        start = spec.image
        assert isinstance(start, TreeStart)
        self._refuse_other_tools(spec)
        fields = {name: getattr(spec, name) for name in Medium.model_fields}
        medium = Medium(**{**fields, "latency": "typical", "faults": Faults(), "seed": 1})
        folder = trees.prepare_tree_folder(start.tree, start.packages, as_told=not start.moved)
        folder_tree = tree.set_owner_to_root(tree.scan_folder_tree(folder))
        content, warnings = tree.drop_unstorable_content(folder_tree, medium.filesystem)
        tree.refuse_unstorable_names(content, medium.filesystem)
        for warning in warnings:
            print_note(f"warning: {_format_spec(spec)}: {warning}")
        image, description = making.make_filesystem_image(medium, folder, content, self._board)
        chipfile.write_image_files(path, image, description)

    def _refuse_other_tools(self, spec: TrialSpec) -> None:
        """UsageError if a run that is done again had other tools than the catalog locks."""
        lock = self._board.identity.get("lock", {})
        of_run = lock.get(make_tool_package_set(spec.virtual).name)
        if of_run is not None and dict(of_run) != dict(fetch_board_tools(spec.virtual)[1]):
            raise UsageError(
                f"{_format_spec(spec)}: the tools that boards.lock names are not the run's, so the "
                "image would be another: check out the run's commit"
            )


def _format_spec(spec: TrialSpec) -> str:
    options = [f"{k}={v}" for k, v in spec.filesystem.select_changed_options(spec.options).items()]
    words = [spec.description, *options, "from", spec.image.name if spec.image else "nothing"]
    return " ".join(words)
