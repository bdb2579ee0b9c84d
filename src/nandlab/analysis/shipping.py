# SPDX-License-Identifier: GPL-2.0-or-later
"""The answer for a product in words: which one to ship, the runner-up and what it costs, what would
change the answer, how sure it is, and what not to take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis import advice, answers, doubts, power, stalls
from nandlab.analysis import product as products
from nandlab.analysis.asked import Limit
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Setting
from nandlab.analysis.limits import Limits, lasts_years
from nandlab.analysis.product import Candidate, Product, on_load
from nandlab.analysis.ranking import Finding, joined
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel


@dataclass(frozen=True)
class Shipping:
    """The answer: which one to ship."""

    product: Product
    candidates: tuple[Candidate, ...]
    """The best first."""
    findings: tuple[Finding, ...]

    def has(self, setting: Setting) -> bool:
        """Whether a setting is one of its loads."""
        return any(load.setting is setting for load in self.product.loads)


def answer(spec: Mapping[str, Any], settings: Sequence[Setting], limits: Limits) -> Shipping | None:
    """The answer of a run; None if its study has no product, or no load of it was measured."""
    product = products.of(spec, settings, limits)
    if product is None:
        return None
    found = tuple(products.candidates(product))
    return Shipping(product, found, tuple(_findings(product, found)))


def lines(shipping: Shipping) -> list[str]:
    """For a terminal."""
    answered = [f"  {f.topic}: {f.text}" for f in shipping.findings]
    return [f"{shipping.product.title}:", *answered, ""]


def _findings(product: Product, found: Sequence[Candidate]) -> Iterable[Finding]:
    able = [c for c in found if c.fitness != "unfit" and c.factor < math.inf]
    if not able:
        yield Finding("Ship", "None that was measured is fit.", firm=False)
        yield from _avoid(found)
        return
    first, rest = able[0], able[1:]
    sure = first.sure and not product.lacks
    yield _ship(product, first, sure)
    yield _runner_up(product, first, rest)
    yield _change(product, first, found)
    yield _how_sure(product, first, rest)
    yield Finding("Power", power.sentence([(c.name, c.power) for c in able[:2]]), firm=True)
    yield from _avoid(found)
    yield from _not_tried(product.loads[0].setting)


def _ship(product: Product, first: Candidate, sure: bool) -> Finding:
    why = "; ".join([*_headlines(product, first), *first.met])
    if sure:
        return Finding("Ship", f"{first.named}: {why}.", firm=True)
    look = f"Not enough to say yet. The first to look into is {first.named}: {why}"
    return Finding("Ship", f"{look}; open: {'; '.join((*first.against, *first.open))}.", firm=False)


def _headlines(product: Product, candidate: Candidate) -> list[str]:
    """The headline figure of each load, where it is worst."""
    found = []
    for load, subject in zip(product.loads, candidate.subjects, strict=True):
        text = advice.told_worst(load.setting, subject)
        found.append(on_load(product, load, text))
    return found


def _runner_up(product: Product, first: Candidate, rest: Sequence[Candidate]) -> Finding:
    topic = "Runner-up"
    if not rest:
        return Finding(
            topic, f"None: no other that was run may be shipped beside {first.name}.", firm=True
        )
    second = rest[0]
    worse, better = _against(product, second, first)
    costs = f"it costs {'; '.join(worse)}" if worse else "nothing that it costs was told apart"
    gains = f"; it gains {'; '.join(better)}" if better else ""
    open_ = (
        "" if second.fitness == "fit" else f"; open: {'; '.join((*second.against, *second.open))}"
    )
    stalled = "".join(f"; {text}" for text in _stalls(product, second))
    text = f"{second.named}: {costs}{gains}{stalled}{open_}."
    return Finding(topic, text, second.fitness == "fit")


def _against(product: Product, own: Candidate, other: Candidate) -> tuple[list[str], list[str]]:
    """The figures in which one is worse than another, and those in which it is better."""
    worse: list[str] = []
    better: list[str] = []
    for load in product.loads:
        for figure, title in _compared(product, load.setting):
            mine, theirs = (_worst(load.setting, c.name, figure) for c in (own, other))
            if mine is None or theirs is None or not mine.told_apart(theirs):
                continue
            ratio = f" ({units.ratio(mine.median / theirs.median)} times)" if theirs.median else ""
            text = f"{title} {figure.form(mine.median)} against {figure.form(theirs.median)}{ratio}"
            less = mine.median < theirs.median
            side = better if less == (figure.better != "more") else worse
            used = [e for e in load.setting.ensembles if e.subject in (own.name, other.name)]
            text += doubts.aside((e, figure) for e in used)
            side.append(on_load(product, load, text))
    return worse, better


def _compared(product: Product, setting: Setting) -> list[tuple[Figure, str]]:
    """The figures that a buyer compares: headline, those of the limits, erases; with titles."""
    found = {setting.headline.name: (setting.headline, setting.headline.title)}
    for limit in product.limits.figures:
        figure = limit.here(setting.words)
        if figure is not None:
            found[figure.name] = (figure, limit.title(figure))
    erases = setting.figure("chip.erases")
    return list({**found, erases.name: (erases, erases.title)}.values())


def _worst(setting: Setting, name: str, figure: Figure) -> Spread | None:
    """The spread of a figure in the flash state where its median is worst."""
    spreads = [s for e in setting.ensembles if e.subject == name and (s := e.spread(figure))]
    last = min if figure.better == "more" else max
    return last(spreads, key=lambda s: s.median, default=None)


@dataclass(frozen=True)
class _Margin:
    """How much of a limit a candidate leaves."""

    left: float
    """Share of the limit, 0..1: by how much a figure may still grow, or may fall."""
    near: str
    """The limit, and the worst that was seen, in words."""
    tighter: str
    """What would be asked if it were as tight as that, in words."""
    others: tuple[str, ...]
    """Those that would still be within it then, the best first."""


def _change(product: Product, first: Candidate, found: Sequence[Candidate]) -> Finding:
    """The nearest limit, who comes in where a limit gets tighter, and where one gets looser."""
    others = [c for c in found if c.name != first.name]
    margins = sorted(_margins(product, first, others), key=lambda m: m.left)
    told = [f"The nearest limit is {m.near}" for m in margins[:1]]
    for m in margins:
        then = m.others[0] if m.others else "none that was run"
        told.append(f"Asked for {m.tighter}: {then}")
    told += _looser(first, others)
    text = ". ".join(told) if told else "No limit is met: only the order could change"
    return Finding("What would change it", f"{text}.", firm=bool(margins))


def _margins(product: Product, first: Candidate, others: Sequence[Candidate]) -> Iterable[_Margin]:
    """Of each limit that the candidate meets."""
    for load in product.loads:
        for limit in product.limits.figures:
            figure = limit.here(load.setting.words)
            if figure is not None:
                yield from _margin(load.setting, limit, figure, first, others)
    years, lasts = product.limits.years, _lasts(product, first)
    if years and lasts and lasts >= years:
        longer = [c for c in others if (_lasts(product, c) or 0) > lasts]
        asked, certain = units.figures3(years), units.figures3(lasts)
        yield _Margin(
            1 - years / lasts,
            f"{asked} years: {certain} are certain, {units.percent(lasts / years - 1)} more",
            f"more than {certain} years",
            tuple(c.named for c in longer if c.fitness != "unfit"),
        )


def _margin(
    setting: Setting, limit: Limit, figure: Figure, first: Candidate, others: Sequence[Candidate]
) -> Iterable[_Margin]:
    """The margin to one limit, if it is met."""
    bound, own = limit.bound(figure), _extreme(setting, limit, figure, first)
    if own is None or not limit.met(own, bound):
        return
    tighter = []
    for c in others:
        seen = _extreme(setting, limit, figure, c)
        inside = seen is not None and (seen < own if limit.at_most else seen > own)
        if inside and c.fitness != "unfit":
            tighter.append(c.named)
    under, way = ("under", 1) if limit.at_most else ("over", -1)
    yield _Margin(
        1 - (own / bound if limit.at_most else bound / own),
        f"{limit.text}: {figure.form(own)} at worst, {units.percent(way * (1 - own / bound))} "
        f"{under} it",
        f"{limit.title(figure)} {under} {figure.form(own)}",
        tuple(tighter),
    )


def _extreme(setting: Setting, limit: Limit, figure: Figure, of: Candidate) -> float | None:
    """The value of any trial in any state that comes nearest to the limit."""
    spreads = [s for e in setting.ensembles if e.subject == of.name and (s := e.spread(figure))]
    ends = [s.top if limit.at_most else s.min for s in spreads]
    return (max if limit.at_most else min)(ends, default=None)


def _lasts(product: Product, of: Candidate) -> float | None:
    """Years that are certain on every load in every state."""
    daily = product.limits.daily or 0
    found = [
        lasts_years(e, daily)
        for load in product.loads
        for e in load.setting.ensembles
        if e.subject == of.name
    ]
    known = [years for years in found if years is not None]
    return min(known) if known and len(known) == len(found) else None


def _looser(first: Candidate, others: Sequence[Candidate]) -> list[str]:
    """Those that would come before the first if it were not for one limit."""
    return [
        f"Without its one broken limit ({c.against[0]}) {c.name} would come first"
        for c in others
        if c.fitness == "unfit" and c.factor < first.factor and len(c.against) == 1 and not c.open
    ]


def _how_sure(product: Product, first: Candidate, rest: Sequence[Candidate]) -> Finding:
    ensembles = [
        e for load in product.loads for e in load.setting.ensembles if e.subject == first.name
    ]
    states = list(dict.fromkeys(e.state for e in ensembles))
    n = min(len(e.ok) for e in ensembles)
    told = [
        f"each of its figures stands on {n} trial{'s' if n > 1 else ''} ({joined(states)} flash)"
    ]
    if rest:
        apart = all(_apart(load.setting, first.name, rest[0].name) for load in product.loads)
        does = "are" if apart else "are not"
        told.append(f"the trials of {first.name} and {rest[0].name} {does} told apart by headline")
    told.append(
        f"not known: {'; '.join(first.open)}" if first.open else "no trial of it carries a doubt"
    )
    if product.lacks:
        told.append(f"{product.lacks} of {product.lacks + len(product.loads)} loads were not run")
    told += _stalls(product, first)
    trials = [t for e in ensembles for t in e.ok]
    told += [ram for ram in [answers.available(trials)] if ram]
    latency = product.loads[0].setting.chip.latency
    told.append(f"the chip is simulated, with the {latency} latencies of its data sheet")
    return Finding("How sure", f"{capital('; '.join(told))}.", first.fitness == "fit")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _stalls(product: Product, of: Candidate) -> list[str]:
    """What of it stalls, in any state."""
    return [
        f"it stalls: {e.state}: {text.partition(': ')[2]}"
        for load in product.loads
        for e in load.setting.ensembles
        if e.subject == of.name
        for text in stalls.of(load.setting, e)
    ]


def _apart(setting: Setting, one: str, other: str) -> bool:
    """Whether the ranges of their worst headline figures do not touch."""
    a, b = (_worst(setting, name, setting.headline) for name in (one, other))
    return a is not None and b is not None and a.told_apart(b)


def _avoid(found: Sequence[Candidate]) -> Iterable[Finding]:
    for c in found:
        if c.fitness == "unfit":
            yield Finding("Not", f"{c.name}: {'; '.join(c.against)}.", firm=True)


def _not_tried(setting: Setting) -> Iterable[Finding]:
    """File systems of the catalog that cannot live on this chip."""
    first = setting.trials[0]
    run = {t.filesystem for t in setting.trials}
    for name in catalog.names("filesystems"):
        try:
            chip = ChipModel.model_validate(first.about("chip"))
            model = catalog.load("filesystems", name, FilesystemModel)
            options = model.chosen({}, "")
        except (UsageError, ValueError):
            continue  # a chip or a catalog of another time
        unfit = model.unfit(options, chip.figures(setting.chip.blocks))
        if name not in run and unfit:
            yield Finding("Not", f"{model.title}, which cannot live on it: {unfit[0]}.", firm=True)
