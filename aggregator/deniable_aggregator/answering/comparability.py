"""Whether numbers can be compared: every comparison passes this gate.

It says that two periods are comparable; or comparable in part: what is left out, how many reports
that are, and how to ask for it; or not comparable: why, and what to ask instead. Estimates of
unlike versions do not add up either, so the versions of one period are chosen here, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.estimator import MEANS
from deniable_aggregator.answering.estimation.folding import (
    common_edges,
    edges_between,
    edges_of,
)
from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.counting.tallies import all_counters, nonempty
from deniable_aggregator.telling.wording import counted, key_in_words, listed
from deniable_shared.mechanisms import GroupedBins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from deniable_aggregator.answering.estimation.inputs import CollectedTallies, MetricReports
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_shared.spec import MetricType, Spec

LEAST_REPORTS: Final = 100
LEAST_PART: Final = 0.1
"""A key that brought such a part of one period, and so many reports, and none of the other, is
named."""

WIDEST: Final = 2.0
"""The newest of unlike versions is answered if its interval is at most so many times as wide as
that of the one with most reports."""


class Basis(NamedTuple):
    """What the numbers of a version are about; those of one basis add up, and can be compared.

    Attributes:
        type: of its own values.
        range: of a number, the ends as which values outside are recorded; None of others.
        bins: of a distribution, how many; 0 of others.
        grouped: of a distribution, whether a report is about a few bins only.
        picks: whether any value of a period may be the one that is reported, and not the first.
    """

    type: MetricType
    range: tuple[float, float] | None = None
    bins: int = 0
    grouped: bool = False
    picks: bool = False

    @classmethod
    def of(cls, spec: Spec) -> Basis:
        """That of a version."""
        if spec.range is None:
            return cls(spec.value_type, picks=spec.picks)
        low, high = map(float, spec.range)
        if spec.type == "number":
            return cls("number", (low, high), picks=spec.picks)
        grouped = isinstance(spec.mechanism, GroupedBins)
        return cls("distribution", (low, high), spec.bins, grouped, spec.picks)

    @property
    def has_mean(self) -> bool:
        """Whether it is about numbers."""
        return self.range is not None

    def in_words(self) -> str:
        """Such as "a distribution from 0 to 1,000 in 20 bins"."""
        article = "an" if self.type[0] in "aeiou" else "a"
        words = f"{article} {self.type}"
        if self.range is not None:
            low, high = self.range
            words += f" from {low:,g} to {high:,g}"
        if self.bins:
            words += f" in {counted(self.bins, 'bin')}"
        words += ", asked bin by bin" if self.grouped else ""
        return words + (", of any value of a period" if self.picks else "")


@dataclass(frozen=True)
class _Alike:
    """The versions of one basis that have reports.

    Attributes:
        basis: of all of them.
        entries: the versions with their counts, and how many reports these are.
        tallies: that they are of.
    """

    basis: Basis
    entries: Sequence[tuple[Spec, Counts, int]]
    tallies: CollectedTallies

    @property
    def specs(self) -> list[Spec]:
        """The versions."""
        return [spec for spec, _, _ in self.entries]

    @property
    def reports(self) -> int:
        """How many they have."""
        return sum(reports for _, _, reports in self.entries)

    def error(self, *, mean: bool) -> float:
        """How imprecise their estimates are: of a mean its standard error, else only relative."""
        if not mean:
            return float(self.reports**-0.5)
        counts = [(spec, all_counters(counts)) for spec, counts, _ in self.entries]
        if self.basis.type == "number":
            return estimate_mean(counts, periods=self.tallies.periods).standard_error
        found = estimate_distribution(counts, quantiles=(0.5,), periods=self.tallies.periods)
        return float(found.width * found.histogram.mean_variance**0.5)


def _alike(tallies: CollectedTallies) -> dict[Basis, _Alike]:
    groups: defaultdict[Basis, list[Any]] = defaultdict(list)
    for entry in nonempty(tallies.sums):
        groups[Basis.of(entry[0])].append(entry)
    return {basis: _Alike(basis, entries, tallies) for basis, entries in groups.items()}


class Chosen(NamedTuple):
    """The versions of one period that are answered.

    Attributes:
        kept: their digests.
        left_out: the others with reports, and how many these are.
    """

    kept: frozenset[bytes]
    left_out: Sequence[tuple[Spec, int]]

    @property
    def reports_left_out(self) -> int:
        """How many there are."""
        return sum(reports for _, reports in self.left_out)


def choose_versions(tallies: CollectedTallies, newest_first: Sequence[Spec]) -> Chosen:
    """The versions of one period whose estimates add up, if there are others.

    The newest ones are answered if their interval is at most twice as wide as that of those with
    most reports; else these.

    Args:
        tallies: with at least one report.
        newest_first: all versions.
    """
    groups = list(_alike(tallies).values())
    if len(groups) == 1:
        return Chosen(frozenset(spec.digest for spec in groups[0].specs), ())
    means = all(group.basis.has_mean for group in groups)
    errors = {group.basis: group.error(mean=means) for group in groups}
    return _split(_precise(groups, errors, newest_first), tallies)


def _precise(
    groups: Sequence[_Alike], errors: Mapping[Basis, float], newest_first: Sequence[Spec]
) -> _Alike:
    """The newest of some groups that is nearly as precise as the one with most reports."""
    most = max(groups, key=lambda group: group.reports)
    ages = {spec: age for age, spec in enumerate(newest_first)}
    ordered = sorted(groups, key=lambda group: min(ages.get(spec, 0) for spec in group.specs))
    allowed = WIDEST * errors[most.basis]
    return next(group for group in ordered if errors[group.basis] <= allowed)


def _split(group: _Alike, tallies: CollectedTallies) -> Chosen:
    kept = frozenset(spec.digest for spec in group.specs)
    return Chosen(
        kept,
        [(spec, reports) for spec, _, reports in nonempty(tallies.sums) if spec.digest not in kept],
    )


class Followed(NamedTuple):
    """What a series is about.

    Attributes:
        type: of the values that are followed.
        versions: that are of it; of numbers and distributions all, as these have a mean.
    """

    type: MetricType
    versions: Sequence[Spec]


def followed_versions(tallies: CollectedTallies, newest_first: Sequence[Spec]) -> Followed:
    """The versions that a series can be made of.

    Args:
        tallies: of all of its days, with at least one report.
        newest_first: all versions.
    """
    kept = choose_versions(tallies, newest_first).kept
    kind = next(spec.value_type for spec in tallies.specs if spec.digest in kept)
    alike = MEANS if kind in MEANS else {kind}
    return Followed(kind, [spec for spec in tallies.specs if spec.value_type in alike])


def choose_of_period(
    tallies: CollectedTallies, followed: Collection[Spec], newest_first: Sequence[Spec]
) -> tuple[CollectedTallies, Basis] | None:
    """What is counted of one period of a series, and what its numbers are about.

    Args:
        tallies: of all versions.
        followed: those that the series is made of.
        newest_first: all versions.

    Returns:
        None where no report is of such a version.
    """
    fitting = tallies.only({spec.digest for spec in followed})
    if not fitting.sums:
        return None
    fitting = fitting.only(choose_versions(fitting, newest_first).kept)
    return fitting, Basis.of(nonempty(fitting.sums)[0][0])


class ComparedVersions(NamedTuple):
    """The versions of two periods that are compared.

    Attributes:
        before: those of the first.
        after: those of the second.
        notices: in which way they are comparable in part only.
    """

    before: Chosen
    after: Chosen
    notices: Sequence[Notice]


def compare_versions(
    before: CollectedTallies,
    after: CollectedTallies,
    newest_first: Sequence[Spec],
    first_days: Mapping[bytes, date],
    sides: tuple[str, str] | None = None,
) -> ComparedVersions:
    """The versions of two periods, or of two other sides, whose numbers can be compared.

    They are those that both periods have. If there are none, bins of two distributions are combined
    as far as their edges are the same, and of a number and a distribution the means are compared.

    Args:
        before: with at least one report.
        after: likewise.
        newest_first: all versions.
        first_days: the first day with reports of each version, by digest.
        sides: what the two are called if they are not periods.

    Raises:
        UnanswerableError: if nothing can be compared; it says why, and what to ask instead.
    """
    first, second = _alike(before), _alike(after)
    common = [basis for basis in first if basis in second]
    if common:
        means = all(basis.has_mean for basis in common)
        errors = {
            basis: sum(side[basis].error(mean=means) ** 2 for side in (first, second)) ** 0.5
            if len(common) > 1
            else 0.0
            for basis in common
        }
        group = _precise([second[basis] for basis in common], errors, newest_first)
        pair = first[group.basis], group
        parts: list[Notice] = []
    else:
        pairs = [
            (one, other)
            for one in first.values()
            for other in second.values()
            if _have_something_in_common(one.specs[0], other.specs[0])
        ]
        if not pairs:
            most = [max(side.values(), key=_reports_of) for side in (first, second)]
            raise _not_comparable(most[0], most[1], first_days, sides)
        pair = max(pairs, key=lambda two: min(two[0].reports, two[1].reports))
        parts = [_comparable_in_part(*pair, sides)]
    chosen = _split(pair[0], before), _split(pair[1], after)
    left_out = *chosen[0].left_out, *chosen[1].left_out
    notices = [*parts, *left_out_notices(left_out, pair[1].specs[0])]
    return ComparedVersions(*chosen, notices)


def _reports_of(group: _Alike) -> int:
    return group.reports


def _have_something_in_common(one: Spec, other: Spec) -> bool:
    if one.type == other.type == "distribution":
        return common_edges(edges_of(one).tolist(), edges_of(other).tolist()) is not None
    if {one.type, other.type} == {"number", "distribution"}:
        number, histogram = (one, other) if one.type == "number" else (other, one)
        low, high = map(float, cast("Any", number.range))
        return edges_between(histogram, low, high) is not None
    return False


def _unlike(
    one: _Alike, other: _Alike, sides: tuple[str, str] | None, *, with_reports: bool = False
) -> str:
    """What two sides are, such as "was a number before and is a distribution after"."""
    was, now = (each.basis.in_words() for each in (one, other))
    first, second = (
        f" ({counted(each.reports, 'report')})" * with_reports for each in (one, other)
    )
    if sides is None:
        return f"was {was} before{first} and is {now} after{second}"
    return f"is {was} in {sides[0]}{first} and {now} in {sides[1]}{second}"


def _comparable_in_part(one: _Alike, other: _Alike, sides: tuple[str, str] | None) -> Notice:
    """What is compared of two periods whose versions are unlike, and how to ask for the rest."""
    name = one.specs[0].name
    was = f"{name} {_unlike(one, other, sides)}"
    if one.basis.type == other.basis.type:
        edges = common_edges(*(edges_of(group.specs[0]).tolist() for group in (one, other)))
        assert edges is not None
        message = (
            f"{was}. Compared are {counted(edges.size - 1, 'bin')} that both have; the first has "
            f"all values below {edges[1]:,g} and the last all from {edges[-2]:,g} on, and the mean "
            f"is that of values counted so. The whole distribution is not tested"
        )
    else:
        message = (
            f"{was}. Only the means are compared, of values counted as the ends of the number's "
            "range, and half of a bin is allowed for"
        )
    return Notice("compared_in_part", "note", f"{message}. {_each_by_itself((one, other))}")


def _each_by_itself(groups: Iterable[_Alike]) -> str:
    versions = dict.fromkeys(
        spec.digest.hex()[:VERSION_LETTERS] for g in groups for spec in g.specs
    )
    return f"Ask for version {listed([*versions]).replace(' and ', ' or ')} to see each by itself"


def _not_comparable(
    one: _Alike,
    other: _Alike,
    first_days: Mapping[bytes, date],
    sides: tuple[str, str] | None,
) -> UnanswerableError:
    name, was, now = one.specs[0].name, one.basis, other.basis
    if was.type == now.type == "number":
        assert was.range is not None
        assert now.range is not None
        why = (
            "values outside of a range are counted as its ends, so the two means are not of the "
            "same, and how much of the difference comes from that is not known. As a distribution, "
            "the metric could be compared over all bins that both ranges have"
        )
    elif was.type == now.type:
        why = "no edge of their bins is the same"
    elif was.has_mean and now.has_mean:
        why = "the ends of the number's range are not edges of the distribution's bins"
    else:
        why = "these have no number in common"
    since = max(
        (first_days[spec.digest] for spec in other.specs if spec.digest in first_days),
        default=None,
    )
    instead = (
        ""
        if since is None or sides is not None
        else f"Compare days from {since} on, or days before. "
    )
    reason = (
        f"{name} cannot be compared: it {_unlike(one, other, sides, with_reports=True)}; {why}. "
        f"{instead}"
        f"{_each_by_itself((one, other))}"
    )
    return UnanswerableError("after" if sides is None else "version", str(since), reason)


def keys_on_one_side(before: MetricReports, after: MetricReports) -> Iterator[Notice]:
    """A notice for each key that brought much of one period, and nothing of the other.

    Args:
        before: with at least one report.
        after: likewise.
    """
    sides = [_reports_by_key(side) for side in (before, after)]
    for when, there, other, elsewhere in (
        ("after", sides[1], "before", sides[0]),
        ("before", sides[0], "after", sides[1]),
    ):
        total = there.total()
        for key, reports in there.most_common():
            if reports < max(LEAST_REPORTS, LEAST_PART * total) or elsewhere[key]:
                continue
            stored = before.keys.get(key)
            name = key_in_words(key, "" if stored is None else stored.label)
            yield Notice(
                "key_on_one_side",
                "note",
                f"Key {name} brought {reports / total:.0%} of the reports {when} and none {other}: "
                f"part of a difference may be that of its devices. Ask without_key={key} to "
                "compare the others",
            )


def _reports_by_key(reported: MetricReports) -> Counter[str]:
    reports: Counter[str] = Counter()
    for table in reported.apart.tables.values():
        reports.update(table.reports_by_key)
    return reports


def left_out_notices(left_out: Iterable[tuple[Spec, int]], answered: Spec) -> Iterator[Notice]:
    """A notice for each version whose reports are not in an answer.

    Args:
        left_out: the versions, and how many reports of each; of one that comes twice, the sum.
        answered: one of those that are in it.
    """
    about = Basis.of(answered).in_words()
    reports: dict[Spec, int] = {}
    for spec, count in left_out:
        reports[spec] = reports.get(spec, 0) + count
    for spec, count in reports.items():
        basis = Basis.of(spec)
        yield Notice(
            "other_version_left_out",
            "warning",
            f"{counted(count, 'report')} {'is' if count == 1 else 'are'} left out: of a version of "
            f"{spec.name} that is {basis.in_words()}, while this answer is about {about}. Ask for "
            f"version {spec.digest.hex()[:VERSION_LETTERS]} to see them",
        )
