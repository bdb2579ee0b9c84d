# SPDX-License-Identifier: GPL-2.0-or-later
"""Times foretold for other parts: as text, as JSON, and as a chart of time over part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nandlab.analysis import reprice
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.reprice import Foretold, errors_seen
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.report import layout, looks
from nandlab.report.charts import Chart, Spec
from nandlab.report.sheets import aligned

Table = Mapping[str, Sequence[Sequence[Foretold]]]
"""Part -> for each ensemble of the setting what is foretold: nothing if no trial ended well."""
SAYS = "Predicted from the operations that were counted; nothing was run on another part."
BY_PHASES = "Work that runs in the background moves between phases: the sum is surer than a phase."
NO_LATENCY = "Percentiles are not foretold: what one call did on the flash is not counted."
HEAD = ("", "measured", "predicted", "ratio", "")
DRAWN = "Full points were measured. The line through a point is the range of the members."
MARKS = ("min", "median", "max")
SHAPES = tuple(dict.fromkeys(shape for shape, _ in looks.MARKS))
"""They tell the configurations of one file system apart: fill tells what was measured."""
NOTHING = (units.MISSING, units.MISSING, units.MISSING, "no trial ended well")


def lines(setting: Setting, table: Table, *, phases: bool) -> Iterator[str]:
    """A table for each ensemble; phases: each phase too, not only their sum."""
    yield f"{setting.title}, measured on {setting.chip.part}"
    for i, ensemble in enumerate(setting.ensembles):
        rows: list[tuple[str, ...]] = [HEAD]
        for part, found in table.items():
            rows += [] if found[i] else [(part, *NOTHING)]
            shown = [one for one in found[i] if phases or not one.phase]
            rows += [_row(part, setting, one, phases=phases) for one in shown]
        yield ""
        yield ensemble.label
        yield doubt(ensemble)
        yield from aligned(rows, (0, len(HEAD) - 1))


def doubt(ensemble: Ensemble) -> str:
    """How far what is foretold for a configuration may be off, in a line."""
    seen = errors_seen(ensemble.first.filesystem)
    if seen is None:
        return "How far it is off is not known: nobody ran what was foretold for this file system."
    off = _percent(seen.off)
    told = f"Where parts were run, a total was up to {off} off: {seen.why}; {seen.source}."
    if seen.evened is None:
        return told
    moments, less = seen.evened.moments, _percent(seen.evened.off)
    if reprice.evened(ensemble):
        return f"{told} The medians of {moments} moments of a seed, as here, were up to {less} off."
    return (
        f"{told} So a range alone is told. Begin each seed at {moments} moments for a figure: "
        f'ensemble = "crossed", and {moments} phase_offsets_ms. Then it was up to {less} off.'
    )


def _off_in_short(ensemble: Ensemble) -> str:
    """The same on a chart."""
    seen = reprice.off(ensemble)
    off = f"totals were up to {_percent(seen)} off" if seen else "not known how far off"
    return f"{ensemble.first.filesystem_title}: {off}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _row(part: str, setting: Setting, one: Foretold, *, phases: bool) -> tuple[str, ...]:
    phase = setting.words.phase(one.phase).title if one.phase else "all"
    predicted = one.predicted.brief(units.time) if one.figure else units.MISSING
    if one.ranged and not one.figure:
        predicted = one.predicted.extent(units.time)
    measured, ratio = one.measured.brief(units.time), units.ratio(one.ratio)
    return (f"{part}: {phase}" if phases else part, measured, predicted, ratio, one.doubt)


def as_json(setting: Setting, table: Table) -> Iterator[dict[str, Any]]:
    """An object for each part, ensemble and phase; times in ns, ``phase`` null for their sum."""
    for part, found in table.items():
        for ensemble, of in zip(setting.ensembles, found, strict=True):
            for one in of:
                yield {
                    "predicted": True,
                    "setting": setting.title,
                    "configuration": ensemble.label,
                    "part": part,
                    "phase": one.phase or None,
                    "measured_ns": dict(zip(MARKS, one.measured.marks, strict=True)),
                    "predicted_ns": _foretold(one),
                    "trials": one.measured.n,
                    "ratio": one.ratio,
                    "doubt": one.doubt or None,
                    "off_max_seen": one.off,
                }


def _foretold(one: Foretold) -> dict[str, float | None] | None:
    """Its marks, without a median where a range alone is told; None: not even that is."""
    marks = dict[str, float | None](zip(MARKS, one.predicted.marks, strict=True))
    return (marks if one.figure else marks | {"median": None}) if one.ranged else None


def chart(setting: Setting, table: Table, name: str) -> Chart:
    """Time over part: full what was measured on its own part, hollow what is foretold."""
    seen = looks.of([(e.first.filesystem, e.label) for e in setting.ensembles])
    points = []
    for i, (ensemble, look) in enumerate(zip(setting.ensembles, seen, strict=True)):
        before = sum(other.colour == look.colour for other in seen[:i])
        shape = SHAPES[before % len(SHAPES)]
        told = {"label": ensemble.label, "colour": look.colour, "shape": shape}
        totals = {part: _total(found[i]) for part, found in table.items()}
        there = {part: total for part, total in totals.items() if total is not None}
        for total in list(there.values())[:1]:
            points.append(told | _point(f"{setting.chip.part} (measured)", total.measured))
        points += [
            told | _point(part, total.predicted, figure=total.figure)
            for part, total in there.items()
            if total.ranged
        ]
    doubts = dict.fromkeys(f"{e.subject}: {doubt(e)}" for e in setting.ensembles)
    title, caption = f"Time over part: {setting.title}", " ".join([SAYS, DRAWN, *doubts])
    offs = [*dict.fromkeys(_off_in_short(e) for e in setting.ensembles)]
    wide, narrow = (_spec(width, points, offs) for width in (layout.WIDE, layout.NARROW))
    return Chart(name, title, caption, {"points": points}, wide, narrow)


def _total(found: Sequence[Foretold]) -> Foretold | None:
    return next((one for one in found if not one.phase), None)


def _point(part: str, found: Spread, *, figure: bool = True) -> dict[str, Any]:
    """figure: else the line alone is drawn."""
    low, mid, high = (v / 1e9 for v in found.marks)
    return {"part": part, "low": low, "mid": mid if figure else None, "high": high}


def _spec(width: float, points: Sequence[Mapping[str, Any]], offs: Sequence[str]) -> Spec:
    labels = {p["label"]: p for p in points}
    parts = [*dict.fromkeys(p["part"] for p in points)]
    legend = {"title": None, "orient": "top", "columns": 1 if width == layout.NARROW else 3}

    def by_label(of: str) -> dict[str, Any]:
        scale = {"domain": list(labels), "range": [p[of] for p in labels.values()]}
        return {"field": "label", "type": "nominal", "scale": scale, "legend": legend}

    scale = {"type": "log", "nice": False, "padding": 12}
    title = ["Time, s", "full: measured; hollow: predicted", *offs]
    x = {"type": "quantitative", "scale": scale, "title": title}
    lines_of = {"labelExpr": "split(datum.label, / with |, /)", "labelLimit": 185}
    y = {"field": "part", "type": "nominal", "sort": parts, "title": None, "axis": lines_of}
    where = {
        "y": y,
        "yOffset": {"field": "label", "sort": list(labels)},
        "color": by_label("colour"),
    }
    measured = {"condition": {"test": f"datum.part === {parts[0]!r}", **by_label("colour")}}
    point = {
        "transform": [{"filter": "isValid(datum.mid)"}],
        "mark": {"type": "point", "size": 50, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": "mid", **x},
            "shape": by_label("shape"),
            "fill": {**measured, "value": "transparent"},
            **where,
        },
    }
    rule = {
        "mark": {"type": "rule", "strokeWidth": 1.2},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, **where},
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"name": "points"},
        "width": width - 190,
        "height": {"step": 9, "for": "offset"},
        "layer": [rule, point],
        "config": layout.CONFIG,
    }
