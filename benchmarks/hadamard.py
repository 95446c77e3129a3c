"""Hadamard responses, subsets and local hashes: both sides, on one core."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.randomizers import BITS, EPSILON, reports_per_second, spec_of
from benchmarks.timing import Row, at_least, at_most, seconds
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.counting.tallies import oracle_tally_for, tally_for
from deniable_shared.mechanisms import (
    HadamardResponse,
    OptimizedLocalHashing,
    RecursiveHadamardResponse,
    Sketch,
    SubsetSelection,
)

if TYPE_CHECKING:
    from deniable_shared.spec import Spec

REPORTS: Final = 1_000_000
HASHED_REPORTS: Final = 100_000
ROWS: Final = 256


def hcms() -> Spec:
    """Apple's Hadamard count-mean sketch: 256 rows of 1,024 buckets."""
    return spec_of(Sketch(rows=ROWS, inner=HadamardResponse.for_epsilon(BITS, EPSILON)))


def uniform_payload(limits: tuple[tuple[str, int], ...], reports: int) -> bytes:
    """Reports of uniform fields: counting takes as long for them as for any.

    Args:
        limits: for each field its type and its bound.
        reports: how many.
    """
    generator = np.random.default_rng(1)
    table = np.zeros(reports, np.dtype([(str(at), kind) for at, (kind, _) in enumerate(limits)]))
    for at, (_, bound) in enumerate(limits):
        table[str(at)] = generator.integers(0, bound, reports)
    return table.tobytes()


def hcms_seconds() -> float:
    """A million packed reports to the shares of 1,000 strings."""
    spec = hcms()
    tally = tally_for(spec)
    outcomes = 2 * (BITS - 1)
    payload = uniform_payload(((">u2", ROWS), (">u2", outcomes)), REPORTS)
    words = [f"word {index}" for index in range(1_000)]
    return seconds(lambda: estimate_shares([(spec, tally.count(payload))], words))


def hashed_seconds(oracle: OptimizedLocalHashing) -> float:
    """A million packed reports to counts, from a tenth of them."""
    tally = tally_for(spec_of(oracle))
    payload = uniform_payload(((">u4", 1 << 32), (">u1", oracle.buckets)), HASHED_REPORTS)
    return seconds(lambda: tally.count(payload), rounds=2) * REPORTS / HASHED_REPORTS


def transformed_seconds(size: int) -> float:
    """Counts of a one-bit Hadamard response to the support of every item."""
    oracle = HadamardResponse.for_epsilon(size, EPSILON)
    tally = oracle_tally_for(oracle)
    counts = np.random.default_rng(1).integers(0, 1_000, (1, tally.cells))
    return seconds(lambda: tally.supporting(counts))


def rows() -> list[Row]:
    """The figures."""
    unit = "reports/s"
    hashing = OptimizedLocalHashing.for_epsilon(BITS, EPSILON)
    several_bits = RecursiveHadamardResponse.for_epsilon(BITS, Fraction(4))

    def client(spec: Spec) -> float:
        return reports_per_second(spec, "word" if spec.type == "string" else "item 3")

    wanted = {
        "ht, k = 1,024": spec_of(HadamardResponse.for_epsilon(BITS, EPSILON)),
        "hcms, 1,024 buckets": hcms(),
        "olh, k = 1,024": spec_of(hashing),
    }
    others = {
        "rhr, k = 1,024, epsilon 4": spec_of(several_bits),
        "ss, k = 16": spec_of(SubsetSelection.for_epsilon(16, EPSILON)),
        "ss, k = 128": spec_of(SubsetSelection.for_epsilon(128, EPSILON)),
    }
    return [
        *(at_least(f"client {name}", client(spec), unit, 300_000) for name, spec in wanted.items()),
        *(Row(f"client {name}", client(spec), unit) for name, spec in others.items()),
        at_most("fold and estimate a million hcms reports", hcms_seconds(), "s", 0.5),
        Row("fold a million olh reports, k = 1,024", hashed_seconds(hashing), "s"),
        Row("read a Hadamard response over 2^20 items", transformed_seconds(1 << 20), "s"),
    ]
