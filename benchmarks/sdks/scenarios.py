"""The scenarios: how a program that uses an SDK ends, and which of its events arrive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.sdks.collector import Tally, collecting

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM: Final = Path(__file__).with_name("program.py")
EVENTS: Final = 20
RESUME_SECONDS: Final = 17.0
"""How long the next run lasts at most; it ends earlier if everything has arrived."""


@dataclass(frozen=True)
class Scenario:
    """A way for a program to end.

    Attributes:
        name: its name in the table.
        action: the action of `benchmarks.sdks.program`.
        state: the server's state while the program runs, see `collecting`.
        timed: whether the time that the program takes to end is measured.
        later: how many more events the next run records.
    """

    name: str
    action: str
    state: str
    timed: bool = True
    later: int = 0

    @property
    def waiting(self) -> bool:
        """Whether the program mostly waits for the server."""
        return self.state in {"refusing", "hanging"}


DELIVERIES: Final = (
    Scenario("normal exit", "leave", "up"),
    Scenario("slow server", "leave", "slow"),
    Scenario("refusing server", "leave", "refusing"),
    Scenario("hanging server", "leave", "hanging"),
    Scenario("SIGTERM after the call", "terminate", "up", timed=False),
    Scenario("os._exit after the call", "abort", "up", timed=False),
    Scenario("outage, then restart", "leave", "refusing", later=EVENTS),
    Scenario("fork", "fork", "up", timed=False),
)


@dataclass(frozen=True)
class Delivery:
    """How many events of one program arrived.

    Attributes:
        sent: how many were recorded, including those of the next run.
        before: how many had arrived when the program had ended.
        finally_: how many had arrived after one more run.
        duplicates: how many arrived more than once.
        seconds: from the last call to the end of the process; None if it was not measured.
        killed: whether the process had to be killed, so that `seconds` is only the time limit.
        note: what else went wrong.
    """

    sent: int
    before: int
    finally_: int
    duplicates: int
    seconds: float | None
    killed: bool
    note: str


class Embedding:
    """One program that uses an SDK, in one scenario.

    Args:
        sdk: the SDK's name.
        python: the interpreter of its environment.
        scenario: how the program ends.
    """

    def __init__(self, sdk: str, python: Path, scenario: Scenario) -> None:
        self.sdk = sdk
        self.scenario = scenario
        self._python = python
        self._folder = tempfile.TemporaryDirectory(prefix="deniable-bench-")
        self._tally = Tally()
        self._before = 0
        self._seconds: float | None = None
        self._killed = False
        self._note = ""

    def run(self, limit_seconds: float) -> None:
        """Runs the program; kills it after the time limit."""
        scenario, folder = self.scenario, self._folder.name
        with collecting(self.sdk, scenario.state, self._tally) as endpoint:
            run = Run(self.sdk, self._python, scenario.action, endpoint, folder, EVENTS)
            ended = run.wait(limit_seconds)
            self._before = self._tally.wait_and_count()
            run.stop()
        found = run.said()
        if "recorded_at" not in found:
            self._note = run.trouble()
            return
        self._killed = ended is None
        if found.get("hung"):
            self._note = "the child hangs"
        elif self._killed and not scenario.timed:
            self._note = "killed"
        if scenario.timed:
            end = run.started_at + limit_seconds if ended is None else ended
            self._seconds = end - found["recorded_at"]

    def resume(self) -> Delivery:
        """Runs the program once more, if the first run left a file or more is to be recorded."""
        scenario, folder, tally = self.scenario, self._folder.name, self._tally
        sent = EVENTS + scenario.later
        kept = any(path.is_file() for path in Path(folder).rglob("*"))
        if kept or scenario.later:
            with collecting(self.sdk, "up", tally) as endpoint:
                run = Run(self.sdk, self._python, "resume", endpoint, folder, scenario.later)
                deadline = time.monotonic() + RESUME_SECONDS * kept
                while len(tally.events) < sent and time.monotonic() < deadline:
                    time.sleep(0.05)
                run.end()
                run.wait(RESUME_SECONDS)
                tally.wait_and_count()
                run.stop()
        self._folder.cleanup()
        count = len(tally.events)
        duplicates = sum(tally.events.values()) - count
        return Delivery(
            sent, self._before, count, duplicates, self._seconds, self._killed, self._note
        )


def observe(
    sdk: str, python: Path, action: str, state: str, count: int, seconds: float = 60.0
) -> Mapping[str, Any]:
    """Runs an action that measures itself, and what it says."""
    with (
        tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder,
        collecting(sdk, state, Tally()) as endpoint,
    ):
        run = Run(sdk, python, action, endpoint, folder, count)
        run.wait(seconds)
        run.stop()
        return run.said() or {"error": run.trouble()}


class Run:
    """One process with an SDK inside, in a group of its own, with a folder for all it may keep."""

    def __init__(
        self, sdk: str, python: Path, action: str, endpoint: str, folder: str, count: int
    ) -> None:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "TMPDIR": folder}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  read after the process
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.started_at = time.monotonic()
        self._process = subprocess.Popen(
            [str(python), str(PROGRAM), sdk, action, endpoint, folder, str(count)],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._errors,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    def end(self) -> None:
        """Tells a program that waits for it that it may end."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self, seconds: float) -> float | None:
        """When the process ended, or None if it did not."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            return time.monotonic()
        return None

    def stop(self) -> None:
        """Ends what is left of the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def said(self) -> dict[str, Any]:
        """The last thing the program said, or nothing."""
        self._output.seek(0)
        lines = [line for line in self._output.read().splitlines() if line.startswith(b"{")]
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return found

    def trouble(self) -> str:
        """The last line of its error output."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "said nothing"
