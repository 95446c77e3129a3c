"""Publications drawn: as text, as one file, and as a public folder."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import secrets
import shutil
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.media.html import environment, own_policy, stylesheet
from deniable_aggregator.media.markdown import document_markdown
from deniable_aggregator.media.pictures.svg import PHONE_WIDTH, svg
from deniable_aggregator.media.row_formats import spreadsheet_safe
from deniable_aggregator.telling.publication.document import (
    document_of,
    everything_registered,
    metric_history,
    question_in_words,
    registered_on,
)
from deniable_aggregator.telling.wording import counted, days_between
from deniable_shared import __version__
from deniable_shared.characters import visible, visible_json
from deniable_shared.errors import ParameterError
from deniable_shared.installed import digest_of
from deniable_shared.planning.disclosure_figures import most_certain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.telling.document import Document, Table
    from deniable_aggregator.telling.publication.export import Export, OpenedExport
    from deniable_aggregator.telling.publication.publication import (
        Publication,
        PublishedRow,
        Rounded,
    )


COLUMNS: Final = (
    "application", "metric", "segment", "segment_low", "segment_high", "since", "until", "measure",
    "value", "items", "estimate", "low", "high", "reports", "reports_low", "reports_high",
    "of_reports", "people", "presence", "level", "minimum", "epsilon", "version",
    "reports_left_out", "simulated",
)  # fmt: skip
"""Of CSV."""


def csv_text(publications: Iterable[Publication]) -> str:
    r"""CSV (RFC 4180) with a header and lines that end in \n; empty where something is not known.

    Numbers are as they were estimated, rounded, and not cut off at 0 and 1. A text that a
    spreadsheet would take for a formula gets an apostrophe in front, as in the long table of
    `tables`; what is invisible or acts on a terminal is named instead.

    Args:
        publications: one after the other.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for made in publications:
        for row in made.rows:
            writer.writerow(map(_cell, _csv_row(made, row)))
    return out.getvalue()


def _csv_row(made: Publication, row: PublishedRow) -> list[object]:
    return [
        made.application,
        made.metric,
        made.segment,
        *_three(made.segment_share)[1:],
        made.since.isoformat(),
        made.until.isoformat(),
        row.measure,
        row.label,
        row.items,
        *_three(row.number),
        *_three(row.reports),
        row.of_reports,
        row.people,
        row.presence,
        made.level,
        made.minimum,
        f"{max(version.epsilon for version in made.versions):.6g}",
        " ".join(version.version for version in made.versions),
        made.reports_left_out,
        "true" if made.simulated else "false",
    ]


def _three(number: Rounded | None) -> list[object]:
    """A number and its interval; whole ones without a point."""
    if number is None:
        return [None] * 3
    three = (number.estimate, number.low, number.high)
    return [int(end) if end is not None and end.is_integer() else end for end in three]


def _cell(value: object) -> object:
    return spreadsheet_safe(visible(value)) if isinstance(value, str) else value


def json_text(publications: Iterable[Publication]) -> str:
    """JSON: a list with an object for each; no character of it acts on a terminal.

    Args:
        publications: in their order.
    """
    data: Any = msgspec.to_builtins(list(publications))
    return visible_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"


def markdown_text(publications: Iterable[Publication]) -> str:
    """Markdown: a heading, a table and notes for each.

    Args:
        publications: in their order.
    """
    return "\n".join(document_markdown(document_of(made)) for made in publications)


@dataclass(frozen=True)
class Section:
    """What a page says of one metric.

    Attributes:
        document: its table and what stands above it.
        shares: whether the numbers are shares.
        wide: whether the table has so many columns that it stands below the picture.
        picture: as SVG; empty if there is nothing to draw.
        asks: what devices are asked, by the newest version.
        gives_away: what a device gives away, by version, as far as these differ.
        notes: how to read the table, beside what is true of all metrics of the page.
        versions: whose reports were counted: how many, the id, the day on which it was registered
            last (empty without a history), and the text whose digest the id is.
        registered: all versions that were ever registered.
    """

    document: Document
    shares: bool
    wide: bool
    picture: str
    asks: str
    gives_away: Sequence[str]
    notes: Sequence[str]
    versions: Sequence[tuple[str, str, str, str]]
    registered: Table | None


def sheet(publications: Sequence[Publication]) -> str:
    """One HTML file without scripts that loads nothing.

    Args:
        publications: in their order.
    """
    style = style_sheet()
    return _rendered("sheet", publications, None, policy=own_policy(style), style=style)


def page(opened: OpenedExport, version: str) -> str:
    """The page of a public folder; it needs the style sheet beside it.

    Args:
        opened: the export that it is made of.
        version: of Deniable.
    """
    export = opened.export
    return _rendered(
        "page",
        export.metrics,
        export,
        policy="default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'",
        application=export.application,
        registered=everything_registered(export),
        head=export.history.head,
        entries=counted(len(export.history.entries), "entry", "entries"),
        public_key=opened.public_key,
        made_with=export.made_with,
        version=version,
        digest=sha256(opened.document).hexdigest(),
    )


def style_sheet() -> str:
    """The style of both: that of reports, and what they do not have."""
    return stylesheet("style.css", "report/report.css", "publication/publication.css")


def _rendered(
    name: str, publications: Sequence[Publication], export: Export | None, **more: Any
) -> str:
    """A template with the metrics' sections, and what stands before them once for all."""
    since = min(made.since for made in publications)
    until = max(made.until for made in publications)
    days = days_between(since, until)
    epsilon = max(version.epsilon for made in publications for version in made.versions)
    first, *others = publications
    reading = [  # of several metrics, as far as it is the same for all
        text for text in first.reading if others and all(text in made.reading for made in others)
    ]
    return (
        environment()
        .get_template(f"publication/{name}.html.jinja")
        .render(
            title=f"{first.application}: what its telemetry says, {days}",
            epsilon=f"{epsilon:.4g}",
            certain=most_certain(epsilon),
            reading=reading,
            sections=[_section(made, export, reading) for made in publications],
            **more,
        )
    )


def _section(made: Publication, export: Export | None, said: Sequence[str]) -> Section:
    document = document_of(made)
    figure = document.figure
    return Section(
        document=document,
        shares=any(row.items for row in made.rows),
        wide=any(row.people is not None for row in made.rows),
        picture="" if figure is None else svg(figure, PHONE_WIDTH, "page", heading=False),
        asks=question_in_words(made.versions[0]),
        gives_away=_gives_away(made),
        notes=[*(text for text in made.reading if text not in said), *made.notes],
        versions=[
            (
                counted(version.reports, "report"),
                version.version,
                "" if export is None else registered_on(export, version.version),
                version.canonical,
            )
            for version in made.versions
        ],
        registered=None if export is None else metric_history(made, export),
    )


def _gives_away(made: Publication) -> list[str]:
    """What a report gives away; by version where versions differ."""
    texts = list(dict.fromkeys(version.gives_away for version in made.versions))
    if len(texts) == 1:
        return texts
    return [
        f"Version {version.version[:VERSION_LETTERS]}: {version.gives_away}"
        for version in made.versions
    ]


FORMATS: Final[Mapping[str, Callable[[Sequence[Publication]], str]]] = {
    "csv": csv_text,
    "json": json_text,
    "md": markdown_text,
    "html": sheet,
}
"""What a table can be written as, by the names of files."""


HISTORY: Final = "history.json"
"""What ``deniable metrics history --from`` reads."""

EXPORT: Final = "export.json"
"""The export itself, from which all other files were made."""


def folder_files(opened: OpenedExport) -> Mapping[str, bytes]:
    """The files of a public page by their names, which depend on nothing but the export.

    No clock, locale, directory or order of a set enters them.

    Args:
        opened: the export.
    """
    texts = {"index.html": page(opened, __version__), "style.css": style_sheet()}
    for made in opened.export.metrics:
        texts[f"data/{made.metric}.csv"] = csv_text([made])
        texts[f"data/{made.metric}.json"] = json_text([made])
        figure = document_of(made).figure
        if figure is not None:
            texts[f"pictures/{made.metric}.svg"] = svg(figure)
    history: Any = msgspec.to_builtins(opened.export.history)
    texts[HISTORY] = json.dumps(history, indent=2) + "\n"
    files = {name: text.encode() for name, text in texts.items()}
    return dict(sorted({**files, EXPORT: opened.document}.items()))


def digest_of_folder(contents: Mapping[str, bytes]) -> str:
    """One digest of all files: SHA-256 over the sorted lines of ``sha256sum``.

    Args:
        contents: as of `folder_files`.
    """
    return digest_of(
        {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    )


def write_folder(contents: Mapping[str, bytes], path: Path) -> None:
    """Writes the files of a public page into a folder that appears whole, or not at all.

    Args:
        contents: as of `folder_files`.
        path: of the folder, which must not be there yet, or be empty.

    Raises:
        ParameterError: if there is something at the path.
        OSError: if a file cannot be written.
    """
    path = path.resolve()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ParameterError("folder", "a new or an empty folder", str(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        for name, content in contents.items():
            file = part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        if path.exists():  # empty: not every system replaces it
            path.rmdir()
        part.rename(path)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
