"""The real server, as ``deniable serve`` starts it, and its clock."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx
import msgspec

from demo.population import REGISTRY
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.discoveries import Discovery
from deniable_shared import wire
from deniable_shared.periods import SECONDS_PER_EPOCH
from field.clocked_server import FileClock

if TYPE_CHECKING:
    from pathlib import Path

    from demo.fleet import Batch

HOST: Final = "127.0.0.1"
APPLICATION: Final = "flightdeck"
READ: Final = "read"
ADMIN: Final = "admin"
RELEASE_KEY: Final = "release build"
PARTNER_KEY: Final = "partner build"
"""Labels of the two write keys."""

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 60.0
ASK_AGAIN_SECONDS: Final = 0.2
ATTEMPTS: Final = 10
_NO_TABLE: Final = ("--estimate-periods", "")
_ENDING: Final = ("--end-with", str(os.getpid()))


class Server:
    """``deniable serve`` on a free port of 127.0.0.1, with a fresh store and keys.

    First its clock is moved from day to day, then it is started again with the system's.

    Args:
        directory: the folder for the store and the server's output.
        day: the first, in days since 1970-01-01.

    Attributes:
        endpoint: the server's base URL.
        store: the store's SQLite file.
        keys: tokens of the keys `READ`, `ADMIN`, `RELEASE_KEY` and `PARTNER_KEY`.
        pid: the server's process id.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, day: int) -> None:
        self.store = directory / "deniable.db"
        with socket.socket() as free:
            free.bind((HOST, 0))
            self._port = free.getsockname()[1]
        self.endpoint = f"http://{HOST}:{self._port}"
        self._output = directory / "server.txt"
        clock = directory / "clock"
        self._clock = FileClock(clock)
        self._day = -1
        self._move_clock(day)
        self._http = httpx.Client(base_url=self.endpoint, timeout=TIMEOUT_SECONDS)
        # A process of its own would read the system's clock.
        options = ("--fold-seconds", "1", "--question-processes", "0", *_NO_TABLE, *_ENDING)
        self._start("field.clocked_server", str(clock), "serve", *options)
        try:
            self.keys = {ADMIN: self._first_key()}
            self.keys[READ] = self._key("read", "analyst")
            self.keys |= {label: self._key("write", label) for label in (RELEASE_KEY, PARTNER_KEY)}
            self.administer("POST", "/v1/metrics", content=REGISTRY.read_bytes())
        except BaseException:
            self.stop()
            raise

    def read_the_systems_clock(self, *, keep: bool) -> None:
        """Starts the server again, as anybody would start it.

        Args:
            keep: whether it goes on when this process has ended.
        """
        self._end()
        self._start("deniable_aggregator", "serve", *(() if keep else _ENDING))

    def administer(self, method: str, path: str, **content: Any) -> Any:
        """What the server answers to an administrator.

        Raises:
            httpx.HTTPStatusError: if it refuses.
        """
        headers = {"Authorization": f"Bearer {self.keys[ADMIN]}"}
        answer = self._http.request(method, path, headers=headers, **content)
        answer.raise_for_status()
        return answer.json()

    def send(self, batch: Batch) -> None:
        """Sends an upload until it is accepted; a retry sends the same bytes and counts once.

        Raises:
            RuntimeError: if it is not accepted.
        """
        self._move_clock(batch.day)
        token = self.keys[batch.key]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
        for attempt in range(ATTEMPTS):
            try:
                answer = self._http.post("/v1/reports", content=batch.body, headers=headers)
            except httpx.TransportError:
                time.sleep(0.1 * 2**attempt)
                continue
            if answer.status_code == httpx.codes.NO_CONTENT:
                return
            if answer.status_code not in (429, 503):
                raise RuntimeError(f"the aggregator answered {answer.status_code}: {answer.text}")
            time.sleep(float(answer.headers.get("Retry-After", 1)))
        raise RuntimeError(f"the aggregator did not accept a batch in {ATTEMPTS} attempts")

    def write_estimates(self) -> None:
        """Waits until the table of estimates, which the first page shows, is written."""
        _run("store", "estimates", "--store", str(self.store))

    def stop(self) -> None:
        """Ends the process and waits for it."""
        self._http.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def estimate(self, metric: str, candidates: list[str] | None, without_key: str = "") -> Answer:
        """The estimate of a metric, as an analyst gets it over HTTP.

        Args:
            metric: its name.
            candidates: the values to look for; None for those that it lists.
            without_key: the label of a write key whose reports are left out; "" for none.
        """
        answer = self._http.request(
            "GET" if candidates is None else "POST",
            f"/v1/metrics/{metric}/estimate",
            params={"without_key": without_key} if without_key else None,
            json=None if candidates is None else {"candidates": candidates},
            headers={"Authorization": f"Bearer {self.keys[READ]}"},
        )
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=Answer)

    def discover(self, metric: str) -> Answer:
        """What is found of a metric's strings, as `deniable discover` asks: the run is awaited.

        Raises:
            RuntimeError: if the run fails, with its reason.
        """
        url = f"/v1/metrics/{metric}/discoveries"
        headers = {"Authorization": f"Bearer {self.keys[READ]}"}
        asked = partial(self._http.request, headers=headers)
        answer = asked("POST", url, json={})
        while True:
            answer.raise_for_status()
            discovery = msgspec.json.decode(answer.content, type=Discovery)
            if discovery.result is not None:
                return discovery.result
            if discovery.state == "failed":
                raise RuntimeError(f"nothing was discovered: {discovery.failure}")
            time.sleep(ASK_AGAIN_SECONDS)
            answer = asked("GET", f"{url}/{discovery.id}")

    def _move_clock(self, day: int) -> None:
        if day != self._day:
            self._clock.set((day + 0.5) * SECONDS_PER_EPOCH)
            self._day = day

    def _start(self, module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", module, *arguments]
        command += ["--store", str(self.store), "--port", str(self._port)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the demo
            )
        self.pid = self._process.pid
        try:
            self._await()
        except BaseException:
            self.stop()
            raise

    def _await(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self._http.get("/healthz").is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self._output.read_text()}")

    def _first_key(self) -> str:
        return _run("keys", "create", "--store", str(self.store), "--scope", ADMIN,
                    "--application", APPLICATION).strip()  # fmt: skip

    def _key(self, scope: str, label: str) -> str:
        token: str = self.administer("POST", "/v1/keys", json={"scope": scope, "label": label})[
            "token"
        ]
        return token


def _run(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "deniable_aggregator", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"deniable {' '.join(arguments)} failed:\n{result.stderr}")
    return result.stdout
