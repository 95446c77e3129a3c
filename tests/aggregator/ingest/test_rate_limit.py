from __future__ import annotations

import contextlib

import pytest

from deniable_aggregator.config.settings import Settings
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_shared.errors import ParameterError
from tests.aggregator.service import problem, serving, upload


def allowed(limiter, key, times):
    """How many of some uploads pass."""
    passed = 0
    for _ in range(times):
        with contextlib.suppress(ProblemError):
            limiter.hit(key)
            passed += 1
    return passed


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 7_000.0

    def __call__(self):
        return self.now


def test_a_key_may_send_so_much_and_another_key_as_much():
    limiter = RateLimiter("5/day", Clock())
    assert allowed(limiter, "cafe", 9) == 5
    assert allowed(limiter, "beef", 9) == 5


def test_uploads_of_the_last_window_count_while_they_are_in_the_sliding_one():
    clock = Clock()
    limiter = RateLimiter("100/minute", clock)
    clock.now = 6_000.0
    assert allowed(limiter, "cafe", 200) == 100
    clock.now += 60
    assert allowed(limiter, "cafe", 200) == 0
    clock.now += 15
    assert allowed(limiter, "cafe", 200) == 25
    clock.now += 30
    assert allowed(limiter, "cafe", 200) == 50
    clock.now += 600
    assert allowed(limiter, "cafe", 200) == 100


@pytest.mark.parametrize("rate", ["1/second", "2/minute", "7/hour", "100/day"])
def test_an_upload_that_waits_as_long_as_it_is_told_passes(rate):
    clock = Clock()
    limiter = RateLimiter(rate, clock)
    for _ in range(300):
        clock.now += 0.3
        try:
            limiter.hit("cafe")
        except ProblemError as problem:
            clock.now += int(problem.headers["Retry-After"])
            limiter.hit("cafe")


def test_nothing_is_limited_by_default():
    assert allowed(RateLimiter(Settings().rate_limit), "cafe", 10_000) == 10_000


def test_an_upload_too_many_is_told_when_to_come_back_and_is_not_stored(tmp_path):
    with serving(tmp_path / "store.db", rate_limit="2/day") as service:
        service.register()
        assert [service.send(upload(b"\x01")).status_code for _ in range(2)] == [204, 204]
        answer = service.send(upload(b"\x01"))
        problem(answer, 429, "rate_limited")
        assert 0 < int(answer.headers["Retry-After"]) <= 2 * 86_400
        assert service.send(upload(b"\x02"), key=service.key("write")).status_code == 204
        assert service.counts() == [0, 2, 1]
        assert service.status()["since_start"]["refused"] == {"rate_limited": 1}


@pytest.mark.parametrize("rate", ["often", "10", "10/fortnight", "-1/day"])
def test_a_rate_that_cannot_be_read_is_refused(rate):
    with pytest.raises(ParameterError, match=r"^rate_limit must be"):
        RateLimiter(rate)
