"""Strings that are looked at, as arrays: their pieces, where they end, and their shares."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable_aggregator.kernels import trie_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level


@dataclass
class Strings:
    """Some strings and prefixes, one in each place of every array.

    Attributes:
        pieces: int64, (strings, levels); 0 behind the end.
        ends: int64, (strings,): the level of the last piece.
        bits: int64, (strings,): of the whole code, without padding.
        before: uint64, (strings,): the fingerprint of all pieces but the last.
        fingerprints: uint64, (strings,): of all pieces.
        log_weights: float64, (strings,): the logarithm of each one's part of the error rate; they
            sum to at most 1 over all strings.
        shares: float64, (strings, levels): the estimate of each level; 0 below the end.
        explained: float64, (strings, levels): the share that is taken out of each level.
        least: float64, (strings,): with a lower estimate of the level in which it ends, the search
            would have passed a string by; minus infinity where it looked at all of them.
        hinted: bool, (strings,): whether the analyst named it.
        salt: of the metric.
    """

    pieces: NDArray[np.int64]
    ends: NDArray[np.int64]
    bits: NDArray[np.int64]
    before: NDArray[np.uint64]
    fingerprints: NDArray[np.uint64]
    log_weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    explained: NDArray[np.float64]
    least: NDArray[np.float64]
    hinted: NDArray[np.bool_]
    salt: int

    def __len__(self) -> int:
        return self.ends.size

    @classmethod
    def from_pieces(
        cls,
        pieces: NDArray[np.int64],
        ends: NDArray[np.int64],
        bits: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        salt: int,
    ) -> Self:
        """Strings of which nothing is estimated yet."""
        before = trie_cells.root(salt, ends.size)
        after = before
        for level in range(pieces.shape[1]):
            deeper = ends >= level
            before = np.where(deeper, after, before)
            after = np.where(deeper, trie_cells.extend(after, pieces[:, level]), after)
        nothing = np.zeros(pieces.shape)
        return cls(
            pieces,
            ends,
            bits,
            before,
            after,
            log_weights,
            nothing,
            nothing.copy(),
            np.full(ends.size, -np.inf),
            np.zeros(ends.size, np.bool_),
            salt,
        )

    def prefix_fingerprints(self, level: int) -> NDArray[np.uint64]:
        """The fingerprints of their pieces up to a level; those that end there have their own."""
        fingerprints = trie_cells.root(self.salt, len(self))
        for number in range(level + 1):
            longer = trie_cells.extend(fingerprints, self.pieces[:, number])
            fingerprints = np.where(self.ends >= number, longer, fingerprints)
        return fingerprints

    def take(self, chosen: NDArray[Any]) -> Self:
        """The chosen ones: by a mask or by places."""
        arrays = {name: column[chosen] for name, column in self._arrays().items()}
        return replace(self, **arrays)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)[:-1]}

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """All of several."""
        arrays = [part._arrays() for part in parts]
        joined: dict[str, Any] = {
            name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]
        }
        return replace(parts[0], **joined)

    def cells(self, level: Level) -> NDArray[np.int64]:
        """Where they are in a level that is not below their ends: int64, (strings, rows)."""
        number = level.number
        if number == 0:
            return self.pieces[:, :1]
        ended = self.ends < number
        fingerprints = np.where(ended, self.fingerprints, self.before)
        pieces = np.where(ended, 0, self.pieces[:, number])
        return trie_cells.cells(fingerprints, pieces, number, level.reports.size, level.cells)

    def pool(
        self, levels: Sequence[Level], last: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The estimates of all levels from the end on, weighted by their inverse variances.

        Args:
            levels: all of the trie.
            last: the last one that counts; None for all.

        Returns:
            float64, (strings,): the share; 0 without reports. Its standard error where the share
            is 0; infinite without reports.
        """
        weights = self.weights(levels, last)
        total = weights.sum(axis=1)
        with np.errstate(divide="ignore"):
            deviations = total**-0.5
        return (weights * self.shares).sum(axis=1) / np.maximum(total, 1e-300), deviations

    def weights(self, levels: Sequence[Level], last: int | None = None) -> NDArray[np.float64]:
        """The inverse variance of each level's estimate; 0 below the end: (strings, levels)."""
        numbers = np.arange(len(levels))
        own = np.array([level.weight for level in levels])
        counted = numbers >= self.ends[:, None]
        if last is not None:
            counted &= numbers <= last
        return np.where(counted, own, 0.0)

    def own_weights(self, levels: Sequence[Level]) -> NDArray[np.float64]:
        """The inverse variance of the estimate of the level in which each ends, and 0 elsewhere.

        A prefix is estimated by this level alone, since deeper ones part its strings.
        """
        ends = np.arange(len(levels)) == self.ends[:, None]
        return np.where(ends, self.weights(levels), 0.0)

    def estimate(self, level: Level) -> None:
        """Estimates their shares in one level, adding back what is explained by themselves."""
        number = level.number
        ended = np.flatnonzero(self.ends <= number)
        strings = self.take(ended)
        estimates = level.estimates(strings.cells(level)) + strings.explained[:, number]
        self.shares[ended, number] = estimates

    def explain(self, level: Level, chosen: NDArray[np.bool_], shares: NDArray[np.float64]) -> None:
        """Takes the chosen ones out of one level, and puts back what was taken out of it before.

        Args:
            chosen: bool, (strings,).
            shares: float64, (strings,).
        """
        number = level.number
        target = np.where(chosen & (self.ends <= number), shares, 0.0)
        change = target - self.explained[:, number]
        moved = np.flatnonzero(change)
        if moved.size:
            level.explain(self.take(moved).cells(level), change[moved])
            self.explained[moved, number] = target[moved]
