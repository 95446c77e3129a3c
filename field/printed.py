"""Reading what the command line prints: the numbers of its tables, as a person reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from field.asking import Reader
from field.findings import Check, Interval
from field.reading import answer_difference, asked, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer
    from field.recorded import Selection

_NUMBER: Final = r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_ENDS: Final = rf"\[{_NUMBER}%?,\s+{_NUMBER}%?\]"
_CELL: Final = rf"(?:{_NUMBER}% ± {_NUMBER}%|{_NUMBER}% {_ENDS}|below {_NUMBER}%)"
"""An estimate with its interval, with both ends, or an upper limit."""

_SHARE: Final = re.compile(rf"(?P<value>\S.*?)  +(?P<cell>{_CELL})(?P<more>.*)")
_PERIOD: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))? +([\d,]+) +(.*)")
_CHANGE: Final = re.compile(rf"(?P<value>\S.*?)  +{_NUMBER}%? +{_NUMBER}%? +{_NUMBER}[^\[]*{_ENDS}")
_MEAN: Final = re.compile(rf"mean {_NUMBER} ± {_NUMBER}")
_QUANTILE: Final = re.compile(rf"(median|{_NUMBER}(?:st|nd|rd|th) percentile) +{_NUMBER} +{_ENDS}")
_BIN: Final = re.compile(rf"{_NUMBER} +{_NUMBER} +(?P<cell>{_CELL})")
_COUNT: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
_FRAME: Final = str.maketrans(dict.fromkeys("│┃|", " "))
PERCENT: Final = 100


def rows(answer: Answer) -> list[str]:
    """The lines of what was printed, without the frame of a table."""
    return [line.translate(_FRAME).strip() for line in answer.printed.splitlines()]


def printed_shares(line: str) -> Reader:
    """The interval of every share that ``deniable estimate`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        found = [match for text in rows(answer) if (match := _SHARE.fullmatch(text))]
        yield Check(line, bool(found), f"{answer.metric}: no shares in the printed table")
        for match in found:
            value = match["value"]
            selection = answer.selection
            if count := _COUNT.search(match["more"]):
                knowing = answer.truth.knowing(answer.metric, value, selection, asked(answer))
                reports = answer.truth.recorded.reports(answer.metric, knowing)
                name = f"{answer.metric} {value}: known over {reports:,}, printed {count[0]}"
                yield Check(line, count[0] == f"{reports:,}", name)
                selection = knowing
            truth = PERCENT * share(answer, [value], selection)
            yield _interval(answer, line, value, truth, *_share(match["cell"]))

    return Reader(line, read)


def printed_series(line: str) -> Reader:
    """The interval of every share that ``deniable series`` prints, and the reports of periods."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        day_of, selection = answer.truth.deployment.day_of, answer.selection
        found = 0
        for text in rows(answer):
            rest = text
            if match := _PERIOD.fullmatch(text):
                days = day_of(match[1]), day_of(match[2] or match[1])
                selection, rest = answer.selection._replace(days=days), match[4]
                reports = answer.truth.recorded.reports(answer.metric, selection)
                name = f"{answer.metric} of {match[1]}: {reports:,} reports, printed {match[3]}"
                yield Check(line, match[3] == f"{reports:,}", name)
            if match := _SHARE.match(rest):
                found += 1
                yield _row(answer, line, match, selection)
        yield Check(line, found > 0, f"{answer.metric}: no shares in the printed series")

    return Reader(line, read)


def _row(answer: Answer, line: str, match: re.Match[str], selection: Selection) -> Interval:
    value = match["value"].split("  ")[-1].strip()  # marks of the period stand before it
    truth = PERCENT * share(answer, [value], selection)
    name = f"{value} {selection.days}"
    return _interval(answer, line, name, truth, *_share(match["cell"]))


def _share(cell: str) -> tuple[str, float, float]:
    """The estimate and the ends of a printed share; of an upper limit it and 0.

    Args:
        cell: as printed.
    """
    numbers = re.findall(_NUMBER, cell)
    if "±" in cell:
        estimate, half = map(float, numbers)
        return numbers[0], estimate - half, estimate + half
    if "[" in cell:
        return numbers[0], float(numbers[1]), float(numbers[2])
    return numbers[0], 0.0, float(numbers[0])


def printed_changes(line: str) -> Reader:
    """The interval of every difference that ``deniable change`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        before = answer.selection._replace(days=answer.question.before)
        found = [match for text in rows(answer) if (match := _CHANGE.match(text))]
        yield Check(line, bool(found), f"{answer.metric}: no differences in the printed table")
        for match in found:
            row = {} if match["value"] == "mean" else {"value": match["value"]}
            truth = answer_difference(answer, row, before) * (PERCENT if row else 1)
            low, high = float(match[5]), float(match[6])
            yield _interval(answer, line, match["value"], truth, match[4], low, high)

    return Reader(line, read)


def printed_numbers(line: str) -> Reader:
    """The mean, and the quantiles and bins of a distribution, that ``deniable estimate`` prints."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        truth, metric, selection = answer.truth, answer.metric, answer.selection
        found = 0
        for text in rows(answer):
            if match := _MEAN.search(text):
                middle, half = float(match[1]), float(match[2])
                true, name = truth.mean(metric, selection), "mean"
                yield _interval(answer, line, name, true, match[1], middle - half, middle + half)
            elif match := _QUANTILE.match(text):
                true = truth.quantile(metric, float(match[2] or 50) / PERCENT, selection)
                low, high = float(match[4]), float(match[5])
                yield _interval(answer, line, match[1], true, match[3], low, high)
            elif match := _BIN.match(text):
                true = PERCENT * truth.between(metric, float(match[1]), float(match[2]), selection)
                yield _interval(answer, line, f"bin {match[1]}", true, *_share(match["cell"]))
            else:
                continue
            found += 1
        yield Check(line, found > 0, f"{metric}: no numbers were printed")

    return Reader(line, read)


def _interval(
    answer: Answer, line: str, name: str, truth: float, estimate: str, low: float, high: float
) -> Interval:
    """A printed interval, wider by half of the last printed digit."""
    digits = len(estimate.partition(".")[2])
    rounding = 0.5 * 10.0**-digits
    cluster = f"{answer.metric}/{answer.selection.days}/{name}"
    name = f"{answer.metric} {name}"
    return Interval(line, cluster, name, truth, float(estimate), low - rounding, high + rounding)
