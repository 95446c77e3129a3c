"""Ingest over HTTP: durable uploads beside an empty Flask endpoint, relays, overload.

Everything runs on the same web server, one worker of granian, on one core; wrk and all else that
makes load is on the other. What is compared is measured in turn, in the same run. Prints one JSON
object. Needs wrk (Debian package wrk) and taskset; PostgreSQL and strace are left out where they
are not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from benchmarks.served import (
    LOAD_CORE,
    SERVER_CORE,
    Served,
    Tokens,
    await_counting,
    body,
    load,
    prepare,
    script,
    sealed_script,
    served,
)
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 64
RELAYS = 16
OVERLOAD = 5
ROUNDS = 3
ONE_REPORT = b"\x01"
BATCH = b"\x00\x01\x02\x01" * 16_320  # with its padding 64 KiB, and 65,280 reports
PROBES = 4
PROBE_SECONDS = 0.01
FSYNC_SECONDS = 2


@contextlib.contextmanager
def stores(folder: Path) -> Iterator[dict[str, str]]:
    """Where to store: an SQLite file, and a PostgreSQL server on the server's core if there is one.

    Args:
        folder: for the file.
    """
    found = {"sqlite": str(folder / "store.db")}
    try:
        from tests.postgresql import Postgresql, binaries
    except ImportError:
        yield found
        return
    if binaries() is None:
        yield found
        return
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {SERVER_CORE})
    try:
        database = Postgresql()
    finally:
        os.sched_setaffinity(0, mine)
    try:
        yield {**found, "postgresql": database.fresh_schema()}
    finally:
        database.remove()


def compared(urls: dict[str, Served], scripts: dict[str, Path], seconds: int) -> dict[str, Any]:
    """Rounds of all servers, in turn; medians over the rounds."""
    rounds: dict[str, list[dict[str, Any]]] = {kind: [] for kind in urls}
    for kind, server in urls.items():
        load(server.url, scripts[kind], seconds=1, connections=CONNECTIONS)
    for _ in range(ROUNDS):
        for kind, server in urls.items():
            before = server.cpu_seconds()
            found = load(server.url, scripts[kind], seconds=seconds, connections=CONNECTIONS)
            spent = server.cpu_seconds() - before
            found["worker_cpu_us"] = spent / found["requests"] * 1e6
            rounds[kind].append(found)
    answer: dict[str, Any] = {}
    for kind, results in rounds.items():
        for figure in ("requests_per_second", "p50_ms", "p99_ms", "worker_cpu_us"):
            median = statistics.median(result[figure] for result in results)
            answer[f"{kind}_{figure}"] = round(median, 2)
        answer[f"{kind}_failed"] = sum(r["not_2xx"] + r["socket_errors"] for r in results)
        answer[f"{kind}_memory_mib"] = round(urls[kind].memory_mib("VmHWM"))
    for kind in urls:
        other = "sqlite" if kind == "relay" else "empty"
        if kind != other:
            # Round by round, so that a busy moment of the machine meets both.
            shares = (
                own["requests_per_second"] / others["requests_per_second"]
                for own, others in zip(rounds[kind], rounds[other], strict=True)
            )
            answer[f"{kind}_over_{other}"] = round(statistics.median(shares), 3)
    return answer


def relayed(server: Served, tokens: Tokens, upload: Path, seconds: int) -> dict[str, Any]:
    """Batches of 64 KiB, until every report of them is in a tally."""
    before, start = counted(server, tokens), time.monotonic()
    found = load(server.url, upload, seconds=seconds, connections=RELAYS)
    after = counted(server, tokens)
    spent = time.monotonic() - start
    return {
        "reports_per_second": round((after - before) / spent),
        "batches_per_second": round(found["requests_per_second"]),
        "p50_ms": found["p50_ms"],
        "p99_ms": found["p99_ms"],
        "memory_mib": round(server.memory_mib("VmHWM")),
    }


def counted(server: Served, tokens: Tokens) -> int:
    """How many reports are in tallies, once none waits."""
    await_counting(server, tokens)
    headers = {"Authorization": f"Bearer {tokens.read}"}
    url = f"{server.url}/v1/metrics/theme/estimate"
    answer = httpx.get(url, headers=headers, timeout=60).json()
    return int(answer.get("head", {}).get("reports", 0))  # without reports it is a refusal


def overloaded(
    server: Served, key: str, upload: Path, payload: bytes, *, seconds: int, connections: int
) -> dict[str, Any]:
    """Many more connections than are needed to keep the server busy, and a few more clients beside.

    What the clients beside them wait for their accepted uploads is what a device would wait.
    """
    server_memory = server.memory_mib()
    waited: list[float] = []
    refused: list[float] = []
    stop = threading.Event()
    given = (server.url, key, payload, stop, waited, refused)
    probers = [threading.Thread(target=_probe, args=given) for _ in range(PROBES)]
    for prober in probers:
        prober.start()
    found = load(server.url, upload, seconds=seconds, connections=connections)
    stop.set()
    for prober in probers:
        prober.join()
    return {
        "connections": connections,
        "accepted_per_second": round(found["accepted"] / found["seconds"]),
        "refused_per_second": round(found["refused"] / found["seconds"]),
        "failed": found["other"] + found["socket_errors"],
        "accepted_probes": len(waited),
        "refused_probes": len(refused),
        "accepted_p50_ms": _percentile(waited, 50),
        "accepted_p99_ms": _percentile(waited, 99),
        "refused_p99_ms": _percentile(refused, 99),
        "memory_before_mib": round(server_memory),
        "memory_most_mib": round(server.memory_mib("VmHWM")),
    }


def _probe(
    url: str,
    token: str,
    payload: bytes,
    stop: threading.Event,
    waited: list[float],
    refused: list[float],
) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        while not stop.wait(PROBE_SECONDS):
            content = body(payload, secrets.token_bytes(wire.ID_BYTES))
            start = time.monotonic()
            status = client.post("/v1/reports", content=content).status_code
            (waited if status == 204 else refused).append(time.monotonic() - start)


def _percentile(values: list[float], percent: int) -> float | None:
    if len(values) < 2:
        return None
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1] * 1e3, 1)


def syncs(server: Served, upload: Path) -> dict[str, Any]:
    """How often the worker waits for the disk, as strace counts; empty where it is not installed.

    Of a PostgreSQL store the worker syncs nothing: the database does.
    """
    if shutil.which("strace") is None:
        return {}
    command = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-p", str(server.worker())]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    found = load(server.url, upload, seconds=FSYNC_SECONDS, connections=CONNECTIONS)
    tracer.send_signal(2)
    _, said = tracer.communicate()
    calls = sum(
        int(line.split()[3]) for line in said.splitlines() if line.rstrip().endswith("sync")
    )
    return {"syncs": calls, "uploads": found["requests"]}


def busy() -> float:
    """How many processes wanted a core over the last minute."""
    return round(os.getloadavg()[0], 2)


def measure(seconds: int) -> dict[str, Any]:
    """Everything; see the README for what is what."""
    os.sched_setaffinity(0, {LOAD_CORE})
    answer: dict[str, Any] = {"benchmark": "ingest", "connections": CONNECTIONS}
    answer["load_before"] = busy()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        targets = stack.enter_context(stores(folder))
        tokens = {kind: prepare(target) for kind, target in targets.items()}
        servers = {"empty": stack.enter_context(served(""))}
        for kind, target in targets.items():
            servers[kind] = stack.enter_context(served(target, batch_reports=1, fold_seconds=1.0))
        small = {
            kind: script(folder, tokens[kind].write, ONE_REPORT, name=kind) for kind in targets
        }
        held = stack.enter_context(served("", relay=str(folder / "relay.db")))
        scripts = {"empty": small["sqlite"], **small, "relay": sealed_script(folder)}
        answer |= compared({**servers, "relay": held}, scripts, seconds)
        for kind in targets:
            batches = script(folder, tokens[kind].batch, BATCH, name=kind)
            answer[f"{kind}_relay"] = relayed(servers[kind], tokens[kind], batches, seconds)
            answer[f"{kind}_syncs"] = syncs(servers[kind], small[kind])
            for what, payload, key in (
                ("overload", ONE_REPORT, tokens[kind].write),
                ("relay_overload", BATCH, tokens[kind].batch),
            ):
                counting = script(folder, key, payload, name=kind, statuses=True)
                answer[f"{kind}_{what}"] = overloaded(
                    servers[kind],
                    key,
                    counting,
                    payload,
                    seconds=seconds,
                    connections=CONNECTIONS * OVERLOAD,
                )
    answer["load_after"] = busy()
    return answer


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="of one round of wrk")
    print(json.dumps(measure(parser.parse_args().seconds), indent=4))


if __name__ == "__main__":
    main()
