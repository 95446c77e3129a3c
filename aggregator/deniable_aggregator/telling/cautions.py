"""What stands before an answer's numbers: title, warnings, days, reports, and what these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import (
    Days,
    IntegritySummary,
    MetricVersion,
    NamedKey,
    Run,
    ordered_notices,
    runs,
)
from deniable_aggregator.telling.interval import times_in_words
from deniable_aggregator.telling.wording import (
    as_sentence,
    counted,
    days_between,
    days_shortly,
    key_in_words,
    listed,
    named_shortly,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measure
    from deniable_aggregator.answers.words import IntervalKind, Margin

MARGINS: Final[dict[Margin, str]] = {
    "noise": "noise only",
    "noise-and-sampling": "noise and sampling",
}
"""What intervals allow for, in short."""

LONGEST_GAP: Final = 13
"""Days without reports of a metric that is reported once a week, if one week is missed."""

SHOWN_OF_VERSIONS: Final = 12
"""So many letters of the id of a version are shown."""


def title(answer: Answer) -> str:
    """What an answer is about: what its metric is for, or the metric's name.

    Args:
        answer: of any kind.
    """
    return visible(answer.head.description or answer.head.metric)


def beside_title(answer: Answer) -> str:
    """What belongs to the title, such as "by week" or "where channel is beta"; may be empty.

    Args:
        answer: of any kind.
    """
    parts = []
    if answer.head.segment is not None:
        name, _, value = answer.head.segment.partition("=")
        parts.append(f"where {visible(name)} is {visible(value)}")
    if answer.question.name == "series":
        parts.append(f"by {answer.head.by}")
    elif answer.compares:
        parts.append(visible(" and ".join(answer.sides)))
    elif answer.question.name == "discovery":
        parts.append("found without a list")
    elif answer.question.name == "health":
        parts.append("do its reports look honest?")
    return ", ".join(parts)


def cautions(answer: Answer) -> list[str]:
    """Warnings of an answer, a sentence or two each, the gravest first.

    Args:
        answer: of any kind.
    """
    messages = [
        visible(notice.message)
        for notice in ordered_notices(answer.notices)
        if notice.severity == "warning"
    ]
    of_days = [line for days in answer.head.covered for line in warnings_of_days(days)]
    return [as_sentence(text) for text in (*messages, *of_days) if text]


def notes(answer: Answer) -> list[str]:
    """What else to know before the numbers, a sentence or two each.

    Args:
        answer: of any kind.
    """
    return [
        as_sentence(visible(notice.message))
        for notice in ordered_notices(answer.notices)
        if notice.severity == "note" and notice.message
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


def days_lines(answer: Answer) -> list[str]:
    """Which days were covered and whether their reports look honest: a line for each period.

    Args:
        answer: of any kind; of a change there are two lines.
    """
    head = answer.head
    names: tuple[str, ...] = ("Days",)
    if answer.compares and not answer.of_same_reports:
        names = tuple(visible(name[:1].upper() + name[1:]) for name in answer.sides)
    return [
        _days_line(name, days, health)
        for name, days, health in zip(names, head.covered, head.summaries, strict=False)
    ]


def _days_line(name: str, days: Days, health: IntegritySummary) -> str:
    checked = None if not days.not_checked else days.reported - days.not_checked
    line = f"{name}: {days_in_words(days)}. {health_in_words(health, checked)}"
    if not days.not_checked or health.verdict == "unknown":
        return line
    return f"{line} {days_not_checked(days)}: the health of the metric checks more."


def days_in_words(days: Days) -> str:
    """The days in one line, such as "2026-09-01 to 2026-09-30, 29 of 30 days".

    Args:
        days: those of an answer.
    """
    span = days_between(days.since, days.until)
    if days.reported < days.covered or days.covered > 1:
        span += f", {days.reported:,} of {counted(days.covered, 'day')}"
    parts = [span]
    if days.missing:
        missing = sum(run.length for run in days.missing)
        parts.append(f"{missing:,} without reports: {_runs_in_words(days.missing, days)}")
    if days.left_out:
        left_out = sum(run.length for run in days.left_out)
        parts.append(
            f"{counted(left_out, 'day')} left out with all reports: "
            f"{_runs_in_words(days.left_out, days)}"
        )
    if days.none_due:
        none_due = sum(run.length for run in days.none_due)
        parts.append(f"none due on {counted(none_due, 'more day')}")
    if days.incomplete:
        parts.append(f"{', '.join(_short(day, days) for day in days.incomplete)} is incomplete")
    if days.open_since is not None and days.open_since not in days.incomplete:
        since = _short(days.open_since, days)
        parts.append(f"open for late reports since {since}, without those that wait")
    if days.releases:
        what = "a new version" if len(days.releases) == 1 else "new versions"
        since = named_shortly([_short(release.day, days) for release in days.releases])
        parts.append(f"{what} since {since}")
    if days.suspicious:
        parts.append(f"suspicious: {_runs_in_words(runs(days.suspicious), days)}")
    if days.uneven:
        parts.append(f"keys differ: {_runs_in_words(runs(days.uneven), days)}")
    if days.surges:
        parts.append(f"unusual volume: {_runs_in_words(runs(days.surges), days)}")
    for key in days.keys_left_out:
        why = "excluded" if key.why == "excluded" else "as asked"
        name = key_in_words(key.key, key.label)
        parts.append(f"without {counted(key.reports, 'report')} of key {name} ({why})")
    return "; ".join(parts)


def _runs_in_words(some: Sequence[Run], days: Days) -> str:
    return named_shortly(
        [
            _short(run.since, days)
            if run.length == 1
            else f"{_short(run.since, days)} to {_short(run.until, days)}"
            for run in some
        ]
    )


def _short(day: date, days: Days) -> str:
    """A day without its year, where all days have the same."""
    return f"{day:%m-%d}" if days.since.year == days.until.year else str(day)


def health_in_words(health: IntegritySummary, checked: int | None = None) -> str:
    """Whether reports look honest, in a sentence.

    Args:
        health: of an answer, or of some of its days.
        checked: how many days were looked at; None for all.
    """
    where = "" if checked is None else f" in the {counted(checked, 'day')} that were looked at"
    if health.verdict == "suspicious":
        keys = _keys_in_words(health.suspicious_keys)
        return f"Some reports look forged: {keys or 'see the health of the metric'}."
    if health.verdict == "uneven":
        keys = _keys_in_words(health.uneven_keys)
        more = _keys_in_words(health.surge_keys)
        brought = f", and {more} brought far more reports than usual" if more else ""
        no_sign = "No single report looks forged" if more else "No sign of forgery"
        return f"{no_sign}{where}, but {keys or 'keys'} answered unlike the others{brought}."
    if health.verdict == "surge":
        keys = _keys_in_words(health.surge_keys)
        return f"No check fails{where}, but {keys or 'keys'} brought far more reports than usual."
    if health.verdict == "unknown":
        return "Whether reports look honest was not checked."
    return f"No sign of forgery{where}."


def _keys_in_words(keys: Sequence[NamedKey]) -> str:
    if not keys:
        return ""
    names = ", ".join(key_in_words(key.key, key.label) for key in keys)
    return f"key {names}" if len(keys) == 1 else f"keys {names}"


def counted_line(answer: Answer) -> str:
    """How many reports there were, and how devices made them.

    Args:
        answer: of any kind.
    """
    head = answer.head
    if answer.compares and not answer.of_same_reports:
        sides = zip(head.periods, answer.sides, strict=True)
        if answer.question.name == "change":
            before, after = head.periods
            reports = f"{counted(before.reports, 'report')} before, {after.reports:,} after"
        else:
            reports = " and ".join(
                f"{counted(side.reports, 'report')} of {visible(name)}" for side, name in sides
            )
    else:
        reports = counted(_reports_of(answer), "report")
    return ", ".join(filter(None, (reports, mechanisms_in_words(head.versions)))) + "."


def mechanisms_in_words(versions: Iterable[MetricVersion]) -> str:
    """Mechanisms and their epsilons, in a few words; empty without a version.

    Args:
        versions: those of an answer.
    """
    titles = [f"{version.title} at epsilon {version.epsilon:.2f}" for version in versions]
    names = ", ".join(dict.fromkeys(titles))
    return f"{names} ({len(titles)} versions)" if len(titles) > 1 else names


def basis(answer: Answer) -> str:
    """Which reports an answer is based on, and what its intervals mean, in one sentence.

    Args:
        answer: of any kind.
    """
    head = answer.head
    text = f"Based on {_sources(answer)}"
    shown = len(answer.of("share"))
    if answer.question.name == "estimate" and shown < (head.values_asked or 0):
        text += f", {shown:,} of {head.values_asked:,} values shown"
    if head.interval is None:
        return f"{text}."
    margin = "" if head.kind == "strings" else MARGINS[head.margin]
    covers = intervals_in_words(head.interval.level, head.interval.kind, margin)
    clear = f" {as_sentence(clear_in_words(answer))}" if answer.compares else ""
    return f"{text}. {covers}.{clear}"


def intervals_in_words(level: float, kind: IntervalKind | None, margin: str = "") -> str:
    """How often intervals hold the true number, without a full stop.

    Args:
        level: with which probability.
        kind: what they cover.
        margin: what they allow for, in short; may be empty.
    """
    name, allowed = f"{level:.0%} interval", f" (for {margin})" if margin else ""
    if kind == "all":
        return f"{name}s{allowed}: {times_in_words(level)} all of them hold the true number"
    if kind == "picked":
        of = times_in_words(level).replace(" times in ", " of ")
        return f"{name}s{allowed}: on average {of} that are shown hold the true number"
    return f"Each {name}{allowed} holds the true number {times_in_words(level)}"


def clear_in_words(answer: Answer) -> str:
    """What makes a change clear, and over how much that was asked together, without a full stop.

    Args:
        answer: a change.
    """
    family, values = [], answer.head.values_asked
    if values:
        family.append("all " * (values > 1) + counted(values, "value"))
    family += [
        name
        for measure, name in _FAMILY.items()
        if answer.one(measure) is not None and not (family and measure == "distance")
    ]
    metrics = 1 if answer.head.detection is None else answer.head.detection.metrics
    return clear_among(listed(family or ["nothing"]), metrics, difference_word(answer))


def difference_word(answer: Answer) -> str:
    """What its differences are called: "change" between periods, "difference" of other sides.

    Args:
        answer: that compares.
    """
    return "difference" if answer.question.name == "compare" else "change"


_FAMILY: Final[dict[Measure, str]] = {
    "difference in mean": "the mean",
    "difference in combined": "values together",
    "distance": "the whole distribution",
}


def clear_among(family: str, metrics: int, what: str = "change") -> str:
    """The same in general, such as "a change is clear if noise and sampling hardly explain it".

    Args:
        family: what was asked of each metric.
        metrics: how many were asked about together.
        what: is clear.
    """
    together = f" of {metrics:,} metrics together" if metrics > 1 else ""
    return f"a {what} is clear if noise and sampling hardly explain it, over {family}{together}"


def _sources(answer: Answer) -> str:
    """How many reports there are, and of which days."""
    if answer.of_same_reports:
        period = answer.head.periods[0]
        reports = counted(answer.head.reports, "report")
        return f"{reports} from {days_between(period.since, period.until)}"
    if answer.question.name == "compare":
        return " and ".join(
            f"{counted(side.reports, 'report')} of {visible(name)} from "
            f"{days_between(side.since, side.until)}"
            for side, name in zip(answer.head.periods, answer.sides, strict=True)
        )
    if answer.compares:
        return " and ".join(
            f"{counted(period.reports, 'report')} from {days_between(period.since, period.until)}"
            for period in answer.head.periods
        )
    reports = counted(_reports_of(answer), "report")
    days = answer.head.days
    return reports if days is None else f"{reports} from {days_between(days.since, days.until)}"


def _reports_of(answer: Answer) -> int:
    """The reports of an answer; of one about health, those that were looked at."""
    if answer.head.kind != "health":
        return answer.head.reports
    return sum(check.reports for check in answer.checks if check.key is None and check.name is None)
