"""What to know before the numbers of a publication: warnings about its reports, days and segment.

Every notice of an answer is decided here: it is said to the public as it is or in other words, or
it is not said, for a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.publication.notes import presence_warnings
from deniable_aggregator.sentences.cautions import warnings_of_days
from deniable_aggregator.sentences.wording import as_sentence, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.words import NoticeCode
    from deniable_aggregator.publication.publication import Publication

MESSAGE: Final = "the whole message"
"""Stands for the message of a notice; it names no key."""

FACT: Final = "its first sentence"
"""Stands for the first sentence of the message: the others are advice to whoever asked."""

SAID: Final[Mapping[NoticeCode, str]] = {
    "cut_strings": "Some values are longer than devices report, and are counted together with all "
    "others that begin alike.",
    "excluded_key_counted": "Some reports of a source that the publisher left out are counted all "
    "the same, as they cannot be taken out of the sums of earlier days.",
    "other_bins": FACT,
    "other_type": FACT,
    "pending_reports": MESSAGE,
    "reports_left_out": MESSAGE,
    "robust_check_differs": "The share of a value differs much between days or sources of reports: "
    "few of them may have moved it.",
    "segment_far_from_whole": MESSAGE,
    "segment_nearly_one_value": MESSAGE,
    "segment_too_small": FACT,
    "unlisted_string": FACT,
}
"""What is published where an answer has a notice."""

NOT_SAID: Final[Mapping[NoticeCode, str]] = {
    "distribution_instead": "it is advice to whoever maintains the registry",
    "known_in_part": "a note says the same of the values that are shown",
    "other_version": "it is about strings that nobody listed, which are not published",
    "planted_strings": "it is about strings that nobody listed, which are not published",
    "reports_stopped": "it is about all metrics at once; missing days are said of each",
    "segment_not_there": "there is no report of the segment then, so nothing is published",
    "suspicious_reports": "the verdict says it, and the message names keys",
    "uneven_key": "the verdict says it, and the message names keys",
}
"""Why other notices are not published."""


def cautions_of(made: Publication, answer: Estimate) -> list[str]:
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


def _of_notices(answer: Estimate) -> Iterator[str]:
    for each in answer.notices:
        text = SAID.get(each.code)
        if text is not None:
            fact = each.message.partition(". ")[0]
            said = as_sentence({MESSAGE: each.message, FACT: fact}.get(text, text))
            yield said[0].upper() + said[1:]


def _of_keys(made: Publication) -> Iterator[str]:
    if made.reports_left_out:
        were = "was" if made.reports_left_out == 1 else "were"
        yield (
            f"{counted(made.reports_left_out, 'report')} from "
            f"{counted(made.keys_left_out, 'source')} {were} left out by the publisher."
        )


def _of_days(answer: Estimate) -> Iterator[str]:
    yield from map(as_sentence, warnings_of_days(answer.days))
    if answer.days.open_since is not None:
        yield (
            f"Days since {answer.days.open_since} still take late reports, so that these numbers "
            "may change a little."
        )
