"""Counting the reports of numeric mechanisms: how often each outcome came, and dBitFlip's bins."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from deniable_aggregator.counting.statistics.binomial import bit_limits, mean_limits
from deniable_aggregator.counting.statistics.checks import SliceChecks, bounds_check, evenness_check
from deniable_aggregator.counting.statistics.influence import influence, support_influence
from deniable_aggregator.counting.statistics.outcomes import OutcomeCounts
from deniable_aggregator.counting.statistics.shares import ItemShares
from deniable_aggregator.counting.tallies.base import Tally, chunks, tallies
from deniable_aggregator.counting.tallies.diagnostics import (
    GROUP_BYTES,
    CombinedDiagnostics,
    GroupHistogram,
    OnesHistogram,
)
from deniable_shared.errors import WireError
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    GroupedBins,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    NumericMechanism,
    OneBitMean,
    Piecewise,
    SquareWave,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


class OutcomeTally(Tally):
    """One counter per outcome.

    Args:
        spec: a metric whose mechanism has a number of `outcomes`, at most 65,536.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._outcomes = cast("int", spec.mechanism.outcomes)  # type: ignore[attr-defined]
        self._integer = np.dtype(f">u{self._width}")

    @property
    def cells(self) -> int:
        """The number of outcomes."""
        return self._outcomes

    def _check(self, payload: bytes) -> None:
        """Every report is the number of an outcome."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts every outcome."""
        counts = np.zeros(self.cells, np.int64)
        for part in chunks(self._read_payload(payload)):
            counts += np.bincount(part, minlength=self.cells)
        return counts

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of all counters."""
        return int(counts.sum())

    def _read_payload(self, payload: bytes) -> NDArray[Any]:
        self._check_width(payload)
        outcomes = np.frombuffer(payload, self._integer)
        highest = int(outcomes.max())
        if highest >= self.cells:
            raise WireError(
                f"a report of {self.spec.name} must be below {self.cells}, got {highest}"
            )
        return outcomes


class Mean(NamedTuple):
    """An unbiased estimate of a mean, in widths of the range above its lower end.

    Attributes:
        mean: the estimate; may lie outside [0, 1].
        variance: of the estimate, for the population that the devices come from.
        influence: how far forged reports could move it; see `counting.statistics.influence`.
    """

    mean: float
    variance: float
    influence: float


@tallies(
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedOneBitMean,
    OneBitMean,
    Piecewise,
    SquareWave,
)
class NumberTally(OutcomeTally):
    """The outcomes of a number metric, or of a distribution whose reports are numbered outcomes."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._mechanism = cast("NumericMechanism", spec.mechanism)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        has_diagnostics: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterable[SliceChecks]:
        """Outcomes are as frequent as noise allows."""
        reports = counts.sum(axis=1)[:, None]
        return [bounds_check(counts, reports, *_outcome_bounds(self._mechanism))]

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The outcomes in their order."""
        return OutcomeCounts("ordered", counts, np.full(counts.size, self.reports(counts)))

    def mean(self, counts: NDArray[np.int64]) -> Mean:
        """The average of the numbers that the outcomes stand for.

        Its variance is the reports' own, so it contains the spread of the values. A few may happen
        to agree, so it counts four more reports with the variance of the noise alone, and of bits
        one more of each kind (Agresti and Coull 1998 do likewise for proportions).

        Args:
            counts: int64, (cells,), of at least one report.
        """
        reports = self.reports(counts)
        values = self._values
        mean = float(counts @ values) / reports
        squares = float(counts @ (values - mean) ** 2)
        noise = self._mechanism.variance(min(max(mean, 0.0), 1.0), 1)
        moved = influence(mean, float(values.min()), float(values.max()), reports=reports)
        if self._is_bit:
            ones = (int(counts[1]) + 1) / (reports + 2)
            variance = ones * (1 - ones) * float(values[1] - values[0]) ** 2 / reports
        else:
            variance = (squares + 4 * noise) / (reports * (reports + 3))
        return Mean(mean, variance, float(moved))

    def mean_limits(self, counts: NDArray[np.int64], alpha: float) -> tuple[float, float]:
        """An interval for the mean of the population, in widths of the range above its lower end.

        Args:
            counts: int64, (cells,), of at least one report.
            alpha: the probability that it may miss, in (0, 1).
        """
        reports, values, noise = self.reports(counts), self._values, self._mechanism.variance
        if self._is_bit:
            lie, _ = _outcome_bounds(self._mechanism)
            return bit_limits(int(counts[1]), reports, float(lie), alpha)
        mean = float(counts @ values) / reports
        observed = float(counts @ (values - mean) ** 2) / max(reports - 1, 1)
        least = noise(min(max(mean, 0.0), 1.0), 1)
        return mean_limits(
            mean, max(observed, least), (noise(0.0, 1), noise(1.0, 1)), reports, alpha
        )

    @property
    def _is_bit(self) -> bool:
        return isinstance(self._mechanism, OneBitMean | MemoizedOneBitMean)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.asarray(self._mechanism.outcome_values())


@lru_cache(256)
def _outcome_bounds(mechanism: NumericMechanism) -> tuple[NDArray[np.float64], ...]:
    """`NumericMechanism.outcome_bounds` as arrays: there may be tens of thousands."""
    return tuple(map(np.asarray, mechanism.outcome_bounds()))


@tallies(DBitFlip, MemoizedDBitFlip)
class DBitFlipTally(Tally):
    """For each of k bins the number of answers, then for each bin the number of ones.

    Args:
        spec: a distribution with dBitFlip, memoised or not.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._mechanism = cast("GroupedBins", spec.mechanism)
        self._dtype = np.dtype([("group", ">u2"), ("bits", np.uint8, (self._width - 2,))])

    @property
    def cells(self) -> int:
        """Twice the bins."""
        return 2 * self._mechanism.size

    @cached_property
    def diagnostics(self) -> CombinedDiagnostics:
        """How many reports each group has, and how many ones they have.

        A group is drawn without looking at the value, whose bin is in it with probability `asked`.
        """
        mechanism = self._mechanism
        chances = min(mechanism.asked), max(mechanism.asked)
        ones = OnesHistogram(
            mechanism.buckets, mechanism.support, skip=GROUP_BYTES, chances=chances
        )
        return CombinedDiagnostics(GroupHistogram(mechanism.size), ones)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Bits are as frequent as noise allows, and groups as they are drawn."""
        answers, ones = np.split(counts, 2, axis=1)
        support = self._mechanism.support
        yield bounds_check(ones, answers, support.q, support.p)
        of_groups, of_ones = self.diagnostics.split(diagnostics)
        noun = f"the {of_groups.shape[1]} groups of bins"
        shares = np.array(self._mechanism.group_shares)
        yield evenness_check("groups", of_groups, noun, shares).only_where(has_diagnostics)
        histogram = cast("OnesHistogram", self.diagnostics.parts[1])
        yield histogram.check(of_ones).only_where(has_diagnostics)

    def _check(self, payload: bytes) -> None:
        """Every group exists, and the places after its bits are zero."""
        self._read_payload(payload)

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts answers and ones."""
        size, buckets = self._mechanism.size, self._mechanism.buckets
        counts = np.zeros((2, size), np.int64)
        for part in chunks(self._read_payload(payload)):
            groups = part["group"].astype(np.int64)
            bits = np.unpackbits(part["bits"], axis=1, count=buckets)
            devices = np.bincount(groups, minlength=size)
            for place in range(buckets):
                bins = (groups[bits[:, place] == 1] + place) % size
                counts[0] += np.roll(devices, place)
                counts[1] += np.bincount(bins, minlength=size)
        return counts.ravel()

    def reports(self, counts: NDArray[np.int64]) -> int:
        """Every report has as many answers."""
        return int(counts[: self._mechanism.size].sum()) // self._mechanism.buckets

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """The ones of each bin."""
        answers, ones = counts.reshape(2, -1)
        return OutcomeCounts("bits", ones, answers)

    def shares(self, counts: NDArray[np.int64]) -> ItemShares:
        """The share of each bin, debiased among the devices that answered for it.

        Where nobody did, nothing is known: the share is 0 with an infinite variance.

        Args:
            counts: int64, (cells,).

        Returns:
            float64 arrays, (bins,).
        """
        answers, ones = counts.reshape(2, -1).astype(np.float64)
        divisor, support = np.maximum(answers, 1), self._mechanism.support
        share = np.where(answers > 0, (ones / divisor - support.q) / (support.p - support.q), 0.0)
        inside = np.clip(share, 0.0, 1.0)
        sampled = inside * (1 - inside) * (1 - np.array(self._mechanism.asked))
        null = np.where(answers > 0, support.variance(0.0, 1) / divisor, np.inf)
        moved = support_influence(share, support, reports=self.reports(counts), about=answers)
        return ItemShares(share, null + sampled / divisor, null, influence=np.asarray(moved))

    def covariance(
        self, counts: NDArray[np.int64], share: NDArray[np.float64], repeated: float = 0.0
    ) -> NDArray[np.float64]:
        """How the shares vary about the population that the devices are a sample of.

        A bin's answers are binomial: noise, and f (1 - f), over those asked. Two bins that the same
        n_vw reports answer for vary against each other, by -f_v f_w n_vw / (n_v n_w); n_vw is what
        the groups that have both make on average. Where a device reports again, memoised groups
        make it answer for the same bins again; others are drawn anew, and then any two answers of a
        device may be about two bins, or about one.

        Args:
            counts: int64, (cells,).
            share: float64, (bins,): the true shares.
            repeated: how often a device, with its value, and with its bins and permanent bits if
                there are any, may have reported again.

        Returns:
            float64, (bins, bins).
        """
        reports, answers = self.reports(counts), np.maximum(counts[: self._mechanism.size], 1.0)
        together = reports * self._joint_answers
        permanent = self._mechanism.permanent_support()
        repeated_pairs = np.outer(answers, answers) / reports if permanent is None else together
        pairs = (together + repeated * repeated_pairs) / np.outer(answers, answers)
        covariance: NDArray[np.float64] = -np.outer(share, share) * pairs
        noise = self._mechanism.support.variance(0.0, 1)
        if permanent is not None:
            noise += repeated * permanent.variance(0.0, 1)
        sampled = share * (1 - share) * (1 + repeated * np.diag(repeated_pairs) / answers)
        np.fill_diagonal(covariance, (noise + sampled) / answers)
        return covariance

    @cached_property
    def _joint_answers(self) -> NDArray[np.float64]:
        """The probability that a report answers for both of two bins: float64, (bins, bins)."""
        size, places = self._mechanism.size, np.arange(self._mechanism.buckets)
        answers = np.zeros((size, size))
        answers[np.arange(size)[:, None], (np.arange(size)[:, None] + places) % size] = 1.0
        return answers.T @ (np.array(self._mechanism.group_shares)[:, None] * answers)

    def _read_payload(self, payload: bytes) -> NDArray[Any]:
        self._check_width(payload)
        reports = np.frombuffer(payload, self._dtype)
        name, size, buckets = self.spec.name, self._mechanism.size, self._mechanism.buckets
        highest = int(reports["group"].max())
        if highest >= size:
            raise WireError(f"the group of a report of {name} must be below {size}, got {highest}")
        unused = 8 * (self._width - 2) - buckets
        if (reports["bits"][:, -1] & (1 << unused) - 1).any():
            raise WireError(f"a report of {name} must have zeros after its {buckets} bits")
        return reports
