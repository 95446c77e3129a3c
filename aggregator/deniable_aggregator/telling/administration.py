"""Tables of what is administered: metrics, keys, and the history of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import versions_by_name, whole_metric
from deniable_aggregator.telling.document import Column, Document, Table, text_table
from deniable_aggregator.telling.wording import counted, renamed_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.administration import Key, Metric, Metrics
    from deniable_aggregator.answers.registry_history import (
        Compared,
        HistoryEntry,
        RegistryHistory,
        Standing,
    )

SHOWN_DIGITS: Final = 12
"""Of the id of a version; enough to tell versions apart."""

EVERY: Final = {"day": "a day", "week": "a week", "month": "a month", "once": "once"}
"""How often a device reports."""

_NO_METRICS: Final = (
    "There are no metrics yet. With a key of scope admin: deniable metrics register metrics.toml"
)
_STANDINGS: Final[dict[Standing, str]] = {
    "newest": "registered, the newest version",
    "earlier": "registered; another version was registered later",
    "removed": "removed: reports of it are refused",
    "unknown": "NEVER REGISTERED: reports of it are refused",
}


def metrics_document(answer: Metrics) -> Document:
    """All metrics, a row for each with its versions together.

    Args:
        answer: all versions of all metrics.
    """
    versions = versions_by_name(answer.metrics)
    if not versions:
        return Document(metric="", title="", finding=_NO_METRICS)
    warnings = [each.message for each in answer.notices]
    metrics = [whole_metric(some) for some in versions.values()]
    table = text_table(
        "metrics",
        "Registered metrics",
        [
            Column(heading="metric", words=True),
            Column(heading="type", words=True, minor=True),
            Column(heading="reports"),
            Column(heading="a day", minor=True),
            Column(heading="first day", words=True, minor=True),
            Column(heading="last day", words=True),
            Column(heading="epsilon", words=True),
            Column(heading="what it is", words=True, folds=True),
        ],
        [
            (
                each.name,
                _type(each, len(versions[each.name])),
                f"{each.reports:,}",
                _reports_a_day(each),
                str(each.first_day or "none yet"),
                str(each.last_day or ""),
                f"{each.epsilon:.3g} {EVERY.get(each.every, each.every)}",
                each.description,
            )
            for each in metrics
        ],
    )
    return Document(
        metric=answer.application,
        title=answer.application,
        also=counted(len(versions), "metric"),
        cautions=warnings,
        tables=[table],
        below=list(_metrics_notes(metrics)),
    )


def keys_table(keys: Sequence[Key]) -> Table:
    """A row for each key, without its token.

    Args:
        keys: in their order.
    """
    return text_table(
        "keys",
        "Keys",
        [
            Column(heading="id", words=True),
            Column(heading="scope", words=True),
            Column(heading="application", words=True, folds=True),
            Column(heading="label", words=True, folds=True),
            Column(heading="created", words=True, minor=True),
            Column(heading="last used", words=True, minor=True),
            Column(heading="state", words=True, folds=True),
        ],
        [
            (
                key.id, key.scope, key.application, key.label, str(key.created),
                str(key.last_used or ""), _state(key),
            )
            for key in keys
        ],
    )  # fmt: skip


def history_table(history: RegistryHistory) -> Table:
    """A row for each entry of a registry's history, the oldest first.

    Args:
        history: whole.
    """
    return text_table(
        "history",
        "Registry history",
        [
            Column(heading="entry"),
            Column(heading="day", words=True),
            Column(heading="metric", words=True),
            Column(heading="version", words=True),
            Column(heading="what", words=True, folds=True),
        ],
        [
            (
                str(entry.sequence),
                str(entry.day),
                entry.metric,
                (entry.version or "")[:SHOWN_DIGITS],
                _what(entry),
            )
            for entry in history.entries
        ],
    )


def comparison_table(compared: Sequence[Compared]) -> Table:
    """A row for each metric of a registry file: whether the history has it.

    Args:
        compared: with a history.
    """
    rows = []
    for each in compared:
        entry = ("", "") if each.entry is None else (str(each.entry.sequence), str(each.entry.day))
        rows.append((each.metric, each.version[:SHOWN_DIGITS], *entry, _STANDINGS[each.standing]))
    return text_table(
        "compared",
        "Metrics of the file",
        [
            Column(heading="metric", words=True),
            Column(heading="version", words=True),
            Column(heading="entry"),
            Column(heading="day", words=True),
            Column(heading="", words=True, folds=True),
        ],
        rows,
    )


def _metrics_notes(metrics: Sequence[Metric]) -> Iterator[str]:
    """What is left out, and where there is more; a line each."""
    for each in metrics:
        if each.excluded_reports:
            yield (
                f"{each.name}: {each.excluded_reports:,} reports are left out, as their keys are "
                "excluded."
            )
    yield (
        "Reports are of devices and days, not of people. deniable metrics show METRIC says a "
        "metric's values and versions, deniable health whether reports look honest."
    )


def _type(metric: Metric, versions: int) -> str:
    text = str(metric.type)
    if metric.candidates:
        text += ", discovers" if metric.discovers else ", needs values"
    if metric.segments:
        text += f" by {metric.segments.name}"
    return f"{text}, {versions} versions" if versions > 1 else text


def _reports_a_day(metric: Metric) -> str:
    if metric.first_day is None or metric.last_day is None:
        return ""
    mean = metric.reports / ((metric.last_day - metric.first_day).days + 1)
    return f"{mean:,.0f}" if mean >= 1 or not metric.reports else "less than 1"


def _state(key: Key) -> str:
    """Whether a key is valid, in words."""
    if key.revoked is not None:
        states = [f"revoked {key.revoked}"]
    elif not key.valid:
        states = [f"expired {key.expires}"]
    else:
        states = [f"valid until {key.expires}" if key.expires else "valid"]
    if key.excluded is not None:
        states.append(f"excluded {key.excluded}")
    return ", ".join(states)


def _what(entry: HistoryEntry) -> str:
    if entry.act == "removed":
        return "removed, with all of its versions and reports"
    limits = {
        "reported until": entry.expires,
        "days its sums are kept": entry.retention_days,
        "devices that must have a string before it is shown": entry.minimum_devices,
    }
    named = [f"{name}: {value}" for name, value in limits.items() if value is not None]
    if entry.renamed:
        named.append(f"values are told by new names: {renamed_in_words(entry.renamed)}")
    if entry.act == "limits changed":
        return f"limits changed: {'; '.join(named) or 'none any more'}"
    return "; ".join([entry.summary, *named])
