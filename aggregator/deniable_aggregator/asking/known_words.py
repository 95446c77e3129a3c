"""What is known of a metric: the words that its questions take, to be completed and chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.wording import SHOWN_OF_IDS, key_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import Known


class KnownWord(NamedTuple):
    """A word that questions about a metric take.

    Attributes:
        word: such as a value, or the whole id of a version.
        typed: the same as people type it.
        label: what it means; empty for nothing but itself.
    """

    word: str
    typed: str
    label: str = ""


def known_words(known: Known, details: MetricDetails) -> list[KnownWord]:
    """The words of a kind, each once.

    Args:
        known: values, segments, versions with the newest first, or keys.
        details: of the metric.
    """
    return list(dict.fromkeys(_words(known, details)))


def _words(known: Known, details: MetricDetails) -> Iterator[KnownWord]:
    if known == "keys":
        for key in details.keys:
            label = f"{key_in_words(key.key, key.label)}, {key.reports:,} reports"
            yield KnownWord(key.key, key.label or key.key, label)
    for version in details.versions:
        if known == "versions":
            since = version.first_day or version.registered
            shown = f"{version.version[:SHOWN_OF_IDS]} since {since}, {version.reports:,} reports"
            yield KnownWord(version.version, version.version[:VERSION_LETTERS], shown)
        elif known == "segments" and version.segments:
            for segment in version.segments.values:
                yield KnownWord(segment, segment, segment)
        elif known == "values":
            for value in version.values:
                yield KnownWord(value, value)
            for attribute in version.attributes or ():
                values = ["true"] if attribute.type == "boolean" else attribute.values
                for value in values:
                    yield KnownWord(*[f"{attribute.name}={value}"] * 2)
