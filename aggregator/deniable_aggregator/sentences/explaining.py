"""What the numbers of an answer mean, and how far fake reports could have moved them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.answers.words import POSTPROCESS_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.answers.common import FakesNote, MetricVersion
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Period

ALIKE: Final = 0.995
"""A ratio of errors above this is not worth a sentence."""


def explanation(answer: Estimate | Series | Change) -> list[str]:
    """What the numbers of an answer mean, a line each.

    Args:
        answer: to a question about one metric.
    """
    if isinstance(answer, Change):
        return list(_of_change(answer))
    if isinstance(answer, Series):
        return list(_of_series(answer))
    if isinstance(answer, Mean | Distribution):
        return list(_of_number(answer))
    return list(_of_shares(answer))


def _of_shares(answer: Shares | SegmentShares) -> Iterator[str]:
    yield f"Shares: {answer.unit}. Intervals: {answer.interval.meaning}"
    yield f"Above zero: {answer.detection.meaning}."
    yield fakes_in_words(answer.fakes)
    if isinstance(answer, SegmentShares) and answer.closeness:
        yield f"Closeness: {answer.closeness.meaning}"
    if isinstance(answer, Shares):
        if answer.robust_check:
            yield f"Robust check: {answer.robust_check.meaning}."
        if answer.versions_note:
            yield f"{len(answer.versions)} versions: {answer.versions_note}."
        if answer.lift_note:
            yield f"Lifts: {answer.lift_note.meaning}."
    yield from _repeated(answer.versions)
    if isinstance(answer, Shares) and answer.postprocess:
        method = answer.postprocess.method
        label = POSTPROCESS_LABELS.get(method, method)
        yield f"Shares {label}: {answer.postprocess.meaning}; no interval belongs to them."


def _of_number(answer: Mean | Distribution) -> Iterator[str]:
    if isinstance(answer, Distribution):
        yield f"The mean is {answer.mean.meaning}."
        yield f"Histogram and quantiles: {answer.meaning}."
    yield f"Intervals: {answer.interval.meaning}."
    yield fakes_in_words(answer.fakes)
    for version in answer.versions:
        if version.delta:
            yield f"{version.title}, delta {version.delta:.3g}: {version.privacy}."
    yield from _repeated(answer.versions)


def _of_series(answer: Series) -> Iterator[str]:
    yield f"Unit: {answer.unit}. Intervals: {answer.interval.meaning}."
    yield fakes_in_words(answer.fakes)
    if answer.alarm:
        yield f"Alarm: {answer.alarm.meaning}."
    yield from _repeated(answer.versions)


def _of_change(answer: Change) -> Iterator[str]:
    points = ", in percentage points" if answer.kind == "shares" else ""
    yield f"Changes: {answer.unit}{points}. Intervals: {answer.interval.meaning}."
    yield (
        f"Test at {answer.test.alpha:.0%}: {answer.test.meaning}. No clear change means that the "
        "reports do not tell, and not that nothing has changed."
    )
    if answer.shape:
        left_out = ""
        if answer.shape.reports_left_out:
            left_out = (
                f" {answer.shape.reports_left_out:,} reports are left out: only one of the periods "
                "has their version, or no test is known for it."
            )
        yield f"Test of the shape: {answer.shape.meaning}.{left_out}"
    if answer.not_compared:
        yield "Not compared: a share of all reports that is unknown, which is not 0."
    yield fakes_in_words(answer.fakes)
    yield _same_devices(answer)
    yield from dict.fromkeys(_repeated([*answer.before.versions, *answer.after.versions]))


def _same_devices(answer: Change) -> str:
    """A sentence about devices that may have reported in both periods."""
    line = (
        "Devices: nobody can tell how many reported in both periods. Errors and tests assume that "
        "none did, which is the most careful."
    )
    ratios = [
        row.standard_error_same_devices / row.standard_error
        for row in answer.changes
        if row.standard_error_same_devices is not None and row.standard_error > 0
    ]
    if ratios and min(ratios) < ALIKE:
        line += (
            f" If as many as possible did, what they have in common cancels out, and errors are "
            f"down to {min(ratios):.2f} times as large."
        )
    return line


def _repeated(versions: Iterable[MetricVersion]) -> Iterator[str]:
    """Lines about versions whose devices answer with permanent noise.

    Args:
        versions: those of an answer.
    """
    yield from dict.fromkeys(
        f"{version.title}: {version.repeated}." for version in versions if version.repeated
    )


def fakes_in_words(fakes: FakesNote) -> str:
    """What a possible shift is, in a line.

    Args:
        fakes: what an answer says of it.
    """
    meaning = fakes.meaning.replace("shift_if_fake", "the possible shift")
    return f"Fake reports: {meaning}."


def possible_shift(answer: Estimate | Series | Change) -> str:
    """How far fake reports could have moved the number that they move most, in one line.

    Args:
        answer: to a question about one metric.
    """
    points = True
    shifts: list[float | None]
    if isinstance(answer, Change):
        points = answer.kind == "shares"
        combined = [answer.combined.shift_if_fake] if answer.combined else []
        whose, shifts = "a change", [*(row.shift_if_fake for row in answer.changes), *combined]
    elif isinstance(answer, Series):
        points = answer.kind == "shares"
        whose = "a share of a period" if points else "an estimate of a period"
        shifts = [shift for period in answer.periods for shift in _shifts_of(period)]
    elif isinstance(answer, Mean | Distribution):
        points, whose, shifts = False, "the mean", [answer.mean.shift_if_fake]
    else:
        whose, shifts = "a share", [row.shift_if_fake for row in answer.estimates]
    return _largest_shift(answer.fakes, shifts, whose, points=points)


def _shifts_of(period: Period) -> Iterator[float | None]:
    yield from (each.shift_if_fake for each in period.estimates or ())
    yield from (each.shift_if_fake for each in (period.combined, period.mean) if each)
    yield from (each.shift_if_fake for each in period.quantiles or ())


def _largest_shift(
    fakes: FakesNote, shifts: Sequence[float | None], whose: str, *, points: bool
) -> str:
    bounded = [shift for shift in shifts if shift is not None]
    largest = max(bounded, default=0.0)
    far = f"{100 * largest:.2g} points" if points else f"{largest:.2g}"
    far = f"{whose} anywhere" if len(bounded) < len(shifts) else f"{whose} by up to {far}"
    return f"Possible shift if {fakes.share:.0%} of reports are fake: {far}."
