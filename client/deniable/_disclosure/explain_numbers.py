"""Reports about numbers, in words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from deniable._disclosure.explain import explains
from deniable._disclosure.phrases import Likelihood, format_number, in_decimals, join_names
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    GroupedBins,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    OneBitMean,
    Piecewise,
    SquareWave,
)
from deniable_shared.mechanisms.oracle import set_bits

if TYPE_CHECKING:
    from deniable._disclosure.explain import Sentence
    from deniable_shared.mechanisms.numbers.duchi import BitMean
    from deniable_shared.mechanisms.numbers.noise import AdditiveNoise
    from deniable_shared.mechanisms.numbers.window import WindowMechanism
    from deniable_shared.spec import Spec


@explains(OneBitMean, MemoizedOneBitMean)
def _bit(spec: Spec, report: bytes) -> Sentence:
    return _describe_bit(spec, cast("BitMean", spec.mechanism), int.from_bytes(report, "big"))


def _describe_bit(spec: Spec, mechanism: BitMean, outcome: int) -> Sentence:
    lie = float(mechanism.lie)
    answer, near, far = (("low", 0, 1), ("high", 1, 0))[outcome]
    return (
        f"said '{answer}', where only 'low' or 'high' could be said; would have said so with "
        f"probability {in_decimals(1 - lie)} if the number were {_place(spec, near)}, "
        f"{in_decimals(lie)} if it were {_place(spec, far)}, and something in between for numbers "
        "in between"
    ), (Likelihood(answer, 1 - lie, lie),)


@explains(Piecewise, SquareWave)
def _window(spec: Spec, report: bytes) -> Sentence:
    return _describe_window(spec, cast("WindowMechanism", spec.mechanism), report)


def _describe_window(
    spec: Spec, mechanism: WindowMechanism, report: bytes, first: int = 0
) -> Sentence:
    outcome = int.from_bytes(report, "big") - first
    if outcome >= mechanism.outcomes:
        raise ValueError(f"outcome must be below {mechanism.outcomes}, got {outcome}")
    low = max(0, outcome - mechanism.window + 1)
    high = min(outcome, mechanism.size - 1)
    if isinstance(mechanism, SquareWave):
        ends = Fraction(low, mechanism.size), Fraction(high + 1, mechanism.size)
    else:
        ends = Fraction(low, mechanism.size - 1), Fraction(high, mechanism.size - 1)
    statement = f"about {_place(spec, ends[0])}"
    if ends[0] < ends[1]:
        statement = f"between {_place(spec, ends[0])} and {_place(spec, ends[1])}"
    near, far = mechanism.outcome_probabilities
    if high - low + 1 == mechanism.size:
        answer = f"said it is {statement}, which is true of every number"
        return answer, (Likelihood(statement, near, near),)
    return (
        f"said it is {statement}; what is said covers the true number with probability "
        f"{in_decimals(near * mechanism.window)}, and is anywhere else otherwise"
    ), (Likelihood(statement, near, far),)


@explains(Hybrid)
def _hybrid(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("Hybrid", spec.mechanism)
    outcome = int.from_bytes(report, "big")
    bits = mechanism.bit.outcomes
    if outcome < bits:
        return _describe_bit(spec, mechanism.bit, outcome)
    return _describe_window(spec, mechanism.inner, report, first=bits)


@explains(DiscreteGaussian, DiscreteLaplace)
def _noisy(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("AdditiveNoise", spec.mechanism)
    outcome = int.from_bytes(report, "big")
    if outcome >= mechanism.outcomes:
        raise ValueError(f"outcome must be below {mechanism.outcomes}, got {outcome}")
    said = _place(spec, Fraction(outcome - mechanism.reach, mechanism.steps))
    noise = math.sqrt(mechanism.noise_variance) / mechanism.steps * float(_width(spec))
    near = min(max(outcome - mechanism.reach, 0), mechanism.steps)
    far = 0 if 2 * near > mechanism.steps else mechanism.steps
    if_true, if_not = (mechanism.outcome_probability(outcome, point) for point in (near, far))
    return (
        f"said {said}: its number, from {_place(spec, 0)} to {_place(spec, 1)}, plus a random one, "
        f"typically {format_number(noise, 2)} up or down"
    ), (Likelihood(said, if_true, if_not),)


@explains(DBitFlip, MemoizedDBitFlip)
def _bins(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("GroupedBins", spec.mechanism)
    size, asked = mechanism.size, mechanism.buckets
    group = int.from_bytes(report[:2], "big")
    if group >= size:
        raise ValueError(f"group must be below {size}, got {group}")
    yes_bins = {(group + bit) % size for bit in set_bits(report[2:], asked)}
    names = {
        each: f"'{_place(spec, Fraction(each, size))} to {_place(spec, Fraction(each + 1, size))}'"
        for each in sorted((group + place) % size for place in range(asked))
    }
    yes = [name for each, name in names.items() if each in yes_bins]
    no = [name for each, name in names.items() if each not in yes_bins]
    p, q = mechanism.support.p, mechanism.support.q
    answers = [f"yes to {join_names(yes, 'and')}"] if yes else []
    answers += [f"no to {join_names(no, 'and')}"] if no else []
    likelihoods = [Likelihood(f"yes to {join_names(yes, 'or')}", p, q)] if yes else []
    likelihoods += [Likelihood(f"no to {join_names(no, 'or')}", 1 - q, 1 - p)] if no else []
    chosen = "always the same" if mechanism.memoized else "drawn for this answer"
    return (
        f"is asked about {asked} of {size} ranges, {chosen}; said {', '.join(answers)}; "
        f"says yes to the true one with probability {in_decimals(p)}, to any other with "
        f"probability {in_decimals(q)}"
    ), tuple(likelihoods)


def _place(spec: Spec, place: Fraction | int) -> str:
    """A place in the range, 0 its lower end and 1 its upper, as a number."""
    assert spec.range is not None
    return format_number(spec.range[0] + place * _width(spec))


def _width(spec: Spec) -> Fraction:
    assert spec.range is not None
    return spec.range[1] - spec.range[0]
