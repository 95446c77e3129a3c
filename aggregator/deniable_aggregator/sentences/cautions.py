"""What a reader must know before an answer's numbers, and what these are based on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import ordered_notices
from deniable_aggregator.answers.days import days_shortly
from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import SegmentShares, Shares
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change
from deniable_aggregator.sentences.wording import as_sentence, counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from deniable_aggregator.answers.days import Days
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Series

INTERVALS: Final = {
    "one": "each by itself",
    "all": "all together",
    "picked": "after picking the largest",
}
"""What intervals cover, in short."""

LONGEST_GAP: Final = 13
"""Days without reports of a metric that is reported once a week, if one week is missed."""

MARGINS: Final = {"noise": "noise only", "noise-and-sampling": "noise and sampling"}
"""What intervals allow for, in short."""


def cautions(answer: Estimate | Series | Change | FoundStrings | Health) -> list[str]:
    """Warnings of an answer, a sentence or two each, the gravest first.

    Args:
        answer: of any kind.
    """
    told = [
        visible(each.message)
        for each in ordered_notices(answer.notices)
        if each.severity == "warning"
    ]
    covered = (
        [answer.before.days, answer.after.days] if isinstance(answer, Change) else [answer.days]
    )
    return [
        as_sentence(text)
        for text in (*told, *(line for days in covered for line in warnings_of_days(days)))
        if text
    ]


def warnings_of_days(days: Days) -> Iterator[str]:
    """Days that were not checked or are not over, and reports that have stopped.

    Args:
        days: those of an answer.

    Returns:
        One text for each, without a full stop.
    """
    if days.not_checked:
        yield f"{days_not_checked(days)} for forged reports"
    if days.incomplete:
        yield f"{days_shortly(days.incomplete)} is not over"
    stopped = _stopped(days)
    if stopped is not None:
        yield f"there are no reports from {stopped} on"


def days_not_checked(days: Days) -> str:
    """How many days nobody has looked at for forged reports, without a full stop.

    Args:
        days: those of an answer, of which some were not checked.
    """
    return f"{days.not_checked:,} of {days.reported:,} days with reports were not checked"


def _stopped(days: Days) -> date | None:
    """Since when there are no reports, if that is unlike the gaps before.

    A metric that is reported once a week has gaps of six days, so a longer one is needed where no
    two days in a row have reports.
    """
    if not days.missing or days.missing[-1].until != days.until:
        return None
    *earlier, last = days.missing
    length = last.length - sum(day >= last.since for day in days.incomplete)
    every_day = days.reported > len(earlier) + 1
    usual = max([0 if every_day else LONGEST_GAP, *(run.length for run in earlier)])
    return last.since if length > usual else None


def basis(answer: Estimate | Series | Change | FoundStrings | Health) -> str:
    """Which reports an answer is based on, and what its intervals mean, in one sentence.

    Args:
        answer: of any kind.
    """
    if isinstance(answer, Health):
        reports = sum(day.reports for day in answer.by_day)
        return _sentence(counted(reports, "report"), answer.days)
    if isinstance(answer, Change):
        both = [
            f"{counted(each.reports, 'report')} from {days_between(each.since, each.until)}"
            for each in (answer.before, answer.after)
        ]
        text = f"Based on {both[0]} and {both[1]}"
    else:
        text = _sentence(counted(answer.reports, "report"), answer.days).removesuffix(".")
    if isinstance(answer, Shares | SegmentShares) and len(answer.estimates) < answer.values_asked:
        text += f", {len(answer.estimates):,} of {answer.values_asked:,} values shown"
    kind = answer.interval.kind
    covers = f", {INTERVALS[kind]}" if kind else ""
    margin = "" if isinstance(answer, FoundStrings) else f" for {MARGINS[answer.margin]}"
    return f"{text}; {answer.interval.level:.0%} intervals{margin}{covers}."


def _sentence(reports: str, days: Days) -> str:
    return f"Based on {reports} from {days_between(days.since, days.until)}."
