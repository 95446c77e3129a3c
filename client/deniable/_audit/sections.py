"""Audits one mechanism as it is installed: all values, all choices, the largest ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deniable._audit.domains import Domain, domain_of, domain_of_items, spread
from deniable._audit.failure import AuditFailure, code_under_audit
from deniable._audit.laws import geometry, ranges, subsets
from deniable._audit.laws.comparison import Comparison
from deniable._audit.laws.draws import MOST_FIRST, Draw, Draws
from deniable._audit.laws.law import Law, check_second_report, report_law
from deniable._audit.laws.parts import parts_of, stand_ins
from deniable.randomizers.base import RandomSources, make_randomizer
from deniable_shared.mechanisms import (
    Hybrid,
    OneBitMean,
    Piecewise,
    ProjectiveGeometryResponse,
    SubsetSelection,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable._audit.laws.worst import Worst
    from deniable_shared.mechanisms.base import Mechanism
    from deniable_shared.spec import Spec

MOST_PATHS = 100_000
"""Of a mechanism so many paths are followed; if that is too few for all values, for some."""

MOST_VALUES = 4_097
"""If not all values can be followed, no more than these are."""

LEAST_VALUES = 5


class Followed(NamedTuple):
    """What a walk covered.

    Attributes:
        values: how many values.
        of_values: of how many; None if there is no end of them.
        noun: what the values are called.
        first: how many outcomes of the first draw were followed.
        of_first: of how many; 0 if the first draw is not uniform.
        paths: how many paths.
    """

    values: int
    of_values: int | None
    noun: str
    first: int
    of_first: int
    paths: int

    @property
    def wholly(self) -> bool:
        """Whether nothing was left out."""
        return self.values == self.of_values and self.first == self.of_first


class Section(NamedTuple):
    """What was found of one mechanism.

    Attributes:
        mechanism: its parameters.
        walks: what was covered: one walk, or one over all choices and one over all values.
        report: the worst two values for one report.
        kept: the worst two for all reports of a value; None if nothing is kept.
        parts: the mechanisms inside.
        draws: every primitive that was called, with its arguments.
        note: what else has to be said of how it was audited.
    """

    mechanism: Mechanism
    walks: tuple[Followed, ...]
    report: Worst
    kept: Worst | None
    parts: tuple[Section, ...]
    draws: frozenset[Draw]
    note: str = ""


def section_of(spec: Spec) -> Section:
    """Audits the randomizer of a metric.

    Raises:
        AuditFailure: if it is not what the metric states.
    """
    return _section(spec, spec.mechanism, domain_of(spec))


def _section(spec: Spec, mechanism: Mechanism, domain: Domain) -> Section:
    if (
        isinstance(mechanism, ProjectiveGeometryResponse)
        and mechanism.outcomes >= geometry.LEAST_POINTS
    ):
        return _section_of_points(spec, mechanism, domain)
    if isinstance(mechanism, SubsetSelection) and subsets.ways(mechanism) > subsets.MOST_SUBSETS:
        return _section_of_subsets(spec, mechanism, domain)
    if isinstance(mechanism, (OneBitMean, Piecewise, Hybrid)):
        return _section_of_numbers(spec, mechanism, domain)
    parts = parts_of(mechanism)
    inner = tuple(_section(spec, part, domain_of_items(part.size)) for part in parts)
    subject = _Subject(spec, mechanism, domain, inner)
    reports, kept = [], []
    with stand_ins(parts, subject.draws):
        for comparison in subject.comparisons():
            worst = comparison.worst_report(
                subject.law_of, {n: each.report for n, each in enumerate(inner)}
            )
            reports.append(worst)
            if mechanism.epsilon_permanent is not None:
                lasting = {n: each.kept for n, each in enumerate(inner) if each.kept is not None}
                kept.append(comparison.worst_kept(subject.law_of, lasting))
    return Section(
        mechanism,
        tuple(subject.walks),
        max(reports, key=lambda each: each.ratio),
        max(kept, key=lambda each: each.ratio) if kept else None,
        inner,
        frozenset(subject.draws.noted),
    )


def _section_of_points(
    spec: Spec, mechanism: ProjectiveGeometryResponse, domain: Domain
) -> Section:
    chosen = spread(mechanism.size, max(2, geometry.MOST_POINTS // mechanism.outcomes))

    def make(randomness: Any) -> Any:
        return make_randomizer(mechanism, RandomSources(randomness, spec.digest, spec.salt))

    items = [domain.item_at(index) for index in chosen]
    with code_under_audit():
        worst, draws = geometry.worst_of_points(mechanism, make, items)
    walk = Followed(len(items), domain.size, domain.noun, 0, 0, len(items) * mechanism.outcomes)
    return Section(mechanism, (walk,), worst, None, (), draws)


def _section_of_subsets(spec: Spec, mechanism: SubsetSelection, domain: Domain) -> Section:
    def make(small: SubsetSelection, randomness: Any) -> Any:
        return make_randomizer(small, RandomSources(randomness, spec.digest, spec.salt))

    with code_under_audit():
        worst, draws = subsets.worst_of_subsets(mechanism, make)
    items = {domain.item_at(index) for index in range(domain.size)}
    if items != set(range(mechanism.size)):
        raise AuditFailure("the values are not the items of the mechanism")
    return Section(mechanism, (), worst, None, (), draws, subsets.NOTE)


def _section_of_numbers(spec: Spec, mechanism: ranges.RangeMechanism, domain: Domain) -> Section:
    def make(randomness: Any) -> Any:
        return make_randomizer(mechanism, RandomSources(randomness, spec.digest, spec.salt))

    with code_under_audit():
        coins = ranges.check_places(mechanism, make)
    for index in spread(domain.size, MOST_VALUES):
        if domain.item_at(index) != index:
            raise AuditFailure(f"{domain.name_at(index)} is recorded as another number")
    subject = _Subject(spec, mechanism, domain, ())
    worst = subject.comparison_of_grid(ranges.grid_of(mechanism)).worst_report(subject.law_of, {})
    draws = coins | subject.draws.noted
    return Section(mechanism, tuple(subject.walks), worst, None, (), draws)


class _Subject:
    """A mechanism under audit."""

    def __init__(
        self, spec: Spec, mechanism: Mechanism, domain: Domain, inner: tuple[Section, ...]
    ) -> None:
        self.draws = Draws()
        self.walks: list[Followed] = []
        self._spec = spec
        self._mechanism = mechanism
        self._domain = domain
        self._inner = inner
        self._randomizer: Any = None
        self._index: dict[str, int] = {}

    def comparisons(self) -> Iterator[Comparison]:
        """Walks through as many values and choices as can be.

        Until the next one is asked for, `law_of` follows the choices of this one.
        """
        self._randomizer = self._make if self._mechanism.epsilon_permanent else self._make()
        first = self._first_law()
        paths = self.draws.paths
        check_second_report(self.draws, self._make, self._domain.item_at(0))
        self.draws.paths = paths  # what followed the first law
        each, count = self.draws.paths, self._domain.size
        most = max(LEAST_VALUES, min(MOST_PATHS // each, MOST_VALUES))
        yield self._compared(spread(count, most), first)
        if count > most and self.draws.first > 1 and not self._inner:
            # Some values with all outcomes of the first draw; and all values, with some of these.
            per_outcome = each // min(self.draws.first, self.draws.most_first)
            some = max(2, MOST_PATHS // (per_outcome * count))
            self.draws.most_first = some
            most = max(LEAST_VALUES, MOST_PATHS // (per_outcome * some))
            yield self._compared(spread(count, most))

    def comparison_of_grid(self, grid: Sequence[int]) -> Comparison:
        """Walks through these values, of which all others have been found to be mixtures."""
        self._randomizer = self._make()
        check_second_report(self.draws, self._make, self._domain.item_at(0))
        self.draws.paths = 0
        comparison = self._compared(grid)
        (walk,) = self.walks
        self.walks = [walk._replace(values=self._domain.size)]
        return comparison

    def _first_law(self) -> Law:
        """The law of the first value, with as many outcomes of a uniform first draw as can be."""
        if self._inner:
            return self._law(0)
        self.draws.most_first = 2
        law = self._law(0)
        if self.draws.first > 2:
            most = max(2, MOST_PATHS * 2 // self.draws.paths)
            self.draws.most_first = min(MOST_FIRST, most)
            self.draws.first = self.draws.paths = 0
            law = self._law(0)
        return law

    def law_of(self, value: str) -> Law:
        """The law of a value that was looked at, by its name."""
        return self._law(self._index[value])

    def _compared(self, chosen: Any, first: Law | None = None) -> Comparison:
        comparison, before = Comparison(), self.draws.paths if first is None else 0
        for index in chosen:
            name = self._domain.name_at(index)
            if name in self._index and self._index[name] != index:
                name = f"{name} (number {index})"
            self._index[name] = index
            law = first if first is not None and index == 0 else self._law(index)
            comparison.add(name, law)
        draws = self.draws
        self.walks.append(
            Followed(
                len(chosen),
                self._domain.of,
                self._domain.noun,
                int(draws.first * draws.followed),
                draws.first,
                draws.paths - before,
            )
        )
        return comparison

    def _law(self, index: int) -> Law:
        width = self._mechanism.report_bytes
        return report_law(self.draws, self._randomizer, self._domain.item_at(index), width)

    def _make(self) -> Any:
        sources = RandomSources(
            self.draws,  # type: ignore[arg-type]  # stands in for it
            self._spec.digest,
            self._spec.salt,
            self.draws.keyed,  # type: ignore[arg-type]
        )
        return make_randomizer(self._mechanism, sources)
