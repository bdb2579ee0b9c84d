# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run answers about a workload whose phases are many points: over all, and point by point.

The sum over all points is the study's own choice of points, and the long ones decide it. So it is
told beside at how many points each configuration is fastest, where the ranges do not touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nandlab.analysis.figures import doubts, ranking
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding, RankingWords
from nandlab.analysis.verdicts.answers import (
    StateAnswer,
    make_headline_ranking_words,
    make_ranking_finding,
)
from nandlab.base import units

POINTS_TOPIC = "Point by point"
_READS_RANKING = RankingWords(
    "Flash reads",
    "page reads",
    "reads the fewest pages over all points",
    "{v} page reads",
    "needs {r} times as many",
    units.format_count,
)


def list_point_phase_names(setting: Setting) -> list[str]:
    """The phases that are points: those that count."""
    return [p.name for p in setting.words.timed]


def list_point_state_answers(setting: Setting) -> list[StateAnswer]:
    """For each flash state: the order over all points, and who is fastest at how many."""
    by_state = {s: [e for e in setting.ensembles if e.state == s] for s in setting.states}
    return [
        StateAnswer(s, tuple(_list_point_findings(setting, here))) for s, here in by_state.items()
    ]


def _list_point_findings(setting: Setting, ensembles: Sequence[Ensemble]) -> list[Finding]:
    topics = (
        (make_headline_ranking_words(setting), setting.headline, "No time was measured."),
        (_READS_RANKING, setting.figure("chip.reads"), "No page reads were counted."),
    )
    findings = [
        doubts.add_doubts_to_finding(
            make_ranking_finding(ensembles, words, figure, nothing),
            [(e, figure) for e in ensembles],
        )
        for words, figure, nothing in topics
    ]
    used = [(e, setting.headline) for e in ensembles]
    return [
        *findings,
        *(
            doubts.add_doubts_to_finding(f, used)
            for f in _list_fastest_findings(setting, ensembles)
        ),
    ]


def _list_fastest_findings(setting: Setting, ensembles: Sequence[Ensemble]) -> list[Finding]:
    """At how many points each configuration is fastest; nothing where there is one alone."""
    if len(ensembles) < 2:
        return []
    fastest = [
        find_fastest_at_point(setting, name, ensembles) for name in list_point_phase_names(setting)
    ]
    count = Counter(name for name in fastest if name)
    if not count:
        text = f"At none of {len(fastest)} points do the trials tell which is fastest."
        return [ranking.make_undecided_finding(POINTS_TOPIC, text)]
    each = [f"{name} at {n}" for name, n in count.most_common()]
    open_ = fastest.count(None)
    rest = f"; at {open_} the trials do not tell" if open_ else ""
    text = f"Of {len(fastest)} points, fastest is {', '.join(each)}{rest}."
    return [Finding(POINTS_TOPIC, text, firm=True)]


def find_fastest_at_point(setting: Setting, phase: str, here: Sequence[Ensemble]) -> str | None:
    """The configuration whose range lies below all others' at a point; None: there is none."""
    figure = setting.figure(f"phase.{phase}")
    known = [(e.subject, e.spread(figure)) for e in here if e.ok]
    told = [(name, s) for name, s in known if s is not None]
    if len(told) < 2 or len(told) < len(known):
        return None
    told.sort(key=lambda t: t[1].median)
    (name, first), rest = told[0], told[1:]
    return name if all(first.is_distinct_from(other) for _, other in rest) else None
