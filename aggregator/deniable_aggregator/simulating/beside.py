"""What is true of the numbers of an answer: tables beside the truth, and what was not found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.measured import NO_ITEMS
from deniable_aggregator.simulating.draws import ALL
from deniable_aggregator.telling.document import Column, Table
from deniable_aggregator.telling.numbers import beside as written_beside
from deniable_aggregator.telling.numbers import limits_of
from deniable_aggregator.telling.tables import numbers_table
from deniable_shared.planning.discovery import example_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.simulating.draws import Selection
    from deniable_aggregator.simulating.truth import Truth
    from deniable_shared.registry import Metric

NOBODY: Final = "nobody"


class Beside(NamedTuple):
    """A number of an answer with the truth.

    Attributes:
        number: as the aggregator estimates it.
        truth: of what devices recorded.
    """

    number: Measured
    truth: float

    @property
    def covers(self) -> bool:
        """Whether the interval of the number contains the truth."""
        low, high = self.number.ends
        return low <= self.truth <= high


def beside(
    answer: Answer, numbers: Sequence[Measured], truth: Truth, selection: Selection = ALL
) -> list[Beside]:
    """Numbers of an estimate or a discovery with what is true of them.

    Args:
        answer: that they are of.
        numbers: shares, lifts, means, quantiles and bins; those without an interval are left out.
        truth: what devices recorded.
        selection: the reports that the answer is about.
    """
    metric = answer.head.metric
    held = shares_of_strings(truth, metric, selection) if answer.head.kind == "strings" else {}
    found = []
    for number in numbers:
        if number.low is None:
            continue
        if number.measure == "mean":
            true = truth.mean(metric, selection)
        elif number.quantile is not None:
            true = truth.quantile(metric, number.quantile, selection)
        elif number.bin_from is not None and number.bin_to is not None:
            true = truth.between(metric, number.bin_from, number.bin_to, selection)
        elif number.whole is not None:
            true = _found_share(number, answer, held)
        elif number.measure in ("set size", "items per device"):
            true = _size_of_sets(number, metric, truth, selection)
        else:
            value = number.value or ""
            some = number.reports is not None
            known = truth.knowing(metric, value, selection) if some else selection
            true = truth.share(metric, [value], known, selection)
            if number.measure == "lift":
                true /= math.prod(
                    truth.share(metric, [each], known, selection) for each in number.values or ()
                )
        found.append(Beside(number, true))
    return found


def _size_of_sets(number: Measured, metric: str, truth: Truth, selection: Selection) -> float:
    """The true share of empty or of too large sets, or the mean number of items."""
    sizes = truth.set_sizes(metric, selection).items()
    if number.measure == "items per device":
        return sum(min(size) * share for size, share in sizes)
    if number.value == NO_ITEMS:
        return sum(share for (size, _), share in sizes if not size)
    return sum(share for (size, most), share in sizes if size > most)


def shares_of_strings(truth: Truth, metric: str, selection: Selection = ALL) -> dict[str, float]:
    """The share of the reports that hold each string.

    Args:
        truth: what devices recorded.
        metric: of strings.
        selection: which reports.
    """
    counts = truth.recorded.values(metric, selection)
    total = counts.total()
    return {str(text): count / total for text, count in counts.items() if count}


def _found_share(number: Measured, answer: Answer, held: Mapping[str, float]) -> float:
    """Of a whole string its share; of a beginning that of all strings that have no other row."""
    text = number.value or ""
    if number.whole:
        return held.get(text, 0.0)
    begun = [row.value or "" for row in answer.prefixes]
    longer = tuple(other for other in begun if other.startswith(text) and other != text)
    whole = {row.value for row in answer.strings}
    return sum(
        share
        for string, share in held.items()
        if string.startswith(text) and string not in whole and not string.startswith(longer)
    )


def table_beside_truth(answer: Answer, rows: Sequence[Beside], left_out: str = "") -> Table:
    """A table of some numbers of an answer, with the truth and whether the interval covers it.

    Args:
        answer: that they are of.
        rows: in their order; shares, or numbers in the metric's unit.
        left_out: what is said of others.
    """
    table = numbers_table(answer, "truth", [row.number for row in rows], left_out=left_out)
    first, *others = table.columns
    return replace(
        table,
        columns=[first, Column(heading="truth"), *others, Column(heading="covers", words=True)],
        rows=[
            replace(
                row,
                cells=(
                    row.cells[0],
                    truth_in_words(answer, numbered),
                    *row.cells[1:],
                    "yes" if numbered.covers else "no",
                ),
                truth=numbered.truth,
            )
            for row, numbered in zip(table.rows, rows, strict=True)
        ],
    )


def truth_in_words(answer: Answer, row: Beside) -> str:
    """What is true of a number, as its estimate is written.

    Args:
        answer: that the number is of.
        row: the number.
    """
    if row.number.unit == "share":
        return f"{row.truth:.2%}" if row.truth else NOBODY
    if row.number.unit == "ratio":
        return f"{row.truth:.2f}"
    return written_beside(row.number, row.truth, limits_of(answer))


NAMED: Final = 4


def found_in_words(metric: Metric, answer: Answer, held: Mapping[str, float]) -> Iterator[str]:
    """Sentences about what was found, and about the rest.

    Args:
        metric: one that discovers.
        answer: what the aggregator found.
        held: the share of the devices that truly hold each string.
    """
    whole = {row.value or "" for row in answer.strings}
    begun = {row.value or "" for row in answer.prefixes}
    false = [text for text in whole if text not in held]
    false += [text for text in begun if not any(string.startswith(text) for string in held)]
    yield (
        f"Found: {len(whole)} strings and {len(begun)} beginnings of others, of {len(held)} "
        "strings that devices hold and that the aggregator has no list of; "
        f"{len(false) or 'none'} of them false."
    )
    if begun:
        yield (
            "… stands for what is not known: the rest of a string, or of several. Their share is "
            "that of all strings which begin so and have no row of their own."
        )
    for why, texts in _missed(metric, answer, held, whole).items():
        named = ", ".join(f"{text} ({held[text]:.2%})" for text in texts[:NAMED])
        more = f" and {len(texts) - NAMED} others" if len(texts) > NAMED else ""
        yield f"Not found, {why}: {named}{more}."


def _missed(
    metric: Metric, answer: Answer, held: Mapping[str, float], found: set[str]
) -> dict[str, list[str]]:
    """The strings that were not found, the most common first, by the reason that a plan gives."""
    reasons: dict[str, list[str]] = {}
    for text in sorted(held, key=lambda text: -held[text]):
        if text not in found:
            reasons.setdefault(_why(metric, text, held[text], answer), []).append(text)
    return reasons


def _why(metric: Metric, text: str, share: float, answer: Answer) -> str:
    forecast = example_of(metric, text, answer.head.reports)
    if not forecast.whole:
        bits = metric.spec.letters.bits if metric.spec.letters else 0
        return f"but for their beginnings, since their code is longer than the {bits} bits sent"
    if forecast.least_share is not None and share > forecast.least_share:
        return "by chance, though nine times out of ten they are"
    return "since too few hold them for a string of their length"
