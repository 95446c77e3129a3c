"""Devices, a relay and an aggregator in processes of their own: counted once, without traces."""

from __future__ import annotations

import random
import re
import time
from collections import Counter

import pytest

import deniable
from deniable import RelayTransport
from deniable_shared import wire
from deniable_shared.periods import SECONDS_PER_EPOCH
from deniable_shared.sealing import CONTENT_TYPE, SEALED_PATH
from tests.end_to_end import asking
from tests.end_to_end.asking import PATIENCE_SECONDS
from tests.end_to_end.relaying import MONDAY, Device, Site
from tests.end_to_end.test_proxies import nginx, proxy
from tests.repetitions import full_or_small
from tests.waiting import wait_until

CLIENTS = 100
KILLS = full_or_small(200, 5)
DEVICES = 8
LONGEST_LIFE_SECONDS = 0.6
RETRY_DAYS = 20 / SECONDS_PER_EPOCH


@pytest.fixture
def site(tmp_path):
    """Makes one."""
    made = []

    def make(*options):
        made.append(Site(tmp_path, *options))
        return made[0]

    yield make
    for each in made:
        each.kill()


@pytest.mark.service
def test_a_week_of_sealed_reports_is_counted_after_its_close(site):
    running = site("--batch", "50", "--metrics-port", "0")
    acknowledged = flood(running, 320)
    assert acknowledged.total() == 320
    assert running.totals().waiting == 320
    assert asking.get(f"{running.relay.url}/v1/batches").json() == {"batches": []}
    wait_until(lambda: "relaying on" in running.relay.output.read_text())
    running.set_day(MONDAY + 7.01)
    wait_until(lambda: running.totals().forwarded["stored"] == 320)
    totals = running.totals()
    assert (totals.waiting, totals.forwarding, totals.dropped) == (0, 0, {})
    ((batch,),) = (asking.get(f"{running.relay.url}/v1/batches").json()["batches"],)
    assert batch == {"day": "2024-10-14", "size": 320, "dropped": 0}
    assert running.relay.stop() == 0
    assert running.aggregator.stop() == 0
    assert running.counted() == [acknowledged[item] for item in range(3)]


@pytest.mark.service
@pytest.mark.slow
def test_a_hundred_real_clients_behind_nginx_are_counted_after_the_week_and_never_sent_directly(
    site, tmp_path
):
    running = site("--batch", "50")
    before = {name: tmp_path / f"nginx-{name}" for name in ("relay", "aggregator")}
    for folder in before.values():
        folder.mkdir()
    with (
        proxy(nginx, before["aggregator"], running.aggregator.port) as (address, _),
        proxied(before["relay"], running.relay.port) as (url, context),
    ):
        running.address = address
        running.environment = {"SSL_CERT_FILE": str(before["aggregator"] / "authority.pem")}
        running.relay.stop()
        running.start_relay()
        registry = running.registry_of(f"{url}/flightdeck")
        authority = before["relay"] / "authority.pem"
        transport = RelayTransport(registry.relay, running.write, ca_file=authority)
        clients = [
            deniable.Client(
                registry,
                transport=transport,
                directory=tmp_path / f"device{number}",
                consent=True,
                background=False,
                clock=running.clock,
            )
            for number in range(CLIENTS)
        ]
        outcomes = Counter(
            client.record("theme", ("light", "dark", "system")[number % 3])
            for number, client in enumerate(clients)
        )
        assert outcomes == {"recorded": CLIENTS}
        assert sum(client.flush().sent for client in clients) == 0  # the week is not over
        running.set_day(MONDAY + 9)
        batches = f"{url}/flightdeck/v1/batches"
        wait_until(lambda: asking.get(batches, verify=context).json()["batches"])
        results = [client.flush() for client in clients]
        assert [result.problem for result in results if result.problem] == []
        assert sum(result.sent for result in results) == CLIENTS
        for client in clients:
            client.close()
        sizes = asking.get(batches, verify=context).json()["batches"]
        assert [each["size"] for each in sizes] == [0]
        assert asking.get(f"{url}/flightdeck/readyz", verify=context).status_code == 404
        assert running.totals().waiting == CLIENTS
        running.set_day(MONDAY + 14)
        wait_until(lambda: running.totals().forwarded["stored"] == CLIENTS)
        assert running.relay.stop() == running.aggregator.stop() == 0
    assert sum(running.counted()) == CLIENTS


@pytest.mark.service
def test_what_a_relay_keeps_and_says_has_no_report_no_address_and_no_time(site):
    running = site("--batch", "10")
    uploads = [running.upload(item % 3) for item in range(60)]
    # Documentation's addresses, in every header that a careless proxy may add.
    told = {
        "X-Forwarded-For": "203.0.113.77",
        "X-Real-IP": "203.0.113.77",
        "Forwarded": "for=203.0.113.77",
        "User-Agent": "Flightdeck/7 (device 4711)",
        "Authorization": f"Bearer {running.write}",
        "Cookie": "device=4711",
    }
    with asking.client(base_url=running.relay.url) as device:
        for number, upload in enumerate(uploads):
            body = running.sealer.seal(upload) if number % 2 else b"junk" * number
            headers = {**told, "Content-Type": CONTENT_TYPE}
            answer = device.post(f"{SEALED_PATH}?device=4711", content=body, headers=headers)
            assert answer.status_code == (204 if number % 2 else 400)
    running.aggregator.kill()
    running.set_day(MONDAY + 7.01)  # closes; the aggregator is away
    wait_until(lambda: running.totals().forwarding == 30)
    running.relay.stop()
    kept = b"".join(path.read_bytes() for path in running.folder.glob("relay.db*"))
    said = running.relay.output.read_bytes()
    for trace in (b"203.0.113.77", b"Flightdeck", b"4711", running.write.encode(), b"127.0.0.1:6"):
        assert trace not in kept + said
    for upload in uploads:
        opened = wire.decode(upload)
        assert opened.id not in kept
        assert opened.parts[0].digest not in kept
    # Two lines of the server, and those of a close and of an aggregator that is away.
    assert not re.search(rb"\d\d:\d\d|2024|20\d\d-\d\d|\d{10}", said)
    assert len(said.splitlines()) < 12, said.decode()


@pytest.mark.service
def test_a_relay_says_what_it_takes_and_what_not(site):
    running = site("--max-bytes", str(1 << 20))
    sealed = running.sealer.seal(running.upload(0))
    other = bytes([1]) + bytes(8) + sealed[9:]
    with asking.client(base_url=running.relay.url) as device:

        def send(body, kind=CONTENT_TYPE):
            answer = device.post(SEALED_PATH, content=body, headers={"Content-Type": kind})
            return answer.status_code, answer.json()["code"] if answer.content else ""

        assert send(sealed) == (204, "")
        assert send(sealed) == (204, "")
        assert send(sealed[:-1]) == (400, "malformed_upload")
        assert send(b"") == (400, "malformed_upload")
        assert send(b"\x02" + sealed[1:]) == (400, "malformed_upload")
        assert send(other) == (409, "unknown_relay_key")
        assert send(sealed, wire.CONTENT_TYPE) == (415, "unsupported_media_type")
        assert send(bytes(100_000)) == (413, "upload_too_large")
        assert device.get(SEALED_PATH).headers["Allow"] == "POST"
        assert device.post("/v1/batches").status_code == 405
        assert device.get("/v1/reports").json()["code"] == "not_found"
        assert device.get("/v1/remote").status_code == 404
        assert device.get("/healthz").json() == {"status": "ok"}
        assert set(device.get("/readyz").json()["checks"].values()) == {"ok"}
        assert running.totals().accepted == 1
        # A file as large as it may be.
        wait_until(lambda: send(running.sealer.seal(running.upload(*bytes(16_000))))[0] == 507)
        assert send(running.sealer.seal(running.upload(0))) == (507, "storage_full")
        assert device.get("/readyz").status_code == 503


@pytest.mark.service
@pytest.mark.slow
def test_whatever_is_killed_each_acknowledged_report_is_counted_or_known_to_wait(site):
    running = site("--every", "day", "--batch", "20")
    devices = [Device(running, pause=0.01) for _ in range(DEVICES)]
    for device in devices:
        device.start()
    chance = random.Random(4)
    killed = Counter()
    try:
        for _ in range(KILLS):
            running.pass_days(chance.choice([0, 0.3, 1]))
            time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
            which = chance.choice(["relay", "aggregator", "both"])
            killed[which] += 1
            if which != "aggregator":
                running.relay.kill()
            if which != "relay":
                running.aggregator.kill()
            if which != "aggregator":
                running.start_relay()
            if which != "relay":
                time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
                running.start_aggregator()
        for device in devices:
            device.stop(PATIENCE_SECONDS)

        def all_are_forwarded():
            running.pass_days(RETRY_DAYS)  # a part that was refused waits by this clock
            return running.totals().forwarding == 0

        for _ in range(3):
            running.pass_days(1)
            wait_until(all_are_forwarded)
    finally:
        for device in devices:
            device.stopping.set()
        running.kill()
    acknowledged = sum(device.acknowledged.total() for device in devices)
    totals, counted = running.totals(), sum(running.counted())
    known = totals.waiting + totals.forwarding + sum(totals.dropped.values())
    assert acknowledged == counted + known
    assert counted == totals.forwarded["stored"] + totals.forwarded["duplicate"]
    assert all(device.repeats for device in devices)


def proxied(folder, upstream):
    """The published nginx before a relay: its URL, and what verifies it."""

    def relay_nginx(folder, port, upstream, pem):
        return nginx(folder, port, upstream, pem, file="relay.nginx.conf")

    return proxy(relay_nginx, folder, upstream, program="nginx")


def flood(running, count):
    """Reports of many devices at a time; returns what was acknowledged."""
    devices = [Device(running, count // DEVICES) for _ in range(DEVICES)]
    for device in devices:
        device.start()
    for device in devices:
        device.join()
    return sum((device.acknowledged for device in devices), Counter())
