"""An archive that is killed for real."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from tests.aggregator.archiving.closed import archived, archiving, close_days, send
from tests.repetitions import full_or_small

pytestmark = [pytest.mark.slow, pytest.mark.one_store]

KILLS = full_or_small(21, 3)
LONGEST_SECONDS = 0.1
PROGRAM = """
import sys
from deniable_aggregator import Store
from deniable_aggregator.keeping.archive import Archiver
store = Store(sys.argv[1])
print("ready", flush=True)
print(Archiver(store, sys.argv[2]).run(), flush=True)
"""


def test_an_archive_that_is_killed_again_and_again_is_exact(target, tmp_path):
    chance = random.Random(1)
    folder = tmp_path / "archive"
    with archiving(target) as service:
        sent = send(service, 50, days=3)
        close_days(service)
        command = [sys.executable, "-c", PROGRAM, str(service.store.path), str(folder)]
        for _ in range(KILLS):
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout.readline() == b"ready\n"
                time.sleep(chance.uniform(0, LONGEST_SECONDS))
                process.send_signal(signal.SIGKILL)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert archived(folder) == sent
