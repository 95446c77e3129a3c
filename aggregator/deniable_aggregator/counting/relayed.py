"""What relayed reports cost towards everybody but relay and aggregator together.

To the aggregator a report hides in its group: the reports of a batch that look like it. Devices add
their noise themselves, and the relay takes the order of arrival away, so a report costs what one of
so many honest ones costs that are shuffled (`composition.shuffled_losses`). Fakes hide nobody, and
anybody can send them with a public write key, so half of a group counts as honest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.counting.composition import compose, shuffled_losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DELTA: Final = 1e-8
"""Of all figures."""

FAKES_PER_HONEST: Final = 1
"""So many reports of a group may be fakes for each that counts as honest."""

OF_100: Final = (50, 90, 99, 100)
"""For so many of 100 reports a figure is stated."""

DAYS_OF_A_WEEK: Final = 7

WORTH_STATING: Final = 0.99
"""A figure above so much of the device's own is none: a delta alone makes it a little smaller."""


class GroupSize(NamedTuple):
    """Reports that stood in groups of about the same size.

    Attributes:
        least: how many reports each group had at least; at least 1.
        reports: how many reports there are in all of them.
    """

    least: int
    reports: int


class Crowd(NamedTuple):
    """In how large groups so many of 100 reports stood.

    Attributes:
        of_100: how many of 100.
        honest: among how many honest reports each hid at least, itself included.
        smaller: how many reports stood in smaller groups.
    """

    of_100: int
    honest: int
    smaller: int


def honest_reports(group: int) -> int:
    """How many reports of a group count as honest; at least 1, the report in question."""
    return max(1, group // (1 + FAKES_PER_HONEST))


def crowds(groups: Iterable[GroupSize]) -> list[Crowd]:
    """In how large groups 50, 90, 99 and all of 100 reports stood.

    Args:
        groups: of one version; none for none.
    """
    largest_first = sorted(groups, reverse=True)
    reports = sum(group.reports for group in largest_first)
    found: list[Crowd] = []
    for of_100 in OF_100:
        covered = 0
        for place, group in enumerate(largest_first):
            covered += group.reports
            following: Sequence[GroupSize] = largest_first[place + 1 : place + 2]
            is_last_of_its_size = not following or following[0].least != group.least
            if 100 * covered >= of_100 * reports and is_last_of_its_size:
                found.append(Crowd(of_100, honest_reports(group.least), reports - covered))
                break
    return found


@lru_cache(256)
def central_epsilon(epsilon: float, honest: int, reports: int = 1) -> float:
    """What reports of one device cost if each hides among so many, with `DELTA`.

    Args:
        epsilon: of one report on the device, in nats; above 0.
        honest: how many honest reports are shuffled together, this one included; at least 1.
        reports: how many of the device are added up, each in a crowd of its own; at least 1.

    Returns:
        In nats; at most the sum of their epsilons, which holds without a relay.
    """
    among = compose([(shuffled_losses(epsilon, honest), reports)])
    return min(among.epsilon_at(DELTA), reports * epsilon)
