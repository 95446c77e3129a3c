"""What an answer found, in a sentence: what leads, where numbers are, what can't be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.measured import NO_ITEMS
from deniable_aggregator.telling.cautions import basis, cautions
from deniable_aggregator.telling.changes import change_finding
from deniable_aggregator.telling.checks import health_finding
from deniable_aggregator.telling.effects import effects_sentence
from deniable_aggregator.telling.leaders import MOST_NAMED, leaders, untold_in_words
from deniable_aggregator.telling.meaning import closeness_in_words
from deniable_aggregator.telling.numbers import (
    PAIR,
    RECORDS,
    TRUE,
    beyond_of,
    limits_of,
    named,
    range_of,
    range_of_all,
    size_of,
)
from deniable_aggregator.telling.ranges import bound_in_words, number_ends, verb_of
from deniable_aggregator.telling.series_findings import series_finding
from deniable_aggregator.telling.wording import (
    as_sentence,
    counted,
    days_between,
    listed,
    shown_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured

MOST_ATTRIBUTES: Final = 6
MOST_QUANTILES: Final = 3
_MEDIAN: Final = 0.5
_HALF: Final = 0.5
"""Above this share it is most of the reports."""
_HIGH: Final = (0.9, 0.95, 0.99)
"""Which quantile is named beside the median, if more were asked for than fit a sentence."""


def sentence(answer: Answer) -> str:
    """An answer in a few sentences: what to know first, what was found, what it is based on.

    Args:
        answer: of any kind.
    """
    parts = [*cautions(answer), finding(answer), closeness_in_words(answer), basis(answer)]
    return " ".join(part for part in parts if part)


def finding(answer: Answer) -> str:
    """What an answer found, in one sentence, without warnings.

    Args:
        answer: of any kind.
    """
    if answer.compares:
        sentences = as_sentence(change_finding(answer)), effects_sentence(answer), _picked(answer)
        return " ".join(filter(None, sentences))
    if answer.question.name == "series":
        text = series_finding(answer)
    elif answer.head.kind == "strings":
        text = strings_finding(answer)
    elif answer.head.kind == "health":
        text = health_finding(answer)
    elif answer.head.kind == "shares":
        text = shares_finding(answer)
    else:
        text = number_finding(answer)
    return " ".join(filter(None, (as_sentence(text), _picked(answer))))


def _picked(answer: Answer) -> str:
    """Whose values count where a device reports a random one of several."""
    if not _has_picked(answer):
        return ""
    what = "A share" if answer.head.kind == "shares" else "This"
    return f"{what} is of a device's values, averaged over devices."


def shares_finding(answer: Answer) -> str:
    """The largest shares, and which values can't be told from zero.

    Args:
        answer: about shares.
    """
    text = "; ".join(_clauses(answer)) or "no value was asked for"
    if answer.head.segment is not None:
        size = answer.one("segment size")
        of_all = f" ({range_of(size)} of all)" if size is not None else ""
        text = f"within {shown_value(answer.head.segment)}{of_all}: {text}"
    return text


def _clauses(answer: Answer) -> Iterator[str]:
    shares = answer.of("share")
    if "several" in answer.head.meanings:
        of = "devices" if _is_one_report_of_each(answer) else "reports"
        yield from _of_values(shares, of)
        yield f"a {of.removesuffix('s')} may have several: shares do not add up to 100%"
        yield from _of_sizes(answer)
    elif any(version.mechanism.get("name") in RECORDS for version in answer.head.versions):
        yield from _of_attributes(shares)
    elif is_flag(shares):
        yield _flag(shares[0])
    else:
        yield from _of_values(shares)
    if lifts := answer.of("lift"):
        yield from _of_pairs(lifts)
    for number in answer.of("combined", "rest"):
        mixed = ", which some versions don't tell apart" * (number.measure == "rest")
        yield f"{named(number)}{mixed}: {range_of_all(number)} of reports"


def _is_one_report_of_each(answer: Answer) -> bool:
    """Whether a share of reports is one of devices; it is not if random values are reported."""
    counts = answer.head.period_counts
    return counts is not None and counts.count == 1 and not _has_picked(answer)


def _has_picked(answer: Answer) -> bool:
    return any(version.picked for version in answer.head.versions)


def is_flag(shares: Sequence[Measured]) -> bool:
    """Whether these are the shares of a boolean metric: that of true, and nothing else.

    Args:
        shares: of an answer.
    """
    return [number.value for number in shares] == [TRUE]


def _flag(share: Measured) -> str:
    if share.told:
        return f"true: {range_of_all(share)} of reports"
    return f"true can't be told from zero ({range_of_all(share)} of reports)"


def _of_sizes(answer: Answer) -> Iterator[str]:
    """How many items devices have, and how much too low shares may be because of large sets."""
    for number in answer.of("items per device"):
        yield f"on average {range_of(number)} items"
    for number in answer.of("set size"):
        line = f"{range_of(number)} have {named(number)}"
        if number.value != NO_ITEMS:
            low = bound_in_words("points", max(number.high or 0.0, 0.0))
            line += f", so shares may be up to {low} too low"
        yield line


def _of_values(shares: Sequence[Measured], of: str = "reports") -> Iterator[str]:
    above_zero = sorted((number for number in shares if number.told), key=size_of, reverse=True)
    untold = [number for number in shares if not number.told]
    if above_zero:
        yield leaders(above_zero, len(shares), of)
    if len(above_zero) > MOST_NAMED:
        more = len(above_zero) - MOST_NAMED
        yield f"{counted(more, 'more value')} {'is' if more == 1 else 'are'} above zero"
    if untold:
        yield untold_in_words(untold, others=bool(above_zero))


def _of_attributes(shares: Sequence[Measured]) -> Iterator[str]:
    """Each attribute by itself: a flag, or its values."""
    groups: dict[str, list[Measured]] = {}
    for number in shares:
        if PAIR not in (number.value or ""):
            groups.setdefault((number.value or "").partition("=")[0], []).append(number)
    for group in list(groups.values())[:MOST_ATTRIBUTES]:
        if len(group) == 1:
            yield f"{named(group[0])}: {range_of_all(group[0])} of reports"
        else:
            yield from _of_values(group)
    if len(groups) > MOST_ATTRIBUTES:
        yield counted(len(groups) - MOST_ATTRIBUTES, "more attribute")


def _of_pairs(lifts: Sequence[Measured]) -> Iterator[str]:
    """Which pairs clearly go together or exclude each other, those with the smallest p first."""
    clear = sorted((number for number in lifts if number.told), key=_p_value_of)
    for number in clear[:MOST_NAMED]:
        yield lift_in_words(number)
    if len(clear) > MOST_NAMED:
        yield f"{counted(len(clear) - MOST_NAMED, 'more pair')} with a clear association"
    if not clear:
        yield f"no clear association in {counted(len(lifts), 'pair')}"


def _p_value_of(number: Measured) -> float:
    return 1.0 if number.p_value is None else number.p_value


def go_together(lift: Measured) -> bool:
    """Whether two values with a clear association go together; others exclude each other.

    Args:
        lift: of the two.
    """
    if lift.both is not None and lift.expected is not None:
        return lift.both > lift.expected
    return size_of(lift) > 1


def lift_in_words(lift: Measured) -> str:
    """How often two values occur together, beside what independence would make of it.

    Args:
        lift: of two values with a clear association.
    """
    first, second = map(shown_value, lift.values or (lift.value or "").split(PAIR))
    together = go_together(lift)
    text = f"{first} and {second} {'go together' if together else 'exclude each other'}"
    if lift.low is None or lift.high is None:
        return text
    bottom, top = number_ends(max(lift.low, 0.0), max(lift.high, 0.0), lift.step)
    if float(bottom.replace(",", "")) <= 1 <= float(top.replace(",", "")):
        return f"{text} ({'more' if together else 'less'} often than by chance)"
    return f"{text} ({range_of(lift)} times as often as by chance)"


def number_finding(answer: Answer) -> str:
    """Where the mean is, and the quantiles of a distribution.

    Args:
        answer: about a number.
    """
    limits = limits_of(answer)
    quantiles = [placed(number, limits) for number in _chosen(answer.of("quantile"))]
    means = [placed(number, limits) for number in answer.of("mean")]
    asked = [f"{named(number)}: {range_of(number)} of reports" for number in answer.of("share")]
    return "; ".join([*asked, *([listed(quantiles)] if quantiles else []), *means])


def placed(number: Measured, limits: Limits | None) -> str:
    """Where a number is, such as "the median is 1.74 to 1.82".

    Args:
        number: a mean or a quantile.
        limits: the range of its metric, if that is known.
    """
    where = range_of(number, limits)
    verb = verb_of(where)
    unplaced = number.estimate is None and verb == "is" and not any(beyond_of(number))
    anywhere = "anywhere in " if unplaced else ""
    return f"{named(number)} {verb} {anywhere}{where}"


def _chosen(quantiles: Sequence[Measured]) -> Sequence[Measured]:
    if len(quantiles) <= MOST_QUANTILES:
        return quantiles
    by_share = {number.quantile: number for number in quantiles}
    median = by_share.get(_MEDIAN)
    high = next((by_share[share] for share in _HIGH if share in by_share), None)
    return [number for number in (median, high) if number is not None] or quantiles[:MOST_QUANTILES]


def strings_finding(answer: Answer) -> str:
    """Which strings were found without a list, and what could not be seen.

    Args:
        answer: a result of a discovery.
    """
    return "; ".join(_clauses_of_strings(answer))


def leading_beginning(answer: Answer) -> Measured | None:
    """The first letters with which surely more devices begin than hold any one whole string.

    Args:
        answer: a result of a discovery.
    """
    beginning = max(answer.prefixes, key=lambda prefix: prefix.of_all[0], default=None)
    largest = max((string.of_all[1] for string in answer.strings), default=0.0)
    return beginning if beginning is not None and beginning.of_all[0] > largest else None


def _clauses_of_strings(answer: Answer) -> Iterator[str]:
    whole, prefixes, note = answer.strings, answer.prefixes, answer.head.found
    beginning = leading_beginning(answer)
    if beginning is not None:
        most = "most" if beginning.of_all[0] > _HALF else "the largest share"
        begin = "begin" if most == "most" else "begins"
        yield f"{most} {begin} with {named(beginning)}: {range_of(beginning)} of reports"
    if whole and prefixes:
        found = f"of {counted(len(whole), 'whole string')} found, " if whole[1:] else ""
        yield f"{found or '1 whole string found: '}{leaders(whole, len(whole))}"
    elif whole:
        yield f"{counted(len(whole), 'string')} found: {leaders(whole, len(whole))}"
    if prefixes:
        yield (
            f"{'also of' if whole else 'of'} {counted(len(prefixes), 'longer string')} the first "
            "letters"
        )
    if not whole and not prefixes:
        yield "no string stands out from the noise"
        smallest = note.smallest if note else []
        shares = [length.share for length in smallest if length.share is not None]
        if shares:
            least = bound_in_words("share", shares[0])
            yield f"a short one with {least} of reports would be found nine times out of ten"
    if note is not None and note.earlier is not None:
        new = sum(number.seen == "new" for number in whole)
        gone = sum(number.seen == "gone" for number in answer.missing)
        days = days_between(note.earlier.since, note.earlier.until)
        yield f"{new:,} new and {gone:,} gone since {days}"
