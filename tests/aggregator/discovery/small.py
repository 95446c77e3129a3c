"""A letter code of few bits, and tallies of it, drawn all at once."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.counting.tallies.base import oracle_tally_for
from deniable_shared.letters import END, Machine
from deniable_shared.letters.machine import CodeTable
from deniable_shared.mechanisms import Trie

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_BITS, DEEPER_BITS = 9, 9
SALT = 4_711


class SevenLetters(Machine):
    """The letters a to g and the end take three bits each, in every place."""

    states = 1

    def table(self, state):  # noqa: ARG002
        letters = bytearray(257)
        letters[ord("a") : ord("h")] = bytes([3]) * 7
        letters[END] = 3
        return CodeTable(bytes(letters))

    def next_state(self, state, byte):  # noqa: ARG002
        return 0


class SmallCode:
    """What `LetterCode` is for a discovery, with smaller pieces."""

    def __init__(self, levels):
        self.machine = SevenLetters()
        self.levels = levels
        self.bits = FIRST_BITS + DEEPER_BITS * (levels - 1)

    def encode(self, value):
        bits = 0
        for symbol in [*(byte - ord("a") for byte in value), 7]:
            bits = bits << 3 | symbol
        length = 3 * (len(value) + 1)
        return (bits >> length - self.bits, self.bits) if length > self.bits else (bits, length)

    def pieces(self, value):
        bits, length = self.encode(value)
        widths = [FIRST_BITS, *[DEEPER_BITS] * (self.levels - 1)]
        pieces, done = [], 0
        while done < length:
            width = widths[len(pieces)]
            done += width
            padded = bits << max(done - length, 0)
            pieces.append(padded >> max(length - done, 0) & (1 << width) - 1)
        return tuple(pieces)

    def decode(self, bits, length):
        symbols = [bits >> (length - 3 * place - 3) & 7 for place in range(length // 3)]
        whole = 7 in symbols
        letters = symbols[: symbols.index(7)] if whole else symbols
        return bytes(ord("a") + letter for letter in letters), whole


def small_trie(levels: int, epsilon: object, rows: int = 16) -> Trie:
    return Trie.for_epsilon(
        levels, Fraction(epsilon), rows=rows, first_bits=FIRST_BITS, deeper_bits=DEEPER_BITS
    )


@cache
def _chances(oracle):
    """How likely each point is for each item: float64, (items, points)."""
    everything = np.eye(oracle.outcomes, dtype=np.int64)
    holds = oracle_tally_for(oracle).supporting(everything).T.astype(bool)
    outside, inside = oracle.outcome_bounds()
    return np.where(holds, inside, outside)


def supports(trie: Trie, code: SmallCode, counts: Mapping[str, int], seed: int, noise: float = 1.0):
    """The supports of every level, as if each device had sent its report.

    Args:
        noise: what the noise is multiplied by; anything but 1 is wrong.
    """
    random = np.random.default_rng(seed)
    pieces = [code.pieces(text.encode()) for text in counts]
    held = np.array([*counts.values()])
    by_level = random.multinomial(held, [float(share) for share in trie.level_shares])
    found = []
    for level in range(trie.levels):
        oracle, rows = trie.oracle(level), trie.rows if level else 1
        points = np.zeros((rows, oracle.outcomes), np.int64)
        expected = np.zeros((rows, oracle.size))
        support = oracle.support
        for own, count in zip(pieces, by_level[:, level], strict=True):
            for row, devices in enumerate(random.multinomial(count, [1 / rows] * rows)):
                cell = trie.cell(own, level, row, SALT)
                points[row] += random.multinomial(devices, _normalized(oracle, cell))
                expected[row] += devices * support.q
                expected[row, cell] += devices * (support.p - support.q)
        supporting = oracle_tally_for(oracle).supporting(points)
        if noise != 1:
            supporting = np.rint(expected + noise * (supporting - expected)).astype(np.int64)
        found.append((points.sum(axis=1), supporting))
    return found.__getitem__


def _normalized(oracle, cell):
    chances = _chances(oracle)[cell]
    return chances / chances.sum()
