"""Clients of a server, each kind in a process of its own: devices, importers, analysts, a flood."""

from __future__ import annotations

import http.client
import itertools
import json
import multiprocessing
import random
import secrets
import statistics
import threading
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from deniable_shared import wire
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection


Request = tuple[str, str, bytes | None, dict[str, str]]
OK: Final = ("200", "204")
TIMEOUT_SECONDS: Final = 60
LATE_DAYS: Final = 3
ASKED_WEEKS: Final = (1, 4)
ASKED_UNTIL_DAYS: Final = 7
KINDS_OF_QUESTIONS: Final = ("estimate?", "health?", "series?by=week&")


class Client(NamedTuple):
    """One kind of client.

    Attributes:
        kind: a name in the result.
        requests: what each of them does, as `REQUESTS` names it.
        token: of its key.
        payloads: of the metrics that it reports: digests, each with what one upload brings.
        metrics: the names of those that it asks about.
        connections: how many of them there are.
        pause: seconds between two requests of one.
    """

    kind: str
    requests: str
    token: str
    payloads: tuple[tuple[bytes, bytes], ...] = ()
    metrics: tuple[str, ...] = ()
    connections: int = 1
    pause: float = 0.0


class Answers(NamedTuple):
    """What clients of one kind were answered.

    Attributes:
        kind: theirs.
        seconds: for how long they went on.
        statuses: how many answers there were of each, with the code of what is refused; an error's
            name where there was none at all.
        latencies: seconds of each accepted request.
        sent_bytes: of accepted bodies.
    """

    kind: str
    seconds: float
    statuses: Counter[str]
    latencies: list[float]
    sent_bytes: int

    @property
    def refused(self) -> Counter[str]:
        """How many were not accepted, by what they were answered."""
        return Counter({what: each for what, each in self.statuses.items() if what not in OK})

    @property
    def accepted(self) -> int:
        """How many requests were accepted."""
        return len(self.latencies)

    def figures(self) -> dict[str, Any]:
        """For people and tables: rates, milliseconds, statuses."""
        latencies = self.latencies or [0.0]
        quantiles = statistics.quantiles(2 * latencies, n=100, method="inclusive")
        return {
            "per_second": round(self.accepted / self.seconds, 1),
            "mb_per_second": round(self.sent_bytes / self.seconds / 1e6, 3),
            "p50_ms": round(quantiles[49] * 1e3, 1),
            "p99_ms": round(quantiles[98] * 1e3, 1),
            "statuses": dict(sorted(self.statuses.items())),
        }


def run(url: str, clients: list[Client], seconds: float) -> dict[str, Answers]:
    """Lets clients of several kinds go on for so long at once."""
    fork = multiprocessing.get_context("fork")
    running = []
    for client in clients:
        ours, theirs = fork.Pipe()
        process = fork.Process(target=_process, args=(theirs, url, client, seconds), daemon=True)
        process.start()
        running.append((process, ours))
    found = []
    for process, pipe in running:
        found.append(Answers(*pipe.recv()))
        process.join()
    return {each.kind: each for each in found}


def _process(result: Connection, url: str, client: Client, seconds: float) -> None:
    lock = threading.Lock()
    statuses: Counter[str] = Counter()
    latencies: list[float] = []
    sizes: list[int] = []
    begin = time.monotonic()

    def go_on() -> None:
        requests = REQUESTS[client.requests](client)
        with closing(_connection(url)) as connection:
            while time.monotonic() < begin + seconds:
                request = next(requests)
                start = time.perf_counter()
                status = exchange(connection, request)
                spent = time.perf_counter() - start
                with lock:
                    statuses[status] += 1
                    if status in OK:
                        latencies.append(spent)
                        sizes.append(len(request[2] or b""))
                time.sleep(client.pause)

    threads = [threading.Thread(target=go_on) for _ in range(client.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.send((client.kind, time.monotonic() - begin, statuses, latencies, sum(sizes)))


def _connection(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)


def exchange(connection: http.client.HTTPConnection, request: Request) -> str:
    """The status of an answer, with the code of what is refused, or the name of an error."""
    try:
        connection.request(*request)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return type(error).__name__
    status = str(answer.status)
    return status if status in OK else f"{status} {json.loads(body)['code']}"


def _uploads(client: Client) -> Iterator[Request]:
    """Reports of a few days and of each metric in turn."""
    headers = {"Authorization": f"Bearer {client.token}", "Content-Type": wire.CONTENT_TYPE}
    for number in itertools.count():
        digest, payload = client.payloads[number % len(client.payloads)]
        day = epoch_at(time.time()) - number // len(client.payloads) % LATE_DAYS
        part = wire.Part(digest, day, payload)
        body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
        yield "POST", "/v1/reports", body, headers


def _questions(client: Client) -> Iterator[Request]:
    """Estimates, health and series of some weeks, until another day each time.

    They begin with a week, as days that were rolled up cannot be told apart.
    """
    drawn = random.Random(1)  # noqa: S311  which days are asked for is no secret
    headers = {"Authorization": f"Bearer {client.token}"}
    while True:
        today = datetime.now(UTC).date()
        monday = today - timedelta(days=today.weekday(), weeks=drawn.randint(*ASKED_WEEKS))
        until = today - timedelta(days=drawn.randrange(ASKED_UNTIL_DAYS))
        kind = drawn.choice(KINDS_OF_QUESTIONS)
        days = f"since={monday}&until={until}"
        yield "GET", f"/v1/metrics/{drawn.choice(client.metrics)}/{kind}{days}", None, headers


def _flood(client: Client) -> Iterator[Request]:
    """Made-up tokens, and bodies that are none, in turn."""
    scheme = {"Content-Type": wire.CONTENT_TYPE}
    while True:
        made_up = f"deniable_write_{secrets.token_hex(8)}_{secrets.token_urlsafe(32)}"
        yield "POST", "/v1/reports", b"", {**scheme, "Authorization": f"Bearer {made_up}"}
        body = secrets.token_bytes(1_024)
        yield "POST", "/v1/reports", body, {**scheme, "Authorization": f"Bearer {client.token}"}


REQUESTS: Final[dict[str, Callable[[Client], Iterator[Request]]]] = {
    "uploads": _uploads,
    "questions": _questions,
    "flood": _flood,
}
