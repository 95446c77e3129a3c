"""Reading what the command line prints: the numbers of its tables, as a person reads them.

A printed interval is judged as it stands, and must not be narrower than the computed one of the
same answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from field.asking import Reader
from field.findings import Check, Interval
from field.reading import NAN, answer_difference, asked, numbers_of, periods, share, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.simulating.draws import Selection
    from field.asking import Answer

    Row = dict[str, Any]

_NUMBER: Final = r"([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
_ENDS: Final = rf"\[{_NUMBER}%?,\s+{_NUMBER}%?\]"
_WORDS: Final = rf"(?:anything from )?{_NUMBER}%? to {_NUMBER}"
_SHARE_WORDS: Final = rf"(?:(?:below|above) {_NUMBER}%|{_WORDS}%)"
_NO_ESTIMATE: Final = r"can't [a-z ]+?"
_CELL: Final = (
    rf"(?:{_NUMBER}% (?:±|\+-) {_NUMBER}%|{_NUMBER}% {_ENDS}"
    rf"|(?:(?:{_NUMBER}%|{_NO_ESTIMATE}) {{2,}})?{_SHARE_WORDS}(?: {{2,}}{_NUMBER}%)?)"
)
"""A share with its interval: x ± y, both ends, or a range in words beside the estimate."""

_VALUE: Final = r"(?P<value>\S+(?: \S+)*?)"
_SHARE: Final = re.compile(rf"{_VALUE}  +(?P<cell>{_CELL})(?P<more>.*)")
_SHARE_OF_PERIOD: Final = re.compile(rf"(?:.*?  +)??{_VALUE}  +(?P<cell>{_CELL})")
"""Marks of the period may stand before the value."""

_PERIOD: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))? +([\d,]+) +(.*)")
_CHANGE: Final = re.compile(rf"{_VALUE}  +{_NUMBER}%? +{_NUMBER}%? +(?P<change>.*)")
_NUMBER_CELL: Final = (
    rf"(?:(?:{_NUMBER}|{_NO_ESTIMATE})? +)?(?:{_ENDS}|{_WORDS}(?!\S))|{_NUMBER} (?:±|\+-) {_NUMBER}"
)
_MEAN: Final = re.compile(rf"mean +(?P<cell>{_NUMBER_CELL})")
_PLACE: Final = r"(?P<name>median|(?P<place>\d+(?:\.\d+)?)(?:st|nd|rd|th) percentile)"
_QUANTILE: Final = re.compile(rf"{_PLACE} +(?P<cell>{_NUMBER_CELL})")
_BIN: Final = re.compile(rf"(?P<first>{_NUMBER})(?: to | +)(?P<last>{_NUMBER})  +(?P<cell>{_CELL})")
_COUNT: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_FRAME: Final = str.maketrans(dict.fromkeys("│┃|", " "))
PERCENT: Final = 100
_SHARES: Final = (0.0, 100.0)
_FLOAT: Final = 1e-9
"""Ends are decimals where they are printed, and floats where they are computed."""


class Printed(NamedTuple):
    """A number as it was printed.

    Attributes:
        estimate: nan where only the interval was.
        low: the lower end, as a person reads it.
        high: the upper end.
    """

    estimate: float
    low: float
    high: float


def rows(answer: Answer) -> list[str]:
    """The lines of what was printed, without the frame of a table."""
    return [line.translate(_FRAME).strip() for line in answer.printed.splitlines()]


def printed_shares(line: str) -> Reader:
    """The interval of every share that ``deniable estimate`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        found = [match for text in rows(answer) if (match := _SHARE.fullmatch(text))]
        yield Check(line, bool(found), f"{answer.metric}: no shares in the printed table")
        numbers = [*shares_of(answer), *numbers_of(answer, "combined", "rest")]
        computed = {row["value"]: row for row in numbers}
        for match in found:
            value = match["value"]
            selection = answer.selection
            if count := _COUNT.search(match["more"]):
                knowing = answer.truth.knowing(answer.metric, value, selection, asked(answer))
                reports = answer.truth.recorded.reports(answer.metric, knowing)
                name = f"{answer.metric} {value}: known over {reports:,}, printed {count[0]}"
                yield Check(line, count[0] == f"{reports:,}", name)
                selection = knowing
            printed, row = share_in(match["cell"]), computed.get(value)
            values = [value] if row is None else row.get("values", [value])
            truth = PERCENT * share(answer, values, selection)
            yield from _judged(answer, line, value, truth, printed, row, PERCENT, _SHARES)

    return Reader(line, read)


def printed_series(line: str) -> Reader:
    """The interval of every share that ``deniable series`` prints, and the reports of periods."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        day_of, selection = answer.truth.deployment.day_of, answer.selection
        computed = {
            (period.selection.days, row["value"]): row
            for period in periods(answer)
            for row in shares_of(answer, period.place)
        }
        found, begun = 0, False
        for text in rows(answer):
            rest = text
            if match := _PERIOD.fullmatch(text):
                days = day_of(match[1]), day_of(match[2] or match[1])
                selection, rest = answer.selection._replace(days=days), match[4]
                begun = True  # headings stand before the first period
                reports = answer.truth.recorded.reports(answer.metric, selection)
                name = f"{answer.metric} of {match[1]}: {reports:,} reports, printed {match[3]}"
                yield Check(line, match[3] == f"{reports:,}", name)
            if begun and (match := _SHARE_OF_PERIOD.match(rest)):
                found += 1
                value, cell = match.group("value", "cell")
                yield from _of_period(answer, line, value, cell, selection, computed)
        yield Check(line, found > 0, f"{answer.metric}: no shares in the printed series")

    return Reader(line, read)


def _of_period(
    answer: Answer,
    line: str,
    value: str,
    cell: str,
    selection: Selection,
    computed: dict[tuple[tuple[int, int] | None, str], Row],
) -> Iterator[Interval | Check]:
    truth = PERCENT * share(answer, [value], selection)
    name, row = f"{value} {selection.days}", computed.get((selection.days, value))
    yield from _judged(answer, line, name, truth, share_in(cell), row, PERCENT, _SHARES)


def printed_changes(line: str) -> Reader:
    """The interval of every difference that ``deniable change`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        before = answer.selection._replace(days=answer.question.before)
        changes = numbers_of(answer, "difference in share", "difference in mean")
        computed = {row.get("value", "mean"): row for row in changes}
        found = 0
        for text in rows(answer):
            match = _CHANGE.match(text)
            printed = difference_in(match["change"]) if match else None
            if match is None or printed is None:
                continue
            found += 1
            value = match["value"]
            about = {} if value == "mean" else {"value": value}
            unit = PERCENT if about else 1
            truth = answer_difference(answer, about, before) * unit
            row = computed.get(value)
            yield from _judged(answer, line, value, truth, printed, row, unit, None)
        yield Check(line, found > 0, f"{answer.metric}: no differences in the printed table")

    return Reader(line, read)


def printed_numbers(line: str) -> Reader:
    """The mean, and the quantiles and bins of a distribution, that ``deniable estimate`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        truth, metric, selection = answer.truth, answer.metric, answer.selection
        span = truth.spec(metric, selection).range
        possible = None if span is None else (float(span[0]), float(span[1]))
        quantiles = {row["quantile"]: row for row in numbers_of(answer, "quantile")}
        bins = {row["bin_from"]: row for row in numbers_of(answer, "bin")}
        found = 0
        for text in rows(answer):
            row: Row | None
            if match := _MEAN.match(text):
                (row,) = numbers_of(answer, "mean")
                true, name, unit = truth.mean(metric, selection), "mean", 1
                printed = number_in(match["cell"])
            elif match := _QUANTILE.match(text):
                place = float(match["place"] or 50) / PERCENT
                true, name, unit = truth.quantile(metric, place, selection), match["name"], 1
                row = next(
                    (each for at, each in quantiles.items() if abs(at - place) < _FLOAT), None
                )
                printed = number_in(match["cell"])
            elif match := _BIN.match(text):
                first, last = number(match["first"]), number(match["last"])
                true, unit = PERCENT * truth.between(metric, first, last, selection), PERCENT
                name, row = f"bin {match['first']}", bins.get(first)
                printed = share_in(match["cell"])
            else:
                continue
            found += 1
            limits = _SHARES if unit == PERCENT else possible
            yield from _judged(answer, line, name, true, printed, row, unit, limits)
        yield Check(line, found > 0, f"{metric}: no numbers were printed")

    return Reader(line, read)


def number(text: str) -> float:
    """A number as it is written."""
    return float(text.replace(",", ""))


def share_in(cell: str) -> Printed:
    """The estimate and the ends of a printed share, in percent.

    Args:
        cell: as printed; "below 0.6%" begins at 0, and "above 99%" ends at 100.
    """
    numbers = [number(each) for each in re.findall(_NUMBER, cell)]
    if "below" in cell or "above" in cell:
        word = "below" if "below" in cell else "above"
        end = number(re.findall(rf"{word} {_NUMBER}", cell)[0])
        others = [each for each in numbers if each != end]
        estimate = others[0] if others else NAN
        return Printed(estimate, *((0.0, end) if word == "below" else (end, float(PERCENT))))
    return number_in(cell)


def number_in(cell: str) -> Printed:
    """The estimate and the ends of a printed number.

    Args:
        cell: as printed, such as "62 ± 8", "2.1 [1.4, 2.8]" or "2.1  1.4 to 2.8".
    """
    numbers = [number(each) for each in re.findall(_NUMBER, cell)]
    if "±" in cell or "+-" in cell:
        estimate, half = numbers
        return Printed(estimate, estimate - half, estimate + half)
    if match := re.search(rf"{_ENDS}|{_NUMBER}%? to {_NUMBER}", cell):
        low, high = (number(each) for each in match.groups() if each)
        outside = re.findall(_NUMBER, cell[: match.start()] + cell[match.end() :])
        return Printed(number(outside[0]) if outside else NAN, low, high)
    raise ValueError(f"cell must be a number with its interval, got {cell!r}")


def difference_in(text: str) -> Printed | None:
    """The ends of a printed difference, and the estimate if one stands before them.

    Args:
        text: what stands behind the numbers before and after.

    Returns:
        None if it has no interval.
    """
    leading = re.match(rf"{_NUMBER}(?: points?)? *(?=\[|  )", text)
    estimate = number(leading[1]) if leading else NAN
    rest = text[leading.end() :].lstrip() if leading else text
    if match := re.match(_ENDS, rest):
        return Printed(estimate, number(match[1]), number(match[2]))
    if match := re.match(rf"less than {_NUMBER}(?: points?)? either way", rest):
        return Printed(estimate, -number(match[1]), number(match[1]))
    if match := re.match(rf"(up|down) {_NUMBER}(?: to {_NUMBER})?", rest):
        ends = [number(each) for each in (match[2], match[3] or match[2])]
        low, high = ends if match[1] == "up" else (-ends[1], -ends[0])
        return Printed(estimate, low, high)
    if match := re.match(rf"{_NUMBER} to {_NUMBER}", rest):
        return Printed(estimate, number(match[1]), number(match[2]))
    return None


def _judged(
    answer: Answer,
    line: str,
    name: str,
    truth: float,
    printed: Printed,
    row: Row | None,
    unit: float,
    limits: tuple[float, float] | None,
) -> Iterator[Interval | Check]:
    """A printed interval beside the truth, and beside the interval that was computed.

    Args:
        answer: to the question.
        line: of the table of verdicts.
        name: which number it is.
        truth: what it should contain, in the unit that is printed.
        printed: the interval.
        row: the same number as it was computed; None if there is none.
        unit: 100 for shares, which are printed in percent.
        limits: what the number can be, in the unit that is printed; None for anything. An interval
            may be cut there.
    """
    cluster = f"{answer.metric}/{answer.selection.days}/{name}"
    name = f"{answer.metric} {name}"
    yield Interval(line, cluster, name, truth, *printed)
    if row is None:
        yield Check(line, False, f"{name} was printed and not computed")
        return
    low, high = (unit * row[end] for end in ("low", "high"))
    if limits is not None:
        low, high = (min(max(end, limits[0]), limits[1]) for end in (low, high))
    wide = printed.low <= low + _FLOAT and printed.high >= high - _FLOAT
    said = f"{name} is {low:.6g} to {high:.6g}, printed {printed.low:g} to {printed.high:g}"
    yield Check(line, wide, f"{said}, which is narrower")
