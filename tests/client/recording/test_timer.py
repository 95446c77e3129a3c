"""Timing blocks and functions."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading

import pytest

import deniable
from deniable import Outcome, ParameterError, RecordError
from deniable.testing import RecordingClient

HEAD = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 160.0
[metrics.theme]
type = "string"
epsilon = 1.0
"""
SPANS = "".join(
    f'[metrics.{name}]\ntype = "{kind}"\nrange = [0, 30]\nepsilon = 1.0\n'
    for name, kind in [("startup", "number"), ("query", "distribution"), ("third", "number")]
)
SEGMENTED = '[metrics.theme.segment]\nname = "channel"\nvalues = ["beta"]\nother = "another"\n'
REGISTRY = deniable.parse_registry(HEAD + SPANS)


class Stopwatch:
    """A clock that goes on when it is told to, in each thread by itself."""

    def __init__(self):
        self._threads = threading.local()

    def __call__(self):
        return getattr(self._threads, "now", 100.0)

    def forward(self, seconds):
        self._threads.now = self() + seconds


@pytest.fixture
def stopwatch(monkeypatch):
    watch = Stopwatch()
    monkeypatch.setattr("deniable._timer.time.perf_counter", watch)
    return watch


@pytest.fixture
def client():
    with RecordingClient(REGISTRY) as client:
        yield client


def test_a_block_is_timed_in_seconds(client, stopwatch):
    with client.timer("startup") as nothing:
        stopwatch.forward(2.5)
    assert nothing is None
    assert client.recorded == [("startup", 2.5)]


def test_each_call_of_a_function_is_timed_by_itself(client, stopwatch):
    @client.timer("query")
    def factorial(number):
        """Multiplies."""
        stopwatch.forward(1)
        return number * factorial(number - 1) if number > 1 else 1

    assert factorial(3) == 6
    assert [call.value for call in client.calls] == [1.0, 2.0, 3.0]
    assert (factorial.__name__, factorial.__doc__) == ("factorial", "Multiplies.")


@pytest.mark.parametrize("wrap", [lambda function: function, functools.partial])
def test_a_coroutine_function_is_timed_until_it_returns(client, stopwatch, wrap):
    async def query(answer):
        stopwatch.forward(3)
        await asyncio.sleep(0)
        return answer

    timed = client.timer("query")(wrap(query))

    async def main():
        return await asyncio.gather(timed("a"), timed(answer="b"))

    assert asyncio.iscoroutinefunction(timed)
    assert asyncio.run(main()) == ["a", "b"]
    assert [call.value for call in client.calls] == [6.0, 3.0]  # the first waits for the second


def test_threads_that_call_one_function_are_timed_apart(client, stopwatch):
    barrier = threading.Barrier(2)

    @client.timer("query")
    def work(seconds):
        barrier.wait()
        stopwatch.forward(seconds)
        barrier.wait()

    threads = [threading.Thread(target=work, args=(seconds,)) for seconds in (1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(call.value for call in client.calls) == [1.0, 5.0]


def test_a_block_inside_itself_is_timed_from_its_own_beginning(client, stopwatch):
    timer = client.timer("query")
    with timer:
        stopwatch.forward(1)
        with timer:
            stopwatch.forward(2)
    assert [call.value for call in client.calls] == [2.0, 3.0]


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), SystemExit(2)])
def test_what_failed_is_not_recorded_and_passes_through(client, stopwatch, error):
    timer = client.timer("startup")
    with pytest.raises(type(error)) as raised, timer:  # noqa: PT012  time goes by before it
        stopwatch.forward(2)
        raise error
    assert raised.value is error
    assert client.calls == []
    with timer:
        stopwatch.forward(1)
    assert client.recorded == [("startup", 1.0)]


@pytest.mark.parametrize("status", [None, 0])
def test_a_program_that_ends_well_inside_the_block_is_recorded(client, stopwatch, status):
    with pytest.raises(SystemExit), client.timer("startup"):  # noqa: PT012
        stopwatch.forward(4)
        sys.exit(status)
    assert client.recorded == [("startup", 4.0)]


def test_a_segment_is_recorded_with_the_time():
    segmented = HEAD.replace('type = "string"', 'type = "boolean"') + SEGMENTED
    with RecordingClient(deniable.parse_registry(segmented), strict=False) as client:
        with client.timer("theme", segment="beta"):
            pass
        ((metric, (seconds, segment), outcome),) = client.calls
    assert (metric, segment, outcome) == ("theme", "beta", Outcome.OUTSIDE_DOMAIN)
    assert seconds >= 0


@pytest.mark.parametrize(
    ("metric", "outcome"),
    [("theme", Outcome.OUTSIDE_DOMAIN), ("stratup", Outcome.UNKNOWN_METRIC)],
)
def test_mistakes_are_those_of_record(metric, outcome):
    with RecordingClient(REGISTRY, strict=False) as client:
        with client.timer(metric):
            pass
        assert client.calls[0].outcome is outcome
    with (
        RecordingClient(REGISTRY) as strict,
        pytest.raises(RecordError, match=outcome),
        strict.timer(metric),
    ):
        pass


def test_the_time_stays_neither_on_the_timer_nor_in_a_frame(client, stopwatch):
    stopwatch.forward(4_611)
    timer = client.timer("theme")
    with pytest.raises(RecordError) as raised, timer:
        stopwatch.forward(5)
    assert repr(timer) == "Timer('theme')"
    assert timer._started == []
    traceback = raised.value.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename.endswith("_timer.py"):
            assert not any(isinstance(value, float) for value in frame.f_locals.values())
        traceback = traceback.tb_next


def test_what_cannot_be_timed_is_refused_when_it_is_decorated(client):
    def generator():
        yield

    async def asynchronous_generator():
        yield

    for function in (generator, asynchronous_generator, functools.partial(generator), 3, None, int):
        with pytest.raises(ParameterError, match="function must be a function that makes no"):
            client.timer("startup")(function)
