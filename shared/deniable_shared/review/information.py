"""How many bits a report tells of its value on average: the mutual information of the channel.

I(X; Y) = H(Y) - H(Y | X), of the weights that devices really draw with. Without shares of the
values every figure holds *whatever* they are: it is the channel's capacity or more. Where all
values are alike to a channel, this is attained if they are equally common (the information is
concave in the shares, so none are better than those that every exchange of values leaves alone);
such a figure is called exact, every other one an upper bound. Cover and Thomas, Elements of
Information Theory, theorems 2.7.4 and 7.2.1.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING, Final

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
from deniable_shared.review.entropy import binary_entropy, entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.mechanisms import Support

_NAT: Final = 1 / math.log(2)
"""A nat in bits."""


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
        mechanism: of a metric.
        shares: of the values, in the order of the metric's; None if they may be any.
    """
    if shares is None:
        return _of_report(mechanism)
    if isinstance(mechanism, ItemOracle):
        return Information(_of_known_shares(mechanism.support, shares), exact=True)
    return Information(min(entropy(shares), _of_report(mechanism).bits))


def permanent_information(mechanism: Mechanism) -> Information | None:
    """What all reports of an unchanged value tell on average, at most; None if any number may.

    Reports that are all drawn from a permanent answer tell no more of the value than that does
    (Cover and Thomas, theorem 2.8.1).

    Args:
        mechanism: of a metric.
    """
    if mechanism.epsilon_permanent is None:
        return None
    bounds = [_of_any_pure(mechanism.epsilon_permanent)]
    inner = mechanism.inner if isinstance(mechanism, Sketch) else mechanism
    support = inner.permanent_support()
    if isinstance(inner, MemoizedRandomizedResponse) and support is not None:
        bounds.append(_of_items(inner.size, support))
    elif isinstance(inner, MemoizedUnaryEncoding) and support is not None:
        bounds.append(_of_bits(inner.size, support))
    elif isinstance(inner, Rappor):
        lie = inner.flip / SCALE
        bounds.append(_of_filter(inner.bits, inner.hashes, 1 - lie, lie))
    elif isinstance(inner, MemoizedOneBitMean):
        bounds.append(1 - binary_entropy(inner.permanent / SCALE))
    elif isinstance(inner, MemoizedDBitFlip):
        bounds.append(_of_grouped_bins(inner, inner.permanent / SCALE).bits)
    return Information(min(bounds))


@singledispatch
def _of_report(mechanism: Mechanism) -> Information:
    """Of a channel of which nothing but its epsilon is known."""
    return Information(_of_any_pure(mechanism.epsilon))


def _of_any_pure(epsilon: float) -> float:
    """The most of any channel: epsilon tanh(epsilon / 2) nats.

    The information is at most the largest divergence between two rows of the channel, and no two
    rows whose ratios are within e^epsilon diverge more than those of binary randomized response
    (Kairouz, Oh and Viswanath, JMLR 2016).
    """
    return epsilon * math.tanh(epsilon / 2) * _NAT


def _of_known_shares(support: Support, shares: Sequence[float]) -> float:
    """Of generalized randomized response: H(Y) - H(Y | X), over all items."""
    gap = support.p - support.q
    told = entropy(support.q + gap * share for share in shares)
    return max(0.0, told - entropy((support.p, *[support.q] * (len(shares) - 1))))


def _of_items(size: int, support: Support) -> float:
    """Of generalized randomized response: log2 k minus the entropy of a row."""
    noise = -support.p * math.log2(support.p) - (1 - support.p) * math.log2(support.q)
    return max(0.0, math.log2(size) - noise)


@_of_report.register
def _(mechanism: ItemOracle) -> Information:
    """Every kind of randomized response, memoised or not."""
    return Information(_of_items(mechanism.size, mechanism.support), exact=True)


@_of_report.register(OptimizedUnaryEncoding)
@_of_report.register(SymmetricUnaryEncoding)
@_of_report.register(MemoizedUnaryEncoding)
def _(
    mechanism: OptimizedUnaryEncoding | SymmetricUnaryEncoding | MemoizedUnaryEncoding,
) -> Information:
    return Information(_of_bits(mechanism.size, mechanism.support), exact=True)


def _of_bits(size: int, support: Support) -> float:
    """Of a unary encoding, over the number of bits that are set; exact for equal shares.

    A report with s of k bits set is r1 s / k + r0 (k - s) / k times as probable as if no item were
    the device's own, and r1 or r0 times given the item, as its bit is set or not.
    """
    p, q = support.p, support.q
    if_set, if_clear = p / q, (1 - p) / (1 - q)

    def mean(count: int) -> float:
        return (count * if_set + (size - count) * if_clear) / size

    return _over_binomial(
        size - 1,
        q,
        lambda others: (
            p * math.log2(if_set / mean(others + 1)) + (1 - p) * math.log2(if_clear / mean(others))
        ),
    )


def _over_binomial(trials: int, probability: float, value: Callable[[int], float]) -> float:
    """The expected value over a binomial number of successes."""
    yes, no = math.log(probability), math.log1p(-probability)
    all_ways = math.lgamma(trials + 1)
    return math.fsum(
        math.exp(
            all_ways
            - math.lgamma(count + 1)
            - math.lgamma(trials - count + 1)
            + count * yes
            + (trials - count) * no
        )
        * value(count)
        for count in range(trials + 1)
    )


def _of_two_classes(inside: float, own: int, outcomes: int) -> float:
    """Where a report is one of `own` outcomes with probability `inside`, out of `outcomes` alike.

    log2 K minus the entropy of a row, in terms of the ratios to 1/K.
    """
    near = inside * math.log2(inside * outcomes / own)
    return near + (1 - inside) * math.log2((1 - inside) * outcomes / (outcomes - own))


@_of_report.register
def _(mechanism: SubsetSelection) -> Information:
    """Sets with the item, out of all sets of as many items: only their share w / k matters."""
    size, chosen = mechanism.size, mechanism.subset
    return Information(_of_two_classes(mechanism.own / SCALE, chosen, size), exact=True)


@_of_report.register
def _(mechanism: ProjectiveGeometryResponse) -> Information:
    """Attained if every point of the space is an item."""
    inside, points = mechanism.inside / SCALE, mechanism.outcomes
    bits = _of_two_classes(inside, mechanism.hyperplane, points)
    return Information(bits, exact=mechanism.size == points)


@_of_report.register
def _(mechanism: OptimizedLocalHashing) -> Information:
    """Of the buckets; attained only if each has as many items, whatever the seed."""
    return Information(_of_two_classes(mechanism.own / SCALE, 1, mechanism.buckets))


@_of_report.register
def _(mechanism: HadamardResponse) -> Information:
    """Of the sign in a row that is known; attained if there are as many items as rows."""
    bits = 1 - binary_entropy(mechanism.flip / SCALE)
    return Information(bits, exact=mechanism.size == mechanism.order)


@_of_report.register
def _(mechanism: RecursiveHadamardResponse) -> Information:
    """Of the symbols in a row that is known; attained if all blocks are full."""
    bits = _of_two_classes(mechanism.own / SCALE, 1, mechanism.symbols)
    return Information(bits, exact=mechanism.size == mechanism.order * mechanism.blocks)


@_of_report.register
def _(mechanism: Sketch) -> Information:
    """Of the bucket in a row that is known."""
    return Information(_of_report(mechanism.inner).bits)


@_of_report.register
def _(mechanism: Rappor) -> Information:
    support = mechanism.support
    bits = _of_filter(mechanism.bits, mechanism.hashes, support.p, support.q)
    return Information(min(bits, _of_any_pure(mechanism.epsilon)))


def _of_filter(bits: int, hashes: int, if_set: float, if_clear: float) -> float:
    """Of a Bloom filter whose bits are randomized by themselves, at most.

    The entropy of a report is at most that of its bits, and that at most k times the entropy of
    their average. So with w bits set on average, k h(mean) - w h(set) - (k - w) h(clear): concave
    in w, and looked for among 1 to the number of hashes.
    """

    def bound(count: float) -> float:
        mean = (count * if_set + (bits - count) * if_clear) / bits
        known = count * binary_entropy(if_set) + (bits - count) * binary_entropy(if_clear)
        return bits * binary_entropy(mean) - known

    low, high = 0.0, float(hashes)
    for _ in range(60):  # ternary search: the interval shrinks to 1e-10
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if bound(one) < bound(two) else (low, two)
    return bound(high)


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
    found = [_of_report(oracle) for oracle in mechanism.inner]
    bits = math.fsum(each.bits for each in found) / len(found)
    return Information(bits, exact=all(each.exact for each in found))


@_of_report.register
def _(mechanism: SampledCoefficients) -> Information:
    """Of a parity that is known; parities of flags that are equally common are, too."""
    return Information(_of_report(mechanism.inner).bits, exact=True)


@_of_report.register
def _(mechanism: BitMean) -> Information:
    """Attained by the two ends of the range alone."""
    return Information(1 - binary_entropy(float(mechanism.lie)))


@_of_report.register
def _(mechanism: WindowMechanism) -> Information:
    """All rows have the same entropy, and no report has more than log2 of its outcomes."""
    return Information(
        _of_two_classes(mechanism.inside / SCALE, mechanism.window, mechanism.outcomes)
    )


@_of_report.register
def _(mechanism: Hybrid) -> Information:
    heads = mechanism.heads / SCALE
    parts = _of_report(mechanism.inner).bits, _of_report(mechanism.bit).bits
    return Information(heads * parts[0] + (1 - heads) * parts[1])


@_of_report.register
def _(mechanism: GroupedBins) -> Information:
    return _of_grouped_bins(mechanism, float(mechanism.lie))


def _of_grouped_bins(mechanism: GroupedBins, lie: float) -> Information:
    """Over the number of set bits, given the group; as a value in each bin is equally common.

    Turning all bins by one leaves the groups as they are, so equal shares tell most where groups
    are equally common; where they are not, at most as much more as the commonest group is.
    """
    size, asked = mechanism.size, mechanism.buckets
    rest, odds = 1 - asked / size, (1 - lie) / lie

    def mean(count: int) -> float:
        return rest + (count * odds + (asked - count) / odds) / size

    def of_own(others: int) -> float:
        told = (1 - lie) * math.log2(odds / mean(others + 1))
        return told + lie * math.log2(1 / odds / mean(others))

    own = _over_binomial(asked - 1, lie, of_own)
    none = _over_binomial(asked, lie, lambda count: -math.log2(mean(count))) if rest else 0.0
    commonest = size * max(mechanism.group_shares)
    bits = commonest * (asked / size * own + rest * none)
    return Information(bits, exact=math.isclose(commonest, 1))


@_of_report.register
def _(mechanism: DiscreteLaplace) -> Information:
    """At most the divergence from noise at the middle of the range, of which its ends have most.

    With a scale of b steps, a = e^(-1 / b) and n steps from the middle to an end,
    (n - 2 a (1 - a^n) / (1 - a^2)) / b nats.
    """
    distance, decay = math.ceil(mechanism.steps / 2), math.exp(-1 / mechanism.scale)
    nearer = 2 * decay * (1 - decay**distance) / (1 - decay**2)
    return Information((distance - nearer) / mechanism.scale * _NAT)


@_of_report.register
def _(mechanism: DiscreteGaussian) -> Information:
    """At most the divergence from the noise at the middle of the range: n^2 / (2 variance) nats."""
    distance = math.ceil(mechanism.steps / 2)
    return Information(distance**2 / (2 * mechanism.noise) * _NAT)
