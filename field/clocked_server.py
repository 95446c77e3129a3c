"""The real server with a clock that is moved from day to day, and a store and keys of its own.

``python -m field.clocked_server CLOCK serve --store STORE`` runs the server of ``deniable serve``,
which otherwise takes its clock from the system, and with ``relay`` in place of ``serve`` a relay.
`ClockedServer` starts it so, or as anybody would.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from deniable_shared import wire
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.randomizing import Upload

HOST: Final = "127.0.0.1"
READ: Final = "read"
ADMIN: Final = "admin"
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
TIMEOUT_SECONDS: Final = 300.0
ASK_AGAIN_SECONDS: Final = 0.1
RETRIES: Final = 100
COMMAND: Final = [sys.executable, "-m", "deniable_aggregator"]
ENDING: Final = ("--end-with", str(os.getpid()))
_NOON: Final = 0.5
_SECONDS: Final = struct.Struct("<d")


class FileClock:
    """Seconds since 1970, as a file has them; every process that maps the file sees a change.

    Args:
        path: the file; created if it is absent.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_SECONDS.size))
        file = os.open(path, os.O_RDWR)
        self._memory = mmap.mmap(file, _SECONDS.size)
        os.close(file)

    def __call__(self) -> float:
        """Seconds since 1970."""
        seconds: float = _SECONDS.unpack(self._memory)[0]
        return seconds

    def set(self, seconds: float) -> None:
        """Moves the clock."""
        self._memory[:] = _SECONDS.pack(seconds)


class ClockedServer:
    """``deniable serve`` on a free port of 127.0.0.1, with keys for every build and for analysts.

    Args:
        directory: the folder for the store and the server's output.
        deployment: the calendar.
        options: further ones of the command.

    Attributes:
        endpoint: the server's base URL.
        store: the store's SQLite file.
        clock: what the server takes for the time.
        keys: tokens of the batch keys, by name; and of `READ` and `ADMIN`.
        key_ids: the ids of the batch keys, by name.
        pid: the server's process id.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, deployment: Deployment, *options: str) -> None:
        self.deployment = deployment
        self.store = directory / "deniable.db"
        self.clock = FileClock(directory / "clock")
        self.set_day(0)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self._port = free.getsockname()[1]
        self.endpoint = f"http://{HOST}:{self._port}"
        self._output = directory / "server.txt"
        self._http = httpx.Client(base_url=self.endpoint, timeout=TIMEOUT_SECONDS)
        # A process of its own for questions would read the system's clock.
        always = ("--fold-seconds", "1", "--question-processes", "0", *ENDING)
        self.start("field.clocked_server", str(directory / "clock"), "serve", *always, *options)
        try:
            self.keys: dict[str, str] = {}
            self.key_ids: dict[str, str] = {}
            store = ("--store", str(self.store), "--application", deployment.application)
            self.keys[ADMIN] = self.command("keys", "create", *store, "--scope", ADMIN).strip()
            for label in (READ, *deployment.keys):
                scope = READ if label == READ else "batch"
                made = self.administer("POST", "/v1/keys", json={"scope": scope, "label": label})
                self.keys[label], self.key_ids[label] = made["token"], made["key"]["id"]
        except BaseException:
            self.stop()
            raise

    def start(self, module: str, *arguments: str) -> None:
        """Starts a process that serves the store, and waits until it answers.

        Args:
            module: what is run.
            arguments: of it.

        Raises:
            RuntimeError: if it does not start, with what it printed.
        """
        command = [sys.executable, "-m", module, *arguments]
        command += ["--store", str(self.store), "--port", str(self._port)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the parent
            )
        self.pid = self._process.pid
        try:
            self._await()
        except BaseException:
            self.stop()
            raise

    def end(self) -> None:
        """Ends the process and waits for it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ends the process for good."""
        self._http.close()
        self.end()

    def set_day(self, day: int) -> None:
        """Makes it noon of a day."""
        self.clock.set((self.deployment.epoch(day) + _NOON) * SECONDS_PER_EPOCH)

    def count_everything(self) -> None:
        """Waits until no report waits."""
        while self.administer("GET", "/v1/status")["inbox"]["rows"]:
            time.sleep(ASK_AGAIN_SECONDS)

    def register(self, version: int) -> None:
        """Registers what a version of the application ships."""
        text = self.deployment.registries[version - 1]
        self.administer("POST", "/v1/metrics", content=text.encode())

    def administer(self, method: str, path: str, **options: Any) -> Any:
        """What the server answers to an administrator.

        Raises:
            RuntimeError: if it refuses.
        """
        headers = {"Authorization": f"Bearer {self.keys[ADMIN]}"}
        answer = self._http.request(method, path, headers=headers, **options)
        if not answer.is_success:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        return answer.json()

    def ask(self, path: str, parameters: Any = None, body: Any = None) -> httpx.Response:
        """What the server answers to an analyst.

        Args:
            path: of the question.
            parameters: of its query.
            body: to send as JSON; None for a GET.
        """
        return self._http.request(
            "GET" if body is None else "POST",
            path,
            params=dict(parameters or {}),
            json=body,
            headers={"Authorization": f"Bearer {self.keys[READ]}"},
        )

    def send(self, upload: Upload) -> None:
        """Sends an upload until it is accepted; a retry has the same bytes and counts once.

        Raises:
            RuntimeError: if it is refused.
        """
        headers = {
            "Authorization": f"Bearer {self.keys[upload.key]}",
            "Content-Type": wire.CONTENT_TYPE,
        }
        for _ in range(RETRIES):
            answer = self._http.post("/v1/reports", content=upload.body, headers=headers)
            if answer.status_code == httpx.codes.NO_CONTENT:
                return
            if answer.status_code not in (429, 503):
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))
        raise RuntimeError(f"an upload was answered {answer.status_code}: {answer.text}")

    def discover(self, metric: str, parameters: Any = None) -> Any:
        """What is found of a metric's strings, as JSON, once the run has ended.

        Raises:
            RuntimeError: if it is refused, or fails.
        """
        path = f"/v1/metrics/{metric}/discoveries"
        answer = self.ask(path, parameters, {})
        while answer.is_success and answer.json()["state"] in ("waiting", "running"):
            time.sleep(ASK_AGAIN_SECONDS)
            answer = self.ask(f"{path}/{answer.json()['id']}")
        if not answer.is_success or "result" not in answer.json():
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        return answer.json()["result"]

    def command(self, *arguments: str, key: str = "") -> str:
        """What ``deniable ARGUMENTS`` prints.

        Raises:
            RuntimeError: if it fails.
        """
        variables = {
            "DENIABLE_SERVER": self.endpoint,
            "DENIABLE_TOKEN": self.keys[key] if key else "",
            "COLUMNS": "160",
        }
        result = subprocess.run(
            [*COMMAND, *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise RuntimeError(result.stderr.strip())
        return result.stdout

    def _await(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self._http.get("/healthz", timeout=1).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self._output.read_text()}")


def run(arguments: list[str]) -> None:
    """Runs the script ``deniable`` with the clock of a file.

    Args:
        arguments: the file, and the words after the name of the script.
    """
    from deniable_shared.commands.entry import main

    made: Any
    if arguments[1] == "relay":
        from deniable_aggregator.doors.relay.serving import RelayApplication

        made = RelayApplication.__init__
    else:
        from deniable_aggregator.doors.app import create_app

        made = create_app
    clock = FileClock(Path(arguments[0]))
    # The server's worker is a fork of this process, and so begins with this clock.
    made.__kwdefaults__.update(clock=clock, monotonic=clock)
    main(arguments[1:])


if __name__ == "__main__":
    run(sys.argv[1:])
