"""Answers as rows of the long table: whatever was asked, a row for each number and verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from deniable_aggregator.answers.row import Row, RowMeasure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.answers.answer import Answer, Check, Period
    from deniable_aggregator.answers.common import Mark
    from deniable_aggregator.answers.measured import Measured


def rows_of(answer: Answer) -> Iterator[Row]:
    """The numbers of an answer, one by one, and then its checks, as rows of the long table.

    What an answer does not have gives no row: a period without reports, or a value that is not
    compared.

    Args:
        answer: to any question.
    """
    origins = _Origins(answer)
    for number in answer.numbers:
        # Only what is not None: this is the quickest way for 100,000 of them.
        yield replace(origins.of(number), **msgspec.to_builtins(number))
    for check in answer.checks:
        yield origins.with_check(check)


def reports_row(answer: Answer) -> Row:
    """How many reports there are of all days together, and whether they look like those of devices.

    Args:
        answer: about the health of a metric.
    """
    of_days = sum(each.reports for each in answer.checks if each.key is None and each.name is None)
    return replace(_Origins(answer).of_period(answer.head.periods[0]), reports=of_days)


class _Origins:
    """Where the numbers of an answer come from, as rows that have no number yet.

    Args:
        answer: the answer.
    """

    def __init__(self, answer: Answer) -> None:
        self._head = answer.head
        self._question = answer.question.name
        self._versions = {each.version: each for each in answer.head.versions}
        self._simulated = [each.code for each in answer.notices if each.code == "simulated"]
        self._parts = {each.name: each for each in answer.head.parts}
        self._kept: dict[tuple[object, ...], Row] = {}

    def of(self, number: Measured) -> Row:
        """Where a number comes from."""
        compares = number.measure.startswith(("difference", "distance", "effect"))
        is_missing = number.seen in ("gone", "not_found")
        same = (
            number.period, number.within, number.version, number.versions, number.told, compares,
            is_missing,
        )  # fmt: skip
        origin = self._kept.get(same)
        if origin is None:
            period = self._head.periods[number.period]
            if compares:
                origin = self._between(self._head.periods[0], period)
            elif is_missing:
                origin = self._since_earlier_window(period)
            else:
                origin = self.of_period(period)
            if number.of_part and self._question == "estimate" and number.within in self._parts:
                origin = self._of_part(number.within, origin)
            elif number.of_part and compares:
                origin = replace(origin, before_reports=None)  # these are of all parts
            if number.version is not None or number.versions is not None:
                ids = number.versions or [number.version]
                origin = replace(origin, **self._from_versions(ids))
            if self._question == "health":  # it compares a key with all others
                origin = replace(origin, **_of_verdict("uneven" if number.told else "ok"))
            self._kept[same] = origin
        return origin

    def of_period(self, period: Period) -> Row:
        """Where a number of one period comes from."""
        head, interval = self._head, self._head.interval
        return Row(
            application=head.application,
            metric=head.metric,
            question=self._question,
            measure="reports",
            since=period.since,
            until=period.until,
            reports=period.reports,
            interval=None if interval is None else interval.kind,
            level=None if interval is None else interval.level,
            margin=None if interval is None else head.margin,
            **self._from_versions(period.versions or self._versions),
            verdict=head.verdict,
            # The periods of a series share a verdict.
            suspicious="suspicious"
            in (period.marks if self._question == "series" else [head.verdict]),
            marks=self._in_words(period.marks),
        )

    def with_check(self, check: Check) -> Row:
        """A verdict."""
        days, periods = self._head.days, self._head.periods
        if check.name == "alarm":
            return replace(
                self._between(periods[check.before or 0], periods[check.period or 0]),
                measure="alarm",
                told=check.verdict == "suspicious",
                p_value=check.p,
                adjusted_p_value=check.adjusted_p,
            )
        return Row(
            application=self._head.application,
            metric=self._head.metric,
            question=self._question,
            measure=_measure(check),
            value=check.name,
            key=check.key,
            label=check.label,
            since=check.day,
            until=check.day,
            p_value=check.p,
            reports=check.reports,
            **self._from_versions([check.version]),
            **_of_verdict(check.verdict),
            marks=self._in_words([] if days is None else days.marks(check.day, check.day)),
        )

    def _between(self, before: Period, after: Period) -> Row:
        of_both = [*(before.versions or self._versions), *(after.versions or self._versions)]
        return replace(
            self.of_period(after),
            before_since=before.since,
            before_until=before.until,
            before_reports=before.reports,
            side=after.side,
            before_side=before.side,
            **self._from_versions(dict.fromkeys(of_both)),
            marks=self._in_words([*before.marks, *after.marks]),
        )

    def _of_part(self, name: str, origin: Row) -> Row:
        """Where a number of one part of the reports comes from: the days on which it reported."""
        part, days = self._parts[name], self._head.days
        since, until = part.since or origin.since, part.until or origin.until
        marks = origin.marks if days is None else self._in_words(days.marks(since, until))
        return replace(origin, since=since, until=until, reports=part.reports, marks=marks)

    def _since_earlier_window(self, period: Period) -> Row:
        """Where a string comes from that was found in earlier days, and not since."""
        origin, found = self.of_period(period), self._head.found
        if found is None or found.earlier is None:
            return origin
        return replace(
            origin,
            before_since=found.earlier.since,
            before_until=found.earlier.until,
            before_reports=found.earlier.reports,
        )

    def _in_words(self, marks: Sequence[Mark]) -> str | None:
        """What is special about a period, and that its devices are simulated."""
        return " ".join(dict.fromkeys([*marks, *self._simulated])) or None

    def _from_versions(self, ids: Iterable[str | None]) -> dict[str, Any]:
        """The columns about the versions whose reports were counted."""
        named = [each for each in ids if each]
        known = [self._versions[each] for each in named if each in self._versions]
        mechanisms = dict.fromkeys(str(each.mechanism["name"]) for each in known)
        return {
            "mechanism": " ".join(mechanisms) or None,
            "epsilon": max((each.epsilon for each in known), default=None),
            "version": " ".join(named) or None,
        }


def _of_verdict(verdict: str) -> dict[str, Any]:
    return {"verdict": verdict, "suspicious": verdict == "suspicious"}


def _measure(check: Check) -> RowMeasure:
    if check.name is not None:
        return "check"
    return "day" if check.key is None else "key"
