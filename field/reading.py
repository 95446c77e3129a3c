"""Reading answers: every printed number becomes a finding beside the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_aggregator.simulating.population import DAYS_PER_WEEK
from field.asking import Reader
from field.findings import Check, Finds, Interval, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_aggregator.simulating.draws import Selection
    from field.asking import Answer
    from field.findings import Finding

    Row = dict[str, Any]

STANDS_OUT: Final = 7.0
"""A share of more standard errors than this must be detected."""

NAN: Final = float("nan")


def shares(line: str, *, by_value: bool = False, picked: bool = False) -> Reader:
    """The interval of every share, of an estimate or of each period of a series.

    Args:
        line: of the table.
        by_value: whether intervals of the same value depend on each other at all times, as where
            noise is permanent or collisions stay; otherwise those of the same days do.
        picked: whether the values were picked by their estimates, so that their errors are larger
            than their standard errors say.
    """

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for period in periods(answer):
            for row in shares_of(answer, period.place):
                known = row_selection(answer, period, row)
                truth = share(answer, [row["value"]], known)
                printed = {**row, "standard_error": None} if picked else row
                cluster = f"{answer.metric}/{row['value'] if by_value else period.selection.days}"
                yield interval(answer, line, cluster, row["value"], printed, truth)

    return Reader(line, read)


def possible_shares(line: str = "possible shares of all") -> Reader:
    """Between which ends the share of all reports can lie, where a row is known over fewer."""

    def read(answer: Answer, line: str) -> Iterator[Interval]:
        for row in shares_of(answer):
            if "possible_low" in row:
                ends = row["possible_low"], row["possible_high"]
                truth = share(answer, [row["value"]], answer.selection)
                cluster = f"{answer.metric}/{answer.selection.days}"
                name = f"{answer.metric} {row['value']}"
                yield Interval(line, cluster, name, truth, NAN, *ends)

    return Reader(line, read)


def each_version(reader: Reader) -> Reader:
    """What a reader finds in the answers of each version of the metric by itself."""

    def read(answer: Answer, line: str) -> Iterator[Finding]:
        deployment, metric = answer.truth.deployment, answer.metric
        head, numbers = answer.content["head"], answer.content["numbers"]
        for part in head["versions"]:
            versions = tuple(
                version
                for version in deployment.versions
                if deployment.registry(version).metrics[metric].spec.digest.hex() == part["version"]
            )
            question = replace(answer.question, versions=versions)
            said, reports = (
                part["reports"],
                answer.truth.recorded.reports(metric, question.selection),
            )
            name = f"{metric} of {versions}: {said} reports, truly {reports}"
            yield Check(line, said == reports, name)
            own = [
                {name: cell for name, cell in row.items() if name not in ("version", "within")}
                for row in numbers
                if row.get("version") == part["version"]
            ]
            content = {
                "head": {**head, "periods": [{**head["periods"][0], "reports": said}]},
                "numbers": own,
            }
            yield Check(line, bool(own), f"{metric} of {versions}: its numbers")
            yield from reader.read(replace(answer, question=question, content=content), line)

    return Reader(reader.line, read)


def combined(line: str) -> Reader:
    """The interval of the values that were asked for together."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for period in periods(answer):
            for row in numbers_of(answer, "combined", period=period.place):
                truth = share(answer, row["values"], period.selection)
                cluster = f"{answer.metric}/{period.selection.days}"
                yield interval(answer, line, cluster, " + ".join(row["values"]), row, truth)

    return Reader(line, read)


def together(line: str) -> Reader:
    """Whether all intervals of an answer contain the truth at once: one interval of all."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        each = list(shares(line).read(answer, line))
        missed = sum(isinstance(one, Interval) and not one.covers for one in each)
        name = f"{answer.metric} {answer.question.days}"
        # As an interval of the number of those outside, which contains 0 or does not.
        yield Interval(line, name, f"{name}: outside", 0.0, NAN, missed, missed)

    return Reader(line, read)


def robust_checks(line: str) -> Reader:
    """The interval of the median over slices; for metrics whose slices are alike."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for row in numbers_of(answer, "share"):
            if "robust" in row:
                check = {
                    "estimate": row["robust"], "standard_error": row["robust_error"],
                    "low": row["robust_low"], "high": row["robust_high"],
                }  # fmt: skip
                truth = share(answer, [row["value"]], answer.selection)
                cluster = f"{answer.metric}/{answer.selection.days}"
                yield interval(answer, line, cluster, row["value"], check, truth)

    return Reader(line, read)


def segment_sizes(line: str) -> Reader:
    """How large the segments are."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        cluster = f"{answer.metric}/{answer.selection.days}"
        for row in numbers_of(answer, "segment size"):
            truth = answer.truth.share(answer.metric, [row["segment"]], answer.selection)
            yield interval(answer, line, cluster, row["segment"], row, truth)

    return Reader(line, read)


def detected(line: str, *, everything: bool = False) -> Reader:
    """What is said to be above zero, and what stands out and so should be.

    Args:
        line: of the table.
        everything: whether the answer has a row for all values that were asked for.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        rows = numbers_of(answer, "share")
        truths = {row["value"]: share(answer, [row["value"]], answer.selection) for row in rows}
        found = [row["value"] for row in rows if row["told"]]
        false = [value for value in found if not truths[value]]
        due = [
            row["value"]
            for row in rows
            if everything and truths[row["value"]] > STANDS_OUT * row["standard_error"]
        ]
        missed = sorted(set(due) - set(found))
        yield Finds(
            line, f"{answer.metric} {answer.question.text}",
            len(found), len(false), len(due), len(missed), ", ".join([*false, *missed][:3]),
        )  # fmt: skip

    return Reader(line, read)


def differences(line: str) -> Reader:
    """The interval of every difference between two periods."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before = answer.selection._replace(days=answer.question.before)
        for row in numbers_of(
            answer, "difference in share", "difference in mean", "difference in combined"
        ):
            truth = answer_difference(answer, row, before)
            cluster = f"{answer.metric}/{answer.question.days}"
            yield interval(answer, line, cluster, row.get("value", "mean"), row, truth)

    return Reader(line, read)


def answer_difference(
    answer: Answer, row: Row, before: Selection, after: Selection | None = None
) -> float:
    """The true difference that a row of a change is about; left out, after is all of its days."""
    sides = before, after or answer.selection
    rows = row.get("values") or [row["value"]] if "value" in row or "values" in row else None
    if rows is None:
        one, two = (answer.truth.mean(answer.metric, s) for s in sides)
    else:
        one, two = (share(answer, rows, s) for s in sides)
    return two - one


def differences_of_weekdays(line: str) -> Reader:
    """The same of periods within a week that are not the same weekdays: of those that both have."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before, after = answer.question.before, answer.question.days
        assert before is not None
        assert after is not None
        pairs = [
            (one, other)
            for one in range(before[0], before[1] + 1)
            for other in range(after[0], after[1] + 1)
            if (other - one) % DAYS_PER_WEEK == 0
        ]
        for row in numbers_of(answer, "difference in share", "difference in mean"):
            apart = [
                answer_difference(
                    answer,
                    row,
                    answer.selection._replace(days=(one, one)),
                    answer.selection._replace(days=(other, other)),
                )
                for one, other in pairs
            ]
            cluster = f"{answer.metric}/{answer.question.days}"
            truth = sum(apart) / len(apart)
            yield interval(answer, line, cluster, row.get("value", "mean"), row, truth)

    return Reader(line, read)


def clear_changes(line: str, *, truly: tuple[str, ...] = ()) -> Reader:
    """What is said to have changed.

    Args:
        line: of the table.
        truly: the values that did change, all of which stand out; for all others the law by which
            devices hold values was the same in both periods.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        rows = numbers_of(answer, "difference in share", "difference in mean")
        found = [row.get("value", "mean") for row in rows if row["told"]]
        false = [name for name in found if name not in truly]
        missed = [name for name in truly if name not in found]
        yield Finds(
            line, f"{answer.metric} {answer.question.text}",
            len(found), len(false), len(truly), len(missed), ", ".join([*false, *missed][:3]),
        )  # fmt: skip

    return Reader(line, read)


class Period(NamedTuple):
    """Days of an answer that have numbers of their own.

    Attributes:
        place: its place among those of the answer.
        selection: the reports that it is about.
        head: what the answer says of it.
    """

    place: int
    selection: Selection
    head: Row


def periods(answer: Answer) -> Iterator[Period]:
    """The periods of an answer; of a change only the second."""
    heads = answer.content["head"]["periods"]
    if answer.question.form != "series":
        yield Period(len(heads) - 1, answer.selection, heads[-1])
        return
    day = answer.truth.deployment.day_of
    for place, head in enumerate(heads):
        days = day(head["since"]), day(head["until"])
        yield Period(place, answer.selection._replace(days=days), head)


def numbers_of(answer: Answer, *measures: str, period: int | None = None) -> list[Row]:
    """The numbers of an answer that are of one of some measures, of all versions together.

    Args:
        answer: that has them.
        measures: at least one.
        period: only those of this period, by its place.
    """
    return [
        row
        for row in answer.content["numbers"]
        if row["measure"] in measures
        and "version" not in row
        and period in (None, row.get("period", 0))
    ]


def shares_of(answer: Answer, period: int | None = None) -> list[Row]:
    """The shares that have a number: no version may know a value."""
    return [row for row in numbers_of(answer, "share", period=period) if "estimate" in row]


def row_selection(answer: Answer, period: Period, row: Row) -> Selection:
    """The reports that a row says it is about: all, or those of the versions that know it."""
    whole = period.head["reports"]
    if row.get("reports", whole) == whole:
        return period.selection
    return answer.truth.knowing(answer.metric, row["value"], period.selection, asked(answer))


def asked(answer: Answer) -> Selection:
    """The reports of all days that an answer is about; of a change, of both periods."""
    question = answer.question
    if question.before is None or question.days is None:
        return answer.selection
    return answer.selection._replace(days=(question.before[0], question.days[1]))


def share(answer: Answer, rows: Iterable[str], selection: Selection) -> float:
    """The true share of some rows of an answer, among some reports, or those of its segment."""
    if segment := answer.question.parameters.get("segment"):
        parts = [
            answer.truth.share_within(answer.metric, row, str(segment), selection, asked(answer))
            for row in rows
        ]
        return sum(parts)
    return answer.truth.share(answer.metric, rows, selection, asked(answer))


def interval(
    answer: Answer, line: str, cluster: str, name: str, row: Row, truth: float
) -> Interval | Refusal:
    """A row's interval beside the truth; a row without an interval says why it has none."""
    if "low" not in row:
        return Refusal(line, f"{answer.metric} {name}", str(row.get("reason", "no number")))
    estimate, error = row.get("estimate"), row.get("standard_error")
    return Interval(
        line, cluster, f"{answer.metric} {name}", truth, NAN if estimate is None else estimate,
        row["low"], row["high"], NAN if error is None else error,
    )  # fmt: skip
