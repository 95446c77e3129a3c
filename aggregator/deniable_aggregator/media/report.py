"""Reports of all metrics over some days, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.telling.report.composing import compose
from deniable_aggregator.telling.report.gathering import Failure, Report, gather
from deniable_shared.errors import ParameterError
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.asking.questions import Source
    from deniable_aggregator.telling.report.gathering import OnProgress

__all__ = [
    "FORMS",
    "Failure",
    "Form",
    "Report",
    "write_report",
]


Form = Literal["html", "md"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)


def write_report(
    source: Source,
    path: str | os.PathLike[str],
    *,
    since: date,
    until: date,
    metrics: Sequence[str] = (),
    compare: bool = True,
    without_key: Sequence[str] = (),
    form: Form | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Asks about all metrics and writes what was answered into one file.

    The file appears whole, or, if it cannot be written, not at all.

    Args:
        source: what is asked.
        path: the file; what is there is replaced.
        since: the first day.
        until: the last day.
        metrics: only these; none for all.
        compare: whether the days are compared with as many days before.
        without_key: keys whose reports are left out: labels, ids or the first letters of them.
        form: "html" or "md"; None to go by the file's name.
        on_progress: told how many questions are answered, of how many, and which is asked.

    Returns:
        The answers, and which questions had none.

    Raises:
        AskingError: if not even the metrics are answered; nothing is written then.
        ParameterError: if an argument cannot be.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    chosen = form or _form_of(path)
    if not since <= until:
        raise ParameterError("since", f"not after until, {until}", str(since))
    if not path.parent.is_dir():
        raise ParameterError("path", "a file in a folder that there is", str(path))
    report = gather(
        source,
        DayRange(since, until),
        metrics=metrics,
        compare=compare,
        without_key=without_key,
        on_progress=on_progress,
    )
    with replaced_file(path) as file:
        file.write(render(report, chosen).encode())
    return report


def render(report: Report, form: Form) -> str:
    """The text of a report.

    Args:
        report: its answers.
        form: "html" or "md".
    """
    document = compose(report)
    if form == "html":
        from deniable_aggregator.media.html import report_html

        return report_html(document)
    from deniable_aggregator.media.markdown import markdown

    return markdown(document)


def _form_of(path: Path) -> Form:
    forms: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise ParameterError("path", "a name that ends in .html or .md, or a form", str(path))
    return form
