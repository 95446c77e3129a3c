"""Makes a model of phrases from texts of one kind.

Phrases are grown as in byte pair encoding (Gage 1994; Sennrich, Haddow and Birch, ACL 2016): from
the characters of the examples on, the two neighbours that come together most often become one.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from deniable_shared.letters.lengths import optimal_lengths
from deniable_shared.letters.phrase_file import MAX_FILE_BYTES, Tables, phrase_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.letters.levels import LeftOutBits

PHRASES: Final = 600
"""At most so many; more do not make strings shorter that are not among the examples."""
LEAST_USES: Final = 3
"""A character or phrase that the examples have less often is none of the model, so that every
phrase that a device carries stands in the examples at least so often."""
LEAST_ROW: Final = 3
"""A phrase has a row of its own if it comes at least so often."""
LEAST_IN_ROW: Final = 2
"""What follows a phrase less often is not known to its row."""

FLATTENED: Final = 0.7
"""A text that comes n times counts n to this power: what is popular elsewhere differs."""
_ONCE: Final = 0.5
"""What followed a phrase once counts so much for what the row does not know."""
_UNSEEN: Final = 0.3
"""What never followed a phrase without a row counts so much in the general table."""
_CHARACTERS: Final = 0.02
"""Characters without a phrase have at least this part of the general table."""
_SCALE: Final = 1 << 20

Parse = list[int]
"""The symbols of a text: numbers of phrases, CHARACTER, and END at last."""


def trained_on_phrases(examples: Mapping[bytes, float], left_out: LeftOutBits) -> bytes:
    """The file of a model, of at most `MAX_FILE_BYTES`.

    Args:
        examples: canonical strings, see `hashing.canonical`, and how often each comes.
        left_out: what is known of strings that are not among them.
    """
    texts = [value.decode(errors="ignore") for value in sorted(examples)]
    weights = [examples[value] ** FLATTENED for value in sorted(examples)]
    unit = len(weights) / math.fsum(weights)
    most = PHRASES
    while True:
        phrases = _grown(texts, most)
        body = phrase_file(
            left_out,
            [phrase.encode() for phrase in phrases],
            _tables(phrases, texts, [weight * unit for weight in weights]),
        )
        if len(body) <= MAX_FILE_BYTES:
            return body
        most = most * 3 // 4


def _grown(texts: Sequence[str], most: int) -> list[str]:
    """The characters that come often enough, and what grows of them.

    What has grown into longer phrases stays, though it may never be taken alone when the examples
    are cut: other strings are put together of it where they leave the examples.
    """
    cut = [list(text) for text in texts]
    characters = Counter(character for letters in cut for character in letters)
    often = sorted(characters, key=lambda character: (-characters[character], character))
    phrases = {character for character in often[:most] if characters[character] >= LEAST_USES}
    uses = Counter(pair for parts in cut for pair in pairwise(parts))
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for number, parts in enumerate(cut):
        for pair in pairwise(parts):
            places[pair].add(number)
    waiting = [(-count, pair) for pair, count in uses.items()]
    heapq.heapify(waiting)
    while waiting and len(phrases) < most:
        count, pair = heapq.heappop(waiting)
        if uses[pair] < LEAST_USES:
            continue
        if -count != uses[pair]:  # it has become rarer since
            heapq.heappush(waiting, (-uses[pair], pair))
            continue
        phrases.add(pair[0] + pair[1])
        changed = set()
        for number in places.pop(pair):
            parts, cut[number] = cut[number], _joined(cut[number], pair)
            before, after = Counter(pairwise(parts)), Counter(pairwise(cut[number]))
            for neighbours in before.keys() | after.keys():
                more = after[neighbours] - before[neighbours]
                if more:
                    uses[neighbours] += more
                    changed.add(neighbours)
                    places[neighbours].add(number)
        for neighbours in changed:  # in any order: the heap sorts them
            heapq.heappush(waiting, (-uses[neighbours], neighbours))
    return sorted(phrases, key=str.encode)


def _joined(parts: Sequence[str], pair: tuple[str, str]) -> list[str]:
    one, other = pair
    both = one + other
    joined: list[str] = []
    for part in parts:
        if part == other and joined and joined[-1] == one:
            joined[-1] = both
        else:
            joined.append(part)
    return joined


def _tables(phrases: Sequence[str], texts: Sequence[str], weights: Sequence[float]) -> Tables:
    """What follows what, as code lengths."""
    end, character, otherwise = range(len(phrases), len(phrases) + 3)
    cut = _Cutter(phrases)
    uses: defaultdict[int, Counter[int]] = defaultdict(Counter)
    weighed: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for text, weight in zip(texts, weights, strict=True):
        for before, symbol in pairwise([end, *cut(text)]):
            uses[before][symbol] += 1
            weighed[before][symbol] += weight
    kinds = Counter(symbol for followers in uses.values() for symbol in followers)
    rows = {}
    for before, followers in uses.items():
        often = [symbol for symbol, count in followers.items() if count >= LEAST_IN_ROW]
        if before == character or followers.total() < LEAST_ROW or not often:
            continue
        seldom = sum(weighed[before][symbol] for symbol in followers if symbol not in often)
        row = {symbol: weighed[before][symbol] for symbol in often}
        row[otherwise] = _ONCE * (max(len(followers), 1) + seldom)
        rows[before] = _code_lengths(row)
    general = {symbol: kinds[symbol] + _UNSEEN for symbol in (*range(len(phrases)), end)}
    general[character] = kinds[character] + _CHARACTERS * kinds.total() + 1
    lengths = _code_lengths(general)
    return Tables([lengths[symbol] for symbol in sorted(general)], rows)


class _Cutter:
    """Cuts texts into the longest phrases that fit, as `PhraseModel` does."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self._numbers = {phrase: number for number, phrase in enumerate(phrases)}
        sizes: defaultdict[str, set[int]] = defaultdict(set)
        for phrase in phrases:
            sizes[phrase[0]].add(len(phrase))
        self._sizes = {first: sorted(each, reverse=True) for first, each in sizes.items()}

    def __call__(self, text: str) -> Parse:
        return [*self._symbols(text), len(self._numbers)]

    def _symbols(self, text: str) -> Iterator[int]:
        place = 0
        while place < len(text):
            for size in self._sizes.get(text[place], ()):
                number = self._numbers.get(text[place : place + size])
                if number is not None:
                    yield number
                    place += size
                    break
            else:
                yield len(self._numbers) + 1
                place += 1


def _code_lengths(weights: Mapping[int, float]) -> dict[int, int]:
    """The lengths of the code words of symbols, from 1 to 15."""
    symbols = sorted(weights)
    scaled = [max(round(weights[symbol] * _SCALE), 1) for symbol in symbols]
    lengths = optimal_lengths(scaled)
    return {symbol: max(length, 1) for symbol, length in zip(symbols, lengths, strict=True)}
