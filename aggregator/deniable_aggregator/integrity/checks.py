"""Whether reports look like those of devices: one test for each thing that noise decides alone.

Every test has a p-value that is exact or too large, for any number of reports and whatever devices
hold: honest reports fail one at the level p with probability p at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from deniable_aggregator.integrity.bit_tests import ones_histogram_test, pairs_test
from deniable_aggregator.integrity.outcome_bounds import outcome_bounds
from deniable_aggregator.integrity.tail_bounds import (
    ExtremeCount,
    bennett_bound,
    evenness_test,
    most_extreme_count,
)
from deniable_aggregator.tallies import oracle_tally_for
from deniable_aggregator.tallies.diagnostics import (
    BitPairCounters,
    CombinedDiagnostics,
    OnesHistogram,
    PerAttributeDiagnostics,
    SeedHistogram,
)
from deniable_shared.mechanisms import (
    GroupedBins,
    HadamardResponse,
    MemoizedUnaryEncoding,
    NumericMechanism,
    OptimizedLocalHashing,
    Oracle,
    Rappor,
    RecursiveHadamardResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
)
from deniable_shared.mechanisms.oracle import BitsOracle, IndexOracle
from deniable_shared.mechanisms.unary import UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.tallies import Tally
    from deniable_aggregator.tallies.diagnostics import Diagnostics
    from deniable_shared.mechanisms import Support

MEANINGS: Final[Mapping[str, str]] = {
    "bounds": "no answer comes more often, or more rarely, than noise allows in any population",
    "groups": "public groups (rows, cohorts, attributes) are drawn equally often",
    "pairs": "no two bits are ones together more, or less, often than by chance",
    "seeds": "seeds of hash functions are spread evenly",
    "sizes": "reports have as many ones as noise gives them",
    "sum": "the shares of the whole domain add up to 1",
}
"""What each check asks of honest reports."""

INDEPENDENT: Final = (UnaryEncoding, MemoizedUnaryEncoding, OptimizedLocalHashing)


class Check(NamedTuple):
    """One test of some reports.

    Attributes:
        name: one of `MEANINGS`.
        p: how probable honest reports are to look so odd, at most; None if it could not be looked
            at, because some reports were counted before their structure was.
        words: what was found.
    """

    name: str
    p: float | None
    finding: str


def run_checks(tally: Tally, stored: NDArray[np.int64], reports: int) -> list[Check]:
    """All tests of the reports of one spec and one day.

    On one day every device reports once, so its reports are independent, memoised or not.

    Args:
        tally: the spec's.
        stored: int64, (stored_cells,).
        reports: how many there are; at least 1.
    """
    structure = tally.diagnostics
    counts, beside = stored[: tally.cells], stored[tally.cells :]
    known = structure is not None and structure.reports(beside) == reports
    seen = _DiagnosticCounts(structure, beside if known else None)
    mechanism = tally.spec.mechanism
    for kind, found in _CHECKS:
        if isinstance(mechanism, kind):
            return list(found(mechanism, counts, seen))
    return []


class _DiagnosticCounts(NamedTuple):
    """The counters of a structure, None where they are not those of all reports."""

    structure: Diagnostics | None
    counts: NDArray[np.int64] | None


def _oracle(oracle: Oracle, counts: NDArray[np.int64], seen: _DiagnosticCounts) -> Iterator[Check]:
    read = oracle_tally_for(oracle)
    reports = int(read.reports(counts[None])[0])
    if reports == 0:
        return
    supporting = read.supporting(counts[None])[0]
    if isinstance(oracle, IndexOracle):
        yield _outcomes(
            most_extreme_count(counts, reports, *outcome_bounds(oracle)), counts, reports
        )
        yield from _rows(oracle, counts)
    else:
        support = oracle.support
        rarest = most_extreme_count(supporting, reports, support.q, support.p)
        yield _outcomes(rarest, supporting, reports)
    if isinstance(oracle, INDEPENDENT):
        yield _sum(oracle, supporting, reports)
    yield from _made(oracle, supporting, reports, seen)


def _made(
    oracle: Oracle, supporting: NDArray[np.int64], reports: int, seen: _DiagnosticCounts
) -> Iterator[Check]:
    """What only the structure tells."""
    structure, counts = seen
    if isinstance(structure, SeedHistogram):
        yield _evenly("seeds", counts, "the 64 ranges of seeds")
    if isinstance(structure, CombinedDiagnostics) and isinstance(oracle, BitsOracle):
        sizes, pairs = cast("tuple[OnesHistogram, BitPairCounters]", structure.parts)
        if counts is None:
            yield from (_unseen(name) for name in ("sizes", "pairs"))
            return
        yield _sizes(oracle, sizes, counts[: sizes.cells])
        rarest = pairs_test(pairs, counts[sizes.cells :], supporting, reports, oracle.support)
        one, other = (int(side[rarest.place]) for side in (pairs.rows, pairs.columns))
        run = "bits" if pairs.lengths[0] == 1 else f"runs of {pairs.lengths[0]} bits, the"
        words = f"the oddest {run} {one + 1} and {other + 1} of {pairs.lengths.size}"
        yield Check("pairs", rarest.p, words)


def _rows(oracle: IndexOracle, counts: NDArray[np.int64]) -> Iterator[Check]:
    if isinstance(oracle, HadamardResponse | RecursiveHadamardResponse) and oracle.order > 2:
        rows = counts.reshape(oracle.order - 1, -1).sum(axis=1)
        yield _evenly("groups", rows, f"the {rows.size} rows of the matrix")


def _sketch(sketch: Sketch, counts: NDArray[np.int64], seen: _DiagnosticCounts) -> Iterator[Check]:
    inner = oracle_tally_for(sketch.inner)
    rows = counts.reshape(sketch.rows, -1)
    reports = inner.reports(rows)
    if sketch.rows > 1:
        yield _evenly("groups", reports, f"the {sketch.rows} rows of the sketch")
    bits = not isinstance(sketch.inner, IndexOracle)
    cells = inner.supporting(rows) if bits else rows
    support = sketch.inner.support
    bounds = (support.q, support.p) if bits else outcome_bounds(cast("Any", sketch.inner))
    low, high = (np.broadcast_to(bound, cells.shape).ravel() for bound in bounds)
    trials = np.repeat(reports, cells.shape[1])
    yield _outcomes(most_extreme_count(cells.ravel(), trials, low, high), cells.ravel(), trials)
    yield from _sizes_alone(sketch, seen)


def _rappor(
    mechanism: Rappor, counts: NDArray[np.int64], seen: _DiagnosticCounts
) -> Iterator[Check]:
    cohorts = counts.reshape(mechanism.cohorts, -1)
    if mechanism.cohorts > 1:
        yield _evenly("groups", cohorts[:, 0], f"the {mechanism.cohorts} cohorts")
    ones, trials = cohorts[:, 1:].ravel(), np.repeat(cohorts[:, 0], mechanism.bits)
    support = mechanism.support
    yield _outcomes(most_extreme_count(ones, trials, support.q, support.p), ones, trials)
    yield from _sizes_alone(mechanism, seen)


def _sizes_alone(mechanism: Any, seen: _DiagnosticCounts) -> Iterator[Check]:
    if isinstance(seen.structure, OnesHistogram):
        known = seen.counts is not None
        yield (
            _sizes(mechanism, seen.structure, cast("Any", seen.counts))
            if known
            else _unseen("sizes")
        )


def _grouped(
    mechanism: GroupedBins, counts: NDArray[np.int64], seen: _DiagnosticCounts
) -> Iterator[Check]:
    answers, ones = counts.reshape(2, -1)
    support = mechanism.support
    yield _outcomes(most_extreme_count(ones, answers, support.q, support.p), ones, answers)
    if seen.counts is None:
        yield from (_unseen(name) for name in ("groups", "sizes"))
        return
    groups, sizes = cast("CombinedDiagnostics", seen.structure).parts
    yield _evenly("groups", seen.counts[: groups.cells], f"the {groups.cells} groups of bins")
    yield _sizes(mechanism, cast("OnesHistogram", sizes), seen.counts[groups.cells :])


def _attributes(
    mechanism: SampledAttribute, counts: NDArray[np.int64], seen: _DiagnosticCounts
) -> Iterator[Check]:
    found: list[Check] = []
    asked, start, beside = [], 0, len(mechanism.inner)
    structures = (
        [None] * beside
        if seen.structure is None
        else cast("PerAttributeDiagnostics", seen.structure).inner
    )
    for number, (oracle, structure) in enumerate(zip(mechanism.inner, structures, strict=True)):
        read = oracle_tally_for(oracle)
        block = counts[start : start + read.cells]
        asked.append(int(read.reports(block[None])[0]))
        own = None
        if structure is not None:
            if seen.counts is not None:
                own = seen.counts[beside : beside + structure.cells]
            beside += structure.cells
        found += (
            check._replace(finding=f"attribute {number + 1}: {check.finding}")
            for check in _oracle(oracle, block, _DiagnosticCounts(structure, own))
        )
        start += read.cells
    yield _evenly("groups", np.array(asked), f"the {len(asked)} attributes")
    yield from found


def _coefficients(
    mechanism: SampledCoefficients, counts: NDArray[np.int64], _seen: _DiagnosticCounts
) -> Iterator[Check]:
    asked = counts.reshape(-1, 2).sum(axis=1)
    yield _evenly("groups", asked, f"the {asked.size} coefficients")
    support = mechanism.inner.support
    ones = counts[1::2]
    yield _outcomes(most_extreme_count(ones, asked, support.q, support.p), ones, asked)


def _numbers(
    mechanism: NumericMechanism, counts: NDArray[np.int64], _seen: _DiagnosticCounts
) -> Iterator[Check]:
    reports = int(counts.sum())
    yield _outcomes(
        most_extreme_count(counts, reports, *outcome_bounds(mechanism)), counts, reports
    )


_CHECKS: Final[tuple[tuple[Any, Callable[[Any, Any, _DiagnosticCounts], Iterator[Check]]], ...]] = (
    (Oracle, _oracle),
    (Sketch, _sketch),
    (Rappor, _rappor),
    (GroupedBins, _grouped),
    (SampledAttribute, _attributes),
    (SampledCoefficients, _coefficients),
    (NumericMechanism, _numbers),
)


def _sum(oracle: Oracle, supporting: NDArray[np.int64], reports: int) -> Check:
    """Bits are independent, so their total is a sum of as many known coins, whatever is held."""
    support: Support = cast("Any", oracle).support
    p, q, size = support.p, support.q, oracle.size
    total = int(supporting.sum())
    variance = reports * (p * (1 - p) + (size - 1) * q * (1 - q))
    found = float(bennett_bound(total - reports * (p + (size - 1) * q), variance, 1.0))
    share = (total - reports * size * q) / (reports * (p - q))
    error = variance**0.5 / (reports * (p - q))
    return Check("sum", found, f"they add up to {share:.4f} with a standard error of {error:.4f}")


def _sizes(mechanism: Any, sizes: OnesHistogram, counts: NDArray[np.int64]) -> Check:
    rarest = ones_histogram_test(mechanism, counts)
    first = sizes.first + (rarest.place - 1) * sizes.width + 1
    last = sizes.first + rarest.place * sizes.width
    span = f"{max(first, 0)}" if sizes.width == 1 else f"{max(first, 0)} to {last}"
    words = f"the oddest number of ones is {span}, in {counts[rarest.place]:,} reports"
    return Check("sizes", rarest.p, words)


def _outcomes(rarest: ExtremeCount, counts: NDArray[np.int64], trials: Any) -> Check:
    of = int(np.broadcast_to(trials, counts.shape)[rarest.place])
    words = f"the oddest of {counts.size:,} counts is {counts[rarest.place]:,} of {of:,}"
    return Check("bounds", rarest.p, words)


def _evenly(name: str, counts: NDArray[np.int64] | None, places: str) -> Check:
    if counts is None:
        return _unseen(name)
    rarest = evenness_test(counts)
    mean = counts.sum() / counts.size
    words = f"of {places} the oddest has {counts[rarest.place]:,} reports, {mean:,.1f} on average"
    return Check(name, rarest.p, words)


def _unseen(name: str) -> Check:
    return Check(name, None, "some of these reports were counted before this was looked at")
