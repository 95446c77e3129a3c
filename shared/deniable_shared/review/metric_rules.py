"""What a reviewer should know of one metric: a rule for each code of a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from deniable_shared.letters.levels import level_of
from deniable_shared.planning.detection import detectable_share
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.registry import Metric
from deniable_shared.review import words
from deniable_shared.review.finding import Finding
from deniable_shared.review.matching import (
    MOST_EIGHTH,
    MOST_PAIR,
    Matching,
    matching,
    matching_text,
)

if TYPE_CHECKING:
    import re

    from deniable_shared.spec import Spec

LARGE_EPSILON: Final = 4

_COUNTED: Final = ("number", "distribution")
"""Types of which a description may speak of something that is counted or measured."""

FEWEST_OF_A_SEGMENT: Final = 1_000
"""An answer about a segment of fewer devices says much of each of them."""


COARSE: Final = 8
"""A list of fewer values names nobody by what it is about, such as a reminder of birthdays."""

SPARE_LEVELS: Final = 2
"""So many levels more than a model suggests are too many."""

_ABSENT_FOR: Final = {
    "boolean": "absent = false",
    "category": "a category as absent",
    "distribution": "as absent the number that stands for none, such as 0",
    "number": "as absent the number that stands for none, such as 0",
    "set": 'absent = "none"',
}
"""By the type of a metric's values; others have no such field."""


def metric_findings(metric: Metric, devices: int) -> Iterator[Finding]:
    """What the rules find of one metric, but not whether it is ignored.

    Args:
        devices: among how many a device is to be hidden.
    """
    for code, rule in METRIC_RULES.items():
        result = rule(metric, devices)
        if result is not None:
            yield Finding(code, metric.spec.name, *result)


def _changing_memoized(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    if spec.mechanism.epsilon_permanent is None:
        return None
    hides = (
        "the device remembers its answers, which hides a value that stays, but not one that changes"
    )
    if spec.reports_absence:
        return (
            f"{hides}. Where absence is reported, values change all the time",
            'leave out repeat = "memoize", or absent',
        )
    word = words.found_in(words.CHANGES, spec.name, metric.description)
    if word is None or spec.every == "once":
        return None
    return (
        f"{hides}. {word!r} in its name or description sounds like a value that changes: when it "
        "does may be seen for certain",
        'leave out repeat = "memoize", and report less often or with a smaller epsilon',
    )


def _identifier(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    word = _word_of_a_list(words.IDENTIFIERS, metric)
    if word is None or (spec.type in _COUNTED and not _has_ending(spec.name, word)):
        return None
    shown = (
        "whatever enough devices hold is shown as it is, and what one has is a name for it"
        if spec.letters is not None
        else "what only one device has is a name for it, and is of no use in a share"
    )
    return (
        f"{word!r} in its name or description sounds like an identifier: {shown}",
        "do not collect it; collect a property that many devices have, such as a model or a year",
    )


def _quasi_identifier(metric: Metric, _: int) -> tuple[str, str] | None:
    word = _word_of_a_list(words.QUASI_IDENTIFIERS, metric)
    if word is None:
        return None
    return (
        f"{word!r} in its name or description: beside other answers, public lists make a name of "
        "it",
        "collect it coarsely, such as a region or an age group, once, and not beside others of its "
        "kind",
    )


def _word_of_a_list(pattern: re.Pattern[str], metric: Metric) -> str | None:
    """The first match in the names of what a metric asks for, or in its description.

    Flags name nobody, and of short lists only their names count.
    """
    spec = metric.spec
    asked: list[tuple[str, str, tuple[str, ...]]]
    asked = [(each.name, each.type, each.domain) for each in spec.attributes]
    if spec.segments is not None:
        of, by = spec.segments.of, spec.segments.by
        asked = [(spec.name, of.type, of.domain), (by.name, by.type, by.domain)]
    for name, kind, values in asked or [(spec.name, spec.type, spec.values)]:
        if kind == "boolean":
            continue
        fine = kind != "category" or len(values) >= COARSE
        word = words.found_in(pattern, name, metric.description if fine else "")
        if word is not None:
            return word
    return None


def _has_ending(name: str, word: str) -> bool:
    """Whether a name ends with what was found, and so is about it and not about how many."""
    return name.replace("_", " ").casefold().endswith(word)


def _events_only(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    if spec.reports_absence or spec.every == "once":
        return None
    remedy = _ABSENT_FOR.get(spec.value_type)
    word = words.found_in(words.EVENTS, spec.name, metric.description)
    if remedy is None or word is None:
        return None
    return (
        f"{word!r} in its name or description: if it is recorded only when that "
        "happens, shares and means are of devices to which it happened, and not of all; and that "
        "a device reports at all tells that it happened",
        f"give {remedy}, or record it in every period",
    )


def _first_value(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    word = words.found_in(words.SEVERAL, spec.name, metric.description)
    # A number may count them, and is one value then.
    if word is None or spec.range is not None or spec.picks or not spec.may_pick:
        return None
    return (
        f"{word!r} in its name or description: a device may have several in a {spec.every}, of "
        "which the first alone is reported, so what comes at a start has too large a share",
        'give pick = "random", or ignore this if there is one',
    )


def _free_text(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    if not spec.is_open:
        return None
    word = words.found_in(words.FREE_TEXT, spec.name, metric.description)
    if word is None:
        return None
    consequence = (
        "texts that enough devices have are shown as they are"
        if spec.letters is not None
        else "whoever guesses a text can ask how common it is"
    )
    return (
        f"{word!r} in its name or description: what people write may name them, and {consequence}",
        "collect a property of the text instead, such as a category or its length",
    )


def _large_epsilon(metric: Metric, _: int) -> tuple[str, str] | None:
    epsilon = metric.spec.mechanism.epsilon
    if not epsilon > LARGE_EPSILON:
        return None
    return (
        f"an epsilon of {epsilon:.4g} is above {LARGE_EPSILON}: one report can make even odds "
        f"{most_certain(epsilon)} sure, which is nearly the value itself",
        "take a smaller epsilon, and more devices or a longer period",
    )


def _linkable_reports(metric: Metric, devices: int) -> tuple[str, str] | None:
    found = matching(metric.spec.mechanism, devices)
    if found is None or devices < 2 or not _is_linkable(found):
        return None
    return (
        "its reports repeat permanent noise, which links them without any address while its value "
        f"stays: {matching_text(found, devices)}",
        "take an epsilon further below epsilon_permanent, fewer bits, buckets or values, or report "
        "less often; a string that names no mechanism has 32 buckets",
    )


def _is_linkable(found: Matching) -> bool:
    return found.pair > MOST_PAIR or found.eighth > MOST_EIGHTH


def _no_description(metric: Metric, _: int) -> tuple[str, str] | None:
    if metric.description.strip():
        return None
    return (
        "nobody says what is collected, so nobody can judge it",
        "give a description that users may read",
    )


def _segments_too_fine(metric: Metric, devices: int) -> tuple[str, str] | None:
    spec = metric.spec
    if spec.segments is None:
        return None
    pairs, smallest = len(spec.values), detectable_share(spec.mechanism, devices)
    if smallest is not None and smallest * pairs <= 1:
        return None
    least = "not even one that all have" if smallest is None else f"none below {smallest:.1%}"
    return (
        f"{pairs:,} pairs of a value and a segment have {1 / pairs:.1%} each on average, and "
        f"{devices:,} devices show {least}: most of it is collected for nothing",
        "take fewer segments or values, or a larger epsilon",
    )


def _small_segments(metric: Metric, devices: int) -> tuple[str, str] | None:
    spec = metric.spec
    if spec.segments is None:
        return None
    count = len(spec.segments.by.domain)
    if devices / count >= FEWEST_OF_A_SEGMENT:
        return None
    return (
        f"{devices:,} devices in {count:,} segments are {devices / count:,.0f} in each on average: "
        f"an answer about fewer than {FEWEST_OF_A_SEGMENT:,} says much of every one of them",
        "take fewer segments, or leave them out",
    )


def _silence_tells(metric: Metric, _: int) -> tuple[str, str] | None:
    spec = metric.spec
    if spec.type == "set" and spec.every != "once" and not spec.reports_absence:
        return (
            "a device whose application records nothing, perhaps as it has no items, is silent, "
            "and that silence reveals it without noise",
            'give absent = "none", or record the empty set, too, and ignore this',
        )
    lists = list(_lists_without_others(metric.spec))
    if not lists:
        return None
    of_lists = "" if lists == ["its values"] else f" of {' and '.join(lists)}"
    return (
        f"complete = true{of_lists} says that every device has one of the listed values. A "
        "device with another value sends nothing, and that silence reveals it without noise",
        'give other = "another" (or absent, of a category), or ignore this if there can be no '
        "other value",
    )


def _lists_without_others(spec: Spec) -> Iterator[str]:
    if spec.segments is not None:
        own = spec.segments.of
        if own.type == "category" and own.other is None and not spec.reports_absence:
            yield "its values"
        if spec.segments.by.other is None:
            yield "its segments"
    elif spec.type == "category" and spec.other is None and not spec.reports_absence:
        yield "its values"
    for attribute in spec.attributes:
        if attribute.type == "category" and attribute.other is None:
            yield f"attribute {attribute.name}"


def _levels_unlike_model(metric: Metric, _: int) -> tuple[str, str] | None:
    code = metric.spec.letters
    left_out = None if code is None else code.model.left_out
    if code is None or left_out is None:
        return None
    remedy = f"set longest_bits = {left_out.longest_bits} instead of what it has"
    if left_out.most > code.bits:
        return (
            f"more than 10% of the strings that its model was not trained on are cut off: they "
            f"need more than the {code.bits} bits that are sent",
            remedy,
        )
    if code.levels < 1 + level_of(left_out.longest_bits) + SPARE_LEVELS:
        return None
    return (
        f"98% of the strings that its model was not trained on end within "
        f"{1 + level_of(left_out.longest_bits)} of its {code.levels} levels, and every further one "
        "takes devices from them",
        remedy,
    )


Rule = Callable[[Metric, int], tuple[str, str] | None]
"""From a metric, and among how many devices it is to be hidden, to a reason and a remedy."""

METRIC_RULES: Final[dict[str, Rule]] = {
    "silence-tells": _silence_tells,
    "free-text": _free_text,
    "identifier": _identifier,
    "quasi-identifier": _quasi_identifier,
    "large-epsilon": _large_epsilon,
    "linkable-reports": _linkable_reports,
    "events-only": _events_only,
    "first-value": _first_value,
    "changing-memoized": _changing_memoized,
    "segments-too-fine": _segments_too_fine,
    "small-segments": _small_segments,
    "levels-unlike-model": _levels_unlike_model,
    "no-description": _no_description,
}
"""What is looked for in every metric; ``repeated-value`` looks at several at once."""
