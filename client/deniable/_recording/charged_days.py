"""Which days were ever charged, so that no history of clocks charges one of them afresh.

The ledger has a latest day, to which reports are charged. As long as the clock only goes forward,
each new day begins with a budget of its own. A clock that was wrong leaves a latest day that lies
ahead, for years perhaps. Then the ledger is anchored again: today becomes its latest day, as a
silent one, whose budget counts as spent and whose periods count as reported.

What keeps every day from being charged twice is the list of all days that were ever charged, as a
few runs. A day in it never begins afresh: if the clock comes to one from before, it is silent, and
so is the first day after it, as its week and its month may have been reported. Runs that are joined
to keep the list short take in the days between them, which can only silence more.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.periods import period

if TYPE_CHECKING:
    from deniable_shared.periods import Every

MAX_RUNS: Final = 8
"""The two runs with the fewest days between them are joined beyond this."""


class ChargedDays(NamedTuple):
    """The days that were ever charged, or of which reports were made, in days since 1970-01-01.

    Attributes:
        runs: first and last day of each, sorted; no two have a day in common.
        ahead: the first day on which the ledger's latest day was seen to lie ahead; None if it was
            not, or was dealt with.
    """

    runs: tuple[tuple[int, int], ...] = ()
    ahead: int | None = None

    def with_day(self, day: int) -> ChargedDays:
        """These days and another one, with nothing that lies ahead."""
        runs: list[tuple[int, int]] = []
        for first, last in sorted((*self.runs, (day, day))):
            if runs and first <= runs[-1][1] + 1:
                runs[-1] = runs[-1][0], max(last, runs[-1][1])
            else:
                runs.append((first, last))
        while len(runs) > MAX_RUNS:
            gaps = [after[0] - before[1] for before, after in pairwise(runs)]
            at = gaps.index(min(gaps))
            runs[at : at + 2] = [(runs[at][0], runs[at + 1][1])]
        return ChargedDays(tuple(runs))

    def takes_in(self, day: int) -> bool:
        """Whether a day was charged, or lies in a run."""
        return any(first <= day <= last for first, last in self.runs)


class Step(NamedTuple):
    """What the ledger has to note before anything is charged.

    Attributes:
        day: its latest day from now on; None if that stays.
        silent: whether the budget of this day counts as spent, and its periods as reported.
        days: the charged days from now on.
    """

    day: int | None
    silent: bool
    days: ChargedDays


def next_step(latest: int, today: int, days: ChargedDays, *, certain: bool) -> Step | None:
    """What a look at the clock means for the ledger; None if nothing has to be noted.

    Args:
        latest: the ledger's latest day.
        today: the clock's; both in days since 1970-01-01.
        days: the charged days, which take in `latest` unless there are none.
        certain: whether this process saw the clock go back, so that it was wrong before.
    """
    if not days.runs:
        return Step(today, False, days.with_day(today))
    if today > latest:
        silent = any(last > latest and first <= today for first, last in days.runs)
        return Step(today, silent, days.with_day(today))
    if days.takes_in(today):
        return None  # what is recorded now is charged to the latest day
    if latest <= today + 1:
        return Step(None, False, days.with_day(today))  # the same, and no report is of today again
    if certain:
        return Step(today, True, days.with_day(today))
    if days.ahead is None or today < days.ahead:
        # It may be today's clock that is wrong: one that stands still between starts, as that of a
        # machine without a battery, never comes to a later day, and is set right after a while.
        return Step(None, False, days.with_day(today)._replace(ahead=today))
    return Step(today, True, days.with_day(today))


def is_reported_ahead(every: Every, number: int, latest: int, days: ChargedDays) -> bool:
    """Whether a period may have been reported on days that lie ahead of the ledger's latest one.

    Args:
        every: the kind of period.
        number: of the period.
        latest: the ledger's latest day, in days since 1970-01-01.
        days: the charged days.
    """
    return every != "once" and any(
        period(every, first) <= number <= period(every, last)
        for first, last in days.runs
        if first > latest
    )
