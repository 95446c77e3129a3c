"""What several servers of one store give: processor time of an upload, and what that allows.

`python -m benchmarks.scaling` has 1, 2 and 4 servers take uploads of one report at once, over one
SQLite file and over PostgreSQL, with 64 connections in all. On two cores the servers, the database
and the load generator compete, so uploads a second say little. Processor time of an upload, by
/proc, is what travels: a core of servers carries 1 / `server_us` uploads a second, a core of the
database 1 / `database_us`. SQLite has one writer at a time: `alone_us` is what an upload takes
while nobody else can write, in commits of 16, 64 and 256 uploads, so all servers of a file together
carry at most 1 / `alone_us`. Prints one JSON object; takes a minute. Needs wrk; PostgreSQL is left
out where it is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.served import HOST, SPEC, TICKS, Served, prepare, script, served
from deniable_aggregator import Store
from deniable_aggregator.keeping.store.inbox import Sender
from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgresql import Postgresql

CONNECTIONS: Final = 64
SERVERS: Final = (1, 2, 4)
ROUNDS: Final = 3
ONE_REPORT: Final = b"\x01"
TOGETHER: Final = (16, 64, 256)
ALONE_UPLOADS: Final = 25_600


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def database_seconds(database: Postgresql | None) -> float:
    """Processor time of all processes of PostgreSQL; connections are kept, so none is lost."""
    if database is None:
        return 0.0
    main = database._process.pid
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return sum(map(cpu_seconds, (main, *map(int, children))))


def figures(metrics_port: int) -> dict[str, float]:
    """What a server tells Prometheus."""
    text = httpx.get(f"http://{HOST}:{metrics_port}/metrics", timeout=60).text
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.labels
    }


def written_bytes(database: Postgresql | None, servers: list[Served]) -> int:
    """What was handed to the disk: by the servers, or into PostgreSQL's log."""
    if database is None:
        return sum(
            int(line.split()[1])
            for server in servers
            for line in Path(f"/proc/{server.worker()}/io").read_text().splitlines()
            if line.startswith("wchar")
        )
    with contextlib.closing(database.connect()) as connection:
        found = connection.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchone()
    assert found is not None
    return int(found[0])


def loaded(servers: list[Served], upload: Path, seconds: int) -> dict[str, float]:
    """One round of wrk for each server, at once."""
    share = str(CONNECTIONS // len(servers))
    runs = [
        subprocess.Popen(
            [
                *("wrk", "-t", "1", "-c", share, "-d", f"{seconds}s", "--latency"),
                *("-s", str(upload), f"{server.url}/v1/reports"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for server in servers
    ]
    found = [json.loads(run.communicate()[0].strip().splitlines()[-1]) for run in runs]
    assert not any(each["not_2xx"] or each["socket_errors"] for each in found), found
    return {
        "uploads": sum(each["requests"] for each in found),
        "rate": sum(each["requests"] / each["seconds"] for each in found),
        "p99_ms": max(each["p99_ms"] for each in found),
    }


def measure(
    store: str, database: Postgresql | None, number: int, upload: Path, seconds: int
) -> dict[str, Any]:
    """Rounds of so many servers of one store."""
    ports = [free_port() for _ in range(number)]
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(
                served(store, core=None, question_processes=0, metrics_port=port, fold_seconds=3600)
            )
            for port in ports
        ]
        rounds = []
        loaded(servers, upload, 1)
        for _ in range(ROUNDS):
            before = _snapshot(servers, ports, database)
            found = loaded(servers, upload, seconds)
            spent = {
                key: now - before[key] for key, now in _snapshot(servers, ports, database).items()
            }
            uploads = found["uploads"]
            rounds.append(
                {
                    "uploads_per_second": found["rate"],
                    "p99_ms": found["p99_ms"],
                    "server_us": spent["server"] / uploads * 1e6,
                    "database_us": spent["database"] / uploads * 1e6,
                    "uploads_per_commit": uploads / max(1.0, spent["commits"]),
                    "bytes": spent["bytes"] / uploads,
                }
            )
    return {key: round(statistics.median(each[key] for each in rounds), 1) for key in rounds[0]}


def _snapshot(
    servers: list[Served], ports: list[int], database: Postgresql | None
) -> dict[str, float]:
    told = [figures(port) for port in ports]
    return {
        "server": sum(server.cpu_seconds() for server in servers),
        "database": database_seconds(database),
        "commits": sum(each["deniable_commit_seconds_count"] for each in told),
        "bytes": written_bytes(database, servers),
    }


def alone(path: Path, together: int) -> dict[str, float]:
    """What an upload takes in a commit of so many, in microseconds.

    Returns:
        ``wall``, in which no other process can write, with the disk; and ``processor``.
    """
    prepare(str(path))
    sender = Sender("benchmark", "0" * 12)
    with contextlib.closing(Store(path)) as store:
        part = wire.Part(SPEC.digest, epoch_at(time.time()), ONE_REPORT)
        commits = [
            [wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)) for _ in range(together)]
            for _ in range(ALONE_UPLOADS // together)
        ]
        wall, processor = time.perf_counter(), time.process_time()
        for uploads in commits:
            store.inbox.append(uploads, [sender] * together)
        spent = {
            "wall": time.perf_counter() - wall,
            "processor": time.process_time() - processor,
        }
    return {key: round(value / ALONE_UPLOADS * 1e6, 1) for key, value in spent.items()}


@contextlib.contextmanager
def databases() -> Iterator[Postgresql | None]:
    """PostgreSQL, or None where it is not installed."""
    from tests.postgresql import Postgresql, binaries

    if binaries() is None:
        yield None
        return
    server = Postgresql()
    try:
        yield server
    finally:
        server.remove()


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="of one round of wrk")
    seconds = parser.parse_args().seconds
    found: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 2)}
    with tempfile.TemporaryDirectory() as name, databases() as database:
        folder = Path(name)
        found["alone_us"] = {each: alone(folder / f"alone{each}.db", each) for each in TOGETHER}
        for kind in ("sqlite", "postgresql") if database else ("sqlite",):
            for number in SERVERS:
                store = str(folder / f"{number}.db")
                if kind == "postgresql":
                    store = database.fresh_schema()
                upload = script(folder, prepare(store).write, ONE_REPORT, name=f"{kind}{number}")
                used = database if kind == "postgresql" else None
                found[f"{kind}_{number}"] = measure(store, used, number, upload, seconds)
    print(json.dumps(found, indent=4))


if __name__ == "__main__":
    main()
