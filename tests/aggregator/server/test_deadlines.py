from __future__ import annotations

import asyncio

from deniable_aggregator.doors.server.bodies import Deadlines


def test_a_wait_that_takes_too_long_is_told_once_and_others_are_not():
    told = []

    async def waiting():
        deadlines = Deadlines(0.01)
        over = deadlines.begin(lambda: told.append("over"))
        over.cancel()
        end = asyncio.Event()
        deadlines.begin(lambda: told.append("late"))
        deadlines.begin(end.set)
        await asyncio.wait_for(end.wait(), 120)

    asyncio.run(waiting())
    assert told == ["late"]


def test_waits_are_watched_again_after_a_pause():
    async def waiting():
        deadlines = Deadlines(0.01)
        for _ in range(3):
            end = asyncio.Event()
            deadlines.begin(end.set)
            await asyncio.wait_for(end.wait(), 120)

    asyncio.run(waiting())


def test_waits_that_are_over_are_not_kept():
    async def waiting():
        deadlines = Deadlines(0.05)
        end = asyncio.Event()
        for _ in range(1_000):
            deadlines.begin(lambda: None).cancel()
        deadlines.begin(end.set)
        await asyncio.wait_for(end.wait(), 120)
        assert not deadlines._waiting

    asyncio.run(waiting())
