from __future__ import annotations

import asyncio
import threading

import pytest

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.doors.server.flask_bridge import BoundedThreadPool


async def code(work):
    with pytest.raises(ProblemError) as raised:
        await work
    return raised.value.code


def test_nobody_waits_longer_than_the_pool_was_made_for():
    """What hangs keeps its thread, and what was not begun is not done for nobody."""
    go, done = threading.Event(), []

    async def main():
        pool = BoundedThreadPool("test", threads=1, waiting=2, seconds=0.1)
        hung, late = pool.run(go.wait, 120), pool.run(done.append, "late")
        assert await asyncio.gather(code(hung), code(late)) == ["overloaded"] * 2
        assert await code(pool.run(done.append, "third")) == "overloaded"
        assert await code(pool.run(done.append, "one too many")) == "overloaded"
        go.set()
        while done != ["now"]:
            try:
                await pool.run(done.append, "now")
            except ProblemError:  # the thread has not got to it yet
                await asyncio.sleep(0.01)
        pool.close()

    asyncio.run(asyncio.wait_for(main(), 120))
    assert done == ["now"]


def test_answers_and_errors_come_back():
    async def main():
        pool = BoundedThreadPool("test", threads=1, waiting=1, seconds=120)
        assert await pool.run(sum, (1, 2)) == 3
        with pytest.raises(ZeroDivisionError):
            await pool.run(divmod, 1, 0)
        pool.close()

    asyncio.run(main())
