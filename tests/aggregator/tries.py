"""Reports of discovered metrics, drawn all at once with the mechanism's exact probabilities."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.counting.kernels import singer_cycle
from deniable_aggregator.counting.tallies.trie import StringPlaces
from deniable_shared.letters import LetterCode, shipped_model
from deniable_shared.mechanisms import Trie
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LETTERS = list("etaoinshrdlucmfw")


def words_spec(longest: int = 6, epsilon: object = 4, every: str = "day") -> Spec:
    """A metric of text: two levels, or more of longer strings."""
    code = LetterCode("text", longest, shipped_model())
    mechanism = Trie.for_epsilon(code.levels, Fraction(epsilon))
    return Spec("tests", "words", "string", (), None, mechanism, every, letters=code)


def random_words(number: int, longest: int, generator: np.random.Generator) -> list[str]:
    """Different words of two letters or more."""
    lengths = generator.integers(2, longest + 1, 2 * number).tolist()
    found = ("".join(generator.choice(LETTERS, length)) for length in lengths)
    return list(dict.fromkeys(found))[:number]


def drawn_reports(
    spec: Spec, words: Sequence[str], held: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.uint8]:
    """A report of each device: uint8, (devices, bytes).

    Args:
        spec: the metric.
        words: what devices hold.
        held: int64, (devices,): the place of each one's word.
        generator: draws.
    """
    trie = spec.mechanism
    cells = np.concatenate([some.cells for some in StringPlaces(spec, words)])
    level = np.minimum(generator.integers(0, trie.levels + 1, held.size), trie.levels - 1)
    row = np.where(level, generator.integers(0, trie.rows, held.size), 0)
    item = cells[held, np.where(level, 1 + (level - 1) * trie.rows + row, 0)]
    point = np.empty(held.size, np.int64)
    for deeper in (False, True):
        here = (level > 0) == deeper
        point[here] = drawn_points(trie.oracle(int(deeper)), item[here], generator)
    reports = np.empty((held.size, spec.mechanism.report_bytes), np.uint8)
    reports[:, 0], reports[:, 1] = level, row
    for place in range(2, reports.shape[1]):
        reports[:, place] = point >> 8 * (reports.shape[1] - 1 - place) & 255
    return reports


def drawn_points(
    oracle: object, items: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """What projective geometry response makes of items: points as reports number them."""
    numbers, places, inside, outside = _cycle(oracle.q, oracle.t, oracle.size)
    is_inside = generator.integers(0, 1 << 32, items.size) < oracle.inside
    own = inside[generator.integers(0, inside.size, items.size)]
    other = outside[generator.integers(0, outside.size, items.size)]
    return numbers[(np.where(is_inside, own, other) - places[items]) % oracle.outcomes]


@cache
def _cycle(q: int, t: int, size: int):
    numbers, places, zeros = singer_cycle(q, t, size)
    return numbers, places, np.flatnonzero(zeros), np.flatnonzero(~zeros)
