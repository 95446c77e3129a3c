"""True shares, means and quantiles, from what devices held. Imports nothing that estimates.

A number is recorded clipped to the metric's range; what devices hold may lie beyond.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.simulating.draws import ALL
from deniable_shared.hashing import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.simulating.draws import Recorded, Selection
    from deniable_aggregator.simulating.population import Deployment, Value
    from deniable_shared.mechanisms import SetMechanism
    from deniable_shared.spec import Spec

    Held = Mapping[str, str]
    """What a device's report is about: a value for the metric, its segment, or each attribute."""

PLACES = 2_001
"""Places of a range at which two distributions are compared."""

WHOLE = ""
"""The name of the value of a metric with neither segments nor attributes."""


class Truth:
    """Answers what an analyst may ask, from the recorded values.

    Args:
        deployment: the calendar.
        recorded: all values.
    """

    def __init__(self, deployment: Deployment, recorded: Recorded) -> None:
        self.deployment = deployment
        self.recorded = recorded
        self._counted: dict[tuple[str, Selection, Selection], Counter[tuple[str, ...]]] = {}

    def share(
        self, metric: str, rows: Iterable[str], selection: Selection, asked: Selection | None = None
    ) -> float:
        """The share of the reports that hold any of some rows of an answer.

        A value that only some versions list is held wherever a device held it. A catch-all is what
        none of them lists.

        Args:
            metric: its name.
            rows: as answers name them: ``light``, ``late=true``, ``theme=dark & channel=beta``.
            selection: which reports.
            asked: the reports that the whole answer is about, whose versions list its values; those
                of the selection if left out.
        """
        held = self._held(metric, selection, asked or selection)
        spec = self.spec(metric, asked or selection)
        if spec.type == "set":
            wanted_items = set(rows)
            count = sum(number for items, number in held.items() if wanted_items & set(items))
            return count / held.total() if held else float("nan")
        if names_of(spec) == (WHOLE,):
            count = sum(held[row,] for row in set(rows))
            return count / held.total() if held else float("nan")
        wanted = [conditions(row, spec) for row in rows]
        return self._part(held, spec, lambda one: any(holds(each, one) for each in wanted))

    def share_within(
        self,
        metric: str,
        row: str,
        segment: str,
        selection: Selection,
        asked: Selection | None = None,
    ) -> float:
        """The share of a value among the reports of one segment."""
        spec = self.spec(metric, asked or selection)
        assert spec.segments is not None
        name = spec.segments.by.name
        held = self._held(metric, selection, asked or selection)
        inside = self._part(held, spec, lambda one: one[name] == segment)
        return (
            self._part(held, spec, lambda one: one[name] == segment and one[metric] == row) / inside
        )

    def knowing(
        self, metric: str, row: str, selection: Selection, asked: Selection | None = None
    ) -> Selection:
        """The reports of the versions of the application that tell a value from all others.

        A version whose catch-all contains it does not, nor one whose catch-all contains what
        another version lists, if the row is the catch-all. Where there is no catch-all, nobody
        holds what is not listed.
        """
        if self.spec(metric, selection).is_open:
            return selection
        known = []
        for version in self.recorded.versions(metric, selection):
            spec = self._version(metric, version)
            if all(
                self._tells(metric, spec, name, value, asked or selection)
                for name, value in conditions(row, self.spec(metric, asked or selection)).items()
            ):
                known.append(version)
        return selection._replace(versions=tuple(known))

    def set_sizes(self, metric: str, selection: Selection) -> dict[tuple[int, int], float]:
        """The share of the reports by how many items they are of, and how many one covers.

        An item is one that the version of the device lists, or its catch-all.
        """
        sizes: Counter[tuple[int, int]] = Counter()
        for version in self.recorded.versions(metric, selection):
            spec = self._version(metric, version)
            most = cast("SetMechanism", spec.mechanism).most
            of_version = selection._replace(versions=(version,))
            for value, count in self.recorded.values(metric, of_version).items():
                sizes[len(items_of(spec, value, frozenset(spec.values))), most] += count
        return {size: count / sizes.total() for size, count in sizes.items()}

    def _tells(self, metric: str, spec: Spec, name: str, value: str, asked: Selection) -> bool:
        listed, other = domain(spec, name)
        if spec.type == "set" and value not in listed:
            return False
        return other is None or (
            value in listed and (value != other or self._listed(metric, name, asked) <= listed)
        )

    def _listed(self, metric: str, name: str, asked: Selection) -> frozenset[str]:
        """What any version lists that reported."""
        versions = self.recorded.versions(metric, asked)
        specs = [self._version(metric, version) for version in versions]
        return frozenset[str]().union(*(domain(spec, name)[0] for spec in specs))

    def numbers(self, metric: str, selection: Selection) -> NDArray[np.float64]:
        """All numbers as they were recorded: clipped to the range; float64."""
        ends = self.spec(metric, selection).range
        assert ends is not None, "numbers have a range"
        return self.recorded.numbers(metric, selection).clip(float(ends[0]), float(ends[1]))

    def clipped(self, metric: str, selection: Selection = ALL) -> float:
        """The part of the devices whose number lies outside of the range."""
        held = self.recorded.numbers(metric, selection)
        beyond = held != self.numbers(metric, selection)
        return float(beyond.mean()) if len(held) else 0.0

    def mean(self, metric: str, selection: Selection) -> float:
        """The mean of a number, as it was recorded."""
        return float(self.numbers(metric, selection).mean())

    def mean_held(self, metric: str, selection: Selection = ALL) -> float:
        """The mean of a number, as devices hold it."""
        return float(self.recorded.numbers(metric, selection).mean())

    def quantile(self, metric: str, probability: float, selection: Selection) -> float:
        """The smallest number that at least this part of the devices does not exceed."""
        numbers = self.numbers(metric, selection)
        return float(np.quantile(numbers, probability, method="inverted_cdf"))

    def distance(self, metric: str, before: Selection, after: Selection) -> float:
        """The earth mover's distance of a number's distributions, as a part of its range."""
        ends = self.spec(metric, after).range
        assert ends is not None
        places = np.linspace(float(ends[0]), float(ends[1]), PLACES)
        below = [
            np.searchsorted(np.sort(numbers), places, side="right") / len(numbers)
            for numbers in (self.numbers(metric, each) for each in (before, after))
        ]
        return float(np.mean(np.abs(below[0] - below[1])))

    def between(self, metric: str, start: float, end: float, selection: Selection) -> float:
        """The share of the numbers in a bin; the upper end belongs to it if it is the range's."""
        numbers = self.numbers(metric, selection)
        ends = self.spec(metric, selection).range
        last = ends is not None and end >= float(ends[1])
        below = numbers <= end if last else numbers < end
        return float(np.mean((numbers >= start) & below))

    def spec(self, metric: str, selection: Selection = ALL) -> Spec:
        """What the newest version that reported in these days declares."""
        newest = max(self.recorded.versions(metric, selection), default=None)
        if newest is None:
            newest = next(
                version
                for version in self.deployment.versions
                if metric in self.deployment.registry(version).metrics
            )
        return self._version(metric, newest)

    def _version(self, metric: str, version: int) -> Spec:
        return self.deployment.registry(version).metrics[metric].spec

    @staticmethod
    def _part(held: Counter[tuple[str, ...]], spec: Spec, wanted: Callable[[Held], bool]) -> float:
        """The share of the reports for which something holds."""
        names = names_of(spec)
        found = sum(n for one, n in held.items() if wanted(dict(zip(names, one, strict=True))))
        return found / held.total() if held else float("nan")

    def _held(
        self, metric: str, selection: Selection, asked: Selection
    ) -> Counter[tuple[str, ...]]:
        """How many reports hold what, as answers name it."""
        key = metric, selection, asked
        if key not in self._counted:
            self._counted[key] = self._count(metric, selection, asked)
        return self._counted[key]

    def _count(
        self, metric: str, selection: Selection, asked: Selection
    ) -> Counter[tuple[str, ...]]:
        spec = self.spec(metric, asked)
        names = () if spec.is_open else names_of(spec)
        listed = {name: self._listed(metric, name, asked) for name in names}
        found: Counter[tuple[str, ...]] = Counter()
        for value, count in self.recorded.values(metric, selection).items():
            if spec.type == "set":
                found[items_of(spec, value, listed.get(WHOLE, frozenset()))] += count
                continue
            held = dict(texts(spec, value))
            for name in names:
                if held[name] not in listed[name]:
                    held[name] = str(domain(spec, name)[1])
            found[tuple(held.values())] += count
        return found


def names_of(spec: Spec) -> tuple[str, ...]:
    """What the values of a metric consist of: itself and its segment, or its attributes."""
    if spec.segments is not None:
        return spec.segments.of.name, spec.segments.by.name
    return tuple(each.name for each in spec.attributes) or (WHOLE,)


def texts(spec: Spec, value: Value) -> Held:
    """A recorded value, as answers name it, by what it consists of."""
    if isinstance(value, tuple):
        parts: Iterable[object] = value
        if spec.segments is None:
            parts = dict(value).values()  # type: ignore[arg-type]  # records are pairs
        return {name: _text(part) for name, part in zip(names_of(spec), parts, strict=True)}
    return {WHOLE: normalize(_text(value))}


def items_of(spec: Spec, value: Value, listed: frozenset[str]) -> tuple[str, ...]:
    """The items of a recorded set, as answers name them, in their order."""
    items = {normalize(_text(item)) for item in cast("tuple[str, ...]", value)}
    if spec.is_open:
        return tuple(sorted(items))
    other = set() if spec.other is None or items <= listed else {spec.other}
    return tuple(sorted(items & listed | other))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def domain(spec: Spec, name: str) -> tuple[frozenset[str], str | None]:
    """The values that a version of a metric lists, and which of them is the catch-all."""
    parts = [spec.segments.of, spec.segments.by] if spec.segments else list(spec.attributes)
    for part in parts:
        if part.name == name:
            return frozenset(part.domain), part.other
    values = ("true", "false") if spec.type == "boolean" else spec.values
    return frozenset(values), spec.other


def conditions(row: str, spec: Spec) -> Held:
    """What a row of an answer is about: ``theme=dark & channel=beta``, or the value alone."""
    if spec.segments is None and spec.type != "attributes":
        return {WHOLE: row}
    if spec.segments is not None and "=" not in row:
        return {spec.segments.of.name: row}
    parts = (part.partition("=") for part in row.split(" & "))
    return {name: value for name, _, value in parts}


def holds(wanted: Held, held: Held) -> bool:
    """Whether a device is one of those that a row is about."""
    return all(held[name] == value for name, value in wanted.items())
