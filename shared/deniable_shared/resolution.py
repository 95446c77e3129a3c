"""From what a registry file says to a mechanism with integer parameters.

Without a ``mechanism`` field the type decides: ``rr`` for boolean, ``grr`` for category, ``cms``
for string. With it, the file's options are checked and quantised, always toward privacy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    CountMeanSketch,
    GeneralizedRandomizedResponse,
    Mechanism,
    RandomizedResponse,
    Rappor,
    cms,
    rappor,
)
from deniable_shared.rationals import SCALE, ceil_divide
from deniable_shared.spec import MECHANISMS_OF_TYPE

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_shared.fields import Fields

_PROBABILITY: Final = (0, 1)


def resolve(
    kind: str,
    *,
    size: int,
    epsilon: Fraction,
    epsilon_permanent: Fraction | None,
    devices: int,
    choice: tuple[str, Fields] | None,
) -> Mechanism:
    """The mechanism of one metric.

    Args:
        kind: the metric's type.
        size: number of categories, 0 unless a category.
        epsilon: the declared privacy loss of one report, in nats; never exceeded.
        epsilon_permanent: the declared privacy loss of all reports of one value, in nats; only for
            mechanisms that memoise.
        devices: how many devices are expected; sizes a sketch.
        choice: the mechanism's name and options, or None for the type's default.

    Raises:
        ParameterError: naming the field that has to change.
    """
    allowed = MECHANISMS_OF_TYPE[kind]
    name = allowed[0] if choice is None else choice[0]
    if name not in allowed:
        raise ParameterError("mechanism", f"one of {', '.join(allowed)} for {kind}", name)
    if epsilon_permanent is not None and name != Rappor.name:
        raise ParameterError(
            "epsilon_permanent", f"left out: {name} does not memoise", float(epsilon_permanent)
        )
    options = None if choice is None else choice[1]
    if name == RandomizedResponse.name:
        mechanism: Mechanism = RandomizedResponse.for_epsilon(epsilon)
    elif name == GeneralizedRandomizedResponse.name:
        if not 2 <= size <= 1024:
            raise ParameterError("values", "2 to 1024 categories, with other", size)
        mechanism = GeneralizedRandomizedResponse.for_epsilon(size, epsilon)
    elif name == CountMeanSketch.name:
        mechanism = _sketch(epsilon, devices, options)
    else:
        mechanism = _rappor(epsilon, epsilon_permanent, options)
    if options is not None:
        options.refuse_unknown()
    return mechanism


def _sketch(epsilon: Fraction, devices: int, options: Fields | None) -> CountMeanSketch:
    buckets, rows = cms.DEFAULT_BUCKETS, None
    if options is not None:
        buckets = options.integer("buckets", 8, cms.MAX_BUCKETS, default=buckets) or buckets
        rows = options.integer("rows", 1, cms.MAX_ROWS, default=None)
    if rows is None:
        rows = CountMeanSketch.rows_for(epsilon, devices, buckets)
    return CountMeanSketch.for_epsilon(epsilon, rows=rows, buckets=buckets)


def _rappor(epsilon: Fraction, permanent: Fraction | None, options: Fields | None) -> Rappor:
    if permanent is None:
        raise ParameterError("epsilon_permanent", "a number: rappor memoises", None)
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
