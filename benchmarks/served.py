"""Servers on one core, wrk on another, and what the system knows about them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from flask import Flask
from granian.constants import Interfaces

from deniable_aggregator import Settings, Store
from deniable_aggregator.asking.credentials import Token
from deniable_aggregator.doors.relay.serving import serve_relay
from deniable_aggregator.doors.relay.settings import RelaySettings
from deniable_aggregator.doors.server.granian_adapter import granian_server
from deniable_aggregator.doors.server.runner import serve
from deniable_aggregator.doors.server.supervision import end_with_parent
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from deniable_shared.sealing import (
    CONTENT_TYPE,
    SEALED_PATH,
    X25519,
    PublicKey,
    envelope_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
SERVER_CORE, LOAD_CORE = 0, 1
START_SECONDS = 120.0
PAUSE_SECONDS = 0.01
APPLICATION = "benchmark"
MARK = b"<the upload's id"
RELAY_KEY = PublicKey(X25519, bytes(range(32)))
TICKS = os.sysconf("SC_CLK_TCK")

REGISTRY = """
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0
mechanism = { name = "grr" }
"""
SPEC = registry.parse(REGISTRY).metrics["theme"].spec

SCRIPT = """
local head, tail = %(head)s, %(tail)s
local names = 0
local threads = {}
accepted, refused, other = 0, 0, 0
function setup(thread)
    names = names + 1
    thread:set("name", names)
    table.insert(threads, thread)
end
function init(args)
    local random = io.open("/dev/urandom", "rb")
    run = random:read(8)
    random:close()
    count = 0
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "%(kind)s"
    wrk.headers["Authorization"] = "Bearer %(token)s"
    wrk.path = "%(path)s"
    local seed = 0
    for i = 1, 4 do seed = seed * 256 + run:byte(i) end
    math.randomseed(seed)
end
-- A tag is a hash of an id, so it begins with any bytes.
local function tag(own)
    return string.char(math.random(0, 255), math.random(0, 255), math.random(0, 255)) ..
        run:sub(4) .. own
end
function request()
    count = count + 1
    local n = count
    local own = string.char(name %% 256, 0, 0, 0, n %% 256, math.floor(n / 256) %% 256,
        math.floor(n / 65536) %% 256, math.floor(n / 16777216) %% 256)
    return wrk.format(nil, nil, nil, head .. %(id)s .. tail)
end
if %(statuses)s then
    function response(status)
        if status == 204 then accepted = accepted + 1
        elseif status == 429 then refused = refused + 1
        else other = other + 1 end
    end
end
function done(summary, latency, requests)
    local errors = summary.errors
    local sums = {accepted = 0, refused = 0, other = 0}
    for _, thread in ipairs(threads) do
        for what in pairs(sums) do sums[what] = sums[what] + thread:get(what) end
    end
    local form = '\\n{"requests": %%d, "seconds": %%.6f, "p50_ms": %%.3f, "p99_ms": %%.3f, '
        .. '"not_2xx": %%d, "socket_errors": %%d, "accepted": %%d, "refused": %%d, "other": %%d}\\n'
    io.write(string.format(form,
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
        latency:percentile(99) / 1e3, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout,
        sums.accepted, sums.refused, sums.other))
end
"""


@dataclass(frozen=True)
class Tokens:
    """Keys of the benchmark's application."""

    write: str
    batch: str
    read: str
    admin: str


@dataclass(frozen=True)
class Served:
    """A running server.

    Attributes:
        url: where it listens.
        process: its main process.
    """

    url: str
    process: subprocess.Popen[bytes]

    def worker(self) -> int:
        """The process that does the work."""
        return _children(self.process.pid)[0]

    def cpu_seconds(self) -> float:
        """What the worker has used of its processor, in user and system time."""
        return _cpu_seconds(self.worker())

    def question_cpu_seconds(self) -> float:
        """The same of the processes that answer questions."""
        return sum(map(_cpu_seconds, self.question_processes()))

    def question_processes(self) -> list[int]:
        """The processes that answer questions, and others that the worker has started."""
        return _children(self.worker())

    def memory_mib(self, what: str = "VmRSS") -> float:
        """Memory of the worker: VmRSS for now, VmHWM for the most so far."""
        for line in Path(f"/proc/{self.worker()}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(what)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in tasks for one in (task / "children").read_text().split()]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def empty_app() -> Flask:
    """The least that a Flask application can do with an upload."""
    app = Flask("empty", static_folder=None)
    app.add_url_rule("/v1/reports", view_func=lambda: ("", 204), methods=["POST"])
    return app


@contextmanager
def served(store: str, *, core: int | None = SERVER_CORE, **settings: Any) -> Iterator[Served]:
    """A server of a store, or of the empty application if there is none.

    Args:
        store: of the server; empty for the empty application.
        core: the only one that it may use; None for all.
        settings: further ones; `relay` names the file of a relay that is served instead.
    """
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    given = json.dumps(
        {"store": store, "port": port, "drain_seconds": 0.0, "read_rate_limit": "", **settings}
    )
    command = [sys.executable, "-m", "benchmarks.served", given]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    process = subprocess.Popen(command)
    url = f"http://{HOST}:{port}"
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        else:
            raise TimeoutError(url)
        yield Served(url, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def prepare(store: str) -> Tokens:
    """Registers the metric in a store, and makes keys."""
    today = epoch_at(time.time())
    with closing(Store(store)) as opened:
        opened.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        write, batch, read, admin = (
            create_key(opened, scope=scope, application=APPLICATION, label="", today=today)
            for scope in ("write", "batch", "read", "admin")
        )
    return Tokens(write, batch, read, admin)


def await_counting(server: Served, tokens: Tokens) -> None:
    """Waits until no report waits, of a server that shows every report as it comes."""
    headers = {"Authorization": f"Bearer {tokens.admin}"}
    while httpx.get(f"{server.url}/v1/status", headers=headers, timeout=60).json()["inbox"]["rows"]:
        time.sleep(PAUSE_SECONDS)


def body(payload: bytes, upload_id: bytes = MARK) -> bytes:
    """An upload of today's reports."""
    part = wire.Part(SPEC.digest, epoch_at(time.time()), payload)
    return wire.encode(wire.Upload(upload_id, (part,)))


def script(folder: Path, token: str, payload: bytes, *, name: str, statuses: bool = False) -> Path:
    """A script for wrk: uploads of the same reports, each with an id of its own.

    Args:
        folder: where to write it.
        token: a write key.
        payload: the reports.
        name: of the store that the key is for.
        statuses: whether wrk counts accepted and refused, which costs it some speed.
    """
    path = folder / f"{name}-{len(payload)}-{statuses}.lua"
    given = {"token": token, "statuses": str(statuses).lower(), "id": "run .. own"}
    given |= {"path": "/v1/reports", "kind": wire.CONTENT_TYPE}
    return _written(path, body(payload), given)


def sealed_script(folder: Path) -> Path:
    """A script for wrk: what looks like envelopes of one report, each with a tag of its own."""
    around = bytes([1]) + RELAY_KEY.id
    envelope = around + MARK + bytes(min(envelope_bytes(X25519)) - len(around + MARK))
    given = {"token": "", "statuses": "false", "id": "tag(own)"}
    given |= {"path": SEALED_PATH, "kind": CONTENT_TYPE}
    return _written(folder / "sealed.lua", envelope, given)


def _written(path: Path, request: bytes, given: dict[str, str]) -> Path:
    head, tail = map(_lua, request.split(MARK))
    path.write_text(SCRIPT % {**given, "head": head, "tail": tail})
    return path


def _lua(data: bytes) -> str:
    return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'


def load(url: str, upload: Path, *, seconds: int, connections: int) -> dict[str, Any]:
    """One round of wrk."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t", "1", "-c", str(connections)]
    command += ["-d", f"{seconds}s", "--latency", "-s", str(upload), f"{url}/v1/reports"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    figures["requests_per_second"] = figures["requests"] / figures["seconds"]
    return figures


def run() -> None:
    """Serves: the process that `served` starts."""
    end_with_parent(os.getppid(), signal.SIGTERM)
    given = json.loads(sys.argv[1])
    held = given.pop("relay", "")
    settings = Settings(**given)
    if held:
        nowhere, token = "http://127.0.0.1:9", Token("none")
        keys = (RELAY_KEY,)
        serve_relay(
            RelaySettings(Path(held), nowhere, token, keys, "week", 1_000, 1 << 40, settings)
        )
    elif settings.store:
        serve(settings)
    else:
        plain = granian_server(settings, Interfaces.WSGI)
        plain.serve(target_loader=empty_app, wrap_loader=False)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        run()
