"""What is known of a metric: the words that its questions take, to be completed and chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import Known

SHORT: Final = 12
"""So many letters of a version's id are enough to name it."""


def known_words(known: Known, details: MetricDetails) -> dict[str, str]:
    """The words of a kind, each with what it means.

    Args:
        known: values, segments, versions with the newest first, or keys by their labels.
        details: of the metric.
    """
    return dict(_words(known, details))


def _words(known: Known, details: MetricDetails) -> Iterator[tuple[str, str]]:
    if known == "keys":
        for key in details.keys:
            yield key.label or key.key, f"{key.reports:,} reports"
    for version in details.versions:
        if known == "versions":
            yield version.version[:SHORT], f"since {version.registered}"
        elif known == "segments" and version.segments:
            for segment in version.segments.values:
                yield segment, version.segments.name
        elif known == "values":
            for value in version.values:
                yield value, ""
            for attribute in version.attributes or ():
                values = ["true"] if attribute.type == "boolean" else attribute.values
                for value in values:
                    yield f"{attribute.name}={value}", ""
