"""What a version of a metric asks devices, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.sentences.privacy import every_in_words
from deniable_aggregator.sentences.wording import counted, shown_value
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.publication.publication import PublishedVersion

MOST_VALUES: Final = 12
"""Of a sentence; the version's text has all."""


def question_in_words(version: PublishedVersion) -> str:
    """What devices are asked, such as "One of 2 values, at most once a day: light, dark".

    Args:
        version: whose text is a canonical spec.
    """
    spec = Spec.from_canonical_text(version.canonical)
    often = every_in_words(spec.every)
    if spec.segments is not None:
        own, by = spec.segments.of.domain, spec.segments.by
        text = f"{_values(own, often, spec.segments.of.type)} Together with {by.name}: "
        return f"{text}{_listed(by.domain)}."
    if spec.type == "attributes":
        names = _listed([each.name for each in spec.attributes])
        return f"{counted(len(spec.attributes), 'attribute')}, {often}: {names}."
    if spec.range is not None:
        low, high = (f"{float(end):g}" for end in spec.range)
        return f"A number from {low} to {high}, {often}."
    if spec.type == "string":
        return f"A text, {often}."
    return _values(spec.values, often, spec.type)


def _values(values: Sequence[str], often: str, kind: str) -> str:
    if kind == "boolean":
        return f"Yes or no, {often}."
    return f"One of {counted(len(values), 'value')}, {often}: {_listed(values)}."


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MOST_VALUES
    shown = ", ".join(map(shown_value, values[:MOST_VALUES]))
    return f"{shown} and {more:,} more" if more > 0 else shown
