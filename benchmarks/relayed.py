"""Sealed batches of a relay beside uploads that devices send themselves, at one server.

``python -m benchmarks.relayed`` prints what an upload costs the server in processor time: sent by
itself over 24 connections, and sealed in parts of 1,000, with both suites; and how long uploads of
devices take while a relay brings part after part.
"""

from __future__ import annotations

import json
import secrets
import shutil
import statistics
import tempfile
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from benchmarks.served import APPLICATION, body, load, prepare, script, served
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_shared.periods import epoch_at
from deniable_shared.sealing import (
    HYBRID,
    MAX_ENVELOPES,
    PART_CONTENT_TYPE,
    RELAYED_PATH,
    X25519,
    Part,
    Sealer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.served import Served, Tokens
    from deniable_shared.sealing import PublicKey

ROUNDS: Final = 3
SECONDS: Final = 4
CONNECTIONS: Final = 24
PARTS: Final = 5
"""Of each suite in a round."""


def parts(key: PublicKey, tokens: Tokens, number: int) -> Iterator[bytes]:
    """Parts of one batch, each of uploads of its own."""
    sealer, batch = Sealer(key, tokens.write), secrets.token_bytes(16)
    for _ in range(number):
        envelopes = tuple(
            sealer.seal(body(b"\x01", secrets.token_bytes(16))) for _ in range(MAX_ENVELOPES)
        )
        yield Part(batch, number * MAX_ENVELOPES, "week", 1, envelopes).encode()


def bring(client: httpx.Client, relay: str, part: bytes) -> int:
    """Brings a part; returns how many uploads were stored."""
    headers = {"Authorization": f"Bearer {relay}", "Content-Type": PART_CONTENT_TYPE}
    answer = client.post(RELAYED_PATH, content=part, headers=headers, timeout=60)
    stored: int = answer.raise_for_status().json()["stored"]
    return stored


def cpu_of_parts(server: Served, relay: str, made: list[bytes]) -> tuple[float, float]:
    """Processor and wall time of an upload in these parts, in microseconds."""
    with httpx.Client(base_url=server.url) as client:
        cpu, start = server.cpu_seconds(), time.monotonic()
        stored = sum(bring(client, relay, part) for part in made)
        wall = time.monotonic() - start
        used = server.cpu_seconds() - cpu
    assert stored == len(made) * MAX_ENVELOPES
    return used / stored * 1e6, wall / stored * 1e6


def p99_beside(server: Served, relay: str, upload: Path, made: list[bytes]) -> dict[str, float]:
    """The 99th percentile of direct uploads while parts come, one after another."""
    stop, brought = threading.Event(), 0

    def go_on() -> None:
        nonlocal brought
        with httpx.Client(base_url=server.url) as client:
            while not stop.is_set():
                bring(client, relay, made[brought % len(made)])  # duplicates are opened, too
                brought += 1

    thread = threading.Thread(target=go_on)
    thread.start()
    found = load(server.url, upload, seconds=SECONDS, connections=CONNECTIONS)
    stop.set()
    thread.join()
    return {"p99_ms": found["p99_ms"], "p50_ms": found["p50_ms"], "parts": brought}


def measure() -> dict[str, Any]:
    """All figures; of processor times the median of rounds that follow each other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "store.db"
        tokens = prepare(str(store))
        with closing(Store(store)) as opened:
            today = epoch_at(time.time())
            relay = create_key(
                opened, scope="relay", application=APPLICATION, label="", today=today
            )
        keys = RelayKeys.beside(store)
        public = {
            suite: keys.create(suite, datetime.now(UTC).date()).public for suite in (X25519, HYBRID)
        }
        upload = script(folder, tokens.write, b"\x01", name="store")
        figures: dict[str, list[float]] = {"direct": []}
        with served(str(store), key_bytes_per_day=0) as server:
            alone: dict[str, Any] = {}
            for _ in range(ROUNDS):
                cpu = server.cpu_seconds()
                alone = load(server.url, upload, seconds=SECONDS, connections=CONNECTIONS)
                used = server.cpu_seconds() - cpu
                figures["direct"].append(used / alone["requests"] * 1e6)
                for suite, key in public.items():
                    cost, wall = cpu_of_parts(server, relay, list(parts(key, tokens, PARTS)))
                    figures.setdefault(suite.name, []).append(cost)
                    figures.setdefault(f"{suite.name}, wall", []).append(wall)
            beside = p99_beside(server, relay, upload, list(parts(public[X25519], tokens, PARTS)))
    medians = {name: statistics.median(found) for name, found in figures.items()}
    return {
        "worker_us_per_upload": medians,
        "over_direct": {
            suite.name: medians[suite.name] / medians["direct"] for suite in (X25519, HYBRID)
        },
        "direct_alone": {name: alone[name] for name in ("p50_ms", "p99_ms")},
        "direct_beside_parts": beside,
    }


if __name__ == "__main__":
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        raise SystemExit("needs wrk and taskset")
    print(json.dumps(measure(), indent=2))
