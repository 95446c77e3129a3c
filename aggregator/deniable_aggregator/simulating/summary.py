"""What the analyst will see of a simulated deployment, beside the truth: the ordinary answers."""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answers.questions import ChangeQuery, DaysQuery, EstimateQuery, ValueLists
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import CHANGE, ESTIMATE, RELAYED
from deniable_aggregator.simulating.beside import (
    Beside,
    beside,
    found_in_words,
    shares_of_strings,
    table_beside_truth,
)
from deniable_aggregator.simulating.draws import Selection
from deniable_aggregator.simulating.population import DAYS_PER_WEEK
from deniable_aggregator.telling.cautions import counted_line, health_in_words
from deniable_aggregator.telling.changes import change_finding
from deniable_aggregator.telling.numbers import named
from deniable_aggregator.telling.relayed import relayed_sentences
from deniable_aggregator.telling.wording import as_sentence, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measure, Measured
    from deniable_aggregator.answers.relayed import Relayed
    from deniable_aggregator.asking.questions import Source
    from deniable_aggregator.simulating.laws import Prior
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.truth import Truth
    from deniable_aggregator.telling.document import Table
    from deniable_shared.registry import Metric

TABLE_ROWS: Final = 10
_BESIDES: Final[Mapping[Measure, str]] = {
    "bin": "",
    "lift": "more pair",
    "set size": "more size",
    "items per device": "more mean",
}
"""Measures of other numbers than those that are shown first: what one more is, if any are shown."""

NAMED: Final = 4
POWER: Final = 0.8
"""In so many of all cases a change is seen that is as large as the least that is said to be."""

LEVEL: Final = 0.05
AT_ONCE: Final = 2
"""So many questions are asked at a time."""


@dataclass(frozen=True)
class Shown:
    """What is shown of one metric.

    Attributes:
        metric: as its newest version declares it.
        answer: the estimate, or what was found of strings.
        rows: its numbers with the truth: all values and lifts, or a mean and quantiles.
        change: what has changed; None where that cannot be asked, or nothing changes.
        changes: its numbers with the truth.
        noticed: of a metric with forged reports, whether the answer warned of them; else None.
        prior: what devices hold.
        held: of strings that are discovered, the share of each; else nothing.
        clipped: of numbers, the part that lies outside of the range.
        others: how many reports the answer is of that were not simulated now.
        problem: why there is no answer; empty if there is one.
        not_compared: why something changes and there is no `change`; else empty.
        relayed: what its reports cost that came through a relay; None without one.
    """

    metric: Metric
    answer: Answer | None
    rows: Sequence[Beside]
    change: Answer | None
    changes: Sequence[Beside]
    noticed: bool | None
    prior: Prior
    held: Mapping[str, float]
    clipped: float
    others: int = 0
    problem: str = ""
    not_compared: str = ""
    relayed: Relayed | None = None

    @property
    def name(self) -> str:
        """That of the metric."""
        return self.metric.spec.name

    @property
    def placed(self) -> list[Beside]:
        """Shares, or a mean and quantiles."""
        return [row for row in self.rows if row.number.measure not in _BESIDES]

    def tables(self) -> Iterator[Table]:
        """The numbers beside the truth, the largest shares first, and which values go together."""
        if self.answer is None:
            return
        groups = [(self.placed, "more value")]
        for measure, noun in _BESIDES.items():
            if noun:
                groups.append(([row for row in self.rows if row.number.measure == measure], noun))
        for rows, noun in groups:
            if rows and rows[0].number.measure != "mean":
                rows.sort(key=lambda row: -(row.number.estimate or 0.0))
            more = len(rows) - TABLE_ROWS
            left_out = f"{counted(more, noun)}." if more > 0 else ""
            if rows:
                yield table_beside_truth(self.answer, rows[:TABLE_ROWS], left_out)

    def lines(self) -> Iterator[str]:
        """What is to be said of the numbers, a sentence or two each."""
        if self.relayed is not None:
            yield from relayed_sentences(self.relayed)
        if self.others:
            yield f"There are {self.others:,} other reports of these days: the truth is not theirs."
        if self.metric.spec.picks:
            yield "The truth is that of a device's values, averaged over devices."
        if self.noticed is not None:
            yield _forger_in_words(noticed=self.noticed)
        if self.held and self.answer is not None:
            yield from found_in_words(self.metric, self.answer, self.held)
        elif self.placed and self.placed[0].number.measure == "share":
            yield from _told_from_zero(self.placed)
        if self.placed:
            yield _widths_in_words(self.placed)
        if self.clipped:
            part = f"{self.clipped:.1%}"
            yield f"{part} of devices hold a number outside of the range: it is clipped."
        if self.change is not None:
            yield from _change_in_words(self.change, self.changes)
        elif self.not_compared:
            yield as_sentence(f"Before and after the change: {self.not_compared}")

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "metric": self.name,
            "made_up": self.prior.made_up or None,
            "problem": self.problem or None,
            "reports": self.answer.head.reports if self.answer else 0,
            "forgery_noticed": self.noticed,
            "relayed": None if self.relayed is None else msgspec.to_builtins(self.relayed),
            "clipped": self.clipped,
            "numbers": [_number_data(row) for row in self.rows],
            "changes": [_number_data(row) for row in self.changes],
            "least_change_seen": least_change(self.changes) if self.changes else None,
        }


def summaries(
    source: Source, deployment: Deployment, truth: Truth, priors: Mapping[str, Prior]
) -> Iterator[Shown]:
    """Asks of each metric what an analyst asks first.

    Args:
        source: answers questions about the deployment's reports.
        deployment: the calendar.
        truth: what devices recorded.
        priors: what they hold, by metric.
    """
    newest: dict[str, Metric] = {}
    for version in deployment.versions:
        newest.update(deployment.registry(version).metrics)

    def shown(name: str) -> Shown:
        return _Asking(source, deployment, truth, newest[name]).shown(priors[name])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        # Looking for strings takes the longest, so it begins first.
        begun = sorted(deployment.metrics, key=lambda name: newest[name].spec.letters is None)
        futures = {name: pool.submit(shown, name) for name in begun}
        for name in deployment.metrics:
            yield futures[name].result()


class _Asking:
    """Asks about one metric."""

    def __init__(
        self, source: Source, deployment: Deployment, truth: Truth, metric: Metric
    ) -> None:
        self._source, self._deployment, self._truth = source, deployment, truth
        self._metric, self._name = metric, metric.spec.name
        self._lists = ValueLists()
        forgery = deployment.forgery_of(self._name)
        self._forged_key = None if forgery is None else forgery.key

    def shown(self, prior: Prior) -> Shown:
        """What there is to show; why there is nothing, if there is nothing."""
        spec, selection = self._metric.spec, Selection()
        if spec.is_open and spec.letters is None:
            items = (item for record in prior.records for item in record)
            candidates = dict.fromkeys([*prior.shares, *map(str, items), *prior.absent])
            self._lists = ValueLists(candidates=tuple(candidates))
        clipped = self._truth.clipped(self._name) if spec.range is not None else 0.0
        held = shares_of_strings(self._truth, self._name, selection) if spec.letters else {}
        noticed = None
        try:
            answer = self._estimate(())
            if self._forged_key is not None:
                noticed = answer.head.verdict in ("suspicious", "uneven")
            if noticed and self._forged_key is not None and len(self._deployment.keys) > 1:
                selection = Selection(without=(self._forged_key,))
                answer = self._estimate(selection.without)
        except AskingError as error:
            return Shown(
                self._metric, None, (), None, (), noticed, prior, held, clipped, problem=str(error)
            )
        rows = beside(answer, self._numbers(answer), self._truth, selection)
        change, not_compared = self._change(selection.without)
        changes = [] if change is None else self._beside_change(change, selection)
        relayed = None
        if self._deployment.relay is not None:
            relayed = self._source.ask(RELAYED.of(self._name), DaysQuery())
        others = answer.head.reports - self._truth.recorded.reports(self._name, selection)
        return Shown(
            self._metric, answer, rows, change, changes, noticed, prior, held, clipped, others,
            not_compared=not_compared, relayed=relayed,
        )  # fmt: skip

    def _numbers(self, answer: Answer) -> list[Measured]:
        if answer.head.kind == "strings":
            return [*answer.strings, *answer.prefixes]
        return answer.of("share", "lift", "set size", "items per device") or answer.of(
            "mean", "quantile", "bin"
        )

    def _estimate(self, without: tuple[str, ...]) -> Answer:
        if self._metric.spec.letters is not None:
            return self._source.discover(self._name)
        query = EstimateQuery(without_key=without)
        return self._source.ask(ESTIMATE.of(self._name), query, self._lists)

    def _change(self, without: tuple[str, ...]) -> tuple[Answer | None, str]:
        """Whole weeks before the change against whole weeks after it; or why there is no answer."""
        if self._deployment.change is None or self._metric.spec.letters is not None:
            return None, ""
        before, after = self._compared()
        if min(len(before), len(after)) < DAYS_PER_WEEK:
            return None, "not compared, as there is no whole week on each side; simulate more days"
        date = self._deployment.date_of
        query = ChangeQuery(
            before=f"{date(before[0])}..{date(before[-1])}",
            after=f"{date(after[0])}..{date(after[-1])}",
            without_key=without,
        )
        try:
            return self._source.ask(CHANGE.of(self._name), query, self._lists), ""
        except AskingError as error:
            return None, f"not compared: {error}"

    def _compared(self) -> tuple[range, range]:
        """The whole weeks next to the change, on either side."""
        first, end = self._deployment.change or 0, self._deployment.days
        before, after = (days // DAYS_PER_WEEK * DAYS_PER_WEEK for days in (first, end - first))
        return range(first - before, first), range(first, first + after)

    def _beside_change(self, change: Answer, selection: Selection) -> list[Beside]:
        before, after = (selection._replace(days=(days[0], days[-1])) for days in self._compared())
        found = []
        for number in change.of("difference in share", "difference in mean"):
            if number.low is None:
                continue
            one, two = (self._level(number, each, selection) for each in (before, after))
            found.append(Beside(number, two - one))
        return found

    def _level(self, number: Measured, selection: Selection, asked: Selection) -> float:
        if number.measure == "difference in mean":
            return self._truth.mean(self._name, selection)
        return self._truth.share(self._name, [number.value or ""], selection, asked)


def half_width(number: Measured) -> float:
    """Half of the interval of a number.

    Args:
        number: with an interval.
    """
    low, high = number.ends
    return (high - low) / 2


def least_change(changes: Sequence[Beside]) -> float:
    """The least change of the average number that is seen in 8 of 10 cases.

    Corrected for the number of values as if each had to be clear by itself among all (Bonferroni),
    so that it is rather too large.

    Args:
        changes: the numbers of an answer about a change; at least one.
    """
    normal = statistics.NormalDist()
    deviations = normal.inv_cdf(1 - LEVEL / 2 / len(changes)) + normal.inv_cdf(POWER)
    return deviations * statistics.median(row.number.standard_error or 0.0 for row in changes)


def covered(shown: Iterable[Shown]) -> tuple[int, int]:
    """How many intervals of estimates cover the truth, and how many there are.

    Args:
        shown: of some metrics; what was found without a list is left out, as it was picked.
    """
    rows = [row for one in shown if not one.held for row in one.rows]
    return sum(row.covers for row in rows), len(rows)


def introduction(shown: Shown) -> list[str]:
    """The name of a metric, how many reports there are, and where its shares come from.

    Args:
        shown: of one metric.
    """
    held = shown.prior.made_up
    source = f"What devices hold is made up: {held}." if held else "What devices hold is as stated."
    if shown.answer is None:
        return [f"{shown.name}: {shown.problem}", source]
    return [f"{shown.name}: {counted_line(shown.answer)}", source]


def health_line(shown: Shown) -> str:
    """Whether the reports of the table look honest to the aggregator; empty without an answer.

    Args:
        shown: of one metric.
    """
    summaries_of = shown.answer.head.summaries if shown.answer else []
    if not summaries_of:
        return ""
    words = health_in_words(summaries_of[0])
    return f"Without the key of the forged reports: {words}" if shown.noticed else words


def _forger_in_words(*, noticed: bool) -> str:
    if noticed:
        return "The forged reports were noticed: the table is without the key that they came with."
    return "The forged reports were not noticed: they are part of the table."


def _told_from_zero(rows: Sequence[Beside]) -> Iterator[str]:
    held = [row for row in rows if row.truth]
    told = [row for row in held if row.number.told]
    false = [row for row in rows if row.number.told and not row.truth]
    text = f"Told from zero: {len(told)} of the {counted(len(held), 'value')} that devices hold"
    if nobody := len(rows) - len(held):
        text += f", and {len(false) or 'none'} of the {nobody:,} that nobody holds"
    yield f"{text}."
    missed = sorted((row for row in held if not row.number.told), key=lambda row: -row.truth)
    if missed:
        words = [f"{named(row.number)} (truly {row.truth:.2%})" for row in missed[:NAMED]]
        more = len(missed) - NAMED
        yield f"Not told: {listed([*words, *([f'{more:,} more'] if more > 0 else [])])}."


def _widths_in_words(rows: Sequence[Beside]) -> str:
    half = statistics.median(half_width(row.number) for row in rows)
    covers = sum(row.covers for row in rows)
    shares = rows[0].number.unit == "share"
    text = f"95% intervals are ± {f'{100 * half:.2f} points' if shares else f'{half:.3g}'}"
    text += " wide in the median" if rows[1:] else " wide"
    return f"{text}; {covers:,} of {len(rows):,} cover the truth."


def _change_in_words(change: Answer, changes: Sequence[Beside]) -> Iterator[str]:
    yield as_sentence(f"Before and after the change: {change_finding(change)}")
    if not changes:
        return
    largest = max(changes, key=lambda row: abs(row.truth))
    shares = largest.number.unit == "points"
    least = least_change(changes)
    moved = f"{100 * largest.truth:+.1f} points" if shares else f"{largest.truth:+.3g}"
    seen = "was seen" if largest.number.told else "was not seen"
    reach = f"{100 * least:.1f} points" if shares else f"{least:.3g}"
    yield (
        f"Truly, {named(largest.number)} moved by {moved}, which {seen}. In {POWER:.0%} of cases "
        f"a change of about {reach} or more is."
    )


def _number_data(row: Beside) -> dict[str, Any]:
    number = row.number
    name = {"value": number.value, "quantile": number.quantile, "bin_from": number.bin_from}
    return {
        "measure": number.measure,
        **{key: value for key, value in name.items() if value is not None},
        "truth": row.truth,
        "estimate": number.estimate,
        "low": number.low,
        "high": number.high,
        "told": number.told,
        "covers": row.covers,
    }
