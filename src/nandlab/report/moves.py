# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that moved: tables of words, records, and JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from nandlab.analysis.moved import Held, Moved, Side
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.report.sheets import Record, Sheet, plain, rendered, text

HEAD = (
    *("figure", "before", "now", "change", "by trial", "range before", "range now", "in range"),
    "trials",
)
IN_RANGE = {True: "yes", False: "no", None: units.MISSING}
COLUMNS = (
    *("setting", "configuration", "figure", "unit", "before", "before_min", "before_max"),
    *(
        "now",
        "now_min",
        "now_max",
        "change",
        "change_share",
        "change_min",
        "change_max",
        "in_range",
        "trials_moved",
        "trials",
    ),
)
"""Names of a record's values; before and now are medians in ``unit``, or words."""
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def told(found: Sequence[Held], form: str, changed: Sequence[str] = ()) -> str:
    """What moved as text, markdown, csv, json or junit.

    changed: what the two sides did not have alike; text and markdown tell it first.
    """
    if form == "junit":
        return junit(found)
    moved = [_sheet(one) for one in found if one.moved]
    return rendered(form, moved, [*changed, summary(found)], COLUMNS, records(found))


def brief(found: Sequence[Held], changed: Sequence[str]) -> list[str]:
    """What the two sides did not have alike, then a line for each configuration that moved."""
    return [*changed, summary(found), *(_briefly(one) for one in found if one.moved)]


def _briefly(one: Held) -> str:
    """How many figures moved, and the one that its load is judged by."""
    first = next((m for m in one.moved if m.name == one.headline), None)
    told = "the same" if first is None else f"{_medians(first)}"
    count = f"{len(one.moved)} figure{'s' if len(one.moved) > 1 else ''} moved"
    return f"{one.title}: {count}; {one.headline} {told}"


def _medians(m: Moved) -> str:
    """``1.14 s, now 1.15 s (+0.88 %)``."""
    sides = (s.median if isinstance(s, Spread) else None for s in (m.before, m.now))
    form = m.quantity.form if m.quantity else units.exact
    before, now = (units.MISSING if side is None else form(side) for side in sides)
    return f"{before}, now {now}{_share(m)}"


def summary(found: Sequence[Held]) -> str:
    """A sentence: whether anything moved."""
    moved, trials = sum(bool(one.moved) for one in found), sum(len(one.trials) for one in found)
    if not moved:
        return f"No figure moved: all trials ({trials}) are the same, to the nanosecond."
    return f"Figures of {moved} of {len(found)} configurations moved."


def records(found: Sequence[Held]) -> list[Record]:
    """A record for each figure that moved, with exactly :data:`COLUMNS`."""
    return [_record(one, m) for one in found for m in one.moved]


def _record(one: Held, m: Moved) -> Record:
    told = (
        *(one.setting, one.label, m.name, m.quantity.base if m.quantity else ""),
        *_values(m.before),
        *_values(m.now),
        *(
            plain(m.change),
            m.share,
            *_values(m.by_trial)[1:],
            m.within,
            len(m.trials),
            len(one.trials),
        ),
    )
    return dict(zip(COLUMNS, told, strict=True))


def _values(side: Side) -> tuple[str | float | None, float | None, float | None]:
    """Median, least and greatest; words stand for the median."""
    if isinstance(side, Spread):
        return plain(side.median), plain(side.min), plain(side.max)
    return side, None, None


def _sheet(one: Held) -> Sheet:
    return Sheet(one.title, HEAD, [_row(one, m) for m in one.moved])


def _row(one: Held, m: Moved) -> tuple[str, ...]:
    values = (_said(m, m.before), _said(m, m.now), _grown(m), _by_trial(m))
    extents = (_extent(m, m.before), _extent(m, m.now))
    return m.name, *values, *extents, IN_RANGE[m.within], f"{len(m.trials)} of {len(one.trials)}"


def _said(m: Moved, side: Side) -> str:
    if isinstance(side, Spread):
        return m.quantity.exact(side.median) if m.quantity else units.exact(side.median)
    return side or units.MISSING


def _extent(m: Moved, side: Side) -> str:
    if not isinstance(side, Spread) or side.n == 1 or m.quantity is None:
        return units.MISSING
    return side.extent(m.quantity.form)


def _grown(m: Moved) -> str:
    """``+1 (+0.24 %)``; the share is left out where there is none."""
    if m.change is None:
        return units.MISSING
    return f"{_signed(m.change)}{_share(m)}"


def _share(m: Moved) -> str:
    """`` (+0.24 %)``; empty where there is none."""
    if not m.share:
        return ""
    return f" ({'+' if m.share > 0 else '-'}{units.figures3(abs(m.share) * 100)} %)"


def _by_trial(m: Moved) -> str:
    """From the least change in a trial to the greatest."""
    if m.by_trial is None or m.by_trial.n == 1:
        return units.MISSING
    return m.by_trial.extent(_signed)


def _signed(change: float) -> str:
    """A change with its sign: a count, or half of one, to the last digit, else to six figures."""
    size, sign = abs(change), "+" if change > 0 else "-" if change < 0 else ""
    return sign + (units.exact(size) if size % 0.5 == 0 else f"{size:,.6g}")


def junit(found: Sequence[Held]) -> str:
    """JUnit's XML, which GitLab and others draw: a test a configuration, a failure if it moved."""
    failed = sum(bool(one.moved) for one in found)
    counts = {"tests": str(len(found)), "failures": str(failed), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "nandlab check", **counts})
    for one in found:
        case = ET.SubElement(
            suite, "testcase", {"classname": _xml(one.setting), "name": _xml(one.label)}
        )
        if one.moved:
            first = one.moved[0]
            what = f"{first.name}: {_said(first, first.before)}, now {_said(first, first.now)}"
            more = f"{len(one.moved)} moved, the first is {what}"
            ET.SubElement(case, "failure", {"message": _xml(more)}).text = _xml(text([_sheet(one)]))
    ET.indent(root)
    return ET.tostring(root, "unicode", xml_declaration=True) + "\n"


def _xml(said: str) -> str:
    """Words without what no XML may have."""
    return NOT_XML.sub("?", said)
