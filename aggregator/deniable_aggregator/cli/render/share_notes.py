"""The lines below a table of shares: combined shares, segments, and how far fakes could go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.estimates import SegmentShares, Shares
from deniable_aggregator.cli.render.rounding import decimals, fixed, with_error
from deniable_aggregator.sentences import closeness_in_words, possible_shift

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.segments import SegmentSize
    from deniable_aggregator.answers.shares import CombinedShare, Share


def notes(answer: Shares | SegmentShares) -> Iterator[str]:
    """What stands below the table, a line each: more shares, and how far fake reports could go.

    Args:
        answer: the shares.
    """
    yield from _parts(answer)
    yield f"{possible_shift(answer)} {_robust_check(answer.estimates)}".rstrip()


def picked_line(answer: Shares | SegmentShares) -> str | None:
    """Why the intervals of picked values are wider; None if none were picked.

    Args:
        answer: the shares.
    """
    shown, asked = len(answer.estimates), answer.values_asked
    if answer.interval.kind != "picked" or shown >= asked:
        return None
    return (
        f"Shown are {shown:,} of {asked:,} values, picked for their estimates. The largest are so "
        "large partly by chance: their intervals are wider, so that 95% of those shown are right. "
        "Plain intervals, of all values: --sort instead of --top."
    )


def _parts(answer: Shares | SegmentShares) -> Iterator[str]:
    """Lines about values together and about segments."""
    if isinstance(answer, SegmentShares):
        yield _segment(answer.segment)
        if text := closeness_in_words(answer):
            yield text
        return
    if answer.combined:
        yield f"{_together(answer.combined)}."
    if answer.rest:
        yield (
            f"{_together(answer.rest)} of all reports. With the values that all versions know, "
            "these make up the whole."
        )
    for segment in answer.segments or ():
        yield _segment(segment)


def _together(combined: CombinedShare) -> str:
    line = f"{' + '.join(combined.values)}: {with_error(combined)}"
    if combined.adjusted:
        places = decimals(50 * (combined.high - combined.low))
        line += f", adjusted {fixed(100 * combined.adjusted, places)}%"
    if combined.possible:
        ends = combined.possible
        line += (
            f" of {combined.reports:,} reports; of all reports {100 * ends.low:.1f} to "
            f"{ends.high:.1%}"
        )
    return line


def _segment(segment: SegmentSize) -> str:
    return f"{segment.name}={segment.value}: {with_error(segment)} of all"


def _robust_check(rows: Sequence[Share]) -> str:
    """The robust check that differs most from its share, in standard errors, and if it agrees."""
    checked = [
        (abs(check.share - row.share) / check.standard_error, row.value, check)
        for row in rows
        if (check := row.robust_check) and check.standard_error > 0
    ]
    if not checked:
        return ""
    apart, value, check = max(checked, key=lambda each: each[0])
    verdict = (
        "agrees" if apart * check.standard_error <= (check.high - check.low) / 2 else "differs"
    )
    return f"Robust check of {value}: {with_error(check)} ({verdict})."
