"""The real server, with a store of its own and a clock that the trial moves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import httpx

from deniable_shared import wire
from field.clocked_server import FileClock
from field.deployment import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.relay import Upload

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
TIMEOUT_SECONDS: Final = 300.0
ASK_AGAIN_SECONDS: Final = 0.1
RETRIES: Final = 100
TABLE_SECONDS: Final = 60.0
SECONDS_PER_DAY: Final = 86_400
_COMMAND: Final = [sys.executable, "-m", "deniable_aggregator"]


class Server:
    """``deniable serve`` on a free port of 127.0.0.1, with keys for every build and for analysts.

    Args:
        directory: the folder for the store and the server's output.
        deployment: the calendar.

    Attributes:
        endpoint: the server's base URL.
        clock: what the server takes for the time.
        keys: tokens of the write keys, by name; and under ``read`` and ``admin``.
        key_ids: the ids of the write keys, by name.

    Raises:
        RuntimeError: if it does not start, with what it printed.
    """

    def __init__(self, directory: Path, deployment: Deployment) -> None:
        self._deployment = deployment
        self._store = directory / "deniable.db"
        self.clock = FileClock(directory / "clock")
        self.set_day(0)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{port}"
        self._output = directory / "server.txt"
        command = [sys.executable, "-m", "field.clocked_server", str(directory / "clock"), "serve"]
        options = ["--store", str(self._store), "--port", str(port), "--fold-seconds", "1"]
        options += ["--end-with", str(os.getpid())]
        # A process of its own would read the system's clock; and the trial asks a great deal.
        options += ["--question-processes", "0", "--read-rate-limit", ""]
        # Days are seven times as much work, and their numbers come from the same code.
        options += ["--estimate-periods", "week"]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, *options], stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the trial
            )  # fmt: skip
        self._http = httpx.Client(base_url=self.endpoint, timeout=TIMEOUT_SECONDS)
        try:
            self._await()
            self.keys, self.key_ids = {}, {}
            admin = self.command("keys", "create", "--store", str(self._store), "--scope", "admin",
                                 "--application", deployment.application)  # fmt: skip
            self.keys["admin"] = admin.strip()
            self.keys["read"] = self._create_key({"scope": "read"})["token"]
            for name in KEYS:
                made = self._create_key({"scope": "write", "label": name})
                self.keys[name], self.key_ids[name] = made["token"], made["key"]["id"]
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the process and waits for it."""
        self._http.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def set_day(self, day: int) -> None:
        """Makes it noon of a day."""
        self.clock.set((self._deployment.epoch(day) + 0.5) * SECONDS_PER_DAY)

    def register(self, version: int) -> None:
        """Registers what a version of the application ships."""
        text = self._deployment.registries[version - 1]
        self.administer("/v1/metrics", content=text.encode())

    def administer(self, path: str, **options: Any) -> Any:
        """What the server answers to a POST of an administrator.

        Raises:
            RuntimeError: if it refuses.
        """
        headers = {"Authorization": f"Bearer {self.keys['admin']}"}
        answer = self._http.post(path, headers=headers, **options)
        if not answer.is_success:
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        return answer.json()

    def ask(
        self, path: str, parameters: Mapping[str, str | Sequence[str]], body: Any
    ) -> httpx.Response:
        """What the server answers to an analyst.

        Args:
            path: of the question.
            parameters: of its query.
            body: to send as JSON; None for a GET.
        """
        return self._http.request(
            "GET" if body is None else "POST",
            path,
            params=dict(parameters),
            json=body,
            headers={"Authorization": f"Bearer {self.keys['read']}"},
        )

    def discover(
        self, metric: str, parameters: Mapping[str, str | Sequence[str]]
    ) -> dict[str, Any]:
        """What is found of a metric's strings, once the run has ended.

        Raises:
            RuntimeError: if it is refused, or fails.
        """
        path = f"/v1/metrics/{metric}/discoveries"
        answer = self.ask(path, parameters, {})
        while answer.is_success and answer.json()["state"] in ("waiting", "running"):
            time.sleep(ASK_AGAIN_SECONDS)
            answer = self.ask(f"{path}/{answer.json()['id']}", {}, None)
        if not answer.is_success or "result" not in answer.json():
            raise RuntimeError(f"{path} was answered {answer.status_code}: {answer.text}")
        found: dict[str, Any] = answer.json()["result"]
        return found

    def tables(self, metric: str, dates: Mapping[str, str]) -> dict[str, Any]:
        """A closed week's estimate: the answer, the same as CSV, and its rows of the table.

        Raises:
            RuntimeError: if one is refused, or the table does not get the week in time.
        """
        path = f"/v1/metrics/{metric}/estimate"
        query = {"metric": metric, "period": "week", **dates}
        deadline = time.monotonic() + TABLE_SECONDS
        while True:
            asked = [self.ask(path, dates, None), self.ask(f"{path}.csv", dates, None)]
            asked.append(self.ask("/v1/estimates", query, None))
            for answer in asked:
                if not answer.is_success:
                    raise RuntimeError(f"{answer.url} was answered {answer.status_code}")
            if rows := asked[2].json()["rows"]:
                return {"answer": asked[0].json(), "csv": asked[1].text, "table": rows}
            if time.monotonic() > deadline:
                raise RuntimeError(f"the table of estimates has no week of {dates['since']}")
            time.sleep(ASK_AGAIN_SECONDS)

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

    def count_everything(self) -> None:
        """Waits until no report waits in the inbox; a question counts what waits."""
        while waiting := [each["name"] for each in self._metrics() if each["pending_reports"]]:
            self.ask(f"/v1/metrics/{waiting[0]}/health", {}, None)

    def _metrics(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.ask("/v1/metrics", {}, None).json()["metrics"]
        return listed

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
            [*_COMMAND, *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise RuntimeError(result.stderr.strip())
        return result.stdout

    def _create_key(self, asked: dict[str, str]) -> Any:
        return self.administer("/v1/keys", json=asked)

    def _await(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if httpx.get(f"{self.endpoint}/healthz", timeout=1).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self._output.read_text()}")
