"""The aggregator's counting and estimating, on one core."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Final

import numpy as np

from benchmarks.randomizers import BITS, EPSILON, categories, points, sketch, unary
from benchmarks.timing import Row, at_least, at_most, rate, seconds
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.counting.kernels import singer_cycle
from deniable_aggregator.counting.tallies import oracle_tally_for, tally_for
from deniable_shared.letters import LetterCode, shipped_model
from deniable_shared.mechanisms import ProjectiveGeometryResponse, Trie
from deniable_shared.mechanisms.oracle import BitsOracle, IndexOracle
from deniable_shared.spec import Spec

REPORTS: Final = 1_000_000
BIT_REPORTS: Final = 250_000
NAIVE_REPORTS: Final = 20_000
CANDIDATES: Final = 1_000_000
TRIE_CANDIDATES: Final = 1_000
EPSILON_OF_TRIE: Final = Fraction(4)
MEGABYTE: Final = 1 << 20


def payload_of(spec: Spec, reports: int) -> bytes:
    """Uniform reports: counting takes as long for them as for any."""
    generator = np.random.default_rng(1)
    if isinstance(spec.mechanism, IndexOracle):
        dtype = ">u1" if spec.mechanism.report_bytes == 1 else ">u2"
        return generator.integers(0, spec.mechanism.outcomes, reports).astype(dtype).tobytes()
    if isinstance(spec.mechanism, BitsOracle):
        return generator.bytes(reports * spec.mechanism.report_bytes)
    rows = spec.mechanism.parameters()["rows"]
    table = generator.integers(0, 256, (reports, spec.mechanism.report_bytes), dtype=np.uint8)
    groups = generator.integers(0, rows, reports).astype(">u2")
    table[:, :2] = groups.view(np.uint8).reshape(-1, 2)
    return table.tobytes()


def folded_per_second(spec: Spec, reports: int) -> float:
    """Packed bytes to counts."""
    tally, payload = tally_for(spec), payload_of(spec, reports)
    return rate(lambda: tally.count(payload), reports)


def naive_grr_per_second(spec: Spec) -> float:
    """A loop over the reports."""
    payload = payload_of(spec, NAIVE_REPORTS)

    def run() -> None:
        Counter(
            int.from_bytes(payload[start : start + 2], "big") for start in range(0, len(payload), 2)
        )

    return rate(run, NAIVE_REPORTS)


def naive_bits_per_second(spec: Spec) -> float:
    """Unpacking all bits, and adding them up one report after the other."""
    payload = payload_of(spec, NAIVE_REPORTS)
    table = np.frombuffer(payload, np.uint8).reshape(NAIVE_REPORTS, -1)
    groups = table[:, :2].copy().view(">u2").ravel().astype(np.int64)

    def run() -> None:
        sums = np.zeros((spec.mechanism.parameters()["rows"], BITS), np.int64)
        np.add.at(sums, groups, np.unpackbits(table[:, 2:], axis=1))

    return rate(run, NAIVE_REPORTS, rounds=1)


def counted_seconds(spec: Spec) -> float:
    """From a million packed reports to the estimates of all items."""
    tally, payload = tally_for(spec), payload_of(spec, REPORTS)
    return seconds(lambda: estimate_shares([(spec, tally.count(payload))]), rounds=3)


def extra_megabytes(spec: Spec, reports: int) -> float:
    """What counting needs at its peak, beside the payload and the tally."""
    tally, payload = tally_for(spec), payload_of(spec, reports)
    tracemalloc.start()
    tally.count(payload)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / MEGABYTE


def estimated_seconds(spec: Spec, reports: int) -> float:
    """Packed bytes to shares and intervals of all items."""
    tally, payload = tally_for(spec), payload_of(spec, reports)
    return seconds(lambda: estimate_shares([(spec, tally.count(payload))]))


def decoding_seconds(oracle: ProjectiveGeometryResponse, groups: int) -> float:
    """Counts to the support of every item, in every group; the cycle of the space is known."""
    tally = oracle_tally_for(oracle)
    counts = np.random.default_rng(1).integers(0, 1_000, (groups, oracle.outcomes))
    tally.supporting(counts[:1])
    return seconds(lambda: tally.supporting(counts))


def pgr_rows() -> list[Row]:
    """Sums over all hyperplanes."""
    found = [
        at_most(
            f"fold and estimate a million pgr reports, k = 1,024, epsilon {epsilon}",
            estimated_seconds(points(BITS, epsilon), REPORTS),
            "s",
            0.5,
        )
        for epsilon in (1, 2)
    ]
    for q, t, size, limit in ((151, 3, 22_953, 0.1), (3, 11, 65_536, 0.1), (149, 4, 65_536, 10.0)):
        oracle = ProjectiveGeometryResponse.over_space(q, t, size, EPSILON)
        name = f"decode pgr, q = {q}, K = {oracle.outcomes:,}"
        found.append(at_most(name, decoding_seconds(oracle, 1), "s", limit))
    first = seconds(lambda: singer_cycle(149, 4, 1 << 16), rounds=2)
    row = ProjectiveGeometryResponse.for_epsilon(BITS, Fraction(2))
    return [
        *found,
        Row("the cycle of q = 149, K = 3,330,300, once in a process", first, "s"),
        at_most("decode 256 rows of 1,024 pgr buckets", decoding_seconds(row, 256), "s", 0.5),
    ]


def candidates() -> tuple[float, float]:
    """Seconds and megabytes at the peak for a million candidates of a sketch of 64 rows."""
    spec = sketch()
    counts = tally_for(spec).count(payload_of(spec, BIT_REPORTS))
    items = [f"candidate {index}" for index in range(CANDIDATES)]
    elapsed = seconds(lambda: estimate_shares([(spec, counts)], items), rounds=2)
    tracemalloc.start()
    estimate_shares([(spec, counts)], items)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return elapsed, peak / MEGABYTE


def trie_rows() -> list[Row]:
    """A metric that discovers strings of ten characters, in four levels."""
    code = LetterCode("text", 10, shipped_model())
    trie = Trie.for_epsilon(code.levels, EPSILON_OF_TRIE)
    spec = Spec("benchmark", "words", "string", (), None, trie, "week", letters=code)
    tally, generator = tally_for(spec), np.random.default_rng(1)
    table = np.zeros((REPORTS, trie.report_bytes), np.uint8)
    table[:, 0] = np.minimum(generator.integers(0, trie.levels + 1, REPORTS), trie.levels - 1)
    table[:, 1] = np.where(table[:, 0], generator.integers(0, trie.rows, REPORTS), 0)
    points = generator.integers(0, trie.deeper.outcomes, REPORTS)
    for place in (2, 3, 4):
        table[:, place] = points >> 8 * (4 - place) & 255
    payload = table.tobytes()
    counts = [tally.count(payload) for _ in range(2)]
    counts[1][0] += 1
    items = [f"word {index}" for index in range(TRIE_CANDIDATES)]

    def first() -> None:
        """A total that was not asked about before."""
        counts[1][0] += 1
        estimate_shares([(spec, counts[1])], items)

    estimate_shares([(spec, counts[0])], items)
    again = seconds(lambda: estimate_shares([(spec, counts[0])], items))
    return [
        at_least("fold trie, 9.2 million counters", rate(lambda: tally.count(payload), REPORTS),
                 "reports/s", 5e6),
        at_most("estimate 1,000 strings of a trie, first time", seconds(first, rounds=2), "s", 3.0),
        at_most("estimate 1,000 strings of a trie, again", again, "s", 0.5),
    ]  # fmt: skip


def rows() -> list[Row]:
    """The figures."""
    large, bits = categories(1_024), sketch()
    unit = "reports/s"
    elapsed, megabytes = candidates()
    return [
        at_least("fold grr, k = 16", folded_per_second(categories(16), REPORTS), unit, 20e6),
        at_least(
            "fold grr, k = 1,024",
            folded_per_second(large, REPORTS),
            unit,
            20e6,
            ("naive", naive_grr_per_second(large)),
        ),
        at_least(
            "fold cms, 64 rows of 1,024 bits",
            folded_per_second(bits, BIT_REPORTS),
            unit,
            5e6,
            ("naive", naive_bits_per_second(bits)),
        ),
        *pgr_rows(),
        *trie_rows(),
        at_most("fold and estimate 1,000,000 grr, k = 1,024", counted_seconds(large), "s", 0.5),
        at_most("fold and estimate 1,000,000 oue, k = 1,024", counted_seconds(unary()), "s", 1.0),
        at_most(
            "memory to fold, for twice the cms reports",
            extra_megabytes(bits, 2 * BIT_REPORTS) / extra_megabytes(bits, BIT_REPORTS),
            "times",
            1.1,
        ),
        Row("memory to fold 250,000 cms reports", extra_megabytes(bits, BIT_REPORTS), "MiB"),
        at_most("estimate a million candidates", elapsed, "s", 2.0),
        at_most("memory for a million candidates", megabytes, "MiB", 1_000.0),
    ]
