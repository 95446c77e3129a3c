"""The real server, set up with the commands that an operator would type; and its clock."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import httpx
import msgspec

from demo.population import REGISTRY
from deniable_aggregator.answers.discoveries import Discovery, FoundStrings
from deniable_aggregator.answers.estimates import Shares
from deniable_shared import wire
from deniable_shared.periods import SECONDS_PER_EPOCH
from field.clocked_server import FileClock

if TYPE_CHECKING:
    from pathlib import Path

HOST: Final = "127.0.0.1"
APPLICATION: Final = "flightdeck"
FORGER: Final = "partner build"
"""The label of the write key that forged reports are sent with."""

PERIODS: Final = "week"
"""Estimates of days would take longer than everything else, and nothing here shows them."""

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 60.0
ASK_AGAIN_SECONDS: Final = 0.2
ATTEMPTS: Final = 10
_PERIODS: Final = ("--estimate-periods", PERIODS)
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
        keys: tokens, by scope; under `FORGER` that of a second write key.
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
        options = ("--fold-seconds", "1", "--question-processes", "0", "--estimate-periods", "")
        self._start("field.clocked_server", str(clock), "serve", *options, *_ENDING)
        try:
            self.keys = {scope: self._key(scope) for scope in ("write", "read", "admin")}
            self.keys[FORGER] = self._key("write", "--label", FORGER)
            _run("metrics", "register", str(REGISTRY), "--server", self.endpoint,
                 token=self.keys["admin"])  # fmt: skip
        except BaseException:
            self.stop()
            raise

    def read_the_systems_clock(self, *, keep: bool) -> None:
        """Starts the server again, as anybody would start it.

        Args:
            keep: whether it goes on when this process has ended.
        """
        self._end()
        self._start("deniable_aggregator", "serve", *_PERIODS, *(() if keep else _ENDING))

    def send(self, body: bytes, day: int, key: str = "write") -> None:
        """Sends an upload until it is accepted; a retry sends the same bytes and counts once.

        Args:
            body: the upload.
            day: on which it is sent.
            key: which of `keys` it is sent with.

        Raises:
            RuntimeError: if it is not accepted.
        """
        self._move_clock(day)
        headers = {"Authorization": f"Bearer {self.keys[key]}", "Content-Type": wire.CONTENT_TYPE}
        for attempt in range(ATTEMPTS):
            try:
                answer = self._http.post("/v1/reports", content=body, headers=headers)
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
        """Waits until the table of estimates, which the first page shows, has all weeks."""
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

    def estimate(self, metric: str, candidates: list[str] | None) -> Shares:
        """The estimate of a metric, as an analyst gets it over HTTP, without the forger's key."""
        answer = self._http.request(
            "GET" if candidates is None else "POST",
            f"/v1/metrics/{metric}/estimate",
            params={"without_key": FORGER},
            json=None if candidates is None else {"candidates": candidates},
            headers={"Authorization": f"Bearer {self.keys['read']}"},
        )
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=Shares)

    def discover(self, metric: str) -> FoundStrings:
        """What is found of a metric's strings, as `deniable discover` asks: the run is awaited.

        Raises:
            RuntimeError: if the run fails, with its reason.
        """
        url = f"/v1/metrics/{metric}/discoveries"
        headers = {"Authorization": f"Bearer {self.keys['read']}"}
        asked = partial(self._http.request, headers=headers)
        answer = asked("POST", url, json={})
        while True:
            answer.raise_for_status()
            discovery = msgspec.json.decode(answer.content, type=Discovery)
            if isinstance(discovery.result, FoundStrings):
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

    def _key(self, scope: str, *options: str) -> str:
        return _run("keys", "create", "--store", str(self.store), "--scope", scope,
                    "--application", APPLICATION, *options).strip()  # fmt: skip


def _run(*arguments: str, token: str = "") -> str:
    result = subprocess.run(
        [sys.executable, "-m", "deniable_aggregator", *arguments],
        env={**os.environ, "DENIABLE_TOKEN": token, "DENIABLE_ESTIMATE_PERIODS": PERIODS},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"deniable {' '.join(arguments)} failed:\n{result.stderr}")
    return result.stdout
