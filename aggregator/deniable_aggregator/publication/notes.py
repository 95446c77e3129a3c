"""What stands below a published table: how it was made, what it means, and what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares
from deniable_aggregator.publication.rounding import rounded_up, written
from deniable_aggregator.sentences.wording import counted, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.publication.published import Publication, PublishedRow

PRESENT: Final = 0.5
"""Above this presence a row has a warning."""


def notes_of(made: Publication, answer: Estimate, near: int) -> list[str]:
    """The notes of a publication, a sentence or more each.

    Args:
        made: the publication, without notes.
        answer: which it was made of.
        near: how many values chance may have put on their side of the minimum.
    """
    numbers = isinstance(answer, Mean | Distribution)
    return [
        *_method(made),
        _intervals(made, answer),
        *(_numbers(answer) if numbers else _shown(made, near)),
        *_fakes(made, answer),
    ]


def presence_warnings(made: Publication) -> list[str]:
    """Of which values most people of a cell may be among those who reported.

    Args:
        made: the publication.
    """
    return [
        f"Of the {counted(each.people or 0, 'person', 'people')} of {_name(each)}, up to "
        f"{written(each.presence, 0.01, percent=True)} may be among those who reported"
        f"{'' if made.every == 'once' else f' in a {made.every}'}: whoever knows that somebody "
        "belongs to this cell can guess that a report is theirs. Deniable hides what a device "
        "reported, not that it did."
        for each in made.rows
        if each.presence is not None and each.presence > PRESENT
    ]


def cautions_of(made: Publication, answer: Estimate) -> list[str]:
    """What to know before the numbers of a publication, a sentence or two each.

    Args:
        made: the publication, without cautions.
        answer: which it was made of.
    """
    return [*_warnings(made, answer), *presence_warnings(made)]


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


def _warnings(made: Publication, answer: Estimate) -> Iterator[str]:
    if made.verdict == "suspicious":
        yield (
            "Checks of these reports found some that are not those of honest devices: the numbers "
            "may be wrong by more than the intervals say."
        )
    elif made.verdict == "uneven":
        yield (
            "Checks found that some sources of reports answer differently from the others. Their "
            "devices may differ; or reports were forged, and the numbers may be wrong by more than "
            "the intervals say."
        )
    if any(each.code == "robust_check_differs" for each in answer.notices):
        yield (
            "The share of a value differs much between days or sources of reports: few of them "
            "may have moved it."
        )
    if answer.days.open_since is not None:
        yield (
            f"Days since {answer.days.open_since} still take late reports, so that these numbers "
            "may change a little."
        )


def _method(made: Publication) -> Iterator[str]:
    """How reports were made, and that they are not people."""
    yield (
        "Every report was made random on the device before it was sent, so that none shows for "
        "sure what its device holds; the numbers are estimates from all of them."
    )
    if made.periods > 1:
        per_period = made.reports // made.periods
        yield (
            f"A device sends at most one report a {made.every}: the "
            f"{counted(made.reports, 'report')} are of {counted(made.periods, made.every)}, "
            f"{per_period:,} on average, and not of as many devices. A person may have several "
            "devices."
        )


def _intervals(made: Publication, answer: Estimate) -> str:
    level = f"{made.level:.0%}"
    if isinstance(answer, Mean | Distribution):
        covers = f"Each interval covers the true number with a probability of {level}"
    else:
        covers = (
            f"With a probability of {level}, all intervals of the table cover the true shares at "
            "once"
        )
    text = (
        f"{covers}. They describe the devices that reported: they allow for the noise of reports, "
        "but not for who stayed silent. Numbers are rounded to at most a quarter of the interval's "
        "width, and its ends outward, so that it still covers."
    )
    if any(
        each.items and each.number and not 0 <= each.number.low <= each.number.high <= 1
        for each in made.rows
    ):
        text += (
            " Of shares, tables and pictures show what is possible, from 0 to 100%; noise moves "
            "some beyond, and so they stand in CSV and JSON."
        )
    return text


def _shown(made: Publication, near: int) -> Iterator[str]:
    """Which values are shown, and what became of the others."""
    of_one = "" if made.every == "once" else f" of one {made.every}"
    yield (
        f"A value is shown if it is held by at least {counted(made.minimum, 'device')}{of_one}, "
        "judged by the lower end of its interval. This is policy, not privacy: randomized reports "
        "need no suppression, and no complementary suppression, so that what is left out may be "
        "computed from the rest."
    )
    shown = [each for each in made.rows if each.measure == "share"]
    if not shown:
        yield "No value reaches this."
    for each in made.rows:
        if each.measure == "other":
            yield from _others(each, near)
    if made.left_out:
        text = f"{counted(made.left_out, 'value')} below it {'is' if made.left_out == 1 else 'are'}"
        yield f"{text} left out{_why_not_added(made)}."
    if any(each.of_reports < made.reports for each in made.rows):
        yield (
            "Where a value is known to some versions of the metric alone, its share is of their "
            "reports."
        )


def _why_not_added(made: Publication) -> str:
    if made.type == "attributes":
        return " and not added up, as attributes overlap"
    if made.segment is not None:
        return " and not added up, as these are shares of a segment"
    return ""


def _others(row: PublishedRow, near: int) -> Iterator[str]:
    text = (
        f"“{row.label}” is the share of all {row.items:,} values below it together, with the "
        "error of their sum"
        if row.items > 1
        else f"“{row.label}” is the only value below it"
    )
    if near:
        text += (
            f"; its upper end allows for {counted(near, 'value')} so near the minimum that chance "
            f"decided where {'it stands' if near == 1 else 'they stand'}"
        )
    yield f"{text}."


def _numbers(answer: Estimate) -> Iterator[str]:
    if isinstance(answer, Distribution):
        yield (
            f"Quantiles are of a histogram found by {answer.method}. The histogram is not "
            "published: its bins are post-processed, and no interval covers all of them at once."
        )
    yield (
        "No cell of people is shown, so the minimum of devices applies to nothing here; what is "
        "required is the minimum of reports."
    )


def _fakes(made: Publication, answer: Estimate) -> Iterator[str]:
    share = f"{answer.fakes.share:.0%}"
    if isinstance(answer, Mean | Distribution):
        shift = answer.mean.shift_if_fake
        yield (
            f"If {share} of the reports were forged, the mean could be off by {rounded_up(shift)} "
            "more. No interval allows for that."
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
        what = f"by {rounded_up(100 * most)} points"
    yield (
        f"If {share} of the reports were forged, each to move it most, a share could be off {what} "
        "more. No interval allows for that."
    )
    if isinstance(answer, SegmentShares):
        yield f"The table is about the segment {shown_value(made.segment or '')} alone."


def _name(row: PublishedRow) -> str:
    return row.label if row.measure == "other" else shown_value(row.label)
