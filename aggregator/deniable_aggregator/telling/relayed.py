"""What is said of relayed reports: what they cost, and under which conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.document import Column, Table, text_table
from deniable_aggregator.telling.wording import counted, days_between
from deniable_shared.planning.upper_bounds import power, upper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.relayed import HiddenReports, NoFigure, Relayed, RelayedVersion

TOLD_OF_100: Final = 99
"""A sentence is about at most so many of 100 reports: fewer if the groups of these hide none. The
table has the others."""

WITHOUT_FIGURE: Final[Mapping[NoFigure, str]] = {
    "not_relayed": "none of these reports came through a relay",
    "memoized": "its reports repeat permanent answers, which hide among no others",
    "own_delta": "its mechanism has a delta of its own, and no figure is known for a crowd of such "
    "reports",
    "excluded_keys": "all relayed reports came with keys that are left out",
    "suspicious_days": "all relayed reports are of days that are suspicious, or were not looked at "
    "yet",
    "small_groups": "no group of these reports is large enough to hide one",
}
"""Why only the epsilon of the device is stated."""

CONDITION: Final = (
    "if at least half of each group comes from honest devices, and relay and aggregator do not "
    "work together"
)


def is_relayed(answer: Relayed) -> bool:
    """Whether any of the reports came through a relay."""
    return any(version.reason != "not_relayed" for version in answer.versions)


def relayed_sentences(answer: Relayed) -> Iterator[str]:
    """What relayed reports of a metric cost, a paragraph for each version.

    Args:
        answer: about one metric.
    """
    several = len(answer.versions) > 1
    for version in answer.versions:
        name = answer.metric
        if several:
            name += f" (version {version.version[:VERSION_LETTERS]})"
        yield " ".join(
            [f"{name}: epsilon {upper(version.epsilon)} on the device.", *_hiding(answer, version)]
        )


def _hiding(answer: Relayed, version: RelayedVersion) -> list[str]:
    local = upper(version.epsilon)
    if version.reason is not None:
        return [f"Nothing less is stated: {WITHOUT_FIGURE[version.reason]}."]
    told = _told(version)
    worst = version.hidden[-1]
    days = ""
    if answer.since is not None and answer.until is not None:
        days = f" of {days_between(answer.since, answer.until)}"
    week = ""
    if told.epsilon_of_week is not None:
        week = f", and {upper(told.epsilon_of_week)} for the seven of a week together"
    sentences = [
        f"{told.of_100} of 100 relayed reports{days} hid among at least {told.honest:,}: epsilon "
        f"{upper(told.epsilon)}{week} (delta {power(answer.delta)}) to everybody but relay and "
        f"aggregator together, {CONDITION}; else {local}."
    ]
    if told.smaller:
        stood = "stood in a smaller group" if told.smaller == 1 else "stood in smaller groups"
        sentences.append(f"{told.smaller:,} {stood}: at most {upper(worst.epsilon)}.")
    if version.not_counted:
        sentences.append(
            f"Of {counted(version.not_counted, 'more report')}, with keys that are left out or of "
            f"days that are suspicious or not looked at, epsilon {local} alone is stated."
        )
    return sentences


def _told(version: RelayedVersion) -> HiddenReports:
    """The part of the reports that a sentence is about."""
    most = [each for each in version.hidden if each.of_100 <= TOLD_OF_100]
    less = [each for each in most if upper(each.epsilon) != upper(version.epsilon)]
    return (less or most)[-1]


def relayed_table(answers: Sequence[Relayed]) -> Table:
    """A row for each metric, version and part of the reports of which a figure is stated.

    Args:
        answers: about one metric each.
    """
    rows = [
        (
            answer.metric,
            version.version[:VERSION_LETTERS],
            upper(version.epsilon),
            f"{each.of_100}",
            f"{each.honest:,}",
            upper(each.epsilon),
            "" if each.epsilon_of_week is None else upper(each.epsilon_of_week),
        )
        for answer in answers
        for version in answer.versions
        for each in version.hidden
    ]
    return text_table(
        name="relayed",
        caption="What relayed reports cost towards everybody but relay and aggregator together",
        columns=(
            Column(heading="metric", words=True),
            Column(heading="version", words=True, minor=True),
            Column(heading="on the device"),
            Column(heading="of 100 reports"),
            Column(heading="hid among"),
            Column(heading="epsilon"),
            Column(heading="a week"),
        ),
        rows=rows,
        left_out="" if rows else "No figure but that of the device is stated.",
    )
