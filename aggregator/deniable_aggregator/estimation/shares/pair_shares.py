"""The shares of two flags and of both, with how these vary together, over all versions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from deniable_aggregator.estimation.shares.between_versions import shared_pairs_fraction
from deniable_aggregator.statistics.influence import FORGED_PER_REPORT
from deniable_aggregator.tallies import share_tally_for
from deniable_shared.attributes import both_true

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate
    from deniable_aggregator.tallies.pairs import SampledCoefficientsTally
    from deniable_shared.spec import Spec

_PER_MEAN: Final = np.array([[0.25, 0.25, 0.25], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])
"""What the means of `PairMoments` add to the shares of both flags, of the first, of the second."""

_WITHOUT_MEANS: Final = np.array([0.25, 0.5, 0.5])

_CHOSEN: Final = np.array([*itertools.product((0.0, 1.0), repeat=3)][1:])[:, None, :]
_SPREADS: Final = _CHOSEN / _CHOSEN.sum(axis=-1, keepdims=True)
"""How forgers may spread their reports over the three means: float64, (7, 1, 3)."""

_SIGNS: Final = np.array([*itertools.product((-1.0, 1.0), repeat=3)])
"""What all of their reports on each mean may say: float64, (8, 3)."""


class PairShares(NamedTuple):
    """Shares of pairs of flags, each over the reports of all versions that ask for both.

    Attributes:
        versions: what each version says.
        reports: int64, (pairs,): over how many reports.
        shares: float64, (pairs, 3): of both flags, of the first, of the second.
        covariance: float64, (pairs, 3, 3): of these.
    """

    versions: Sequence[_Version]
    reports: NDArray[np.int64]
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def lifts_if_fake(self, total: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest lift if fakes were added until they are 1% of all reports.

        Of all ways to add fakes to one version those are tried where all that are about a mean say
        the same, and the means that they are about have as many each.

        Args:
            total: how many reports were counted, of all versions.

        Returns:
            float64, (pairs,), twice; infinite where fakes could leave nobody a flag.
        """
        fakes = total * FORGED_PER_REPORT
        least, most = np.full((2, len(self.reports)), np.nan)
        for version in self.versions:
            added = fakes * _SPREADS / (fakes * _SPREADS + version.asked[:, None, None, :])
            means = version.means[:, None, None, :]
            forged = means + added * (_SIGNS * version.largest - means)
            counted = self.reports[version.at][:, None, None, None]
            reports = version.part.reports
            devices = counted * self.shares[version.at][:, None, None, :]
            devices = devices - reports * version.shares[:, None, None, :]
            shares = (devices + (reports + fakes) * _shares_from(forged)) / (counted + fakes)
            with np.errstate(divide="ignore", invalid="ignore"):
                lifts = shares[..., 0] / (shares[..., 1] * shares[..., 2])
            lifts[(shares[..., 1:] <= 0).any(axis=-1)] = np.inf
            least[version.at] = np.fmin(least[version.at], lifts.min(axis=(1, 2)))
            most[version.at] = np.fmax(most[version.at], lifts.max(axis=(1, 2)))
        return least, most


class _Version(NamedTuple):
    """What one version says of pairs.

    Attributes:
        part: its estimates.
        at: int64, (known,): which of the pairs it knows.
        means: float64, (known, 3): as of `PairMoments`.
        asked: float64, (known, 3): likewise.
        largest: what one report says of a mean, up or down.
        shares: float64, (known, 3): of both flags, of the first, of the second.
        covariance: float64, (known, 3, 3): of these, about the devices that reported.
    """

    part: SpecEstimate
    at: NDArray[np.int64]
    means: NDArray[np.float64]
    asked: NDArray[np.float64]
    largest: float
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]


def observed_pairs(spec: Spec) -> dict[str, tuple[str, str]]:
    """The pairs of flags of which a version knows how often both are true: the flags, by item."""
    return both_true(spec.attributes) if spec.mechanism.estimates_pairs else {}


def estimate_pairs(
    parts: Sequence[SpecEstimate], pairs: Sequence[str], margin: Margin
) -> PairShares:
    """Estimates pairs of flags from all versions that observe them.

    Args:
        pairs: the items that stand for both flags; each is known to some version.
    """
    place = {item: at for at, item in enumerate(pairs)}
    versions = [_version(part, place) for part in parts if part.spec.mechanism.estimates_pairs]
    reports = np.zeros(len(pairs), np.int64)
    shares, covariance = np.zeros((len(pairs), 3)), np.zeros((len(pairs), 3, 3))
    for version in versions:
        reports[version.at] += version.part.reports
    for version in versions:
        weight = (version.part.reports / reports[version.at])[:, None]
        shares[version.at] += weight * version.shares
        covariance[version.at] += weight[:, None] ** 2 * version.covariance
    if margin == "noise-and-sampling":
        covariance += _sampling(versions, reports, shares)
    return PairShares(versions, reports, shares, covariance)


def _version(part: SpecEstimate, place: dict[str, int]) -> _Version:
    tally = cast("SampledCoefficientsTally", share_tally_for(part.spec))
    moments = tally.pair_moments(part.counts)
    own = np.array([place.get(item, -1) for item in observed_pairs(part.spec)])
    usable = np.flatnonzero((own >= 0) & np.isfinite(moments.covariance).all(axis=(1, 2)))
    support = part.spec.mechanism.oracles[0].support
    means = moments.means[usable]
    return _Version(
        part,
        own[usable],
        means,
        moments.asked[usable],
        1 / (support.p - support.q),
        _shares_from(means),
        _PER_MEAN @ moments.covariance[usable] @ _PER_MEAN.T,
    )


def _shares_from(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_WITHOUT_MEANS + means @ _PER_MEAN.T)


def _sampling(
    versions: Sequence[_Version], reports: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What is added because the devices are a sample, and one may have sent several reports.

    As for single shares, see `variance_between`: every report has the covariance of its version's
    flags and the distance of that version's shares from those of all.
    """
    added = np.zeros((len(reports), 3, 3))
    spread = _spread(shares)
    for version in versions:
        weight = (version.part.reports / reports[version.at])[:, None, None]
        apart = version.shares - shares[version.at]
        spread_here = _spread(version.shares) + apart[:, :, None] * apart[:, None, :]
        added[version.at] += (
            weight**2 * (1 / version.part.reports + version.part.repeats.extra) * spread_here
        )
    for one_version, other_version in itertools.combinations(versions, 2):
        fraction = shared_pairs_fraction(one_version.part, other_version.part)
        common = np.intersect1d(one_version.at, other_version.at)
        sizes = one_version.part.reports * other_version.part.reports
        weights = (sizes / reports[common] ** 2)[:, None, None]
        added[common] += 2 * fraction * weights * spread[common]
    return added


def _spread(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariances of both flags, the first and the second, of a device drawn at random."""
    first, second = np.clip(shares[:, 1:], 0.0, 1.0).T
    joint = np.clip(shares[:, 0], np.maximum(first + second - 1, 0.0), np.minimum(first, second))
    columns = [joint * (1 - joint), joint * (1 - first), joint * (1 - second)]
    columns += [first * (1 - first), joint - first * second, second * (1 - second)]
    return np.asarray(np.array(columns).T[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]])
