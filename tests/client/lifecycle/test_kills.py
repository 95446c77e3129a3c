"""Kills at random moments: nothing that was recorded is lost, and nothing is damaged."""

from __future__ import annotations

import random
import signal
import subprocess
import time

import pytest

from deniable._storage.directory import DamageError
from tests.client.programs import secret_of, stored
from tests.repetitions import full_or_small

KILLS = full_or_small(40, 8)
LONGEST_START_SECONDS = 0.4
"""Every other kill comes within this time of the start, possibly before the interpreter runs."""

LONGEST_LIFE_SECONDS = 0.1
"""The other kills come within this time of the first report."""

RECORD_AND_UPLOAD = """
client.close()
client = deniable.Client(
    registry, endpoint=endpoint, key="k", directory=directory, consent=True, clock=clock,
    upload_delay_seconds=0,
)
while True:
    clock.now += 86400
    for name, value in (("theme", "dark"), ("late", True)):
        if client.record(name, value) == "recorded":
            os.write(1, b".")
    time.sleep(0.001)
"""
DELIVER = """
while client.flush(timeout_seconds=30).pending:
    pass
say(client.status().dropped, client.status().last_error)
"""


@pytest.mark.slow
def test_kills_at_any_moment_lose_nothing_and_damage_nothing(command, run, collector, directory):
    acknowledged = debits = 0
    for number in range(KILLS):
        process = subprocess.Popen(
            # The clock continues from where the last process was killed.
            command(f"clock.now += {debits + 1} * 86400" + RECORD_AND_UPLOAD, collector.endpoint),
            stdout=subprocess.PIPE,
        )
        with process:
            first = process.stdout.read(1) if number % 2 else b""
            longest = LONGEST_LIFE_SECONDS if number % 2 else LONGEST_START_SECONDS
            time.sleep(random.uniform(0.0, longest))
            process.send_signal(signal.SIGKILL)
            acknowledged += len(first + process.stdout.read())
        if (directory / "journal").exists() or (directory / "journal.new").exists():
            try:
                _, debits = stored(directory)
            except DamageError:
                assert not acknowledged  # killed while the journal of a new device was made
    ((dropped, trouble),) = run(f"clock.now += {debits + 1} * 86400" + DELIVER, collector.endpoint)
    assert (dropped, trouble) == ({}, None)
    bodies = set(collector.bodies)
    # A kill after the answer and before it is written down causes a duplicate, with equal bytes.
    assert len(bodies) == len(set(collector.ids()))
    assert acknowledged <= len(bodies) <= debits
    assert acknowledged >= KILLS // 2


OPT_OUT_AND_IN = """
while True:
    clock.now += 86400
    if client.record("theme", "dark") == "recorded":
        os.write(1, b".")
    client.consent = False
    client.consent = True
"""
GO_ON = """
outcome = client.record("theme", "dark")
say(outcome, client.status().last_error, client.status().pending)
"""


@pytest.mark.slow
def test_kills_while_the_user_opts_out_leave_a_device_that_works(
    command,
    run,
    directory,
):
    debits, secrets = 0, set()
    for _ in range(KILLS // 2):
        process = subprocess.Popen(
            command(f"clock.now += {2 * debits + 2} * 86400" + OPT_OUT_AND_IN),
            stdout=subprocess.PIPE,
        )
        with process:
            process.stdout.read(1)
            time.sleep(random.uniform(0.0, LONGEST_START_SECONDS))
            process.send_signal(signal.SIGKILL)
        _, debits = stored(directory)
        ((outcome, trouble, pending),) = run(f"clock.now += {2 * debits + 2} * 86400" + GO_ON)
        assert outcome == "recorded"
        # Its uploads may have been tried by now, where nobody listens; nothing else is wrong.
        assert trouble is None or trouble.startswith("connection_refused:")
        assert pending >= 1
        secrets.add(secret_of(directory))
        assert {len(secret) for secret in secrets} == {32}
    assert (
        len(secrets) >= KILLS // 8
    )  # otherwise hardly any run has opted out, and the test is worthless
