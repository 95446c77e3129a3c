"""Publications as HTML: one file by itself, or the page of a public folder."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.media.pictures.svg import PHONE_WIDTH, svg
from deniable_aggregator.publication.cells import basis_of, table_of, title_of
from deniable_aggregator.publication.figures import figure_of
from deniable_aggregator.publication.question_text import question_in_words
from deniable_aggregator.publication.registered import (
    everything_registered,
    metric_history,
    registered_on,
)
from deniable_aggregator.report.html import stylesheet as report_stylesheet
from deniable_aggregator.sentences.wording import counted, days_between
from deniable_shared.characters import visible
from deniable_shared.planning.disclosure_figures import most_certain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from deniable_aggregator.publication.export import Export, OpenedExport
    from deniable_aggregator.publication.publication import Publication
    from deniable_aggregator.report.document import Table

TEMPLATES: Final = "templates"
_POLICY: Final = "default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Version:
    """A version of a metric, as a page shows it.

    Attributes:
        id: its digest.
        registered: the day on which it was registered last, or empty without a history.
        reports: how many were counted.
        canonical: the text whose digest it is.
    """

    id: str
    registered: str
    reports: str
    canonical: str


@dataclass(frozen=True)
class Section:
    """What a page says of one metric.

    Attributes:
        name: the metric's.
        title: what it is for.
        asks: what devices are asked, by the newest version.
        basis: how many reports of which days.
        cautions: what to know before the numbers.
        gives_away: what a device gives away, by version, as far as these differ.
        shares: whether the numbers are shares.
        wide: whether the table has so many columns that it stands below the picture.
        picture: as SVG; empty if there is nothing to draw.
        table: the numbers.
        notes: how to read it, beside what is true of all metrics of the page.
        versions: whose reports were counted.
        registered: all versions that were ever registered: day, act, summary and id.
    """

    name: str
    title: str
    asks: str
    basis: str
    cautions: Sequence[str]
    gives_away: Sequence[str]
    shares: bool
    wide: bool
    picture: str
    table: Table
    notes: Sequence[str]
    versions: Sequence[Version]
    registered: Table | None


def sheet(publications: Sequence[Publication]) -> str:
    """One HTML file without scripts that loads nothing.

    Args:
        publications: in their order.
    """
    style = stylesheet()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("sheet.html.jinja")
        .render(
            title=_title(publications),
            policy=_POLICY.format(style=f"'sha256-{digest}'"),
            style=style,
            **_metrics(publications, None),
        )
    )


def page(opened: OpenedExport, version: str) -> str:
    """The page of a public folder; it needs the style sheet beside it.

    Args:
        opened: the export that it is made of.
        version: of Deniable.
    """
    export = opened.export
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            title=_title(export.metrics),
            policy=_POLICY.format(style="'self'"),
            application=visible(export.application),
            **_metrics(export.metrics, export),
            registered=everything_registered(export),
            head=export.history.head,
            entries=counted(len(export.history.entries), "entry", "entries"),
            public_key=opened.public_key,
            made_with=visible(export.made_with),
            version=version,
            digest=sha256(opened.document).hexdigest(),
        )
    )


def stylesheet() -> str:
    """The style of both: that of reports, and what they do not have."""
    own = files(__package__).joinpath(TEMPLATES, "publication.css").read_text("utf-8")
    return f"{report_stylesheet()}\n{own}"


def _title(publications: Sequence[Publication]) -> str:
    application = visible(publications[0].application)
    since = min(each.since for each in publications)
    until = max(each.until for each in publications)
    return f"{application}: what its telemetry says, {days_between(since, until)}"


def _metrics(publications: Sequence[Publication], export: Export | None) -> dict[str, Any]:
    """The metrics' sections, and what stands before them once for all."""
    epsilon = max(each.epsilon for made in publications for each in made.versions)
    alike = _reading_of_all(publications)
    return {
        "epsilon": f"{epsilon:.4g}",
        "certain": most_certain(epsilon),
        "reading": list(map(visible, alike)),
        "sections": [_section(each, export, alike) for each in publications],
    }


def _reading_of_all(publications: Sequence[Publication]) -> list[str]:
    """How to read the tables of several metrics, as far as that is the same for all."""
    first, *others = publications
    return [
        text for text in first.reading if others and all(text in each.reading for each in others)
    ]


def _section(made: Publication, export: Export | None, said: Sequence[str]) -> Section:
    figure = figure_of(made)
    title, basis, table = title_of(made), basis_of(made), table_of(made)
    return Section(
        name=made.metric,
        title=title,
        asks=question_in_words(made.versions[0]),
        basis=basis,
        cautions=list(map(visible, made.cautions)),
        gives_away=_gives_away(made),
        shares=any(row.items for row in made.rows),
        wide=any(row.people is not None for row in made.rows),
        picture="" if figure is None else svg(figure, PHONE_WIDTH, "page", heading=False),
        table=replace(table, caption=_caption(made)),
        notes=[
            *(visible(text) for text in made.reading if text not in said),
            *map(visible, made.notes),
        ],
        versions=[
            Version(
                each.version,
                "" if export is None else registered_on(export, each.version),
                counted(each.reports, "report"),
                visible(each.canonical),
            )
            for each in made.versions
        ],
        registered=None if export is None else metric_history(made, export),
    )


def _gives_away(made: Publication) -> list[str]:
    """What a report gives away; by version where versions differ."""
    texts = list(dict.fromkeys(each.gives_away for each in made.versions))
    if len(texts) == 1:
        return texts
    return [f"Version {each.version[:12]}: {each.gives_away}" for each in made.versions]


def _caption(made: Publication) -> str:
    level = f"{made.level:.0%}"
    if all(row.items for row in made.rows):
        return f"Shares, with intervals that cover all of them at once with probability {level}"
    return f"Numbers, with intervals that each cover with probability {level}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(__package__ or "", TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
