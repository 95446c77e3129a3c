from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time

import pytest

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.doors.http.upload_limits import RateLimiter
from deniable_aggregator.keeping.settings import Settings
from deniable_shared.errors import ParameterError
from tests import watchdog
from tests.aggregator.service import problem, serving, upload
from tests.ports import free_port


def allowed(limiter, key, times):
    """How many of some uploads pass."""
    passed = 0
    for _ in range(times):
        with contextlib.suppress(ProblemError):
            limiter.hit(key)
            passed += 1
    return passed


def test_a_key_may_send_so_much_and_another_key_as_much():
    limiter = RateLimiter("5/day")
    assert allowed(limiter, "cafe", 9) == 5
    assert allowed(limiter, "beef", 9) == 5


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


def test_a_counter_that_cannot_be_named_is_refused_without_its_password():
    with pytest.raises(ParameterError, match=r"^rate_limit_store must be") as caught:
        RateLimiter("1/day", "nonsense://user:hunter2@host")
    assert "hunter2" not in str(caught.value)


def test_without_its_counter_nothing_is_limited(caplog):
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"redis://:hunter2@127.0.0.1:{probe.getsockname()[1]}"
        limiter = RateLimiter("1/day", url)
        assert allowed(limiter, "cafe", 3) == 3
    assert len(caplog.records) == 1
    assert "hunter2" not in caplog.text


@pytest.fixture
def redis(tmp_path):
    """The URL of a real server."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    watchdog.watch(process=process.pid)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.service
def test_several_servers_share_a_counter(redis):
    one, other = (RateLimiter("5/day", redis) for _ in range(2))
    assert one.is_remote
    assert allowed(one, "cafe", 3) + allowed(other, "cafe", 9) == 5
