"""A real server on 127.0.0.1 and whoever uses it, with what is installed in this environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import chdir, redirect_stderr, redirect_stdout
from http.cookiejar import CookieJar
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_shared.commands.entry import main
from deniable_shared.periods import SECONDS_PER_EPOCH
from field.clocked_server import FileClock
from tests.matrix.device import VALUES
from tests.ports import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

REGISTRY = Path(__file__).with_name("registry.toml")
START_SECONDS = 120.0
OPTIONS = ("--accept-days", "2", "--archive-days", "60", "--fold-seconds", "0.2")
OPTIONS += ("--batch-reports", "1")  # answers are asked for at once
LISTS = {"emoji": "list:emoji", "airport": "airports.txt", "search_term": "terms.txt"}
"""What is looked for in strings; the files are in the folder."""


class Site:
    """A server with its store.

    Args:
        folder: where everything is.
        store: an SQLite file or the URL of a PostgreSQL database.
        day: where its clock stands, in days since 1970.
        devices: the Python whose client devices use.
    """

    def __init__(self, folder: Path, store: str, day: int, devices: str = sys.executable) -> None:
        self.folder, self.store, self._devices = folder, store, devices
        self._clock_file = folder / f"clock-{os.getpid()}"
        self._clock = FileClock(self._clock_file)
        self.move_to(day)
        self._process: subprocess.Popen[bytes] | None = None
        for name, metric in (("airports.txt", "airport"), ("terms.txt", "search_term")):
            lines = "".join(f"{value}\n" for value in VALUES[metric])
            (folder / name).write_text(lines, encoding="utf-8")

    @property
    def now(self) -> float:
        """Noon of the day, in seconds since 1970."""
        return (self._day + 0.5) * SECONDS_PER_EPOCH

    def move_to(self, day: int) -> None:
        """Sets the clock of the server, and of devices."""
        self._day = day
        self._clock.set(self.now)

    def run(self, *arguments: str, token: str | None = None) -> str:
        """What a command prints; in this process, which imports everything only once."""
        for name in [name for name in os.environ if name.startswith("DENIABLE_")]:
            del os.environ[name]
        os.environ |= {"DENIABLE_STORE": self.store, "COLUMNS": "100"}
        if token is not None:
            os.environ |= {"DENIABLE_SERVER": self.url, "DENIABLE_TOKEN": token}
        printed, said = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
        with chdir(self.folder), redirect_stdout(printed), redirect_stderr(said):
            try:
                main(arguments)
            except SystemExit as ended:
                status = ended.code
        output, errors = (_written(stream) for stream in (printed, said))
        assert status == 0, f"deniable {' '.join(arguments)}: {status}\n{errors}"
        assert "Traceback" not in errors, errors
        return output

    def key(self, scope: str) -> str:
        """A new key of the store."""
        return self.run("keys", "create", "--scope", scope, "--application", "flightdeck").strip()

    def start(self) -> None:
        """Starts the server and waits until it is ready."""
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        output = self.folder / "server.log"
        command = [sys.executable, "-m", "field.clocked_server", str(self._clock_file), "serve"]
        command += ["--store", self.store, "--port", str(port), "--end-with", str(os.getpid())]
        with output.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *OPTIONS], stdout=log, stderr=log, cwd=self.folder
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            assert self._process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except urllib.error.URLError:
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends the server as an operator does; it must end by itself, without an error."""
        if self._process is not None:
            self._process.terminate()
            status, self._process = self._process.wait(START_SECONDS), None
            log = (self.folder / "server.log").read_text()
            assert status == 0, log
            assert "Traceback" not in log, log

    def use_devices(self, act: str, key: str, devices: int, folder: Path) -> dict[str, int]:
        """Runs `tests.matrix.device` with the server's clock."""
        command = [self._devices, "-m", "tests.matrix.device", str(REGISTRY), str(folder)]
        command += [self.url, key, act, str(self.now), str(devices)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        totals: dict[str, int] = json.loads(done.stdout)
        return totals

    def get(self, path: str, token: str | None = None) -> tuple[int, bytes]:
        """Status and body of an answer over HTTP."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self._open(urllib.request.build_opener(), path, headers=headers)

    def pages(self, token: str, metrics: Sequence[str]) -> int:
        """Signs in and reads every page, without a browser; returns how many there were."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        entering = urllib.parse.urlencode({"token": token, "next": "/"}).encode()
        status, first = self._open(browser, "/sign-in", entering, {"Origin": self.url})
        assert status == 200, first.decode()
        linked = re.findall(r'href="(/[^"#?]*)"', first.decode())
        known = ["/health", "/plan", "/privacy", "/operations", "/annotations", "/lists"]
        paths = sorted({*linked, *known, *(f"/metric/{metric}" for metric in metrics)})
        for path in paths:
            status, body = self._open(browser, path)
            assert status == 200, f"{path}: {status}"
            page = body.decode("utf-8", "replace")
            assert "<title>" not in page or "flightdeck" in page, path
        return len(paths)

    def _open(
        self,
        opener: urllib.request.OpenerDirector,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        request = urllib.request.Request(f"{self.url}{path}", body, headers or {})
        try:
            with opener.open(request, timeout=START_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()


def _written(stream: TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, BytesIO)
    return stream.buffer.getvalue().decode()


def loads(text: str | bytes) -> Any:
    """JSON without what differs from run to run: when and by whom something was asked."""
    return json.loads(text, object_hook=_lasting)


def _lasting(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ("id", "started")}
