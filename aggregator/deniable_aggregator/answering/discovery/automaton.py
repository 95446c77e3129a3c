"""A code of strings as an automaton over bits, so that many pieces are decoded at once.

Each table of code words is a binary tree, whose inner nodes are nodes of one automaton: a bit leads
from a node to the next, and a finished code word to the root of the tree by which the string goes
on. Two nodes are special. `ENDED` is where a whole string leads; from there on every bit must be 0,
the padding of the last piece. `IMPOSSIBLE` is where everything leads that no string has: code words
that do not exist, bytes that are not UTF-8, and padding that is not 0.

A model of letters has a tree for each of its states together with a state of UTF-8. A model of
phrases has these twice, for strings in letters and for single characters between phrases; a tree
for each row; and the general one, which depends on the state of the shipped model only in where
CHARACTER leads: so each state has a copy of the path to that code word, whose other branches are
shared.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_shared.letters import PhraseModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_shared.letters import Machine

ENDED: Final = 0
IMPOSSIBLE: Final = 1
ROOT: Final = 2
"""The node at which every string begins."""

_END: Final = 256
_LONGEST: Final = 15
"""The most bits of a code word."""


@lru_cache(maxsize=8)  # a few megabytes and a second each
def steps_of(machine: Machine | PhraseModel) -> NDArray[np.int32]:
    """The node that each bit leads to from each node: int32, (nodes, 2), not to be changed."""
    steps = _phrase_steps(machine) if isinstance(machine, PhraseModel) else _letter_steps(machine)
    steps.setflags(write=False)
    return steps


class _Trees:
    """The binary trees of canonical codes.

    Canonical codes have their inner nodes in a row: of the code words and inner nodes of one
    length, the code words come first. So a node is known by its tree, depth and place in the row.

    Args:
        lengths: integers, (trees, symbols): the code lengths; 0 for a symbol without a code word.
        start: the first node.

    Attributes:
        roots: int64, (trees,); `IMPOSSIBLE` for a tree without code words.
        end: the node behind the last one.
    """

    def __init__(self, lengths: NDArray[np.integer], start: int) -> None:
        self._lengths = lengths
        words = np.stack([(lengths == depth).sum(1) for depth in range(_LONGEST + 2)])
        words[0] = 0
        inner = np.zeros_like(words)
        for depth in reversed(range(_LONGEST + 1)):
            inner[depth] = (words[depth + 1] + inner[depth + 1] + 1) // 2
        first = start + np.cumsum(inner).reshape(inner.shape) - inner
        self._words, self._inner, self._first = words, inner, first
        self.roots = np.where(inner[0] > 0, first[0], IMPOSSIBLE)
        self.end = start + int(inner.sum())

    def fill(self, steps: NDArray[np.int32], targets: NDArray[np.int64]) -> None:
        """Writes where the bits lead from all nodes of the trees.

        Args:
            targets: int64, (trees, symbols): the node behind each code word.
        """
        words, inner, first = self._words, self._inner, self._first
        order = np.where(self._lengths > 0, self._lengths, _LONGEST + 1)
        targets = np.take_along_axis(targets, np.argsort(order, axis=1, kind="stable"), axis=1)
        count, last = targets.shape[0], targets.shape[1] - 1
        before = np.zeros(count, np.int64)
        for depth in range(_LONGEST + 1):
            nodes = inner[depth]
            tree = np.repeat(np.arange(count), nodes)
            place = np.arange(tree.size) - np.repeat(np.cumsum(nodes) - nodes, nodes)
            for bit in (0, 1):
                child = 2 * place + bit
                deeper = child - words[depth + 1][tree]
                symbol = np.minimum(before[tree] + child, last)
                is_inner = deeper < inner[depth + 1][tree]
                below = np.where(is_inner, first[depth + 1][tree] + deeper, IMPOSSIBLE)
                reached = np.where(deeper < 0, targets[tree, symbol], below)
                steps[first[depth][tree] + place, bit] = reached
            before += words[depth + 1]


class _Pairs(NamedTuple):
    """The states of a code of letters and of UTF-8 that strings can be in together.

    Attributes:
        lengths: int64, (pairs, 257): the code lengths.
        following: int64, (pairs, 256): the pair after each byte; -1 for a byte that cannot follow.
        complete: bool, (pairs,): whether the bytes so far are whole characters.
        numbers: int64, (states,): the pair of each state behind a whole character; -1 for none.
    """

    lengths: NDArray[np.int64]
    following: NDArray[np.int64]
    complete: NDArray[np.bool_]
    numbers: NDArray[np.int64]


def _reachable(machine: Machine, states: Iterable[int] = ()) -> _Pairs:
    """The pairs that are reached from the start of a string, and from further states."""
    utf8 = _utf8_automaton()
    numbers = np.full((machine.states, len(utf8)), -1)
    pairs = [(state, 0) for state in dict.fromkeys([0, *states])]
    for number, pair in enumerate(pairs):
        numbers[pair] = number
    lengths, following = [], []
    for state, expected in pairs:  # grows while it is read
        own = np.frombuffer(bytes(machine.lengths(state)), np.uint8).astype(np.int64)
        next_states, then = np.array(machine.next_states(state)), utf8[expected]
        row = np.full(256, -1)
        possible = np.flatnonzero((own[:_END] > 0) & (then >= 0))
        steps = zip(next_states[possible].tolist(), then[possible].tolist(), strict=True)
        for pair in dict.fromkeys(steps):
            if numbers[pair] < 0:
                numbers[pair] = len(pairs)
                pairs.append(pair)
        row[possible] = numbers[next_states[possible], then[possible]]
        lengths.append(own)
        following.append(row)
    complete = np.array([expected == 0 for _, expected in pairs])
    return _Pairs(np.stack(lengths), np.stack(following), complete, numbers[:, 0])


def _letter_steps(machine: Machine) -> NDArray[np.int32]:
    pairs = _reachable(machine)
    trees = _Trees(pairs.lengths, ROOT)
    steps = _no_steps(trees.end)
    _fill_letters(steps, trees, pairs)
    return steps


def _no_steps(nodes: int) -> NDArray[np.int32]:
    steps = np.full((nodes, 2), IMPOSSIBLE, np.int32)
    steps[ENDED, 0] = ENDED
    return steps


def _fill_letters(steps: NDArray[np.int32], trees: _Trees, pairs: _Pairs) -> None:
    """Strings in letters; the END of a broken character leads nowhere."""
    ends = np.where(pairs.complete, ENDED, IMPOSSIBLE)
    # Where nothing can follow but END, it takes no bits.
    roots = np.where(trees.roots == IMPOSSIBLE, ends, trees.roots)
    targets = np.where(pairs.following >= 0, roots[pairs.following], IMPOSSIBLE)
    trees.fill(steps, np.concatenate([targets, ends[:, None]], axis=1))


def _phrase_steps(model: PhraseModel) -> NDArray[np.int32]:
    pairs = _reachable(model.letters, model.after)
    in_letters = _Trees(pairs.lengths, ROOT + 2)
    characters = _Trees(pairs.lengths, in_letters.end)
    general = _Trees(np.array([model.tables.general]), characters.end)
    followed = sorted(model.tables.rows)
    rows = _Trees(_row_lengths(model, followed), general.end)
    path = model.general_word(model.character)
    copies = rows.end + np.arange(len(pairs.complete) * path[0]).reshape(-1, path[0])

    steps = _no_steps(int(copies[-1, -1]) + 1)
    _fill_letters(steps, in_letters, pairs)
    # The general table of each pair, and where the string goes on behind each phrase and START.
    states = np.array([*model.after, 0])
    behind = copies[pairs.numbers[states], 0]
    behind[followed] = rows.roots
    general.fill(steps, np.array([[*behind[:-1], ENDED, IMPOSSIBLE]]))
    first_letters = characters.roots[pairs.numbers]
    row_targets = np.repeat(np.array([[*behind[:-1], ENDED, 0, 0]]), len(followed), axis=0)
    row_targets[:, -2] = first_letters[states[followed]]
    row_targets[:, -1] = copies[pairs.numbers[states[followed]], 0]
    rows.fill(steps, row_targets)
    _fill_paths(steps, int(general.roots[0]), path, copies, characters.roots)
    following = pairs.following
    ended = np.where(pairs.complete[following], copies[following, 0], characters.roots[following])
    targets = np.where(following >= 0, ended, IMPOSSIBLE)
    nowhere = np.full((len(targets), 1), IMPOSSIBLE)
    characters.fill(steps, np.concatenate([targets, nowhere], axis=1))
    steps[ROOT] = behind[-1], ROOT + 1
    steps[ROOT + 1, 1] = in_letters.roots[0]
    return steps


def _row_lengths(model: PhraseModel, followed: Iterable[int]) -> NDArray[np.int64]:
    """The code lengths of each row: int64, (rows, symbols)."""
    chosen = list(followed)
    lengths = np.zeros((len(chosen), model.otherwise + 1), np.int64)
    for place, before in enumerate(chosen):
        row = model.tables.rows[before]
        lengths[place, list(row)] = list(row.values())
    return lengths


def _fill_paths(
    steps: NDArray[np.int32],
    root: int,
    path: tuple[int, int],
    copies: NDArray[np.int64],
    behind: NDArray[np.int64],
) -> None:
    """The general table for each pair: the way to one code word, of which others branch off.

    Args:
        root: of the general table that all share.
        path: the code word, as its length and an integer.
        copies: int64, (pairs, length): the nodes of each copy of the way.
        behind: int64, (pairs,): where the code word leads.
    """
    length, word = path
    node = root
    for depth in range(length):
        bit = word >> length - 1 - depth & 1
        steps[copies[:, depth], 1 - bit] = steps[node, 1 - bit]
        steps[copies[:, depth], bit] = copies[:, depth + 1] if depth + 1 < length else behind
        node = int(steps[node, bit])


def _utf8_automaton() -> NDArray[np.int64]:
    """What UTF-8 expects after each byte (Unicode, table 3-7): int64, (8, 256); -1 for an error.

    0: a character. 1, 2, 3: so many continuation bytes. 4 to 7: the first continuation byte after
    E0, ED, F0 and F4, whose range is narrower.
    """
    then = np.full((8, 256), -1)
    then[0, :0x80] = 0
    then[0, 0xC2:0xE0] = 1
    then[0, 0xE0:0xF0] = 2
    then[0, 0xF0:0xF5] = 3
    then[0, [0xE0, 0xED, 0xF0, 0xF4]] = 4, 5, 6, 7
    for expected in (1, 2, 3):
        then[expected, 0x80:0xC0] = expected - 1
    then[4, 0xA0:0xC0] = then[5, 0x80:0xA0] = 1
    then[6, 0x90:0xC0] = then[7, 0x80:0x90] = 2
    return then
