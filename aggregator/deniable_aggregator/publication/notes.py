"""What stands below a published table: how it was made, what it means, and what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution, Mean, Shares
from deniable_aggregator.publication.rounding import format_number, format_upper_bound
from deniable_aggregator.sentences.numbers import not_placed
from deniable_aggregator.sentences.wording import counted, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.publication.publication import Publication, PublishedRow

PRESENT: Final = 0.5
"""Above this presence a row has a warning."""


def reading_of(made: Publication, answer: Estimate) -> list[str]:
    """How to read the table, and any other that was made in the same way.

    Args:
        made: the publication, without notes.
        answer: which it was made of.
    """
    numbers = isinstance(answer, Mean | Distribution)
    return [
        "Every report was made random on the device before it was sent, so that none shows for "
        "sure what its device holds; the numbers are estimates from all of them.",
        *_intervals(made, answer),
        *(_numbers(made, answer) if numbers else _shown(made)),
    ]


def notes_of(made: Publication, answer: Estimate, near: int) -> list[str]:
    """What is to be known of this table alone, a sentence or more each.

    Args:
        made: the publication, without notes.
        answer: which it was made of.
        near: how many values chance may have put on their side of the minimum.
    """
    return [
        *_devices(made, answer),
        *_segment(made),
        *_not_shown(made, near),
        *_listed(made, answer),
        *(not_placed(answer) if isinstance(answer, Distribution) else ()),
        *_fakes(made, answer),
    ]


def presence_warnings(made: Publication) -> list[str]:
    """Of which values most people of a cell may be among those who reported.

    Args:
        made: the publication.
    """
    return [
        f"Of the {counted(each.people or 0, 'person', 'people')} of {_name(each)}, up to "
        f"{format_number(each.presence, 0.001, percent=True)} may be among those who reported"
        f"{_in_busiest(made)}: whoever knows that somebody belongs to this cell can guess that a "
        "report is theirs. Deniable hides what a device reported, not that it did."
        for each in made.rows
        if each.presence is not None and each.presence > PRESENT
    ]


def _in_busiest(made: Publication) -> str:
    """The period that a presence is of."""
    if made.every == "once":
        return ""
    if made.periods == 1:
        return f" in a {made.every}"
    together = f"over all {counted(made.periods, made.every)} it may be more"
    return f" in the {made.every} with the most reports ({together})"


def version_notes(made: Publication) -> list[str]:
    """How the reports of each version were made random, and what they give away.

    Args:
        made: the publication.
    """
    return [
        f"Version {each.version[:12]} of the metric, {counted(each.reports, 'report')}: "
        f"{each.title}. {each.gives_away}"
        for each in made.versions
    ]


def _devices(made: Publication, answer: Estimate) -> Iterator[str]:
    """That reports of several periods are not as many devices, nor people."""
    if made.periods > 1:
        per_period = round(made.reports / made.periods)
        most = (
            f" and {answer.period_counts.busiest:,} in the busiest" if answer.period_counts else ""
        )
        yield (
            f"A device sends at most one report a {made.every}: the "
            f"{counted(made.reports, 'report')} are of {counted(made.periods, made.every)}, "
            f"{per_period:,} on average{most}, and not of as many devices. A person may have "
            "several devices."
        )


def _segment(made: Publication) -> Iterator[str]:
    """What part of the reports a segment has: shares within it are of these."""
    size = made.segment_share
    if made.segment is not None and size is not None:
        low, high = (
            format_number(end, size.unit, percent=True)
            for end in (max(size.low, 0.0), min(size.high, 1.0))
        )
        yield (
            f"The table is about the segment {shown_value(made.segment)} alone: {low.rstrip('%')} "
            f"to {high} of the reports."
        )


def _intervals(made: Publication, answer: Estimate) -> Iterator[str]:
    level = f"{made.level:.0%}"
    if isinstance(answer, Mean | Distribution):
        yield f"Each interval covers the true number with a probability of {level}."
    else:
        yield (
            f"With a probability of {level}, all intervals of a table cover the true shares at "
            "once."
        )
    yield (
        "Intervals describe the devices that reported: they allow for the noise of reports, but "
        "not for who stayed silent. Numbers are rounded to at most a quarter of the interval's "
        "width, and its ends outward, so that it still covers."
    )
    if any(each.items and not 0 <= each.number.low <= each.number.high <= 1 for each in made.rows):
        yield (
            "Of shares, tables and pictures show what is possible, from 0 to 100%; noise moves "
            "some beyond, and so they stand in CSV and JSON."
        )


def _shown(made: Publication) -> Iterator[str]:
    """Which values are shown."""
    of_one = "" if made.every == "once" else f" of one {made.every}"
    yield (
        f"A value is shown if it is held by at least {counted(made.minimum, 'device')}{of_one}, "
        "judged by the lower end of its interval."
    )
    yield (
        "That values are left out is policy, not privacy: randomized reports need no suppression, "
        "and no complementary suppression, so that what is left out may be computed from the rest."
    )
    if any((each.of_reports or made.reports) < made.reports for each in made.rows):
        yield (
            "Where a value is known to some versions of the metric alone, its share is of their "
            "reports."
        )


def _not_shown(made: Publication, near: int) -> Iterator[str]:
    """What became of the other values."""
    measures = [each.measure for each in made.rows]
    if "share" not in measures and "mean" not in measures:
        yield "No value reaches the minimum."
    for each in made.rows:
        if each.measure == "other":
            yield from _others(each, near)
    if made.left_out:
        are = "is" if made.left_out == 1 else "are"
        yield (
            f"{counted(made.left_out, 'value')} below the minimum {are} left out"
            f"{_why_not_added(made)}."
        )


def _listed(made: Publication, answer: Estimate) -> Iterator[str]:
    """That a table of strings is about a list, and not about all that devices hold."""
    if made.type == "string" and isinstance(answer, Shares):
        yield (
            f"{counted(answer.values_asked, 'value')} "
            f"{'was' if answer.values_asked == 1 else 'were'} looked for; strings outside of this "
            "list are not in the table, so shares do not add up to 100%."
        )


def _why_not_added(made: Publication) -> str:
    if made.type == "attributes":
        return " and not added up, as attributes overlap"
    if made.segment is not None:
        return " and not added up, as these are shares of a segment"
    return ""


def _others(row: PublishedRow, near: int) -> Iterator[str]:
    text = (
        f"“{row.label}” is the share of all {row.items:,} values below the minimum together, with "
        "the error of their sum"
        if row.items > 1
        else f"“{row.label}” is the only value below the minimum"
    )
    if near:
        text += (
            f"; its upper end allows for {counted(near, 'value')} so near the minimum that chance "
            f"decided where {'it stands' if near == 1 else 'they stand'}"
        )
    yield f"{text}."


_HISTOGRAMS: Final = {
    "em": "the most likely histogram (expectation maximization)",
    "ems": "the most likely histogram, smoothed (expectation maximization)",
    "unbiased": "an unbiased histogram",
}


def _numbers(made: Publication, answer: Estimate) -> Iterator[str]:
    if isinstance(answer, Distribution):
        yield (
            f"Quantiles come from {_HISTOGRAMS[answer.method]}. The histogram is not published: "
            "its bins are post-processed, and no interval covers all of them at once."
        )
    numbers = "A mean shows" if made.type == "number" else "Means and quantiles show"
    yield (
        f"{numbers} no small groups, so only the minimum of "
        f"{counted(made.reports_minimum, 'report')} applies."
    )


def _fakes(made: Publication, answer: Estimate) -> Iterator[str]:
    share = f"{answer.fakes.share:.0%}"
    if isinstance(answer, Mean | Distribution):
        shift = format_upper_bound(answer.mean.shift_if_fake)
        yield (
            f"If {share} of the reports were forged, the mean could be off by {shift} more. No "
            "interval allows for that."
        )
        return
    kept = {row.label for row in made.rows}
    shifts = [row.shift_if_fake for row in answer.estimates if row.value in kept]
    if not shifts:
        return
    if None in shifts:
        what = "without bound"
    else:
        most = max(each for each in shifts if each is not None)
        what = f"by {format_upper_bound(100 * most)} points"
    yield (
        f"If {share} of the reports were forged, each to move it most, a share could be off {what} "
        "more. No interval allows for that."
    )


def _name(row: PublishedRow) -> str:
    return row.label if row.measure == "other" else shown_value(row.label)
