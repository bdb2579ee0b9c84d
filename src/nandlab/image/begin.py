# SPDX-License-Identifier: GPL-2.0-or-later
"""What trials begin from: an image of a root file system is made once, and what it takes is told.

An image of a tree is kept in the cache, by all that it depends on: the tree, the file system with
its options, the chip and its partition, the board. Interrupted, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from nandlab.base.cache import entry, place
from nandlab.base.digest import digest, file_digest
from nandlab.base.errors import UsageError
from nandlab.base.printer import note
from nandlab.board.hosttools import STEADY
from nandlab.board.job import Board
from nandlab.catalog.noun import identity
from nandlab.chip import file as chipfile
from nandlab.image import making, tree
from nandlab.image.sizes import account
from nandlab.kit import trees
from nandlab.kit.kit import makers, tool_set, tools_of
from nandlab.plan.matrix import Faults
from nandlab.plan.medium import Medium
from nandlab.plan.start import Start, Takes, TreeStart, cannot_begin
from nandlab.plan.trialspec import TrialSpec

FORM = 1
"""Part of a made image's key: raise it when the same tree gives another image."""
FILE = "image.nand"


def brought(specs: Sequence[TrialSpec], *, strictly: bool) -> list[TrialSpec]:
    """The trials, their trees' packages in the cache.

    strictly: UsageError if the locked packages are not to be had; else the newest are taken then,
    and the trials are of another tree.
    """
    found: dict[str, TreeStart] = {}
    for start in _trees(specs):
        if start.sha256 not in found:
            files, moved = trees.brought(start.tree, start.packages, strictly=strictly)
            words = {"packages": dict(files), "sha256": trees.key(start.tree, files)}
            found[start.sha256] = start.model_copy(update={**words, "moved": moved})
    return [
        s.model_copy(update={"image": found[s.image.sha256]})
        if isinstance(s.image, TreeStart)
        else s
        for s in specs
    ]


def _trees(specs: Iterable[TrialSpec]) -> list[TreeStart]:
    return [s.image for s in specs if isinstance(s.image, TreeStart)]


class Maker:
    """Makes the images of trials on a board, each once, and tells what it makes."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._ready: dict[str, Start] = {}

    def ready(self, specs: Sequence[TrialSpec]) -> list[TrialSpec]:
        """The trials with the images that they begin from; UsageError for a tree too large."""
        todo = {}
        for spec in specs:
            if isinstance(spec.image, TreeStart):
                inputs = self._inputs(spec, spec.image)
                if not place("images", inputs).is_dir():
                    todo[digest(inputs)] = spec
        for n, spec in enumerate(todo.values(), 1):
            text = f"making image {n} of {len(todo)}: {_called(spec)}"
            note(text)
            self._image(spec)
        return [self._with_image(spec) for spec in specs]

    def _with_image(self, spec: TrialSpec) -> TrialSpec:
        if isinstance(spec.image, TreeStart):
            made = spec.image.model_copy(update={"made": self._image(spec)})
            return spec.model_copy(update={"image": made})
        if isinstance(spec.image, Start):
            return spec.model_copy(update={"image": self._told(spec.image)})
        return spec

    def _told(self, start: Start) -> Start:
        """The image with what it takes of its chip."""
        if start.sha256 not in self._ready:
            made, image = chipfile.read(start.head().path)
            self._ready[start.sha256] = start.model_copy(
                update={"takes": Takes(**vars(account(image, made.chip())))}
            )
        return self._ready[start.sha256]

    def _image(self, spec: TrialSpec) -> Start:
        """The image of a trial's tree, made if the cache does not have it."""
        assert isinstance(spec.image, TreeStart)
        inputs = self._inputs(spec, spec.image)
        known = self._ready.get(digest(inputs))
        if known is None:
            folder = entry("images", inputs, lambda work: self._make(spec, work / FILE))
            head = chipfile.head(folder / FILE)
            wrong = cannot_begin(head, spec.chip, spec.partition_blocks, 0, spec.virtual)
            if wrong:
                raise UsageError(*wrong)
            start = Start(name=spec.image.name, path=head.path, sha256=head.digest())
            known = self._ready[digest(inputs)] = self._told(start)
        return known

    def _inputs(self, spec: TrialSpec, start: TreeStart) -> dict[str, object]:
        """All that an image depends on."""
        return {
            "tree": start.sha256,
            "medium": spec.recipe(),
            "chip": identity(spec.chip, "summary", "sources", "energy"),
            "board": self._board.identity,
            "makers": dict(makers(spec.virtual, spec.filesystem.image.package)),
            "tools": file_digest(STEADY),
            "form": FORM,
        }

    def _make(self, spec: TrialSpec, path: Path) -> None:
        start = spec.image
        assert isinstance(start, TreeStart)
        self._refuse_other_tools(spec)
        fields = {name: getattr(spec, name) for name in Medium.model_fields}
        on = Medium(**{**fields, "latency": "typical", "faults": Faults(), "seed": 1})
        folder = trees.unpacked(start.tree, start.packages, as_told=not start.moved)
        whole = tree.owned_by_root(tree.scan(folder))
        content, warnings = tree.kept(whole, on.filesystem)
        tree.refuse_what_it_cannot_name(content, on.filesystem)
        for warning in warnings:
            note(f"warning: {_called(spec)}: {warning}")
        image, made = making.make(on, folder, content, self._board)
        chipfile.write(path, image, made)

    def _refuse_other_tools(self, spec: TrialSpec) -> None:
        """UsageError if a run that is done again had other tools than the catalog locks."""
        lock = self._board.identity.get("lock", {})
        of_run = lock.get(tool_set(spec.virtual).name)
        if of_run is not None and dict(of_run) != dict(tools_of(spec.virtual)[1]):
            raise UsageError(
                f"{_called(spec)}: the tools that boards.lock names are not the run's, so the "
                "image would be another: check out the run's commit"
            )


def _called(spec: TrialSpec) -> str:
    options = [f"{k}={v}" for k, v in spec.filesystem.changed(spec.options).items()]
    words = [spec.where, *options, "from", spec.image.name if spec.image else "nothing"]
    return " ".join(words)
