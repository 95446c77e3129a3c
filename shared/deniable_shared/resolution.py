"""From what a registry file says to a mechanism with integer parameters.

Without a ``mechanism`` field the planner decides. With it, the file's options are checked and
quantised, always toward privacy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared import mechanism_choice, numbers
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide
from deniable_shared.mechanisms import (
    MEMOIZED,
    MEMOIZED_ORACLES,
    NUMERIC,
    ORACLES,
    HadamardResponse,
    Mechanism,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    Oracle,
    RandomizedResponse,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    rappor,
    sketch,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.attributes import Attribute
    from deniable_shared.fields import TableReader

AUTO: Final = "auto"
FRESH: Final = "fresh"
MEMOIZE: Final = "memoize"
REPEAT: Final = (FRESH, MEMOIZE)
"""How a device answers again: with fresh noise, or from a permanent answer of its own."""

SKETCHES: Final[Mapping[str, str]] = {"cms": "sue", "hcms": "ht"}
"""Sketches that have a name of their own, and the oracle inside."""

LOLOHA: Final = "loloha"
"""The sketch over L-GRR with about e^epsilon + 1 buckets (Arcolezi et al. 2023)."""

_FRESH: Final[Mapping[str, tuple[str, ...]]] = {
    "attributes": (SampledAttribute.name, SampledCoefficients.name),
    "boolean": (RandomizedResponse.name,),
    "category": tuple(name for name in ORACLES if name != RandomizedResponse.name),
    "string": (*SKETCHES, Sketch.name),
}
_MEMOIZED: Final[Mapping[str, tuple[str, ...]]] = {
    "attributes": (),
    "boolean": (MemoizedRandomizedResponse.name,),
    "category": tuple(MEMOIZED_ORACLES),
    "string": (LOLOHA, Sketch.name, Rappor.name),
}

MAX_BUCKETS: Final = 65_536
_PROBABILITY: Final = (0, 1)


def resolve(
    kind: str,
    *,
    size: int,
    attributes: Sequence[Attribute] = (),
    epsilon: Fraction,
    epsilon_permanent: Fraction | None = None,
    repeat: str = FRESH,
    devices: int,
    choice: tuple[str, TableReader] | None,
    delta: Fraction | None = None,
) -> Mechanism:
    """The mechanism of one metric.

    Args:
        kind: the metric's type.
        size: number of categories, or bins of a distribution; 0 for other types.
        attributes: the parts of a record, none unless ``attributes``.
        epsilon: the declared privacy loss of one report, in nats; never exceeded.
        epsilon_permanent: the declared privacy loss of all reports of one value, in nats; given
            if they are memoised, and only then.
        repeat: ``fresh`` or ``memoize``.
        devices: how many devices are expected; sizes a sketch.
        choice: the mechanism's name and options, or None for the type's default.
        delta: the declared probability that a report reveals more; only for ``gaussian``.

    Raises:
        ParameterError: naming the field that has to change.
    """
    name = AUTO if choice is None else choice[0]
    options = None if choice is None else choice[1]
    allowed = _allowed(kind, repeat)
    if not allowed:
        raise ParameterError("repeat", f"left out: nothing memoises {kind}", repeat)
    if name not in allowed:
        if name in _allowed(kind, MEMOIZE if repeat == FRESH else FRESH):
            wanted = f'"{MEMOIZE}"' if repeat == FRESH else f'"{FRESH}", or left out,'
            raise ParameterError("repeat", f"{wanted} for {name}", repeat)
        raise ParameterError("mechanism", f"one of {', '.join(allowed)} for {kind}", name)
    if repeat == FRESH and epsilon_permanent is not None:
        constraint = f'left out, unless repeat = "{MEMOIZE}"'
        raise ParameterError("epsilon_permanent", constraint, float(epsilon_permanent))
    if repeat == MEMOIZE and epsilon_permanent is None:
        raise ParameterError("epsilon_permanent", f'a number with repeat = "{MEMOIZE}"', None)
    if delta is not None and kind != "number":
        raise ParameterError("delta", "left out: only gaussian has one", float(delta))
    mechanism: Mechanism
    if kind == "boolean":
        mechanism = _flag(epsilon, epsilon_permanent)
    elif kind == "category":
        if size < 2:
            raise ParameterError("values", "at least 2 categories, with other", size)
        mechanism = _oracle(name, size, epsilon, epsilon_permanent)
    elif kind in NUMERIC:
        mechanism = numbers.mechanism_for(
            kind,
            name,
            epsilon=epsilon,
            epsilon_permanent=epsilon_permanent,
            delta=delta,
            bins=size,
            options=options,
        )
    elif kind == "attributes":
        mechanism = _record(name, attributes, epsilon)
    elif epsilon_permanent is None:
        mechanism = _sketch(name, epsilon, devices, options)
    elif name == Rappor.name:
        mechanism = _rappor(epsilon, epsilon_permanent, options)
    else:
        mechanism = _memoized_sketch(name, epsilon, epsilon_permanent, devices, options)
    if options is not None:
        options.report_unknown()
    return mechanism


def _allowed(kind: str, repeat: str) -> tuple[str, ...]:
    """The names that a registry may use for a type; none at all if nothing memoises it."""
    if kind in NUMERIC:
        names = [
            name for name in sorted(NUMERIC[kind]) if (name in MEMOIZED) == (repeat == MEMOIZE)
        ]
    else:
        names = list((_MEMOIZED if repeat == MEMOIZE else _FRESH)[kind])
    return (AUTO, *names) if names else ()


def _flag(epsilon: Fraction, permanent: Fraction | None) -> Oracle:
    if permanent is None:
        return RandomizedResponse.for_epsilon(2, epsilon)
    return MemoizedRandomizedResponse.for_epsilons(2, epsilon, permanent)


def _oracle(name: str, size: int, epsilon: Fraction, permanent: Fraction | None) -> Oracle:
    """The oracle of a category: the one that is named, or the planner's choice."""
    if permanent is not None:
        if name == AUTO:
            return mechanism_choice.memoized_oracle_for(size, epsilon, permanent)
        return MEMOIZED_ORACLES[name].for_epsilons(size, epsilon, permanent)
    if name == AUTO:
        return mechanism_choice.oracle_for(size, epsilon)
    return ORACLES[name].for_epsilon(size, epsilon)


def _record(
    name: str, attributes: Sequence[Attribute], epsilon: Fraction
) -> SampledAttribute | SampledCoefficients:
    if name == SampledCoefficients.name:
        for attribute in attributes:
            if attribute.type != "boolean":
                field = f"attributes.{attribute.name}"
                raise ParameterError(field, "boolean for pairs", attribute.values)
        return SampledCoefficients.for_epsilon(len(attributes), epsilon)
    return SampledAttribute(
        inner=tuple(
            RandomizedResponse.for_epsilon(2, epsilon)
            if attribute.type == "boolean"
            else mechanism_choice.oracle_for(attribute.size, epsilon)
            for attribute in attributes
        )
    )


def _sketch(name: str, epsilon: Fraction, devices: int, options: TableReader | None) -> Sketch:
    buckets, rows, inner = None, None, SKETCHES.get(name)
    if options is not None:
        buckets = options.integer("buckets", 2, MAX_BUCKETS, default=None)
        rows = options.integer("rows", 1, sketch.MAX_ROWS, default=None)
        if name == Sketch.name:
            pure = [each for each, oracle in ORACLES.items() if oracle.pure]
            inner = options.choice("inner", pure, default=None)
    if inner == HadamardResponse.name and buckets is not None and buckets & (buckets - 1):
        # Any number would do, but the next power of two costs the same and has fewer collisions.
        raise ParameterError("sketch buckets", "a power of two over ht", buckets)
    if inner is None:
        planned = mechanism_choice.sketch_for(epsilon, devices, buckets)
    else:
        try:
            oracle = ORACLES[inner].for_epsilon(buckets or mechanism_choice.BUCKETS, epsilon)
        except ParameterError as error:  # of the size, which a file calls buckets
            raise ParameterError("sketch buckets", error.constraint, error.value) from error
        planned = Sketch(rows=sketch.rows_for(oracle, devices), inner=oracle)
    return planned if rows is None else Sketch(rows=rows, inner=planned.inner)


def _memoized_sketch(
    name: str, epsilon: Fraction, permanent: Fraction, devices: int, options: TableReader | None
) -> Sketch:
    """Left to the planner, the oracle inside is L-OSUE.

    At equal epsilons RAPPOR has at least twice its variance (with two hashes; with one, more too),
    collisions aside, and decodes a limited list of candidates only.
    """
    buckets, rows, inner = None, None, None
    if options is not None:
        buckets = options.integer("buckets", 2, MAX_BUCKETS, default=None)
        rows = options.integer("rows", 1, sketch.MAX_PERMANENT_ROWS, default=None)
        if name == Sketch.name:
            inner = options.choice("inner", tuple(MEMOIZED_ORACLES), default=None)
    if name == LOLOHA:
        inner = MemoizedRandomizedResponse.name
        if buckets is None:
            buckets = mechanism_choice.local_hashing_buckets(epsilon)
    kind = MEMOIZED_ORACLES[inner or MemoizedUnaryEncoding.name]
    try:
        oracle = kind.for_epsilons(buckets or mechanism_choice.BUCKETS, epsilon, permanent)
    except ParameterError as error:
        if not error.name.endswith(" size"):
            raise
        raise ParameterError("sketch buckets", error.constraint, error.value) from error
    return Sketch(rows=rows or sketch.rows_for(oracle, devices), inner=oracle)


def _rappor(epsilon: Fraction, permanent: Fraction, options: TableReader | None) -> Rappor:
    bits, hashes, cohorts = rappor.DEFAULT_BITS, rappor.DEFAULT_HASHES, rappor.DEFAULT_COHORTS
    f = p = q = None
    if options is not None:
        bits = options.integer("bits", 8, rappor.MAX_BITS, default=bits) or bits
        hashes = options.integer("hashes", 1, rappor.MAX_HASHES, default=hashes) or hashes
        cohorts = options.integer("cohorts", 1, rappor.MAX_COHORTS, default=cohorts) or cohorts
        f, p, q = (options.number(name, *_PROBABILITY, default=None) for name in "fpq")
    if f is None and p is None and q is None:
        return Rappor.for_epsilons(epsilon, permanent, bits=bits, hashes=hashes, cohorts=cohorts)
    if f is None or p is None or q is None:
        given = [name for name, value in zip("fpq", (f, p, q), strict=True) if value is not None]
        raise ParameterError("mechanism", "given all of f, p and q, or none of them", given)
    if not (0 < f < 1 and p < q):
        values = {"f": float(f), "p": float(p), "q": float(q)}
        raise ParameterError("mechanism", "such that 0 < f < 1 and p < q", values)
    mechanism = Rappor(
        bits=bits,
        hashes=hashes,
        cohorts=cohorts,
        flip=ceil_divide(f * SCALE, 2),
        p=ceil_divide(p * SCALE, 1),
        q=int(q * SCALE),
    )
    declared = (("epsilon", epsilon), ("epsilon_permanent", permanent))
    for name, limit in declared:
        exact = getattr(mechanism, name)
        if not exact <= limit:
            enough = math.ceil(exact * 1e6) / 1e6
            raise ParameterError(name, f"at least {enough}, which f, p and q give", float(limit))
    return mechanism
