"""How many bits channels tell of their input on average: formulas, in terms of probabilities.

I(X; Y) = H(Y) - H(Y | X), in bits, for equally common inputs unless a formula says otherwise. Which
mechanism is which channel, and where a figure is an upper bound, is said in `information`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.review.entropy import binary_entropy, entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.mechanisms import Support

NAT: Final = 1 / math.log(2)
"""A nat in bits."""


def any_pure(epsilon: float) -> float:
    """The most of any channel, whatever its inputs: epsilon tanh(epsilon / 2) nats.

    The information is at most the largest divergence between two rows of the channel, and no two
    rows whose ratios are within e^epsilon diverge more than those of binary randomized response
    (Kairouz, Oh and Viswanath, JMLR 2016).

    Args:
        epsilon: in nats, at least 0.
    """
    return epsilon * math.tanh(epsilon / 2) * NAT


def binary(lie: float) -> float:
    """Of a bit that is wrong with a probability.

    Args:
        lie: the probability, in [0, 1/2].
    """
    return 1 - binary_entropy(lie)


def randomized_response(size: int, support: Support) -> float:
    """Of generalized randomized response: log2 k minus the entropy of a row.

    Args:
        size: how many items there are, k.
        support: the probabilities of the own item and of each other one.
    """
    noise = -support.p * math.log2(support.p) - (1 - support.p) * math.log2(support.q)
    return max(0.0, math.log2(size) - noise)


def randomized_response_of_shares(support: Support, shares: Sequence[float]) -> float:
    """The same for items that are as common as given: H(Y) - H(Y | X), over all items.

    Args:
        support: as of `randomized_response`.
        shares: of all items; they add up to 1.
    """
    gap = support.p - support.q
    output = entropy(support.q + gap * share for share in shares)
    return max(0.0, output - entropy((support.p, *[support.q] * (len(shares) - 1))))


def unary_encoding(size: int, support: Support) -> float:
    """Of a unary encoding, over the number of bits that are set.

    A report with s of k bits set is r1 s / k + r0 (k - s) / k times as probable as if no item were
    the device's own, and r1 or r0 times given the item, as its bit is set or not.

    Args:
        size: how many items there are, k.
        support: the probabilities of a 1 for the own item and for each other one.
    """
    p, q = support.p, support.q
    if_set, if_clear = p / q, (1 - p) / (1 - q)

    def mean(count: int) -> float:
        return (count * if_set + (size - count) * if_clear) / size

    return _over_binomial(
        size - 1,
        q,
        lambda set_bits: (
            p * math.log2(if_set / mean(set_bits + 1))
            + (1 - p) * math.log2(if_clear / mean(set_bits))
        ),
    )


def two_classes(inside: float, own: int, outcomes: int) -> float:
    """Where a report is one of `own` outcomes with probability `inside`, out of `outcomes` alike.

    log2 K minus the entropy of a row, in terms of the ratios to 1/K.

    Args:
        inside: the probability of the own outcomes together, in (0, 1).
        own: how many outcomes speak for an input; at least 1.
        outcomes: how many there are, K; more than `own`.
    """
    near = inside * math.log2(inside * outcomes / own)
    return near + (1 - inside) * math.log2((1 - inside) * outcomes / (outcomes - own))


def bloom_filter(bits: int, hashes: int, if_set: float, if_clear: float) -> float:
    """Of a Bloom filter whose bits are randomized by themselves: an upper bound for all inputs.

    The entropy of a report is at most that of its bits, and that at most k times the entropy of
    their average. So with w bits set on average, k h(mean) - w h(set) - (k - w) h(clear): concave
    in w, and looked for among 1 to the number of hashes.

    Args:
        bits: of the filter, k.
        hashes: how many bits a text sets at most.
        if_set: the probability of a 1 where a bit is set.
        if_clear: where it is not.
    """

    def bound(count: float) -> float:
        mean = (count * if_set + (bits - count) * if_clear) / bits
        noise = count * binary_entropy(if_set) + (bits - count) * binary_entropy(if_clear)
        return bits * binary_entropy(mean) - noise

    low, high = 0.0, float(hashes)
    for _ in range(60):  # ternary search: the interval shrinks to 1e-10
        lower, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (lower, high) if bound(lower) < bound(two) else (low, two)
    return bound(high)


def grouped_bins(size: int, buckets: int, lie: float) -> float:
    """Of bits for some bins that are known, each wrong with a probability; over how many are set.

    Args:
        buckets: for how many of them a report has a bit; every bin is asked as often.
        lie: the probability that a bit is wrong, in (0, 1/2).
    """
    unasked, odds = 1 - buckets / size, (1 - lie) / lie

    def mean(count: int) -> float:
        return unasked + (count * odds + (buckets - count) / odds) / size

    def of_own(set_bits: int) -> float:
        gained = (1 - lie) * math.log2(odds / mean(set_bits + 1))
        return gained + lie * math.log2(1 / odds / mean(set_bits))

    own = _over_binomial(buckets - 1, lie, of_own)
    none = _over_binomial(buckets, lie, lambda count: -math.log2(mean(count))) if unasked else 0.0
    return buckets / size * own + unasked * none


def discrete_laplace(steps: int, scale: float) -> float:
    """Of discrete Laplace noise: an upper bound for all inputs.

    At most the divergence from noise at the middle of the range, of which its ends have most. With
    a scale of b steps, a = e^(-1 / b) and n steps from the middle to an end,
    (n - 2 a (1 - a^n) / (1 - a^2)) / b nats.

    Args:
        steps: how far apart the ends of the range are.
        scale: of the noise, in steps.
    """
    distance, decay = math.ceil(steps / 2), math.exp(-1 / scale)
    nearer = 2 * decay * (1 - decay**distance) / (1 - decay**2)
    return (distance - nearer) / scale * NAT


def discrete_gaussian(steps: int, variance: float) -> float:
    """Of discrete Gaussian noise: an upper bound for all inputs.

    At most the divergence from the noise at the middle of the range: n^2 / (2 variance) nats.

    Args:
        steps: how far apart the ends of the range are.
        variance: the parameter of the noise, in squared steps.
    """
    distance = math.ceil(steps / 2)
    return distance**2 / (2 * variance) * NAT


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
