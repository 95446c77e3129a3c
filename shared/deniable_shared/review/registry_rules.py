"""What a reviewer should know of all metrics together: a rule for each code of a finding."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from deniable_shared.accounting import counted_epsilon
from deniable_shared.characters import visible
from deniable_shared.planning.budget import (
    DAYS_OF_A_YEAR,
    MAX_DAYS,
    MOST_DELTA_A_YEAR,
    days_until_lifetime_is_spent,
    delta_of_a_year,
    epsilon_of_busiest_day,
)
from deniable_shared.planning.upper_bounds import power, upper_decimals, upper_power
from deniable_shared.review.finding import Finding
from deniable_shared.review.pairs import FEWEST_OF_A_CELL
from deniable_shared.review.sentences import MOST_NAMED, join_names
from deniable_shared.review.words import DIMENSIONS, GENERIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_shared.registry import Metric, Registry
    from deniable_shared.review.pairs import RareCell
    from deniable_shared.review.together import Together
    from deniable_shared.spec import Spec

FEWEST_OF_A_CLASS: Final = 10
"""So many devices should share what is the same in all of their reports."""

ALIKE: Final = 0.75
FEWEST_WORDS: Final = 3
"""Two descriptions of at least so many words speak of one thing if they share such a part."""

MOST_UNUSED: Final = 25
"""A budget of more times what can be spent limits nothing."""

LIST_OF_ITS_OWN: Final = 5
"""Two metrics with the same list of at least so many values ask for one thing, whatever they are
called; shorter lists, such as yes, no and unknown, fit many questions."""


def registry_findings(
    registry: Registry, bits: Together, cells: Sequence[RareCell] = ()
) -> Iterator[Finding]:
    """What the rules find of all metrics, but not whether it is ignored.

    Args:
        bits: what they tell together.
        cells: pairs of values that few devices hold.
    """
    yield from _adds_up(bits)
    yield from _rare_pairs(cells, bits.devices)
    yield from _repeated_value(registry)
    yield from _small_classes(bits)
    yield from _yearly_delta(registry)
    yield from _daily_budget(registry)
    yield from _lifetime_budget(registry)
    yield from _unused_budget(registry)


def _adds_up(bits: Together) -> Iterator[Finding]:
    if not bits.year >= bits.needed:
        return
    by = join_names(bits.leading_in_a_year) or "the class of the device"
    yield Finding(
        "adds-up",
        None,
        f"whoever can link a year's reports of one device may learn up to "
        f"{upper_decimals(bits.year, 1)} bits of it, and {bits.needed:.1f} single out one of "
        f"{bits.devices:,}. Enough may be: {by}",
        'report less often, take repeat = "memoize" for what rarely changes, smaller epsilons or '
        "fewer metrics",
    )


def _rare_pairs(cells: Sequence[RareCell], devices: int) -> Iterator[Finding]:
    if not cells:
        return
    named = "; ".join(
        " and ".join(f"{metric} = {value}" for metric, value in zip(*parts, strict=True))
        + f" ({cell.devices:.2g} of {devices:,} devices)"
        for cell in cells[:MOST_NAMED]
        for parts in [(cell.metrics, map(visible, cell.values))]
    )
    more = len(cells) - MOST_NAMED
    count = "one pair is" if len(cells) == 1 else f"{len(cells):,} pairs are"
    yield Finding(
        "rare-pairs",
        None,
        f"{count} held by fewer than {FEWEST_OF_A_CELL} devices: {named}"
        + (f"; and {more:,} more" if more > 0 else ""),
        "merge such values, or ask for one of the two",
    )


def _repeated_value(registry: Registry) -> Iterator[Finding]:
    earlier: list[Metric] = []
    for metric in registry.metrics.values():
        similar = next((before for before in earlier if _ask_for_one_value(before, metric)), None)
        earlier.append(metric)
        if similar is None:
            continue
        if _memoizes(similar) or _memoizes(metric):
            why = (
                'repeat = "memoize" limits what reports tell of a value for each metric by itself: '
                "their epsilons add up"
            )
        else:
            why = "under another type: their epsilons add up, and together they tell more of it"
        yield Finding(
            "repeated-value",
            metric.spec.name,
            f"it seems to ask for the same value as {similar.spec.name}, and {why}",
            "ask once, or for different things",
        )


def _memoizes(metric: Metric) -> bool:
    return metric.spec.mechanism.epsilon_permanent is not None


def _ask_for_one_value(first: Metric, second: Metric) -> bool:
    """Whether two metrics seem to ask for one value: memoised, or under two types."""
    types = {first.spec.type, second.spec.type}
    numbers = types == {"number", "distribution"}
    if (len(types) == 1 or numbers) and (_memoizes(first) or _memoizes(second)):
        return _same_value(first.spec, second.spec)
    if len(types) == 1 or "boolean" in types:
        return False  # a flag about something asks less than for it
    name, other_name = (
        _subject(each.spec.name.split("_"), numbers=numbers) for each in (first, second)
    )
    if name and name == other_name:
        return True
    said, other_said = (
        _subject(re.findall(r"\w+", each.description.casefold()), numbers=numbers)
        for each in (first, second)
    )
    fewer, both, shared = min(len(said), len(other_said)), said | other_said, said & other_said
    if fewer < FEWEST_WORDS:
        return False
    return len(shared) >= ALIKE * len(both) or (shared in (said, other_said) and not numbers)


def _subject(parts: Iterable[str], *, numbers: bool) -> frozenset[str]:
    """The words that say what is collected, without those that say how.

    Args:
        numbers: whether units and statistics say how, too, but not what they measure.
    """
    words = frozenset(parts) - GENERIC
    return frozenset({DIMENSIONS.get(word, word) for word in words} - {""}) if numbers else words


def _same_value(first: Spec, second: Spec) -> bool:
    """Whether two metrics of one type seem to ask for one value: by lists, ranges or names."""
    if first.range is not None:
        return first.range == second.range and _similar(first, second)
    if first.type == "category":
        values, other_values = (
            set(spec.segments.of.domain if spec.segments else spec.values)
            for spec in (first, second)
        )
        return values == other_values and (
            len(values) >= LIST_OF_ITS_OWN or _similar(first, second)
        )
    return _similar(first, second)


def _similar(first: Spec, second: Spec) -> bool:
    """Whether all words of one name are in the other: ``browser`` and ``browser_version``."""
    words, other_words = (set(spec.name.split("_")) for spec in (first, second))
    return words <= other_words or other_words <= words


def _small_classes(bits: Together) -> Iterator[Finding]:
    limit = math.log2(bits.devices / FEWEST_OF_A_CLASS)
    if not bits.constants > max(limit, 0.0):
        return
    yield Finding(
        "small-classes",
        None,
        f"{join_names(bits.constant_metrics)} show {bits.constants:.1f} bits of a device without "
        f"noise, which leaves fewer than {FEWEST_OF_A_CLASS} of {bits.devices:,} devices in a "
        "class",
        "take fewer rows, cohorts or bins, or mechanisms without them",
    )


def _yearly_delta(registry: Registry) -> Iterator[Finding]:
    delta = delta_of_a_year(registry)
    if not delta > MOST_DELTA_A_YEAR:
        return
    yield Finding(
        "yearly-delta",
        None,
        f"the deltas of a year's reports add up to {upper_power(delta)}, above "
        f"{power(MOST_DELTA_A_YEAR)}: their epsilons hold only with that on top, by which "
        "rare reports may reveal more",
        "lower delta, report less often, or take a mechanism without it",
    )


def _daily_budget(registry: Registry) -> Iterator[Finding]:
    busiest, limit = epsilon_of_busiest_day(registry), registry.budget.epsilon_per_day
    if not busiest > limit:
        return
    yield Finding(
        "daily-budget",
        None,
        f"all metrics may cost {busiest:.4g} on one day, above the budget of {limit:g}: on such a "
        "day some metrics will not be recorded",
        "raise budget.epsilon_per_day, or report less often or with a smaller epsilon",
    )


def _lifetime_budget(registry: Registry) -> Iterator[Finding]:
    days = days_until_lifetime_is_spent(registry)
    if days is None or days >= DAYS_OF_A_YEAR:
        return
    yield Finding(
        "lifetime-budget",
        None,
        f"the lifetime budget of {registry.budget.epsilon_lifetime:g} lasts "
        f"{days:,} {'day' if days == 1 else 'days'} if every metric reports as often as it may: "
        "after that a device is silent for good, and estimates are of newer devices alone",
        "report less often, or with a smaller epsilon; or raise budget.epsilon_lifetime",
    )


def _unused_budget(registry: Registry) -> Iterator[Finding]:
    budget, busiest = registry.budget, epsilon_of_busiest_day(registry)
    ever = counted_epsilon([metric.spec for metric in registry.metrics.values()], MAX_DAYS)
    if budget.epsilon_per_day > MOST_UNUSED * busiest:
        limit, most = f"epsilon_per_day = {budget.epsilon_per_day:g}", f"{busiest:.4g} on one day"
    elif budget.epsilon_lifetime > MOST_UNUSED * ever:
        limit, most = f"epsilon_lifetime = {budget.epsilon_lifetime:g}", f"{ever:.4g} ever"
    elif budget.epsilon_per_day > budget.epsilon_lifetime:
        limit, most = f"epsilon_per_day = {budget.epsilon_per_day:g}", "less in a lifetime"
    else:
        return
    yield Finding(
        "unused-budget",
        None,
        f"{limit} can never be spent, as all metrics cost at most {most}: it promises users "
        "nothing, and lets later metrics in unseen",
        "state what the metrics need",
    )
