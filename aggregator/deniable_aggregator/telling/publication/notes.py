"""What is said around a published table: what to know before it, how to read it, and what it shows.

Every notice of an answer is decided here: it is said to the public as it is or in other words, or
it is not said, for a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import VERSION_LETTERS, NoticeCode
from deniable_aggregator.telling.cautions import warnings_of_days
from deniable_aggregator.telling.lines import not_placed
from deniable_aggregator.telling.numbers import OVERLAPPING
from deniable_aggregator.telling.ranges import bound_in_words, interval_in_words
from deniable_aggregator.telling.wording import as_sentence, counted, shown_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.publication.publication import Publication, PublishedRow

PRESENT: Final = 0.5
"""Above this presence a row has a warning."""

MESSAGE: Final = "the whole message"
"""Stands for the message of a notice; it names no key."""

FACT: Final = "its first sentence"
"""Stands for the first sentence of the message: the others are advice to whoever asked."""

SAID: Final[Mapping[NoticeCode, str]] = {
    "beyond_range": FACT,
    "compared_in_part": FACT,
    "cut_sets": FACT,
    "cut_strings": "Some values are longer than devices report, and are counted together with all "
    "others that begin alike.",
    "excluded_key_counted": "Some reports of a source that the publisher left out are counted all "
    "the same, as they cannot be taken out of the sums of earlier days.",
    "large_upload": "More than a tenth of these reports came in one upload: whoever sent it can "
    "have made them up.",
    "late_strings": FACT,
    "new_names": MESSAGE,
    "other_version_left_out": FACT,
    "quota_spent": "Some reports of these days were refused at first, as more came than one source "
    "may bring; devices send them again.",
    "reports_left_out": MESSAGE,
    "robust_check_differs": "The share of a value differs much between days or sources of reports: "
    "few of them may have moved it.",
    "segment_far_from_whole": MESSAGE,
    "segment_nearly_one_value": MESSAGE,
    "segment_too_small": FACT,
    "simulated": MESSAGE,
    "unlisted_string": FACT,
    "values_renamed": FACT,
    "weekdays_matched": FACT,
    "weekdays_unknown": FACT,
}
"""What is published where an answer has a notice."""

NOT_SAID: Final[Mapping[NoticeCode, str]] = {
    "acknowledged_key": "it is said with the health of reports, and names keys",
    "crowded_points": "it is about strings that nobody listed, which are not published",
    "distribution_instead": "it is advice to whoever maintains the registry",
    "key_on_one_side": "it is about a change, which is not published, and names keys",
    "known_in_part": "a column says of how many reports the share of such a value is",
    "lifted_together": "it is about strings that nobody listed, which are not published",
    "other_scripts": "it is about strings that nobody listed, which are not published",
    "other_version": "it is about strings that nobody listed, which are not published",
    "planted_strings": "it is about strings that nobody listed, which are not published",
    "reports_stopped": "it is about all metrics at once; missing days are said of each",
    "segment_not_there": "there is no report of the segment then, so nothing is published",
    "suspicious_reports": "the verdict says it, and the message names keys",
    "uneven_key": "the verdict says it, and the message names keys",
    "unusual_volume": "the verdict says it, and the message names keys",
    "wide_noise": "it is about strings that nobody listed, which are not published",
}
"""Why other notices are not published."""

_HISTOGRAMS: Final = {
    "em": "the most likely histogram (expectation maximization)",
    "ems": "the most likely histogram, smoothed (expectation maximization)",
    "unbiased": "an unbiased histogram",
}


def cautions_of(made: Publication, answer: Answer) -> list[str]:
    """What to know before the numbers of a publication, a sentence or two each.

    Args:
        made: the publication, without cautions.
        answer: which it was made of.
    """
    return [
        *_of_verdict(made),
        *_of_notices(answer),
        *_of_keys(made),
        *_of_days(answer),
        *presence_warnings(made),
    ]


def reading_of(made: Publication, answer: Answer) -> list[str]:
    """How to read the table, and any other that was made in the same way.

    Args:
        made: the publication, without notes.
        answer: which it was made of.
    """
    return [
        "Every report was made random on the device before it was sent, so that none shows for "
        "sure what its device holds; the numbers are estimates from all of them.",
        *_intervals(made, answer),
        *(_shown(made, answer) if answer.head.kind == "shares" else _numbers(made, answer)),
    ]


def notes_of(made: Publication, answer: Answer, near: int) -> list[str]:
    """What is to be known of this table alone, a sentence or more each.

    Args:
        made: the publication, without notes.
        answer: which it was made of.
        near: how many values chance may have put on their side of the minimum.
    """
    return [
        *_picked(answer),
        *_devices(made, answer),
        *_segment(made),
        *_not_shown(made, near),
        *_several(made),
        *_listed(made, answer),
        *not_placed(answer),
        *_fakes(made, answer),
    ]


def presence_warnings(made: Publication) -> list[str]:
    """Of which values most people of a cell may be among those who reported.

    Args:
        made: the publication.
    """
    return [
        f"Of the {counted(row.people or 0, 'person', 'people')} of {_name(row)}, up to "
        f"{bound_in_words('share', row.presence)} may be among those who reported"
        f"{_in_busiest(made)}: whoever knows that somebody belongs to this cell can guess that a "
        "report is theirs. Deniable hides what a device reported, not that it did."
        for row in made.rows
        if row.presence is not None and row.presence > PRESENT
    ]


def version_notes(made: Publication) -> list[str]:
    """How the reports of each version were made random, and what they give away.

    Args:
        made: the publication.
    """
    return [
        f"Version {version.version[:VERSION_LETTERS]} of the metric, "
        f"{counted(version.reports, 'report')}: {version.title}. {version.gives_away}"
        for version in made.versions
    ]


def _of_verdict(made: Publication) -> Iterator[str]:
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
    elif made.verdict == "surge":
        yield (
            "Far more reports came on some days than usual. There may be more devices; or reports "
            "were forged, and the numbers may be wrong by more than the intervals say."
        )


def _of_notices(answer: Answer) -> Iterator[str]:
    for notice in answer.notices:
        text = SAID.get(notice.code)
        if text is not None:
            fact = notice.message.partition(". ")[0]
            said = as_sentence({MESSAGE: notice.message, FACT: fact}.get(text, text))
            yield said[0].upper() + said[1:]


def _of_keys(made: Publication) -> Iterator[str]:
    if made.reports_left_out:
        were = "was" if made.reports_left_out == 1 else "were"
        yield (
            f"{counted(made.reports_left_out, 'report')} from "
            f"{counted(made.keys_left_out, 'source')} {were} left out by the publisher."
        )


def _of_days(answer: Answer) -> Iterator[str]:
    for days in answer.head.covered:
        yield from map(as_sentence, warnings_of_days(days))
        if days.open_since is not None:
            yield (
                f"Days since {days.open_since} still take late reports, and those that wait are "
                "not counted, so that these numbers may change a little."
            )


def _in_busiest(made: Publication) -> str:
    """The period that a presence is of."""
    if made.every == "once":
        return ""
    if made.periods == 1:
        return f" in a {made.every}"
    together = f"over all {counted(made.periods, made.every)} it may be more"
    return f" in the {made.every} with the most reports ({together})"


def _picked(answer: Answer) -> Iterator[str]:
    """That a report is of one of several values, so that shares are not of devices."""
    picked = dict.fromkeys(each.picked for each in answer.head.versions if each.picked)
    yield from map(as_sentence, picked)


def _devices(made: Publication, answer: Answer) -> Iterator[str]:
    """That reports of several periods are not as many devices, nor people."""
    if made.periods > 1:
        per_period = round(made.reports / made.periods)
        counts = answer.head.period_counts
        most = "" if counts is None else f" and {counts.busiest:,} in the busiest"
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
        part = interval_in_words("share", size.low, size.high, step=size.step)
        yield (
            f"The table is about the segment {shown_value(made.segment)} alone: {part} of the "
            "reports."
        )


def _intervals(made: Publication, answer: Answer) -> Iterator[str]:
    level = f"{made.level:.0%}"
    if answer.head.kind == "shares":
        yield (
            f"With a probability of {level}, all intervals of a table cover the true shares at "
            "once."
        )
    else:
        yield f"Each interval covers the true number with a probability of {level}."
    yield (
        "Intervals describe the devices that reported: they allow for the noise of reports, but "
        "not for who stayed silent. Numbers of a column are rounded to the digits that its "
        "narrowest interval supports, and ends outward, so that each still covers."
    )
    if any(row.items and not 0 <= row.number.low <= row.number.high <= 1 for row in made.rows):
        yield (
            "Of shares, tables and pictures show what is possible, from 0 to 100%; noise moves "
            "some beyond, and so they stand in CSV and JSON."
        )


def _shown(made: Publication, answer: Answer) -> Iterator[str]:
    """Which values are shown."""
    of_one = "" if made.every == "once" else f" of one {made.every}"
    held = "picked" if any(each.picked for each in answer.head.versions) else "held"
    yield (
        f"A value is shown if it is {held} by at least {counted(made.minimum, 'device')}{of_one}, "
        "judged by the lower end of its interval."
    )
    yield (
        "That values are left out is policy, not privacy: randomized reports need no suppression, "
        "and no complementary suppression, so that what is left out may be computed from the rest."
    )
    if any((row.of_reports or made.reports) < made.reports for row in made.rows):
        yield (
            "Where a value is known to some versions of the metric alone, its share is of their "
            "reports."
        )


def _not_shown(made: Publication, near: int) -> Iterator[str]:
    """What became of the other values."""
    measures = [row.measure for row in made.rows]
    if "share" not in measures and "mean" not in measures:
        yield "No value reaches the minimum."
    for row in made.rows:
        if row.measure == "other":
            yield from _others(row, near)
    if made.left_out:
        are = "is" if made.left_out == 1 else "are"
        yield (
            f"{counted(made.left_out, 'value')} below the minimum {are} left out"
            f"{_why_not_added(made)}."
        )


def _why_not_added(made: Publication) -> str:
    if made.type in OVERLAPPING:
        return f" and not added up, as {OVERLAPPING[made.type]}"
    if made.segment is not None:
        return " and not added up, as these are shares of a segment"
    return ""


def _several(made: Publication) -> Iterator[str]:
    """That shares of items of sets do not add up."""
    if made.type == "set":
        yield "A device may have several of the items, so shares do not add up to 100%."


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


def _listed(made: Publication, answer: Answer) -> Iterator[str]:
    """That a table of strings is about a list, and not about all that devices hold."""
    if made.type == "string" and made.segment is None:
        values = answer.head.values_asked or 0
        yield (
            f"{counted(values, 'value')} {'was' if values == 1 else 'were'} looked for; strings "
            "outside of this list are not in the table, so shares do not add up to 100%."
        )


def _numbers(made: Publication, answer: Answer) -> Iterator[str]:
    method = next((number.method for number in answer.of("bin")), None)
    if method is not None:
        yield (
            f"Quantiles come from {_HISTOGRAMS[method]}. The histogram is not published: its bins "
            "are post-processed, and no interval covers all of them at once."
        )
    numbers = "A mean shows" if made.type == "number" else "Means and quantiles show"
    yield (
        f"{numbers} no small groups, so only the minimum of "
        f"{counted(made.reports_minimum, 'report')} applies."
    )


def _fakes(made: Publication, answer: Answer) -> Iterator[str]:
    if answer.head.fakes is None:
        return
    forged = f"If {answer.head.fakes.share:.0%} of the reports were forged"
    if answer.head.kind != "shares":
        mean = answer.one("mean")
        if mean is not None:
            far = _how_far("number", mean.shift_if_fake)
            yield f"{forged}, the mean could be off {far} more. No interval allows for that."
        return
    kept = {row.label for row in made.rows}
    shifts = [share.shift_if_fake for share in answer.of("share") if share.value in kept]
    if shifts:
        known = [shift for shift in shifts if shift is not None]
        far = _how_far("points", max(known) if len(known) == len(shifts) else None)
        yield (
            f"{forged}, each to move it most, a share could be off {far} more. No interval allows "
            "for that."
        )


def _how_far(unit: Unit, shift: float | None) -> str:
    return "without bound" if shift is None else f"by {bound_in_words(unit, shift)}"


def _name(row: PublishedRow) -> str:
    return row.label if row.measure == "other" else shown_value(row.label)
