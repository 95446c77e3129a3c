"""Reading what is published, and what is said of segments and series as a whole."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.simulating.truth import names_of
from field.asking import Reader
from field.findings import Check, Finds, Interval
from field.reading import NAN, asked, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.simulating.draws import Selection
    from field.asking import Answer

    Row = dict[str, Any]

_PERCENTILE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th) percentile")


def published(line: str) -> Reader:
    """Whether all intervals of a table of ``deniable publish`` contain the truth at once.

    They are those of shares and of numbers of reports, of means and of quantiles; and the row of
    all values that are not shown.
    """

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        (table,) = json.loads(answer.printed)
        ends: list[tuple[Row, float]] = []
        for row in table["rows"]:
            known = _known(answer, row)
            reports = answer.truth.recorded.reports(answer.metric, known)
            name = f"{answer.metric} {row['label']}: of {reports:,}, published {row['of_reports']}"
            # How many reports are in a segment nobody knows.
            yield Check(line, row["of_reports"] in (reports, None), name)
            truth = _truth(answer, row, table["rows"], known)
            ends += [(row["number"], truth)] if row["number"] else []
            ends += [(row["reports"], truth * reports)] if row["reports"] else []
        missed = sum(not number["low"] <= truth <= number["high"] for number, truth in ends)
        name = f"{answer.metric} {answer.question.days}"
        yield Check(line, bool(ends), f"{name}: nothing was published")
        # As an interval of the number of those outside, which contains 0 or does not.
        yield Interval(line, name, f"{name}: outside", 0.0, NAN, missed, missed)

    return Reader(line, read)


def _known(answer: Answer, row: Row) -> Selection:
    """The reports that a row is about."""
    selection = answer.selection
    if row["measure"] != "share":
        return selection
    return answer.truth.knowing(answer.metric, row["label"], selection, asked(answer))


def _truth(answer: Answer, row: Row, rows: list[Row], known: Selection) -> float:
    """What a row's interval should contain."""
    truth, metric = answer.truth, answer.metric
    match row["measure"]:
        case "share":
            return share(answer, [row["label"]], known)
        case "other":
            shown = [each["label"] for each in rows if each["measure"] == "share"]
            return 1 - share(answer, shown, known)
        case "mean":
            return truth.mean(metric, known)
    place = _PERCENTILE.fullmatch(row["label"])
    return truth.quantile(metric, float(place[1]) / 100 if place else 0.5, known)


def least_distances(line: str) -> Reader:
    """The lower limit of how far the values within a segment are from those of all devices."""

    def read(answer: Answer, line: str) -> Iterator[Interval]:
        found = answer.content["head"]["closeness"]
        spec = answer.truth.spec(answer.metric, answer.selection)
        assert spec.segments is not None
        name, values = names_of(spec)[0], spec.segments.of.domain
        assert name == answer.metric
        whole = [answer.truth.share(answer.metric, [each], answer.selection) for each in values]
        inside = [share(answer, [each], answer.selection) for each in values]
        truth = sum(abs(one - two) for one, two in zip(whole, inside, strict=True)) / 2
        label = f"{answer.metric} {answer.question.text}"
        yield Interval(line, label, label, truth, NAN, found["low"], 1.0)

    return Reader(line, read)


def alarms(line: str, *, truly: bool = False) -> Reader:
    """Whether a series raises an alarm, and whether it should.

    Args:
        line: of the table.
        truly: whether the law by which devices hold values did change, so far that it stands out.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        raised = bool(answer.content["head"]["alarm"]["raised"])
        name = f"{answer.metric} {answer.question.text}"
        yield Finds(
            line, name, raised, raised and not truly, truly, truly and not raised, name
        )  # fmt: skip

    return Reader(line, read)
