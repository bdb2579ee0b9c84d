# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of a command line: those that verbs share, and ``NAME=VALUE``, typed values, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nandlab.base.errors import UsageError
from nandlab.base.registry import list_module_names

Style = Literal["auto", "bar", "plain", "json", "none"]
"""How progress is shown on standard error."""
QUIET_STYLES: tuple[Style, ...] = ("json", "none")
"""Styles of progress that have no lines for people."""

if TYPE_CHECKING:
    Format = str
    """How a verb prints its tables."""
    CheckFormat = str
    """How check prints them."""
else:
    Format = Literal[tuple(list_module_names("nandlab.report.formats"))]
    CheckFormat = Literal[Format, "junit"]
TRIALS_READ = 40
"""Trials of a run that completion reads: those of a member have all of its figures."""


def make_name_completer(kind: str) -> Callable[[str], list[str]]:
    """For the shell's completion: what begins so of the catalog, of the studies, or of those whose
    figures are published.
    """

    def beginning(incomplete: str) -> list[str]:
        from nandlab.base.paths import PUBLISHED, STUDIES
        from nandlab.catalog.files import list_noun_names

        if kind == "published":
            found = sorted(p.name.partition(".")[0] for p in PUBLISHED.glob("*.figures.json.xz"))
        else:
            shipped = sorted(p.stem for p in STUDIES.glob("*.toml"))
            found = shipped if kind == "studies" else list_noun_names(kind)
        return [name for name in found if name.startswith(incomplete)]

    return beginning


def complete_figure_names(context: typer.Context, incomplete: str) -> list[str]:
    """For the shell's completion: figures of the run, or of the baseline, that the line names."""
    from itertools import islice

    from nandlab.analysis.figures.figurenames import list_figure_names_of_settings
    from nandlab.analysis.figures.groups import group_trials_into_settings
    from nandlab.base.errors import NandlabError
    from nandlab.trial.publishedrun import open_results

    told = context.params.get("run") or context.params.get("against")
    given = told or next(iter(context.args), "")  # of a line that is not ended, words are left over
    try:
        trials = islice(open_results(Path(given)).trials(), TRIALS_READ)
        return [
            name
            for name in list_figure_names_of_settings(group_trials_into_settings(trials))
            if name.startswith(incomplete)
        ]
    except NandlabError:
        return []


STUDY = typer.Argument(
    metavar="STUDY",
    help="a study file, or the name of a shipped study",
    autocompletion=make_name_completer("studies"),
)
StudyArgument = Annotated[str, STUDY]
AnyStudyArgument = Annotated[str | None, STUDY]
BoardOption = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar="NAME",
        help="a board of the catalog instead of the study's, or the file of your own",
        autocompletion=make_name_completer("boards"),
    ),
]
RUN = typer.Argument(
    metavar="RUN",
    help="a run's folder, a figures file, or the name of a published study",
    autocompletion=make_name_completer("published"),
)
RunArgument = Annotated[Path, RUN]
CatalogBoardOption = Annotated[
    str, typer.Option(help="a board of the catalog", autocompletion=make_name_completer("boards"))
]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="an option of the file system; may be repeated"
    ),
]
PartitionOption = Annotated[
    float | None, typer.Option(help="MiB of the chip to use; default: all of it")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
FormatOption = Annotated[
    Format, typer.Option("--format", help="text or markdown to read, csv or json for programs")
]

EveryOption = Annotated[
    bool, typer.Option("--all", help="with all that the verdict stands on, not the verdict alone")
]


def parse_name_value_pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """Values of ``NAME=VALUE`` words by name; UsageError for another form or a name twice."""
    pairs: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word}: expected NAME=VALUE")
        if name in pairs:
            raise UsageError(f"{option} {name}: given twice")
        pairs[name] = value
    return pairs


def parse_scalar(text: str) -> bool | int | float | str:
    """A value in the type that it looks like, as in TOML."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def split_comma_list(text: str) -> tuple[str, ...]:
    """The words of a text, which commas separate."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
