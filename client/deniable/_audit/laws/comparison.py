"""Compares the laws of values: the largest ratio over all reports and all pairs of values."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable._audit.failure import AuditFailure
from deniable._audit.laws import products
from deniable._audit.laws.products import all_reports, one_report
from deniable._audit.laws.worst import Factor, Worst, sorted_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable._audit.laws.components import Clear, Component
    from deniable._audit.laws.law import Law, Table


class Comparison:
    """Collects the laws of values, and finds the worst two."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._reports = _Tables("reports")
        self._kept = _Tables("kept choices")
        self._components: dict[Clear, dict[Any, tuple[str, Component]]] = {}
        self._weights: dict[Clear, Fraction] = {}

    def add(self, value: str, law: Law) -> None:
        """Adds the law of a value.

        Raises:
            AuditFailure: if it sends a report that others never send, or the reverse.
        """
        self.values.append(value)
        if law.reports is not None:
            if self._components:
                raise AuditFailure(f"{value!r} is reported in another form than other values")
            self._reports.add(value, law.reports)
        if law.kept is not None:
            self._kept.add(value, law.kept)
        if law.components is not None:
            self._add_components(value, law.components)

    def _add_components(self, value: str, components: Mapping[Clear, Component]) -> None:
        weights = {clear: component.weight for clear, component in components.items()}
        self._weights = self._weights or weights
        if len(self.values) > 1 and (self._reports.extremes or weights != self._weights):
            raise AuditFailure(
                f"what a report shows in the clear does not come as often for {value!r} as for "
                f"{self.values[0]!r}"
            )
        for clear, component in components.items():
            key = (frozenset(component.places.items()), component.inner)
            self._components.setdefault(clear, {}).setdefault(key, (value, component))

    def worst_report(self, law_of: Callable[[str], Law], inner: Mapping[int, Worst]) -> Worst:
        """The worst values for one report.

        Args:
            law_of: the law of a value that was added.
            inner: the same of each inner randomizer.
        """
        if self._components:
            return products.worst(self._components, self._weights, one_report, inner)
        return self._reports.worst(lambda value: law_of(value).reports)

    def worst_kept(self, law_of: Callable[[str], Law], inner: Mapping[int, Worst]) -> Worst:
        """The worst values for all reports of an unchanged value: what devices keep."""
        if self._components:
            return products.worst(self._components, self._weights, all_reports, inner)
        return self._kept.worst(lambda value: law_of(value).kept)


class _Tables:
    """The largest and the smallest weight of every outcome over all values."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._of = 1
        self._looks: dict[str, tuple[int, int]] = {}
        self.extremes: dict[Any, list[Any]] = {}

    def add(self, value: str, table: Table) -> None:
        weights, look = table.weights, _look(table)
        if table.of != self._of:
            common = math.lcm(table.of, self._of)
            factor, self._of = common // self._of, common
            for known in self.extremes.values():
                known[0] *= factor
                known[2] *= factor
            weights = {key: each * (common // table.of) for key, each in weights.items()}
        if self._looks and weights.keys() != self.extremes.keys():
            raise AuditFailure(
                f"{value!r} can send {self._what} that other values cannot, or the reverse: such a "
                "report rules values out"
            )
        self._looks[value] = look
        for outcome, weight in weights.items():
            extreme = self.extremes.get(outcome)
            if extreme is None:
                self.extremes[outcome] = [weight, value, weight, value]
            elif weight > extreme[0]:
                extreme[:2] = weight, value
            elif weight < extreme[2]:
                extreme[2:] = weight, value

    def worst(self, table_of: Callable[[str], Table | None]) -> Worst:
        high, one, low, other = max(
            self.extremes.values(), key=lambda each: Fraction(each[0], each[2])
        )
        first, second = self._again(one, table_of), self._again(other, table_of)
        of = math.lcm(first.of, second.of)
        classes = Counter(
            (first.weights[key] * (of // first.of), second.weights[key] * (of // second.of))
            for key in first.weights
        )
        factor = Factor(1, of, sorted_classes(classes))
        return Worst(Fraction(high, low), (one, other), (factor,))

    def _again(self, value: str, table_of: Callable[[str], Table | None]) -> Table:
        """The table of a value that was added: only its extremes were kept."""
        table = table_of(value)
        if table is None or _look(table) != self._looks[value]:
            raise AuditFailure(
                f"a second look at {value!r} finds other {self._what}: they rest on something else "
                "than the draws of the client"
            )
        return table


def _look(table: Table) -> tuple[int, int]:
    """What tells two tables apart, in little memory."""
    return table.of, hash(frozenset(table.weights.items()))
