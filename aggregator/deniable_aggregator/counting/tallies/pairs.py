"""Counting Hadamard coefficients of flags, and reading the marginals of one and of two of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from deniable_aggregator.counting.statistics.checks import SliceChecks, bounds_check, evenness_check
from deniable_aggregator.counting.statistics.influence import allocated_influence
from deniable_aggregator.counting.statistics.shares import CountedSums, ItemShares
from deniable_aggregator.counting.tallies.base import ShareTally, SliceShares, tallies
from deniable_aggregator.counting.tallies.numbers import OutcomeTally
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import SampledCoefficients

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


_TERMS: Final = 1 << 16
"""Marginals are summed up from so many coefficients at a time."""


class _Marginals(NamedTuple):
    """Estimates of marginals, as of `ItemShares`.

    Attributes:
        share: float64, (..., items).
        variance: float64, (..., items).
        null_variance: float64, (..., items).
        means: float64, (..., items, 3): what each coefficient adds to an item.
        cells: float64, (items,): of how many cells an item's flags have one.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    means: NDArray[np.float64]
    cells: NDArray[np.float64]


class PairMoments(NamedTuple):
    """The coefficients of every two flags, with how their estimates vary together.

    The signs are those of two flags that are true: the share of both is (1 + the sum of the three
    means) / 4, and that of either flag (1 + its mean) / 2.

    Attributes:
        flags: int64, (pairs, 2): the numbers of the two flags.
        means: float64, (pairs, 3): of the first flag, of the second, and of both.
        covariance: float64, (pairs, 3, 3): of these, about the devices that reported; infinite
            where a coefficient has no report yet.
        asked: float64, (pairs, 3): how many reports each is the mean of.
    """

    flags: NDArray[np.int64]
    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
    asked: NDArray[np.float64]


@tallies(SampledCoefficients)
class SampledCoefficientsTally(OutcomeTally, ShareTally):
    """For every coefficient how many parities came as 0 and how many as 1.

    Args:
        spec: an attributes metric of flags.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._mechanism = cast("SampledCoefficients", spec.mechanism)
        number = {coefficient: at for at, coefficient in enumerate(self._mechanism.coefficients)}
        # Each item is a sum of up to three coefficients, with the signs that (-1)^parity has there:
        # 1 where a flag is false. A flag by itself has one; the sign 0 stands for no coefficient.
        terms = [(number[position,], 0, 0, -1, 0, 0) for position in range(len(spec.attributes))]
        pairs = itertools.combinations(range(len(spec.attributes)), 2)
        for (one, two), first, second in itertools.product(pairs, (-1, 1), (-1, 1)):
            numbers = number[one,], number[two,], number[one, two]
            terms.append((*numbers, first, second, first * second))
        self._places = {item: place for place, item in enumerate(spec.items)}
        self._numbers, self._signs = np.hsplit(np.array(terms), 2)

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        known: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterator[SliceChecks]:
        """Coefficients are drawn equally often, and parities as frequent as noise allows."""
        answers = counts[:, 0::2] + counts[:, 1::2]
        yield evenness_check("groups", answers, f"the {answers.shape[1]} coefficients")
        support = self._mechanism.inner.support
        yield bounds_check(counts[:, 1::2], answers, support.q, support.p)

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> ItemShares:
        """Marginals from coefficients: a signed sum, halved for each flag.

        Given how many reports each coefficient has, the variance is exact: that of the lies,
        (c^2 - 1) / n_a with c = 1 / (1 - 2b); that of the n_a devices asked,
        (1 - theta^2) (n - n_a) / (n_a (n - 1)); and, as no device is asked twice, the covariance
        -(theta_ab - theta_a theta_b) / (n - 1) of the means of two coefficients. It is infinite
        where a coefficient has no report yet.
        """
        numbers, signs = self._terms(items)
        marginals = self._marginals(counts, numbers, signs)
        cells = marginals.cells
        largest = 1 / (self._mechanism.inner.support.p - self._mechanism.inner.support.q)
        answers = counts.reshape(-1, 2).sum(axis=1).astype(np.float64)[numbers]
        moved = [
            allocated_influence(
                np.where(signs, largest - end * marginals.means, 0.0), answers, self.reports(counts)
            )
            for end in (1, -1)
        ]
        reported = counts.reshape(-1, 2)[numbers]
        return CountedSums(
            share=marginals.share,
            variance=marginals.variance,
            null_variance=marginals.null_variance,
            influence=np.maximum(*moved) / cells,
            counts=np.where(signs > 0, reported[..., 0], reported[..., 1]),
            trials=reported.sum(axis=2),
            weights=2 * largest * np.abs(signs) / cells[:, None],
            rarest=self._mechanism.inner.support.q,
            exclusive=False,
        )

    shares_each_slice = False

    def shares_of_slices(self, counts: NDArray[np.int64], items: Sequence[str]) -> SliceShares:
        """The same estimates from many slices at once."""
        numbers, signs = self._terms(items)
        step = max(1, _TERMS // max(numbers.size, 1))
        share, variance = np.zeros((2, len(counts), len(items)))
        for start in range(0, len(counts), step):
            rows = slice(start, start + step)
            marginals = self._marginals(counts[rows], numbers, signs)
            share[rows], variance[rows] = marginals.share, marginals.variance
        return SliceShares(share, variance)

    def pair_moments(self, counts: NDArray[np.int64]) -> PairMoments:
        """What the reports say of every two flags; the variances are those of `shares`.

        Args:
            counts: int64, (cells,), of at least one report.
        """
        flags = np.array(list(itertools.combinations(range(len(self.spec.attributes)), 2)))
        pair_numbers = np.arange(len(self.spec.attributes), len(self._mechanism.coefficients))
        numbers, signs = np.column_stack([flags, pair_numbers]), np.array([-1, -1, 1])
        theta, likely, lies, unasked = self._coefficients(counts)
        signed = np.clip(likely[numbers] * signs, -1.0, 1.0)
        # As in `_marginals`: each coefficient of a pair is the product of the other two.
        product = signed[:, [[0, 2, 1], [2, 1, 0], [1, 0, 2]]]
        covariance = (signed[:, :, None] * signed[:, None, :] - product) / max(counts.sum() - 1, 1)
        own = np.arange(3)
        covariance[:, own, own] = lies[numbers] + (1 - signed**2) * unasked[numbers]
        answers = counts.reshape(-1, 2).sum(axis=1).astype(np.float64)[numbers]
        return PairMoments(flags, theta[numbers] * signs, covariance, answers)

    def _terms(self, items: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The coefficients of items and their signs: int64, (items, 3), twice."""
        unknown = [item for item in items if item not in self._places]
        if unknown:
            example = next(reversed(self._places))
            raise ParameterError(
                "candidates", f"items of {self.spec.name} such as {example}", unknown[0]
            )
        chosen = [self._places[item] for item in items]
        return self._numbers[chosen], self._signs[chosen]

    def _marginals(
        self, counts: NDArray[np.int64], numbers: NDArray[np.int64], signs: NDArray[np.int64]
    ) -> _Marginals:
        """The estimates of `shares` from counts: int64, (..., cells)."""
        theta, likely, lies, unasked = self._coefficients(counts)
        divisor = np.maximum(counts.sum(axis=-1, keepdims=True) - 1, 1)

        def total(column: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.where(signs, column, 0.0).sum(axis=-1))

        means = theta[..., numbers] * signs
        signed = np.clip(likely[..., numbers] * signs, -1.0, 1.0)
        # With the signs inside, each coefficient of a pair is the product of the other two.
        products = signed * np.roll(signed, 1, axis=-1)
        pair = signs[:, 1] != 0
        cells = np.where(pair, 4.0, 2.0)
        unasked = unasked[..., numbers]
        noise, asking = total(lies[..., numbers]), total((1 - signed**2) * unasked)
        covariance = np.where(pair, total(signed - products), 0.0) / divisor
        # If nobody is in a cell its three means add up to -1, and the rest is largest at -1/3 each.
        absent = np.where(pair, 8 / 9 * total(unasked) + 8 / 3 / divisor, 0.0)
        return _Marginals(
            share=(1 + means.sum(axis=-1)) / cells,
            variance=(noise + asking - 2 * covariance) / cells**2,
            null_variance=(noise + absent) / cells**2,
            means=means,
            cells=cells,
        )

    def _coefficients(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Of each coefficient theta, the variance of its lies, and (n - n_a) / (n_a (n - 1)).

        Without a report they are 0, infinite and 1. Behind theta stands what it is with one more
        report of each kind, for its variance: a few reports may happen to agree.
        """
        zeros, ones = (counts[..., parity::2].astype(np.float64) for parity in (0, 1))
        reports = zeros + ones
        answers, devices = np.maximum(reports, 1.0), reports.sum(axis=-1, keepdims=True)
        support = self._mechanism.inner.support
        scale = 1 / (support.p - support.q)
        theta = scale * (zeros - ones) / answers
        lies = np.where(reports > 0, (scale**2 - 1) / answers, np.inf)
        likely = scale * (zeros - ones) / (reports + 2)
        return theta, likely, lies, (devices - answers) / (answers * np.maximum(devices - 1, 1.0))
