"""What must be exactly so in answers: which reports, which sums, which warnings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from field.asking import Reader
from field.deployment import FORGED_METRIC, FORGER, forged_days
from field.findings import Check
from field.reading import asked, numbers_of, periods, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer

DENOMINATORS: Final = "which reports"
PLACED: Final = "quantiles of 5 to 95% are placed"
SUMS: Final = "sums of shares"
WARNINGS: Final = "warnings that are due"
QUIET: Final = "no warning where all is well"
_ROUNDING: Final = 1e-6
_SUM_ERRORS: Final = 4.5


def reports() -> Reader:
    """Whether an answer is about all reports, and says where a row is about fewer."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        count = answer.truth.recorded.reports
        metric, what = answer.metric, f"{answer.metric}, {answer.question.text}"
        left = answer.content["head"].get("left_out_reports", 0)
        for period in periods(answer):
            selection = period.selection
            here, said = count(metric, selection), period.head["reports"]
            others = 0
            if selection.versions is not None and "version" not in answer.question.parameters:
                others = count(metric, selection._replace(versions=None)) - here
            name = f"{what}: {said} reports and {left} left out, truly {here} and {others}"
            yield Check(line, said == here and left == others, name)
            for row in shares_of(answer, period.place):
                knowing = answer.truth.knowing(metric, row["value"], selection, asked(answer))
                known = here if knowing == selection else count(metric, knowing)
                row_said = row.get("reports", said)
                name = f"{what}: {row['value']} is known over {known} reports, said {row_said}"
                within = "segment" in answer.question.parameters
                said_so = known == here or within or "possible_low" in row
                yield Check(line, known == row_said and said_so, name)
        everything = count(metric, answer.selection._replace(without=()))
        excluded = everything - count(metric, answer.selection)
        said = left_out(answer.content)
        yield Check(line, said == excluded, f"{what}: {said} excluded, truly {excluded}")

    return Reader(DENOMINATORS, read)


def left_out(content: dict[str, Any]) -> int:
    """The reports that an answer leaves out with their keys."""
    days = content["head"].get("days")
    if days is None:
        return int(content["head"].get("excluded_reports", 0))
    return sum(key["reports"] for key in days["keys_left_out"])


def sums() -> Reader:
    """Whether shares of a whole domain add up to 1: raw within their error, adjusted exactly.

    Shares of all reports and, where some values are not known over all, the rest.
    """

    def read(answer: Answer, line: str) -> Iterator[Check]:
        whole = answer.content["head"]["reports"]
        rows = [row for row in shares_of(answer) if row.get("reports", whole) == whole]
        rows += numbers_of(answer, "rest")
        what = f"{answer.metric} {answer.question.text}"
        total = math.fsum(row["estimate"] for row in rows)
        # The shares of a domain vary against each other, so their sum varies less than this.
        error = math.sqrt(math.fsum(row["standard_error"] ** 2 for row in rows))
        off = abs(total - 1) > _SUM_ERRORS * error
        yield Check(line, not off, f"{what}: raw shares add up to {total:.4f} ± {error:.4f}")
        adjusted = [row["adjusted"] for row in rows if "adjusted" in row]
        if adjusted:
            total = math.fsum(adjusted)
            right = abs(total - 1) < _ROUNDING and min(adjusted) >= 0
            yield Check(line, right, f"{what}: adjusted shares add up to {total:.6f}")

    return Reader(SUMS, read)


def placed(lowest: float, highest: float) -> Reader:
    """Whether the quantiles between two are numbers, and not only refusals."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        for row in numbers_of(answer, "quantile"):
            if lowest <= row["quantile"] <= highest:
                name = f"{answer.metric}: {row['quantile']:.0%} is not placed"
                yield Check(line, "estimate" in row, name)

    return Reader(PLACED, read)


def warned(*words: str) -> Reader:
    """Whether one of the answer's warnings or notes, or its printed table, has all these words."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        texts = [answer.printed] if answer.printed else messages(answer.content)
        there = any(all(word in text for word in words) for text in texts)
        name = f"{answer.metric}, {answer.question.text}: nothing says {' ... '.join(words)}"
        yield Check(line, there, name)

    return Reader(WARNINGS, read)


def days_said() -> Reader:
    """Whether the answer says which days have no reports, are not over, or have forged reports."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        deployment, recorded = answer.truth.deployment, answer.truth.recorded
        asked_days = answer.question.days or (0, deployment.last)
        every_day = set(range(asked_days[0], asked_days[1] + 1))
        forged = (
            set(forged_days(deployment)) if FORGER not in answer.question.without else set[int]()
        )
        due = {
            "missing": every_day - set(recorded.days(answer.metric, answer.selection)),
            "incomplete": every_day & {deployment.last + 1},  # today
            "suspicious": every_day & forged if answer.metric == FORGED_METRIC else set[int](),
        }
        said = {name: days_in(answer, name) for name in due}
        for name, days in due.items():
            text = f"{answer.metric}, {answer.question.text}: {name} {said[name]}, truly {days}"
            yield Check(line, said[name] == days, text)
        for period in periods(answer):
            first, last = period.selection.days or asked_days
            for name, days in due.items():
                marked = name in period.head.get("marks", ())
                right = marked == any(first <= day <= last for day in days)
                text = f"{answer.metric} from day {first}: {name} is marked {marked}"
                yield Check(line, right, text)

    return Reader(WARNINGS, read)


def days_in(answer: Answer, name: str) -> set[int]:
    """The days that an answer says are missing, incomplete or suspicious."""
    day = answer.truth.deployment.day_of
    found: set[int] = set()
    for each in answer.content["head"]["days"][name]:
        first, last = (each, each) if isinstance(each, str) else (each["since"], each["until"])
        found.update(range(day(first), day(last) + 1))
    return found


def quiet() -> Reader:
    """Whether the answer has no warning: nothing is wrong with these reports."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        found = messages(answer.content, severe=True)
        name = f"{answer.metric} {answer.question.text}: {' '.join(found)}"
        yield Check(line, not found, name)

    return Reader(QUIET, read)


def messages(content: dict[str, Any], *, severe: bool = False) -> list[str]:
    """What an answer says beside its numbers.

    Args:
        content: the answer.
        severe: only warnings.
    """
    found = [
        notice["message"]
        for notice in content.get("notices", ())
        if not severe or notice["severity"] == "warning"
    ]
    head = content["head"]
    for part in (head, *head["periods"]):
        health = part.get("health") or {}
        keys = [*health.get("suspicious_keys", ()), *health.get("uneven_keys", ())]
        found += [f"{key['label']} is {health['verdict']}" for key in keys]
    return found
