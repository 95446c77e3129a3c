"""``python -m benchmarks.discovery.forged``: how much forged reports of a discovery can do.

A million devices hold names of packages, and forgers add reports: all alike, of a few points that
are drawn at random, or of all points of a subspace, which lie together on as many hyperplanes as
so many points can. Beside each, what the decoder finds of the 32 most popular names, and how many
whole strings and beginnings it shows that nobody holds.
"""

from __future__ import annotations

import argparse
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from benchmarks.discovery import runs
from benchmarks.discovery.cells import Cell
from benchmarks.discovery.scores import rate, score
from benchmarks.discovery.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.discovery.scores import Score
    from deniable_shared.mechanisms import Trie
    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse

DEVICES: Final = 10**6
CELL: Final = Cell("package_names", DEVICES, "4")


class Forged(NamedTuple):
    """Reports of forgers.

    Attributes:
        share: of all reports, in [0, 1).
        points: how many points they are of, all equally often.
        level: of the points, from 1; those of level 2 may be of any row.
        dimensions: of the subspaces of the first level whose points they are; 0 for points that
            are drawn at random. Then `points` counts subspaces, and each point is sent as often as
            `share` allows.
    """

    share: float = 0.0
    points: int = 1
    level: int = 1
    dimensions: int = 0

    def __str__(self) -> str:
        if not self.share:
            return "none"
        kinds = {0: "points", 2: "lines of points", 3: "planes of points"}
        return f"{self.share:.2%} on {self.points:,} {kinds[self.dimensions]}, level {self.level}"


FORGED: Final = (
    Forged(),
    *(Forged(share, points) for share in (0.01, 0.05) for points in (1, 8, 200, 2_000)),
    Forged(0.01, 8, level=2),
    Forged(0.0002, 1, dimensions=2),
    Forged(0.0006, 1, dimensions=2),
    Forged(0.0025, 8, dimensions=2),
    Forged(0.01, 1, dimensions=3),
)


def run(forged: Forged, number: int) -> Score:
    """What is found of honest reports, the same in all runs of a number, and forged ones."""
    spec = runs.spec_of(CELL, runs.coded(CELL.population, "").code, number)
    trie = cast("Trie", spec.mechanism)
    generator = runs.generator_of(CELL, number)
    counts = _honest(number).copy()
    reports = round(forged.share * DEVICES / (1 - forged.share))
    if forged.dimensions:
        spans = [subspace(trie.first, forged.dimensions, generator) for _ in range(forged.points)]
        points = np.concatenate(spans)
    else:
        size = trie.rows * trie.deeper.outcomes if forged.level > 1 else trie.first.outcomes
        points = generator.integers(0, size, forged.points)
        points += trie.first.outcomes * (forged.level > 1)
    np.add.at(counts, points, reports // points.size)
    findings = runs.decoded(spec, counts)
    return score(findings.whole, findings.prefixes, runs.coded(CELL.population, "").truth, 0.0)


@lru_cache(1)
def _honest(number: int) -> NDArray[np.int64]:
    found = runs.coded(CELL.population, "")
    spec = runs.spec_of(CELL, found.code, number)
    simulation = Simulation(cast("Trie", spec.mechanism), spec.salt, found.pieces)
    return simulation.tally(found.population.shares, DEVICES, runs.generator_of(CELL, number))


def subspace(
    oracle: ProjectiveGeometryResponse, dimensions: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """The numbers of all points of a random subspace over the field."""
    q, t = oracle.q, oracle.t
    basis = generator.integers(0, q, (dimensions, t))
    numbers = set()
    for leading in range(dimensions):
        for rest in product(range(q), repeat=dimensions - leading - 1):
            vector = np.array([1, *rest]) @ basis[leading:] % q
            if vector.any():
                numbers.add(_number(vector.tolist(), q))
    return np.array(sorted(numbers))


def _number(vector: list[int], q: int) -> int:
    """The number of a point, see `ProjectiveGeometryResponse`."""
    first = next(place for place, coordinate in enumerate(vector) if coordinate)
    inverse = pow(vector[first], -1, q)
    number = 0
    for coordinate in vector[first + 1 :]:
        number = number * q + coordinate * inverse % q + 1
    return number


def main() -> None:
    """Measures and prints a table, a line as soon as it is known."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.discovery.forged",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=2, help="of each line (default 2)")
    count = parser.parse_args().runs
    scores: dict[Forged, list[Score]] = {forged: [] for forged in FORGED}
    for number in range(count):
        for forged in FORGED:
            scores[forged].append(run(forged, number))
    print("| forged reports | found of 32 | false strings | false beginnings |")
    print("|---|---|---|---|")
    for forged, of_runs in scores.items():
        columns = [
            rate([getattr(each, name) for each in of_runs], [1] * count)
            for name in ("found", "false", "false_prefixes")
        ]
        words = [f"{mean:.1f} ± {error:.1f}" for mean, error in columns]
        print(f"| {forged} | {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
