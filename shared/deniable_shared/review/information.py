"""How many bits a report tells of its value on average: the mutual information of its channel.

The weights are those that devices really draw with. Without shares of the values every figure holds
*whatever* they are: it is the channel's capacity or more. Where all values are alike to a channel,
this is attained if they are equally common (the information is concave in the shares, so none are
better than those that every exchange of values leaves alone); such a figure is called exact, every
other one an upper bound. Cover and Thomas, Elements of Information Theory, theorems 2.7.4, 7.2.1.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING

from deniable_shared.exact_bounds import SCALE
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    GroupedBins,
    HadamardResponse,
    Hybrid,
    ItemOracle,
    Mechanism,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    PrivSet,
    ProjectiveGeometryResponse,
    Rappor,
    RecursiveHadamardResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SubsetSelection,
    SymmetricUnaryEncoding,
    Trie,
)
from deniable_shared.mechanisms.numbers.duchi import BitMean
from deniable_shared.mechanisms.numbers.window import WindowMechanism
from deniable_shared.review import channels
from deniable_shared.review.entropy import entropy

if TYPE_CHECKING:
    from collections.abc import Sequence


@frozen
class Information:
    """How many bits are told on average.

    Attributes:
        bits: at least 0.
        exact: whether this is what is told if all values are equally common, or have the shares
            that were given; an upper bound otherwise.
    """

    bits: float
    exact: bool = False


def information(mechanism: Mechanism, shares: Sequence[float] | None = None) -> Information:
    """What one report tells on average of the value that a device holds.

    Args:
        shares: of the values, in the order of the metric's; None if they may be any.
    """
    if shares is None:
        return _of_report(mechanism)
    if isinstance(mechanism, ItemOracle):
        bits = channels.randomized_response_of_shares(mechanism.support, shares)
        return Information(bits, exact=True)
    return Information(min(entropy(shares), _of_report(mechanism).bits))


def permanent_information(mechanism: Mechanism) -> Information | None:
    """What all reports of an unchanged value tell on average, at most; None if any number may.

    Reports that are all drawn from a permanent answer tell no more of the value than that does
    (Cover and Thomas, theorem 2.8.1).
    """
    if mechanism.epsilon_permanent is None:
        return None
    bounds = [channels.any_pure(mechanism.epsilon_permanent)]
    inner = mechanism.inner if isinstance(mechanism, Sketch) else mechanism
    support = inner.permanent_support()
    if isinstance(inner, MemoizedRandomizedResponse) and support is not None:
        bounds.append(channels.randomized_response(inner.size, support))
    elif isinstance(inner, MemoizedUnaryEncoding) and support is not None:
        bounds.append(channels.unary_encoding(inner.size, support))
    elif isinstance(inner, Rappor):
        lie = inner.flip / SCALE
        bounds.append(channels.bloom_filter(inner.bits, inner.hashes, 1 - lie, lie))
    elif isinstance(inner, MemoizedOneBitMean):
        bounds.append(channels.binary(inner.permanent / SCALE))
    elif isinstance(inner, MemoizedDBitFlip):
        bounds.append(_of_grouped_bins(inner, inner.permanent / SCALE).bits)
    return Information(min(bounds))


@singledispatch
def _of_report(mechanism: Mechanism) -> Information:
    """Of a channel of which nothing but its epsilon is known."""
    return Information(channels.any_pure(mechanism.epsilon))


@_of_report.register
def _(mechanism: ItemOracle) -> Information:
    """Every kind of randomized response, memoised or not."""
    bits = channels.randomized_response(mechanism.size, mechanism.support)
    return Information(bits, exact=True)


@_of_report.register(OptimizedUnaryEncoding)
@_of_report.register(SymmetricUnaryEncoding)
@_of_report.register(MemoizedUnaryEncoding)
def _(
    mechanism: OptimizedUnaryEncoding | SymmetricUnaryEncoding | MemoizedUnaryEncoding,
) -> Information:
    return Information(channels.unary_encoding(mechanism.size, mechanism.support), exact=True)


@_of_report.register
def _(mechanism: SubsetSelection) -> Information:
    """Sets with the item, out of all sets of as many items: only their share w / k matters."""
    inside = mechanism.own / SCALE
    return Information(channels.two_classes(inside, mechanism.subset, mechanism.size), exact=True)


@_of_report.register
def _(mechanism: PrivSet) -> Information:
    """Of the outcomes that a set holds: m of D; not attained, as fillers come in their order."""
    inside = mechanism.inside / SCALE
    return Information(channels.two_classes(inside, mechanism.most, mechanism.outcomes))


@_of_report.register
def _(mechanism: ProjectiveGeometryResponse) -> Information:
    """Attained if every point of the space is an item."""
    inside, points = mechanism.inside / SCALE, mechanism.outcomes
    bits = channels.two_classes(inside, mechanism.hyperplane, points)
    return Information(bits, exact=mechanism.size == points)


@_of_report.register
def _(mechanism: OptimizedLocalHashing) -> Information:
    """Of the buckets; attained only if each has as many items, whatever the seed."""
    return Information(channels.two_classes(mechanism.own / SCALE, 1, mechanism.buckets))


@_of_report.register
def _(mechanism: HadamardResponse) -> Information:
    """Of the sign in a row that is known; attained if there are as many items as rows."""
    bits = channels.binary(mechanism.flip / SCALE)
    return Information(bits, exact=mechanism.size == mechanism.order)


@_of_report.register
def _(mechanism: RecursiveHadamardResponse) -> Information:
    """Of the symbols in a row that is known; attained if all blocks are full."""
    bits = channels.two_classes(mechanism.own / SCALE, 1, mechanism.symbols)
    return Information(bits, exact=mechanism.size == mechanism.order * mechanism.blocks)


@_of_report.register
def _(mechanism: Sketch) -> Information:
    """Of the bucket in a row that is known."""
    return Information(_of_report(mechanism.inner).bits)


@_of_report.register
def _(mechanism: Rappor) -> Information:
    support = mechanism.support
    bits = channels.bloom_filter(mechanism.bits, mechanism.hashes, support.p, support.q)
    return Information(min(bits, channels.any_pure(mechanism.epsilon)))


@_of_report.register
def _(mechanism: Trie) -> Information:
    """Of a cell in a level and row that are known."""
    levels = enumerate(mechanism.level_shares)
    return Information(
        sum(float(share) * _of_report(mechanism.oracle(level)).bits for level, share in levels)
    )


@_of_report.register
def _(mechanism: SampledAttribute) -> Information:
    """Of an attribute that is known."""
    parts = [_of_report(oracle) for oracle in mechanism.inner]
    bits = math.fsum(part.bits for part in parts) / len(parts)
    return Information(bits, exact=all(part.exact for part in parts))


@_of_report.register
def _(mechanism: SampledCoefficients) -> Information:
    """Of a parity that is known; parities of flags that are equally common are, too."""
    return Information(_of_report(mechanism.inner).bits, exact=True)


@_of_report.register
def _(mechanism: BitMean) -> Information:
    """Attained by the two ends of the range alone."""
    return Information(channels.binary(float(mechanism.lie)))


@_of_report.register
def _(mechanism: WindowMechanism) -> Information:
    """All rows have the same entropy, and no report has more than log2 of its outcomes."""
    inside = mechanism.inside / SCALE
    return Information(channels.two_classes(inside, mechanism.window, mechanism.outcomes))


@_of_report.register
def _(mechanism: Hybrid) -> Information:
    heads = mechanism.heads / SCALE
    parts = _of_report(mechanism.inner).bits, _of_report(mechanism.bit).bits
    return Information(heads * parts[0] + (1 - heads) * parts[1])


@_of_report.register
def _(mechanism: GroupedBins) -> Information:
    return _of_grouped_bins(mechanism, float(mechanism.lie))


def _of_grouped_bins(mechanism: GroupedBins, lie: float) -> Information:
    """Given the group; as a value in each bin is equally common.

    Turning all bins by one leaves the groups as they are, so equal shares tell most where groups
    are equally common; where they are not, at most as much more as the commonest group is.
    """
    commonest = mechanism.size * max(mechanism.group_shares)
    bits = channels.grouped_bins(mechanism.size, mechanism.buckets, lie)
    return Information(commonest * bits, exact=math.isclose(commonest, 1))


@_of_report.register
def _(mechanism: DiscreteLaplace) -> Information:
    return Information(channels.discrete_laplace(mechanism.steps, mechanism.scale))


@_of_report.register
def _(mechanism: DiscreteGaussian) -> Information:
    return Information(channels.discrete_gaussian(mechanism.steps, mechanism.noise))
