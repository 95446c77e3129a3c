"""The real server, started and set up with the commands that an operator would type."""

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

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION: Final = "flightdeck"
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 60.0
ASK_AGAIN_SECONDS: Final = 0.2


class Server:
    """``deniable serve`` on a free port of 127.0.0.1, with a fresh store and three keys.

    Args:
        directory: the folder for the store and the server's output.
        keep: whether it goes on when this process has ended.

    Attributes:
        endpoint: the server's base URL.
        store: the store's SQLite file.
        keys: tokens, by scope.
        pid: the server's process id.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, *, keep: bool = False) -> None:
        self.store = directory / "deniable.db"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{port}"
        self._output = directory / "server.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *_COMMAND,
                    *("serve", "--store", str(self.store), "--port", str(port)),
                    *(() if keep else ("--end-with", str(os.getpid()))),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the demo
            )
        self.pid = self._process.pid
        try:
            self._await()
            self.keys = {scope: self._key(scope) for scope in ("write", "read", "admin")}
            _run("metrics", "register", str(REGISTRY), "--server", self.endpoint,
                 token=self.keys["admin"])  # fmt: skip
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the process and waits for it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def estimate(self, metric: str, candidates: list[str] | None) -> Shares:
        """The estimate of a metric, over HTTP and with the read key, as an analyst gets it."""
        answer = httpx.request(
            "GET" if candidates is None else "POST",
            f"{self.endpoint}/v1/metrics/{metric}/estimate",
            json=None if candidates is None else {"candidates": candidates},
            headers={"Authorization": f"Bearer {self.keys['read']}"},
            timeout=TIMEOUT_SECONDS,
        )
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=Shares)

    def discover(self, metric: str) -> FoundStrings:
        """What is found of a metric's strings, as `deniable discover` asks: the run is awaited.

        Raises:
            RuntimeError: if the run fails, with its reason.
        """
        url = f"{self.endpoint}/v1/metrics/{metric}/discoveries"
        asked = partial(
            httpx.request,
            headers={"Authorization": f"Bearer {self.keys['read']}"},
            timeout=TIMEOUT_SECONDS,
        )
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

    def _await(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if httpx.get(f"{self.endpoint}/healthz", timeout=1).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self._output.read_text()}")

    def _key(self, scope: str) -> str:
        return _run("keys", "create", "--store", str(self.store), "--scope", scope,
                    "--application", APPLICATION).strip()  # fmt: skip


_COMMAND: Final = [sys.executable, "-m", "deniable_aggregator"]


def _run(*arguments: str, token: str = "") -> str:
    result = subprocess.run(
        [*_COMMAND, *arguments],
        env={**os.environ, "DENIABLE_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"deniable {' '.join(arguments)} failed:\n{result.stderr}")
    return result.stdout
