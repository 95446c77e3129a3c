"""The letter code as an automaton over bits, so that many pieces are decoded at once.

A state of the letter code and a state of UTF-8 together have one binary tree of code words. The
inner nodes of all these trees are the nodes of one automaton: a bit leads from a node to the next,
and a finished code word to the root of the tree that its byte leads to. Two nodes are special.
`ENDED` is where a whole string leads; from there on every bit must be 0, the padding of the last
piece. `IMPOSSIBLE` is where everything leads that no string has: code words that do not exist,
bytes that are not UTF-8, and padding that is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.letters import Machine

ENDED: Final = 0
IMPOSSIBLE: Final = 1
ROOT: Final = 2
"""The node at which every string begins."""

_END: Final = 256
_LONGEST: Final = 15
"""The most bits of a code word."""


class PieceDecoder:
    """Decodes pieces of strings, from the node that the pieces before them led to.

    Args:
        machine: the letter code's states.

    Attributes:
        steps: int32, (nodes, 2): the node that each bit leads to.
    """

    def __init__(self, machine: Machine) -> None:
        self.steps = _steps(_reachable(machine))

    def children(
        self, nodes: NDArray[np.int32], bits: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Where all pieces of so many bits lead, from each of some nodes.

        Returns:
            int32, (nodes, 2^bits): the node after each piece. int8, the same shape: how many bits
            of the piece a string takes that ends in it; all of them elsewhere.
        """
        reached = nodes.reshape(-1, 1)
        used = np.full(reached.shape, bits, np.int8)
        for bit in range(bits):
            ended = reached == ENDED
            reached = self.steps[reached].reshape(len(nodes), -1)
            used = np.repeat(used, 2, axis=1)
            used[(reached == ENDED) & ~np.repeat(ended, 2, axis=1)] = bit + 1
        return reached, used

    def follow(
        self, nodes: NDArray[np.int32], pieces: NDArray[Any], bits: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Where one piece leads from each node, and how many of its bits a string takes.

        Args:
            nodes: int32, (pieces,).
            pieces: integers below 2^bits, (pieces,).

        Returns:
            int32 and int8, (pieces,): see `children`.
        """
        reached = nodes
        used = np.full(nodes.shape, bits, np.int8)
        for bit in range(bits):
            before = reached
            reached = self.steps[before, pieces >> (bits - 1 - bit) & 1]
            used[(reached == ENDED) & (before != ENDED)] = bit + 1
        return reached, used


class _Pairs(NamedTuple):
    """The states of the letter code and of UTF-8 that strings can be in together.

    Attributes:
        lengths: int64, (pairs, 257): the code lengths.
        following: int64, (pairs, 256): the pair after each byte; -1 for a byte that cannot follow.
        complete: bool, (pairs,): whether the bytes so far are whole characters.
    """

    lengths: NDArray[np.int64]
    following: NDArray[np.int64]
    complete: NDArray[np.bool_]


def _reachable(machine: Machine) -> _Pairs:
    utf8 = _utf8_automaton()
    numbers = np.full((machine.states, len(utf8)), -1)
    numbers[0, 0] = 0
    pairs = [(0, 0)]
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
    return _Pairs(np.stack(lengths), np.stack(following), complete)


def _steps(pairs: _Pairs) -> NDArray[np.int32]:
    """The automaton: int32, (nodes, 2).

    Canonical codes have their inner nodes in a row: of the code words and inner nodes of one
    length, the code words come first. So a node is known by its pair, depth and place in the row.
    """
    lengths, following, complete = pairs
    count = len(lengths)
    words = np.stack([(lengths == depth).sum(1) for depth in range(_LONGEST + 2)])
    words[0] = 0
    inner = np.zeros_like(words)
    for depth in reversed(range(_LONGEST + 1)):
        inner[depth] = (words[depth + 1] + inner[depth + 1] + 1) // 2
    first = ROOT + np.concatenate([[0], np.cumsum(inner)[:-1]]).reshape(inner.shape)
    silent = np.where(complete, ENDED, IMPOSSIBLE)
    roots = np.where(inner[0] > 0, first[0], silent)
    symbols = np.argsort(np.where(lengths > 0, lengths, _LONGEST + 1), axis=1, kind="stable")
    # Where each symbol of a pair leads; the END of a broken character leads nowhere.
    targets = np.where(following >= 0, roots[following], IMPOSSIBLE)
    targets = np.concatenate([targets, np.where(complete, ENDED, IMPOSSIBLE)[:, None]], axis=1)
    targets = np.take_along_axis(targets, symbols, axis=1)
    steps = np.full((ROOT + int(inner.sum()), 2), IMPOSSIBLE, np.int32)
    steps[ENDED, 0] = ENDED
    before = np.zeros(count, np.int64)
    for depth in range(_LONGEST + 1):
        nodes = inner[depth]
        pair = np.repeat(np.arange(count), nodes)
        place = np.arange(pair.size) - np.repeat(np.cumsum(nodes) - nodes, nodes)
        for bit in (0, 1):
            child = 2 * place + bit
            deeper = child - words[depth + 1][pair]
            symbol = np.minimum(before[pair] + child, _END)
            reached = np.where(
                deeper < 0,
                targets[pair, symbol],
                np.where(
                    deeper < inner[depth + 1][pair], first[depth + 1][pair] + deeper, IMPOSSIBLE
                ),
            )
            steps[first[depth][pair] + place, bit] = reached
        before += words[depth + 1]
    return steps


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
