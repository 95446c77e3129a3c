"""Reports of honest devices, and of those who make them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.randomizers import randomizer_for
from tests.privacy.conformance import secret_of, seeded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.checks import Check
    from deniable_aggregator.counting.tallies import Tally
    from deniable_shared.spec import Spec


def honest_payload(spec: Spec, reports: int, run: int = 0) -> bytes:
    """What the shipped client sends of values that are unevenly popular, a device each.

    Args:
        spec: the metric.
        reports: how many devices report.
        run: others of the same runs have other devices and other noise.
    """
    randomizer = randomizer_for(spec, seeded(f"{spec.mechanism.name} {reports} {run}"))
    values = [spec.encode(value) for value in _values(spec)]
    return b"".join(
        randomizer.report(values[(number * number) % len(values)], secret_of(number))
        for number in range(run * reports, (run + 1) * reports)
    )


def checks_of(tally: Tally, stored: NDArray[np.int64], reports: int) -> list[Check]:
    """The checks of the reports of one slice.

    Args:
        tally: of the metric.
        stored: int64, (stored_cells,): what was counted of them.
        reports: how many there are.
    """
    checks = tally.checks(stored[None], np.array([reports]))
    return [check for each in checks for check in each.as_checks()]


def _values(spec: Spec) -> list[Any]:
    if spec.type == "string":
        return [f"word {number}" for number in range(11)]
    if spec.range is not None:
        return [0.0, 0.1, 0.25, 0.3, 1.0]
    if spec.type == "attributes":
        return [
            {
                each.name: each.values[number % len(each.values)] if each.values else number > 2
                for each in spec.attributes
            }
            for number in range(5)
        ]
    return list(spec.values)


def bits_of_oue(
    spec: Spec, held: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Reports of a unary encoding from its exact law: bool, (devices, items)."""
    support: Any = spec.mechanism.support  # type: ignore[attr-defined]
    bits = generator.random((held.size, len(spec.values))) < support.q
    bits[np.arange(held.size), held] = generator.random(held.size) < support.p
    return np.asarray(bits)


def padded_fakes(
    spec: Spec,
    count: int,
    targets: Iterable[int],
    padding: str,
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    """Maximal gain attacks (Cao, Jia and Gong 2021): all targets, and ones that make it look right.

    Args:
        spec: a category with a unary encoding.
        count: how many fakes.
        targets: the items to promote.
        padding: "none", up to the "mean" number of ones, or up to a number drawn from its "law".
        generator: draws the padding.
    """
    support: Any = spec.mechanism.support  # type: ignore[attr-defined]
    wanted, size = list(targets), len(spec.values)
    ones = np.full(count, len(wanted))
    if padding == "mean":
        ones[:] = int(support.p + (size - 1) * support.q)
    if padding == "law":
        drawn = generator.binomial(size - 1, support.q, count)
        ones = np.maximum(ones, drawn + (generator.random(count) < support.p))
    bits = np.zeros((count, size), bool)
    bits[:, wanted] = True
    rest = np.setdiff1d(np.arange(size), wanted)
    for row, number in zip(bits, ones.tolist(), strict=True):
        row[generator.choice(rest, number - len(wanted), replace=False)] = True
    return bits
