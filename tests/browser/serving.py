"""The real server over a deployment, with a clock that stands still."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from field.clocked_server import FileClock
from tests.browser.deployment import TODAY
from tests.end_to_end.serving import START_SECONDS, answers
from tests.ports import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
SECONDS_PER_DAY: Final = 86_400


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """The address of a server for the length of a block."""
    clock, port = store.with_name("clock"), free_port()
    FileClock(clock).set((TODAY + 0.5) * SECONDS_PER_DAY)
    command = [sys.executable, "-m", "field.clocked_server", str(clock), "serve"]
    command += ["--store", str(store), "--port", str(port), "--end-with", str(os.getpid())]
    # Processes of their own would read the system's clock.
    command += ["--question-processes", "0", "--estimate-periods", "", "--read-rate-limit", ""]
    command += ["--share-links", "on"]
    output = store.with_suffix(".log")
    with output.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"http://{HOST}:{port}"):
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.02)
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()
