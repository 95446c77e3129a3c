"""Populations of devices that hold sets, and their reports by the wheel, drawn with numpy.

A report is drawn by the device's own law: a row, the different buckets of the set in it, one of
these or one of the others. Hashes are the real ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_shared import hashing
from deniable_shared.mechanisms.sets.wheel import MARKER
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Wheel

POPULATIONS: Final = ("heavy", "sizes", "pairs", "zipf")
ITEMS: Final = 300
_CHUNK: Final = 1 << 18


def population(
    kind: str, devices: int, most: int, random: np.random.Generator
) -> NDArray[np.int16]:
    """Who holds what: int16, (devices, places), item numbers; -1 where there is none.

    Args:
        kind: ``heavy``: one item of 95%, others by Zipf's law up to 60%, at most `most` a device.
            ``sizes``: the same, of devices that hold at most 0, 1, 2, `most` or twice as many.
            ``pairs``: ten pairs of items that are never apart, and one of 50%. ``zipf``: no item
            above 60%.
        devices: how many there are.
        most: how many items a report covers.
        random: decides everything.
    """
    shares = np.minimum(0.6, 1.5 / np.arange(1, ITEMS + 1))
    limit, partners = np.full(devices, most), np.arange(ITEMS)
    if kind in ("heavy", "sizes"):
        shares[0] = 0.95
    if kind == "sizes":
        limit = random.choice([0, 1, 2, most, 2 * most], devices, p=[0.1, 0.2, 0.2, 0.4, 0.1])
    if kind == "pairs":
        shares = np.concatenate([[0.5], np.repeat(0.3 / np.arange(1, 11), 2)])
        partners = np.concatenate([[0], np.repeat(np.arange(1, 21, 2), 2)])
    held = np.full((devices, int(limit.max())), -1, np.int16)
    size = np.zeros(devices, np.int64)
    who = np.zeros(0, np.int64)
    for item, share in enumerate(shares):
        if partners[item] == item:
            number = random.binomial(devices, share)
            who = (
                random.integers(0, devices, number)
                if share < 0.02
                else random.permutation(devices)[:number]
            )
            who = np.unique(who)
        mine = who[size[who] < limit[who]]
        held[mine, size[mine]] = item
        size[mine] += 1
    return held


def shares_kept(held: NDArray[np.int16], items: int, most: int) -> NDArray[np.float64]:
    """Which part of the devices holds each item and has it in its report: float64, (items,).

    Of a set of more than `most` items, most - 1 random ones stand in it.
    """
    size = (held >= 0).sum(axis=1)
    kept = np.where(size > most, (most - 1) / np.maximum(size, 1), 1.0)
    kept = np.repeat(kept[:, None], held.shape[1], axis=1)
    there = held >= 0
    return np.bincount(held[there], kept[there], minlength=items) / len(held)


def metric(mechanism: Wheel, number: int) -> Spec:
    """A metric of sets; each number hashes anew."""
    return Spec("sets", f"items{number}", "set", (), None, mechanism, "day")


def collect(
    spec: Spec, items: Sequence[str], held: NDArray[np.int16], random: np.random.Generator
) -> NDArray[np.int64]:
    """The tally of one report of each device: int64, (cells,).

    Args:
        spec: of the wheel.
        items: what the numbers stand for.
        held: see `population`.
        random: decides everything.
    """
    mechanism: Wheel = spec.mechanism  # type: ignore[assignment]
    words = np.append(
        hash_cells.words(items, spec.salt), np.uint64(hashing.word(MARKER, spec.salt))
    )
    keys = np.array([hashing.key(row) for row in range(mechanism.rows)], np.uint64)
    counts = np.zeros(mechanism.rows * mechanism.buckets, np.int64)
    for start in range(0, len(held), _CHUNK):
        part = _within_limit(held[start : start + _CHUNK], mechanism.most, random)
        rows = random.integers(0, mechanism.rows, len(part))
        buckets = _bucket(words[np.maximum(part, -1)] ^ keys[rows][:, None], mechanism.buckets)
        reported = _report(np.where(part == -1, mechanism.buckets, buckets), mechanism, random)
        counts += np.bincount(rows * mechanism.buckets + reported, minlength=counts.size)
    return counts


def _bucket(mixed: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    return hash_cells.buckets(mixed.ravel(), 0, size).reshape(mixed.shape)


def _within_limit(
    held: NDArray[np.int16], most: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Sets of at most `most` items, -2 for the marker: int64, (devices, most)."""
    size = (held >= 0).sum(axis=1)
    part = held[:, :most].astype(np.int64)
    over = np.flatnonzero(size > most)
    if over.size:
        start = random.integers(0, size[over])
        for place in range(most - 1):
            part[over, place] = held[over, (start + place) % size[over]]
        part[over, most - 1] = -2
    return part


def _report(
    buckets: NDArray[np.int64], mechanism: Wheel, random: np.random.Generator
) -> NDArray[np.int64]:
    """One bucket for each device; `buckets` has those of its items, g where there is none."""
    ordered = np.sort(buckets, axis=1)
    different = ordered < mechanism.buckets
    different[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    number = different.sum(axis=1)
    place = np.cumsum(different, axis=1) - 1
    drawn = random.integers(0, 1 << 32, len(buckets)) // mechanism.own
    inside = drawn < number
    hit = different & (place == drawn[:, None]) & inside[:, None]
    outside = (random.random(len(buckets)) * (mechanism.buckets - number)).astype(np.int64)
    for column in range(ordered.shape[1]):
        outside += different[:, column] & (outside >= ordered[:, column])
    reported = outside
    reported[inside] = ordered[hit]
    return np.asarray(reported)
