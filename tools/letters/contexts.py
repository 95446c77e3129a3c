"""Chooses the contexts that a model's states remember.

A context is the last characters of a string, and the bytes so far of the one that is being coded.
The state is always the longest chosen context with which the string so far ends. The beginning of
a string counts as a character of its own, `START`.

Contexts are chosen greedily, by how many bits they save on the training strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_shared.letters import END
from deniable_shared.letters.machine import SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

START: Final = 0xFF
_DEPTH: Final = 4
"""The most characters that a context remembers."""
_SHORTNESS: Final = 0.7
"""A string of n characters weighs n to minus this: the popular ones are mostly short."""
SCALE: Final = 2.0**40
"""Weights are integers, so that sums of them are exact in whatever order they are added."""
_LEAST_SHARE: Final = 3e-5
"""Contexts that come more rarely are not considered."""
_HALF_OF_BEST_CHILD: Final = 0.5
"""So much of what the best context of one more byte would save counts for the one before it."""
_A_ROUND: Final = 32
"""So many contexts are chosen before savings are calculated anew."""


class Positions(NamedTuple):
    """All places in the training strings at which a symbol is coded.

    Attributes:
        text: the strings' bytes, each string after a `START`; uint8.
        symbols: the symbol after each byte; int64.
        weights: of the strings; float64.
        starts: where the context with so many characters begins, -1 if the string has fewer;
            int32, (depth + 1, positions).
    """

    text: NDArray[np.uint8]
    symbols: NDArray[np.int64]
    weights: NDArray[np.float64]
    starts: NDArray[np.int32]


def positions(strings: Mapping[str, float]) -> Positions:
    """Lays the training strings out in one array."""
    encoded = [b"\xff" + text.encode() for text in strings]
    sizes = np.array([len(each) for each in encoded])
    text = np.frombuffer(b"".join(encoded), np.uint8)
    shortness = np.array([len(text) for text in strings], float) ** -_SHORTNESS
    whole = np.round(np.array([*strings.values()]) * shortness * SCALE)
    weights = np.repeat(whole, sizes)
    symbols = np.append(text[1:], START).astype(np.int64)
    symbols[symbols == START] = END
    place = np.arange(len(text), dtype=np.int32)
    begins = (text < 0x80) | (text >= 0xC0)
    character = np.maximum.accumulate(np.where(begins, place, 0)).astype(np.int32)
    done = np.append(begins[1:], True)
    starts = np.full((_DEPTH + 1, len(text)), -1, np.int32)
    starts[0] = np.where(done, place + 1, character)
    starts[1] = character[starts[0] - 1]
    for depth in range(1, _DEPTH):
        more = (starts[depth] >= 0) & (text[starts[depth]] != START)
        starts[depth + 1] = np.where(more, character[starts[depth] - 1], -1)
    return Positions(text, symbols, weights, starts)


class Candidates(NamedTuple):
    """Contexts that come often enough to be considered.

    Attributes:
        texts: their bytes.
        counts: the weight of each symbol after them; float64, (candidates, 257).
        prefixes: the number of the same context without its last byte; -1 if that is always there.
        suffixes: the number of the context without its first character; -1 if there is none.
        bases: the name of what is always there, on which the context falls back.
    """

    texts: list[bytes]
    counts: NDArray[np.float64]
    prefixes: list[int]
    suffixes: list[int]
    bases: list[str]


def candidates(places: Positions) -> tuple[Candidates, dict[str, NDArray[np.float64]]]:
    """The contexts to choose from, and the counts of all that is always there, by name."""
    text, symbols, weights, starts = places
    size = len(text)
    numbers = np.full(starts.shape, -1, np.int32)
    index = np.arange(size)
    texts: list[bytes] = []
    counts: list[NDArray[np.float64]] = []
    first_places: list[tuple[int, int]] = []
    least = _LEAST_SHARE * weights.sum()
    hashes = _Hashes(text)
    for depth in range(_DEPTH + 1):
        chosen = starts[depth] >= 0
        if depth == 0:
            chosen &= index - starts[0] >= 1  # of characters, two bytes or more
        elif depth > 1:
            chosen &= numbers[depth - 1] >= 0
        where = np.flatnonzero(chosen)
        _, first, inverse = np.unique(
            hashes.between(starts[depth][where], where), return_index=True, return_inverse=True
        )
        masses = np.bincount(inverse, weights[where])
        kept = np.flatnonzero(masses >= least)
        new = np.full(len(masses), -1, np.int32)
        new[kept] = len(texts) + np.arange(len(kept))
        numbers[depth][where] = new[inverse]
        for each in where[first[kept]]:
            texts.append(text[starts[depth][each] : each + 1].tobytes())
            first_places.append((depth, int(each)))
        keep = new[inverse] >= 0
        local = new[inverse][keep].astype(np.int64) - (len(texts) - len(kept))
        counts.append(
            np.bincount(
                local * SYMBOLS + symbols[where][keep],
                weights[where][keep],
                minlength=len(kept) * SYMBOLS,
            )
            .reshape(-1, SYMBOLS)
            .astype(np.float64)
        )
    by_text = {each: number for number, each in enumerate(texts)}
    base_numbers, base_names = _bases(places)
    found = Candidates(
        texts,
        np.concatenate(counts),
        [by_text.get(each[:-1], -1) for each in texts],
        [int(numbers[depth - 1][place]) if depth else -1 for depth, place in first_places],
        [base_names[base_numbers[place]] for _, place in first_places],
    )
    base_counts = np.bincount(
        base_numbers * SYMBOLS + symbols, weights, minlength=len(base_names) * SYMBOLS
    ).reshape(-1, SYMBOLS)
    return found, dict(zip(base_names, base_counts, strict=True))


def _bases(places: Positions) -> tuple[NDArray[np.int64], list[str]]:
    """What each place falls back on at last.

    "any" is a boundary between characters, "after E4" one after a character whose first byte is
    E4, and "E4 2" the place after two bytes of such a character.
    """
    text, starts = places.text, places.starts
    inside = np.arange(len(text)) - starts[0] + 1
    lead = np.where(inside > 0, text[np.minimum(starts[0], len(text) - 1)], text[starts[1]])
    code = np.where(lead < 0x80, 0, lead.astype(np.int64)) * 4 + inside
    code[(lead < 0x80) | (lead == START)] = 0
    return code, [_base_name(*divmod(each, 4)) for each in range(256 * 4)]


def _base_name(lead: int, inside: int) -> str:
    if not 0xC2 <= lead <= 0xF4:
        return "any" if lead == inside == 0 else f"none {lead:02X} {inside}"
    return f"{lead:02X} {inside}" if inside else f"after {lead:02X}"


class _Hashes:
    """Hashes of parts of a text, modulo 2^64."""

    def __init__(self, text: NDArray[np.uint8]) -> None:
        multiplier = 0x9E3779B97F4A7C15
        inverse = pow(multiplier, -1, 1 << 64)
        self.powers = np.cumprod(np.full(len(text), multiplier, np.uint64))
        backward = np.cumprod(np.full(len(text), inverse, np.uint64))
        scrambled = (text.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
        scrambled ^= scrambled >> np.uint64(29)
        self.sums = np.append(np.uint64(0), np.cumsum(scrambled * backward))

    def between(self, start: NDArray[np.int32], last: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Of the bytes from start to last."""
        sums: NDArray[np.uint64] = (self.sums[last + 1] - self.sums[start]) * self.powers[last]
        return sums


def choose(
    found: Candidates, base_counts: Mapping[str, NDArray[np.float64]], most: int
) -> dict[bytes, NDArray[np.float64]]:
    """The contexts to remember, and what is counted in each but in no longer one.

    The counts of what the contexts fall back on at last are lessened by what contexts take.
    """
    own = found.counts.copy()
    chosen: dict[int, None] = {}
    starts = [number for number, text in enumerate(found.texts) if text == bytes([START])]
    _take(starts[0], found, own, base_counts, chosen)
    prefixes = np.array(found.prefixes)
    while len(chosen) < most:
        gains = _gains(found, own, base_counts, chosen)
        best = np.zeros(len(gains))
        known = prefixes >= 0
        np.maximum.at(best, prefixes[known], gains[known])
        scores = gains + _HALF_OF_BEST_CHILD * best
        taken: set[int] = set()
        for number in map(int, np.argsort(-scores, kind="stable")):
            if len(taken) >= min(_A_ROUND, most - len(chosen)) or scores[number] <= 0:
                break
            prefix = found.prefixes[number]
            single = len(found.texts[number]) == 1 or prefix < 0
            if number in chosen or not (single or prefix in chosen):
                continue
            if found.suffixes[number] in taken:
                continue
            taken.add(number)
        if not taken:
            break
        for number in sorted(taken, key=lambda each: -len(found.texts[each])):
            _take(number, found, own, base_counts, chosen)
    return {found.texts[number]: own[number] for number in chosen}


def _fallback(number: int, found: Candidates, chosen: Mapping[int, None]) -> int:
    suffix = found.suffixes[number]
    while suffix >= 0 and suffix not in chosen:
        suffix = found.suffixes[suffix]
    return suffix


def _take(
    number: int,
    found: Candidates,
    own: NDArray[np.float64],
    base_counts: Mapping[str, NDArray[np.float64]],
    chosen: dict[int, None],
) -> None:
    """Chooses a context: what is counted in it is no longer counted in shorter ones."""
    chosen[number] = None
    suffix = found.suffixes[number]
    while suffix >= 0:
        own[suffix] -= own[number]
        if suffix in chosen:
            return
        suffix = found.suffixes[suffix]
    base_counts[found.bases[number]][:] -= own[number]


def _gains(
    found: Candidates,
    own: NDArray[np.float64],
    base_counts: Mapping[str, NDArray[np.float64]],
    chosen: Mapping[int, None],
) -> NDArray[np.float64]:
    """How many bits each context would save, by entropies."""
    rows = {("", number): index for index, number in enumerate(chosen)}
    tables = [own[number] for number in chosen]
    for name, counted in base_counts.items():
        rows[name, -1] = len(tables)
        tables.append(counted)
    costs = _costs(np.array(tables))
    fallback = np.array([
        rows["", link] if (link := _fallback(number, found, chosen)) >= 0
        else rows[found.bases[number], -1]
        for number in range(len(own))
    ])  # fmt: skip
    with_fallback = np.einsum("ij,ij->i", own, costs[fallback])
    alone = np.einsum("ij,ij->i", own, _costs(own))
    gains: NDArray[np.float64] = with_fallback - alone
    gains[list(chosen)] = 0
    return gains


def _costs(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ideal lengths of code words, at least half a bit and at most 16."""
    counts = np.maximum(counts, 0)
    totals = np.maximum(counts.sum(1, keepdims=True), 1)
    lengths: NDArray[np.float64] = np.clip(-np.log2(counts / totals + 1e-5), 0.5, 16)
    return lengths
