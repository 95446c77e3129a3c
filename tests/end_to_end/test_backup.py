"""A disk is lost: the backup that was made under load is served, and devices send again.

What the backup holds is recognised, what it does not hold is counted once. An upload that was
acknowledged after the backup, and that no device still has, is lost.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time

import httpx
import pytest
from click.testing import CliRunner

from deniable import Client
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.command_line import deniable
from tests.end_to_end import asking
from tests.end_to_end.serving import start
from tests.end_to_end.test_kill_minus_nine import REGISTRY
from tests.ports import free_port
from tests.waiting import wait_until

METRICS = registry.parse(REGISTRY)
THEME = METRICS.metrics["theme"].spec
SENDERS = 2
BEFORE = 50
"""So many uploads at least are acknowledged before the backup begins."""

MEANWHILE = 30
"""And so many between its end and the loss of the disk."""


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request, tmp_path):
    """Makes places for stores: a backup of PostgreSQL goes into a database of its own."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").fresh_database
    return lambda: tmp_path / f"{secrets.token_hex(4)}.db"


class Sender(threading.Thread):
    """Uploads without pause until the server is gone.

    Attributes:
        sent: all bodies, in order, the last perhaps unanswered.
        acknowledged: how many of them were.
    """

    def __init__(self, url, headers, today):
        super().__init__(daemon=True)
        self.url, self.headers, self.today = url, headers, today
        self.sent = []
        self.acknowledged = 0

    def run(self):
        with (
            contextlib.suppress(httpx.TransportError),
            asking.client(base_url=self.url, headers=self.headers) as client,
        ):
            while True:
                part = wire.Part(THEME.digest, self.today, bytes([len(self.sent) % 3]))
                self.sent.append(wire.encode(wire.Upload(secrets.token_bytes(16), (part,))))
                answer = client.post("/v1/reports", content=self.sent[-1])
                assert answer.status_code == 204
                self.acknowledged += 1


def run(*arguments):
    done = CliRunner().invoke(deniable, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output


def send_all(url, headers, bodies):
    """How many uploads a server stores, and how many it knows; from the counts of its process."""
    counts = f"{url}/v1/status"
    before = asking.get(counts, headers=headers["admin"]).json()["since_start"]
    with asking.client(base_url=url, headers=headers["write"]) as client:
        assert {client.post("/v1/reports", content=body).status_code for body in bodies} == {204}
    after = asking.get(counts, headers=headers["admin"]).json()["since_start"]
    return tuple(after[name] - before[name] for name in ("accepted", "duplicate"))


def reports(server, headers, metric="theme"):
    server.show()
    answer = asking.get(
        f"{server.url}/v1/metrics/{metric}/estimate", headers=headers["read"]
    ).json()
    return answer["head"]["reports"]


def test_devices_send_again_to_a_restored_backup_and_every_upload_counts_once(fresh, tmp_path):
    target, restored, file = fresh(), fresh(), tmp_path / "backup"
    today, port = epoch_at(time.time()), free_port()
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(METRICS.metrics.values(), today)
        tokens = {
            scope: create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "read", "admin")
        }
    headers = {scope: {"Authorization": f"Bearer {token}"} for scope, token in tokens.items()}
    headers["write"]["Content-Type"] = wire.CONTENT_TYPE
    output = tmp_path / "server.log"
    server = start(target, "--fold-seconds", "0.05", port=port, output=output)
    device = Client(
        METRICS,
        endpoint=server.url,
        key=tokens["write"],
        directory=tmp_path / "device",
        consent=True,
        background=False,
    )
    senders = [Sender(server.url, headers["write"], today) for _ in range(SENDERS)]

    def acknowledged():
        return sum(sender.acknowledged for sender in senders)

    try:
        for sender in senders:
            sender.start()
        wait_until(lambda: acknowledged() >= BEFORE)
        held = [body for each in senders for body in each.sent[: each.acknowledged]]
        run("store", "backup", "--store", target, file)
        begun = [len(sender.sent) for sender in senders]
        so_far = acknowledged()
        wait_until(lambda: acknowledged() >= so_far + MEANWHILE)
    finally:
        server.kill()
    for sender in senders:
        sender.join()
    # The device has recorded, and finds no server.
    device.record("late", True)
    assert device.flush().pending == 1
    bodies = [body for sender in senders for body in sender.sent]
    missing = [
        body for sender, number in zip(senders, begun, strict=True) for body in sender.sent[number:]
    ]
    run("store", "restore", "--store", restored, file)
    server = start(restored, port=port, output=output)
    try:
        # Acknowledged before the backup began: there. Begun after it had ended: not there.
        assert len(held) <= reports(server, headers) <= len(bodies) - len(missing)
        assert send_all(server.url, headers, held) == (0, len(held))
        assert send_all(server.url, headers, missing) == (len(missing), 0)
        accepted, known = send_all(server.url, headers, bodies)
        assert accepted + known == len(bodies)
        assert known >= len(held) + len(missing)
        assert send_all(server.url, headers, bodies) == (0, len(bodies))
        assert reports(server, headers) == len(bodies)
        assert device.flush().sent == 1
        assert reports(server, headers, "late") == 1
    finally:
        server.kill()
        device.close()
