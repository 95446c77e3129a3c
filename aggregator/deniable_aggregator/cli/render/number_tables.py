"""Means and distributions in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN
from deniable_aggregator.cli.render.rounding import (
    between,
    number_with_ends,
    upper_limit,
    with_error,
)
from deniable_aggregator.cli.render.share_table import share_heading
from deniable_aggregator.sentences import possible_shift, quantile_in_words
from deniable_aggregator.sentences.numbers import not_placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.estimates import Mean


def number_line(answer: Mean | Distribution) -> str:
    """The mean and half of its interval: ``mean 4.12 ± 0.08 (95% interval)``.

    Args:
        answer: has a mean.
    """
    return f"mean {between(answer.mean)} ({answer.interval.level:.0%} interval)"


def distribution_table(answer: Distribution, width: int = UNBROKEN) -> Table:
    """One row per bin with its share, its interval and a bar.

    Args:
        answer: the distribution.
        width: of the terminal, in characters.
    """
    scale = Scale.over(end for each in answer.bins for end in (each.low, each.high))
    bars = [
        IntervalBar(each.low, each.share, each.high, scale, hollow=each.low <= 0)
        for each in answer.bins
    ]
    shares = [with_error(each) if each.low > 0 else upper_limit(each) for each in answer.bins]
    columns = [
        Texts("from", [f"{each.start:g}" for each in answer.bins], "right"),
        Texts("to", [f"{each.end:g}" for each in answer.bins], "right"),
        Texts(share_heading(answer.interval), shares, "right"),
    ]
    return lay_out(columns, Bars(scale.heading(), bars), width)


def quantiles_table(answer: Distribution, width: int = UNBROKEN) -> Table:
    """One row per quantile: its name, the value and its interval.

    Args:
        answer: the distribution.
        width: of the terminal, in characters.
    """
    low, high = answer.bins[0].start, answer.bins[-1].end
    scale, zero = Scale(low, high), 0.0 if low < 0 < high else None
    bars = [
        None
        if each.estimate is None
        else IntervalBar(each.low, each.estimate, each.high, scale, zero=zero)
        for each in answer.quantiles
    ]
    texts = [number_with_ends(each.estimate, each.low, each.high) for each in answer.quantiles]
    columns = [
        Texts("", [quantile_in_words(each.quantile) for each in answer.quantiles]),
        Texts(f"value,\n{answer.interval.level:.0%} interval", texts),
    ]
    return lay_out(columns, Bars(f"{low:g} to {high:g}", bars), width)


def number_notes(answer: Mean | Distribution) -> Iterator[str]:
    """What stands below the tables, a line each.

    Args:
        answer: as above.
    """
    if isinstance(answer, Distribution):
        yield from not_placed(answer)
        if answer.reports_left_out:
            left_out = f"{answer.reports_left_out:,} reports"
            yield f"{left_out} of versions with other bins or another mechanism are left out."
    yield possible_shift(answer)
