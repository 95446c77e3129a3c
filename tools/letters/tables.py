"""From contexts and counts to a model file: states, edges, and few tables of code lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_shared.letters import END
from deniable_shared.letters.lengths import optimal_lengths
from deniable_shared.letters.machine import SYMBOLS
from deniable_shared.letters.writing import model_file
from tools.letters.contexts import SCALE, START

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_SMOOTHING: Final = 0.01
"""How much of each state's weight goes to what was never seen in it."""
_CONSTANT: Final = 2e-5 * SCALE
"""The same in so rare a state, as a weight."""
_ROUNDS: Final = 12
_LEADS: Final = range(0xC2, 0xF5)
_NARROW: Final = {0xE0: (0xA0, 0xC0), 0xED: (0x80, 0xA0), 0xF0: (0x90, 0xC0), 0xF4: (0x80, 0x90)}
"""Second bytes after first bytes that allow fewer than 64."""


def model(
    contexts: Mapping[bytes, NDArray[np.float64]],
    bases: Mapping[str, NDArray[np.float64]],
    tables: int,
) -> bytes:
    """The model file of contexts, with so many tables in all."""
    names = _names(contexts)
    numbers = {name: number for number, name in enumerate(names)}
    counts = np.array(
        [contexts[name] if isinstance(name, bytes) else bases[name] for name in names]
    )
    kinds = [_kind(name) for name in names]
    lengths = _clustered(np.maximum(counts, 0), kinds, tables)
    fallbacks = [numbers[_fallback(name, numbers)] for name in names]
    edges = {
        (numbers[name], byte): numbers[target]
        for name in names
        for byte, target in _edges(name, numbers).items()
    }
    return model_file(fallbacks, edges, lengths)


def _names(contexts: Mapping[bytes, object]) -> list[bytes | str]:
    """All states: the start, the contexts from long to short, and what is always there."""
    start = bytes([START])
    listed = sorted(
        (each for each in contexts if each != start), key=lambda each: (-_size(each), each)
    )
    always = [f"{lead:02X} {inside}" for lead in _LEADS for inside in range(1, _width(lead))]
    after = [f"after {lead:02X}" for lead in _LEADS]
    return [start, *listed, *always, *after, "any"]


def _size(context: bytes) -> int:
    return len(_characters(context))


def _characters(context: bytes) -> list[bytes]:
    """The characters of a context, the last one as far as it goes."""
    begins = [place for place, byte in enumerate(context) if byte < 0x80 or byte >= 0xC0]
    return [context[a:b] for a, b in zip(begins, [*begins[1:], len(context)], strict=True)]


def _width(lead: int) -> int:
    """How many bytes a character has."""
    return 1 if lead < 0x80 or lead == START else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _missing(name: bytes | str) -> tuple[int, int, int]:
    """The first byte of the character that is being read, and how many are read and missing."""
    if isinstance(name, str):
        if name == "any" or name.startswith("after"):
            return 0, 0, 0
        lead, inside = int(name[:2], 16), int(name[3:])
    else:
        last = _characters(name)[-1]
        lead, inside = last[0], len(last)
    missing = _width(lead) - inside
    return (lead, inside, missing) if missing else (0, 0, 0)


def _kind(name: bytes | str) -> tuple[int, int]:
    """States of one kind may share a table: they allow the same symbols."""
    lead, inside, missing = _missing(name)
    if not missing:
        return (0x00, 0xC0)
    return _NARROW.get(lead, (0x80, 0xC0)) if inside == 1 else (0x80, 0xC0)


def _fallback(name: bytes | str, numbers: Mapping[bytes | str, int]) -> bytes | str:
    """What counts where a state has no edge."""
    if isinstance(name, str):
        return "any"
    lead, inside, missing = _missing(name)
    characters = _characters(name)
    for first in range(1, len(characters)):
        shorter = b"".join(characters[first:])
        if shorter in numbers and not (missing and len(shorter) == 1):
            return shorter
    if missing:
        return f"{lead:02X} {inside}"
    last = characters[-1][0]
    return f"after {last:02X}" if last >= 0x80 and last != START else "any"


def _edges(name: bytes | str, numbers: Mapping[bytes | str, int]) -> dict[int, bytes | str]:
    """The bytes that lead to longer contexts, or on inside a character."""
    lead, inside, missing = _missing(name)
    edges: dict[int, bytes | str] = {}
    if name == "any":
        edges = {each: f"{each:02X} 1" for each in _LEADS}
    elif isinstance(name, str) and missing:
        after = f"{lead:02X} {inside + 1}" if missing > 1 else f"after {lead:02X}"
        edges = dict.fromkeys(range(*_kind(name)), after)
    begin = name if isinstance(name, bytes) else b"" if name == "any" else None
    if isinstance(name, str) and missing and inside == 1:
        begin = bytes([lead])
    if begin is not None:
        for byte in range(255):
            longer = begin + bytes([byte])
            if longer in numbers and longer != name and (begin or byte < 0x80):
                edges[byte] = longer
    return edges


def _clustered(
    counts: NDArray[np.float64], kinds: list[tuple[int, int]], tables: int
) -> list[bytes]:
    """Code lengths of each state; states with similar counts get the same ones."""
    result: list[bytes] = [b""] * len(kinds)
    weights = counts.sum(1)
    sorts = sorted(set(kinds))
    for kind in sorts:
        members = np.array([number for number, each in enumerate(kinds) if each == kind])
        share = max(round(tables * len(members) / len(kinds)), 1)
        for number, lengths in zip(
            members, _cluster(counts[members], weights[members], kind, share), strict=True
        ):
            result[number] = lengths
    return result


def _cluster(
    counts: NDArray[np.float64], weights: NDArray[np.float64], kind: tuple[int, int], most: int
) -> list[bytes]:
    background = _background(counts, kind)
    seeds = np.argsort(-weights, kind="stable")[:most]
    lengths = [_lengths(counts[each], background) for each in seeds]
    chosen = np.zeros(len(counts), int)
    for _ in range(_ROUNDS):
        costs = counts @ np.array([[*each] for each in lengths], float).T
        chosen = costs.argmin(1)
        lengths = [
            _lengths(counts[chosen == each].sum(0), background) for each in range(len(lengths))
        ]
    return [lengths[each] for each in chosen]


def _background(counts: NDArray[np.float64], kind: tuple[int, int]) -> NDArray[np.float64]:
    """What is likely in states of a kind: for symbols that were not seen in one of them."""
    allowed = np.zeros(SYMBOLS)
    allowed[range(*kind)] = 1
    if kind[0] == 0:
        allowed[0x80:0xC2] = 0
        allowed[[*_LEADS]] = 1
        allowed[END] = 1
    total = counts.sum(0) * allowed
    mixed = 0.8 * total / max(total.sum(), 1) + 0.2 * allowed / allowed.sum()
    steps: NDArray[np.float64] = np.where(
        allowed > 0, 4.0 ** np.round(np.log2(mixed + 1e-12) / 2), 0
    )
    steps /= steps.sum()
    return steps


def _lengths(counts: NDArray[np.float64], background: NDArray[np.float64]) -> bytes:
    total = counts.sum()
    own = np.where(counts >= 0.002 * total, counts, 0) * (background > 0)
    mixed = own + (_SMOOTHING * total + (total - own.sum()) + _CONSTANT) * background
    scaled = np.where(background > 0, np.maximum(np.round(mixed / mixed.max() * 2**24), 1), 0)
    return optimal_lengths([int(each) for each in scaled])
