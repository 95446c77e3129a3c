"""An upload that comes twice at the same moment is counted once, on one server and on two.

Another aggregator counted such an upload twice: both connections looked before either wrote.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking
from tests.end_to_end.serving import start
from tests.end_to_end.test_kill_minus_nine import REGISTRY

SPEC = registry.parse(REGISTRY).metrics["theme"].spec
ROUNDS = 40
CONNECTIONS = 2


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").fresh_schema()
    return tmp_path / "store.db"


def test_an_upload_sent_twice_at_the_same_moment_is_counted_once(target, tmp_path):
    """On one server, and then on two of the same store, each of which gets one of the two."""
    today = epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        write, read, admin = (
            create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "read", "admin")
        )
    with contextlib.ExitStack() as stack:
        urls = []
        for servers in range(1, CONNECTIONS + 1):
            server = start(target, output=tmp_path / f"{servers}.log")
            stack.callback(server.kill)
            urls.append(server.url)
            statuses = both_send(write, urls * (CONNECTIONS // servers), today)
            assert set(statuses) == {204}
            assert len(statuses) == ROUNDS * CONNECTIONS
            outcomes = dict.fromkeys(("accepted", "duplicate"), 0)
            for url in urls:
                answer = ask(f"{url}/v1/status", admin)["since_start"]
                for what in outcomes:
                    outcomes[what] += answer[what]
            sent = servers * ROUNDS
            assert outcomes == {"accepted": sent, "duplicate": sent}
            server.show()
            for url in urls:
                assert ask(f"{url}/v1/metrics/theme/estimate", read)["head"]["reports"] == sent


def both_send(token, urls, today):
    """The statuses of all rounds: in each, every connection sends the same bytes at once."""
    bodies = []
    for _ in range(ROUNDS):
        part = wire.Part(SPEC.digest, today, b"\x01")
        bodies.append(wire.encode(wire.Upload(secrets.token_bytes(16), (part,))))
    meeting = threading.Barrier(len(urls))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}

    def send(url):
        statuses = []
        with asking.client(base_url=url, headers=headers) as client:
            for body in bodies:
                meeting.wait(asking.PATIENCE_SECONDS)
                statuses.append(client.post("/v1/reports", content=body).status_code)
        return statuses

    with ThreadPoolExecutor(len(urls)) as pool:
        return [status for statuses in pool.map(send, urls) for status in statuses]


def ask(url, token):
    return asking.get(url, headers={"Authorization": f"Bearer {token}"}).json()
