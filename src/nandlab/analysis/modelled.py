# SPDX-License-Identifier: GPL-2.0-or-later
"""Models whose lines a curve may have beside what was measured.

A model is a function: of the name of a curve's y and of a place it gives a value in the unit of
that figure, or None where it has none. What it gives is no measurement, and is drawn and named so.
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.analysis.place import Place

Model = Callable[[str, Place], float | None]
MODELS: dict[str, Model] = {}
"""By the name that a study's curve gives."""
