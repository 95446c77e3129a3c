"""How common pairs of values are, from a table, and what all values tell together with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared import hashing
from deniable_shared.frozen import frozen
from deniable_shared.review.entropy import entropy
from deniable_shared.review.priors import listed_items, raise_problems, shares_of, table_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deniable_shared.registry import Registry
    from deniable_shared.review.metric_bits import MetricBits, Shares

FEWEST_OF_A_CELL: Final = 10
"""A pair of values that fewer devices hold is named: whoever holds it hardly hides."""

_COLUMNS: Final = 5


@frozen
class PairTable:
    """How common the pairs of two metrics' values are.

    Attributes:
        metrics: the two.
        cells: both values of each pair, and its share; the shares add up to 1.
    """

    metrics: tuple[str, str]
    cells: tuple[tuple[str, str, float], ...]

    @property
    def bits(self) -> float:
        """What both values tell together: the entropy of the pair."""
        return entropy(share for _, _, share in self.cells)

    @property
    def shared_bits(self) -> float:
        """What one value tells of the other: their mutual information, at least 0."""
        return max(
            0.0, math.fsum(entropy(self.shares(place).values()) for place in (0, 1)) - self.bits
        )

    def shares(self, place: int) -> dict[str, float]:
        """The shares of one metric's values.

        Args:
            place: 0 or 1.
        """
        found: dict[str, float] = {}
        for cell in self.cells:
            found[str(cell[place])] = found.get(str(cell[place]), 0.0) + cell[2]
        return found


@frozen
class RareCell:
    """A pair of values that few devices hold.

    Attributes:
        metrics: whose they are.
        values: of each.
        devices: how many hold it, on average.
    """

    metrics: tuple[str, str]
    values: tuple[str, str]
    devices: float


def read_pairs(path: Path, registry: Registry) -> tuple[PairTable, ...]:
    """The tables of a file whose lines are a metric, an item, another metric, its item and a count.

    Commas, semicolons or tabs separate them. Counts become shares of their sum, by pair of metrics.

    Args:
        path: of the file, in UTF-8.

    Raises:
        PriorsError: if it cannot be read, or says what cannot be; its first problems are listed.
    """
    problems: list[str] = []
    tables: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for line, words, weight in table_rows(path, registry, problems):
        if len(words) != _COLUMNS:
            problems.append(f"line {line}: must be metric, item, metric, item and share")
            continue
        first, second = (words[0], words[1]), (words[2], words[3])
        if first[0] == second[0]:
            problems.append(f"line {line}: must name two metrics, got {first[0]!r} twice")
            continue
        (name, item), (other, other_item) = sorted((first, second))
        cells = tables.setdefault((name, other), {})
        key = hashing.normalize(item), hashing.normalize(other_item)
        for metric, value in zip((name, other), key, strict=True):
            problem = _unknown(registry, metric, value)
            if problem is not None:
                problems.append(f"line {line}: {problem}")
        cells[key] = cells.get(key, 0.0) + weight
    found = []
    for metrics, cells in tables.items():
        total = math.fsum(cells.values())
        if not 0 < total < math.inf:
            problems.append(f"{' and '.join(metrics)}: counts must add up to more than 0")
            continue
        found.append(
            PairTable(metrics, tuple((*key, count / total) for key, count in cells.items()))
        )
    if not tables and not problems:
        problems.append("no line has a pair and a share")
    raise_problems(path, problems)
    return tuple(found)


def _unknown(registry: Registry, metric: str, value: str) -> str | None:
    if metric not in registry.metrics:
        return f"no metric is called {metric!r}"
    spec = registry.metrics[metric].spec
    items = listed_items(spec)
    if spec.range is not None or spec.attributes:
        return f"{metric} must be a flag, a category or a string, got {spec.type}"
    if items and value not in items:
        return f"{metric} must have items such as {items[0]!r}, got {value!r}"
    return None


def shares_of_pairs(tables: Iterable[PairTable], registry: Registry) -> dict[str, Shares]:
    """The shares of single values, by metric, as the first table that has a metric says."""
    shares: dict[str, Shares] = {}
    for table in tables:
        for place, name in enumerate(table.metrics):
            if name not in shares:
                found = shares_of(registry.metrics[name].spec, table.shares(place), [])
                if found is not None:
                    shares[name] = found
    return shares


def bits_with_pairs(metrics: Sequence[MetricBits], tables: Iterable[PairTable]) -> float | None:
    """What all values tell together, in bits: at most, and exactly if the tables say all.

    Of tables that join the metrics as a tree, a value's entropy counts once, less what its
    neighbours tell of it (Chow and Liu 1968): the most that values with these pairs can tell. Of
    tables in a ring, those that tell least are left out.

    Args:
        metrics: all of them.
        tables: of pairs.

    Returns:
        None if a value is a text of which no shares are given.
    """
    if any(metric.value is None for metric in metrics):
        return None
    total = math.fsum(metric.value or 0.0 for metric in metrics)
    joined: dict[str, str] = {metric.name: metric.name for metric in metrics}
    for table in sorted(tables, key=lambda table: table.shared_bits, reverse=True):
        one, other = (joined[name] for name in table.metrics)
        if one != other:
            total -= table.shared_bits
            joined = {name: one if group == other else group for name, group in joined.items()}
    return total


def rare_cells(tables: Iterable[PairTable], devices: int) -> tuple[RareCell, ...]:
    """The pairs that fewer than `FEWEST_OF_A_CELL` devices hold on average, the rarest first.

    Args:
        devices: how many there are.
    """
    found = [
        RareCell(table.metrics, (first, second), share * devices)
        for table in tables
        for first, second, share in table.cells
        if 0 < share * devices < FEWEST_OF_A_CELL
    ]
    return tuple(sorted(found, key=lambda cell: cell.devices))
