from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import socketserver
import subprocess
import threading

import pytest

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.doors.http.upload_limits import PAUSE_SECONDS, RateLimiter
from deniable_aggregator.keeping.settings import Settings
from deniable_shared.errors import ParameterError
from tests import watchdog
from tests.aggregator.service import problem, serving, upload
from tests.ports import free_port
from tests.waiting import wait_until


@contextlib.contextmanager
def limiting(rate, store, **options):
    """A limiter whose counter is elsewhere; its connections are closed in the end."""
    limiter = RateLimiter(rate, store, **options)
    try:
        yield limiter
    finally:
        limiter._window.storage.storage.close()


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


def test_a_counter_that_fails_is_left_alone_for_a_while_and_then_asked_once():
    clock = [0.0]
    with (
        refusing() as (url, asked),
        limiting("1/day", url, monotonic=lambda: clock[0]) as limiter,
    ):
        for _ in range(3):
            before = asked[0]
            limiter.hit("cafe")
            once = asked[0]
            assert once > before
            assert allowed(limiter, "cafe", 50) == 50
            assert asked[0] == once
            clock[0] += PAUSE_SECONDS


@contextlib.contextmanager
def refusing():
    """A counter that closes every connection: its URL, and how many connections there were."""
    asked = [0]

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            asked[0] += 1

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


class Redis:
    """A real server, which can be killed and started again."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        watchdog.watch(process=self.process.pid)
        wait_until(self.answers)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def redis(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = Redis(tmp_path)
    yield server
    server.kill()


@pytest.mark.service
def test_several_servers_share_a_counter(redis):
    with limiting("5/day", redis.url) as one, limiting("5/day", redis.url) as other:
        assert one.is_remote
        assert allowed(one, "cafe", 3) + allowed(other, "cafe", 9) == 5


@pytest.mark.service
def test_uploads_go_on_while_a_shared_counter_is_dead_or_hangs_and_are_limited_again(redis):
    clock = [0.0]
    with limiting("2/day", redis.url, monotonic=lambda: clock[0]) as limiter:
        assert allowed(limiter, "cafe", 9) == 2
        redis.process.send_signal(signal.SIGSTOP)
        assert allowed(limiter, "cafe", 1_000) == 1_000
        redis.process.send_signal(signal.SIGCONT)
        clock[0] += PAUSE_SECONDS
        assert allowed(limiter, "cafe", 9) == 0
        redis.kill()
        assert allowed(limiter, "cafe", 1_000) == 1_000
        redis.start()
        clock[0] += PAUSE_SECONDS
        assert allowed(limiter, "cafe", 9) == 2
