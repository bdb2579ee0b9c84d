# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial's image takes of the chip: without UBI's headers, null where it is not told."""

from __future__ import annotations

import pytest
from support import samples

from nandlab.analysis.figures import figures, workloadwords
from nandlab.base.errors import UsageError
from nandlab.results.record import Trial
from nandlab.results.recordparts import StartImage


def told(name: str, trial: Trial) -> float | None:
    return figures.find_workload_figure(
        name, workloadwords.make_workload_words_for_trials([trial])
    )(trial)


def test_an_image_s_pages_and_bytes_are_without_ubi_s_headers() -> None:
    image = StartImage(name="x", sha256="0" * 64, pages=700, own_header_pages=200, bytes=500 * 2048)
    trial = samples.trial("ubifs").model_copy(update={"image": image})
    assert told("image.pages", trial) == 500
    assert told("image.bytes", trial) == 1_024_000


def test_without_an_image_or_in_an_older_result_they_are_not_known() -> None:
    trial = samples.trial("ubifs")
    older = trial.model_copy(update={"image": StartImage(name="x", sha256="0" * 64)})
    for name in ("image.pages", "image.bytes"):
        assert told(name, trial) is None
        assert told(name, older) is None
    with pytest.raises(UsageError, match=r"no figure 'image\.sectors'"):
        told("image.sectors", trial)
