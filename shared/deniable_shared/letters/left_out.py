"""How many bits strings take that a model was not trained on: what a metric has to send of them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from deniable_shared.letters.levels import LeftOutBits

LARGEST_GROUP: Final = 0.1
"""A group has at most this part of the examples: one of more is parted by a longer beginning."""
FEWEST_GROUPS: Final = 20
"""Where there are fewer groups, every string is one."""

_PART_END: Final = re.compile(r"(?<=[^\W_])(?=[\W_])")
"""Behind a letter or digit, before anything else: where a part of a text ends."""

Train = Callable[[Mapping[bytes, float]], Callable[[bytes], int]]
"""Trains on examples, and returns what tells how many bits a string takes."""


def bits_left_out(
    examples: Mapping[bytes, float], train: Train, *, in_groups: bool = True
) -> list[int]:
    """The bits of each example under a model of the half that it is not in, ascending.

    Args:
        examples: canonical strings, and how often each comes.
        train: makes a model of a half.
        in_groups: whether strings that begin alike, such as those of one host, package or scope,
            are in one half: as if devices held only strings of groups that no example is of.
    """
    halves = _halves(sorted(examples), in_groups=in_groups)
    counted = []
    for half, other in zip(halves, reversed(halves), strict=True):
        bits = train({value: examples[value] for value in other})
        counted += [bits(value) for value in half]
    return sorted(counted)


def quantiles(bits: Sequence[int]) -> LeftOutBits:
    """How many bits half, 90% and 98% of the strings need at most.

    Args:
        bits: of each string, ascending; at least one.
    """
    return LeftOutBits(*(bits[int(part * (len(bits) - 1))] for part in (0.5, 0.9, 0.98)))


def _halves(values: Sequence[bytes], *, in_groups: bool) -> tuple[list[bytes], list[bytes]]:
    """Parts of nearly the same size; a group is in one of them."""
    halves: tuple[list[bytes], list[bytes]] = ([], [])
    texts = [value.decode(errors="replace") for value in values]
    groups = groups_of(texts) if in_groups else texts
    members: dict[str, list[bytes]] = {}
    for value, group in zip(values, groups, strict=True):
        members.setdefault(group, []).append(value)
    order = sorted(members, key=lambda group: (-len(members[group]), _scattered(group)))
    for group in order:
        min(halves, key=len).extend(members[group])
    return halves


def groups_of(texts: Sequence[str]) -> list[str]:
    """The group of each text: the shortest beginning that few enough have in common.

    A beginning ends where a run of letters and digits does. Of texts such as
    ``https://github.com/owner/name`` the group is the host, or the host and the owner where many
    are of one host.
    """
    beginnings = [list(_beginnings(text)) for text in texts]
    shared = Counter(beginning for each in beginnings for beginning in each)
    most = LARGEST_GROUP * len(texts)
    groups = [
        next((beginning for beginning in each if shared[beginning] <= most), text)
        for text, each in zip(texts, beginnings, strict=True)
    ]
    return groups if len(set(groups)) >= FEWEST_GROUPS else list(texts)


def _beginnings(text: str) -> Iterable[str]:
    for end in _PART_END.finditer(text):
        yield text[: end.start()]


def _scattered(group: str) -> bytes:
    return hashlib.sha256(group.encode(errors="replace")).digest()
