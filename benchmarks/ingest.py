"""Durable ingest over HTTP beside an empty Flask endpoint, on the same server in the same run.

Both are loaded by wrk with the same uploads, every one with its own id: 64 connections, one core
for the server and the other for wrk. Prints one JSON object. Needs wrk (Debian package wrk).
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from flask import Flask

from deniable_aggregator import Settings, Store
from deniable_aggregator.keys import create
from deniable_aggregator.serving import DEFAULT_HOST, DEFAULT_THREADS, serve, server
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 64
ROUNDS = 3
SERVER_CORE, LOAD_CORE = 0, 1
START_SECONDS = 10.0
MARK = b"<the upload's id"

REGISTRY = """
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
epsilon = 1.0
"""

SCRIPT = """
local head, tail = %(head)s, %(tail)s
local names = 0
function setup(thread)
    names = names + 1
    thread:set("name", names)
end
function init(args)
    local random = io.open("/dev/urandom", "rb")
    run = random:read(8)
    random:close()
    count = 0
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/msgpack"
    wrk.headers["Authorization"] = "Bearer %(token)s"
end
function request()
    count = count + 1
    local n = count
    local own = string.char(name %% 256, 0, 0, 0, n %% 256, math.floor(n / 256) %% 256,
        math.floor(n / 65536) %% 256, math.floor(n / 16777216) %% 256)
    return wrk.format(nil, nil, nil, head .. run .. own .. tail)
end
function done(summary, latency, requests)
    local errors = summary.errors
    local form = '\\n{"requests": %%d, "seconds": %%.6f, "p50_ms": %%.3f, "p99_ms": %%.3f, '
        .. '"not_2xx": %%d, "socket_errors": %%d}\\n'
    io.write(string.format(form,
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
        latency:percentile(99) / 1e3, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout))
end
"""


def empty_app() -> Flask:
    """The least that a Flask application can do with an upload."""
    app = Flask("empty", static_folder=None)
    app.add_url_rule("/v1/reports", view_func=lambda: ("", 204), methods=["POST"])
    return app


@contextmanager
def served(kind: str, folder: Path, threads: int) -> Iterator[str]:
    """One of the two servers, on its core and a free port."""
    with closing(socket.socket()) as probe:
        probe.bind((DEFAULT_HOST, 0))
        port = probe.getsockname()[1]
    command = ["taskset", "-c", str(SERVER_CORE), sys.executable, __file__, "--serve", kind]
    command += ["--folder", str(folder), "--port", str(port), "--threads", str(threads)]
    process = subprocess.Popen(command)
    url = f"http://{DEFAULT_HOST}:{port}"
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()


def load(url: str, script: Path, seconds: int) -> dict[str, Any]:
    """One round of wrk."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t", "1", "-c", str(CONNECTIONS)]
    command += ["-d", f"{seconds}s", "--latency", "-s", str(script), f"{url}/v1/reports"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    figures["requests_per_second"] = figures["requests"] / figures["seconds"]
    return figures


def prepare(folder: Path) -> Path:
    """A store with a metric and a key, and the script that uploads reports of that metric."""
    metric = registry.parse(REGISTRY).metrics["theme"]
    today = epoch_at(time.time())
    with closing(Store(folder / "store.db")) as store:
        store.metrics.register([metric], today)
        token = create(store, scope="write", application="benchmark", label="", today=today)
    part = wire.Part(metric.spec.digest, today, b"\x01")
    head, tail = wire.encode(wire.Upload(MARK, (part,))).split(MARK)
    script = folder / "upload.lua"
    script.write_text(SCRIPT % {"head": _lua(head), "tail": _lua(tail), "token": token})
    return script


def _lua(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'


def measure(seconds: int, threads: int) -> dict[str, Any]:
    """Rounds of both, in turn; medians over the rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = prepare(folder)
        rounds: dict[str, list[dict[str, Any]]] = {"empty": [], "durable": []}
        with served("empty", folder, threads) as empty, served("durable", folder, threads) as real:
            for url in (empty, real):
                load(url, script, 1)
            for _ in range(ROUNDS):
                rounds["empty"].append(load(empty, script, seconds))
                rounds["durable"].append(load(real, script, seconds))
    answer: dict[str, Any] = {"benchmark": "ingest", "connections": CONNECTIONS}
    answer["threads"] = threads
    for kind, results in rounds.items():
        for figure in ("requests_per_second", "p50_ms", "p99_ms"):
            median = statistics.median(result[figure] for result in results)
            answer[f"{kind}_{figure}"] = round(median, 2)
        answer[f"{kind}_failed"] = sum(r["not_2xx"] + r["socket_errors"] for r in results)
    ratio = answer["durable_requests_per_second"] / answer["empty_requests_per_second"]
    return {**answer, "ratio": round(ratio, 3)}


def main() -> None:
    """Prints the figures, or serves one of the two applications."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3, help="of one round of wrk")
    parser.add_argument("--threads", type=int, default=DEFAULT_THREADS, help="of the server")
    parser.add_argument("--serve", choices=["empty", "durable"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve == "empty":
        running = server(DEFAULT_HOST, given.port, given.threads)
        running.serve(target_loader=empty_app, wrap_loader=False)
    elif given.serve == "durable":
        store = given.folder / "store.db"
        serve(store=store, settings=Settings(), port=given.port, threads=given.threads)
    else:
        print(json.dumps(measure(given.seconds, given.threads), indent=4))


if __name__ == "__main__":
    main()
