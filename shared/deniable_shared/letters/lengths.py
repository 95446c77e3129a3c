"""From how often symbols come to the lengths of their code words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.letters.machine import END, MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence


def optimal_lengths(weights: Sequence[int]) -> bytes:
    """The lengths, at most 15 bits, whose weighted sum is the least.

    By the package-merge algorithm (Larmore and Hirschberg 1990). Equal weights are taken in the
    order of the symbols, so that the lengths are the same on every machine.

    Args:
        weights: of all symbols; 0 for a symbol that cannot follow.

    Returns:
        One length for each symbol; all 0 if only END can follow.
    """
    lengths = bytearray(len(weights))
    symbols = sorted((weight, symbol) for symbol, weight in enumerate(weights) if weight)
    if len(symbols) == 1 and symbols[0][1] != END:
        lengths[symbols[0][1]] = 1
    if len(symbols) < 2:
        return bytes(lengths)
    single = [(weight, (symbol,)) for weight, symbol in symbols]
    packages: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(MAX_LENGTH):
        merged = sorted(single + packages, key=lambda package: package[0])
        pairs = zip(merged[::2], merged[1::2], strict=False)
        packages = [(low[0] + high[0], low[1] + high[1]) for low, high in pairs]
    for _, chosen in packages[: len(symbols) - 1]:
        for symbol in chosen:
            lengths[symbol] += 1
    return bytes(lengths)
