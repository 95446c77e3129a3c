"""``deniable serve`` with its settings in a file, in the environment and on the command line."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking
from tests.end_to_end.serving import running
from tests.end_to_end.test_kill_minus_nine import METRICS
from tests.end_to_end.test_no_identifiers import keys
from tests.ports import HOST, free_port
from tests.waiting import wait_until


def send(server, token, epoch):
    part = wire.Part(METRICS["theme"].spec.digest, epoch, b"\x01")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
    body = wire.encode(wire.Upload(secrets.token_bytes(16), (part,)))
    return asking.post(f"{server.url}/v1/reports", content=body, headers=headers).status_code


def serve(*options, **environ):
    """A server that is expected not to start."""
    command = [sys.executable, "-m", "deniable_aggregator", "serve", *map(str, options)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=asking.PATIENCE_SECONDS,
        check=False,
        env={**os.environ, **environ},
    )


def test_the_server_does_what_its_file_says_and_options_come_first(tmp_path):
    store = tmp_path / "store.db"
    watched = free_port()
    file = tmp_path / "deniable.toml"
    file.write_text(
        f'store = "{tmp_path / "another.db"}"\nport = 1\naccept_days = 3\n'
        f'log_format = "json"\nmetrics_port = {watched}\n'
    )
    tokens = keys(store)
    today = epoch_at(time.time())
    with running(store, "--config", str(file)) as server:
        assert send(server, tokens["write"], today - 3) == 204
        assert send(server, tokens["write"], today - 4) == 410
        text = asking.get(f"http://{HOST}:{watched}/metrics").text
        assert 'outcome="epoch_closed"} 1.0' in text
        assert server.stop() == 0
    (line,) = server.output.read_text().splitlines()
    assert json.loads(line)["message"] == (
        f"serving {store} on {server.url} (open it in a browser to see its pages)"
    )
    assert not (tmp_path / "another.db").exists()


def test_what_is_wrong_anywhere_is_told_before_anything_is_opened(tmp_path):
    file = tmp_path / "deniable.toml"
    file.write_text("accept_dayz = 3\n")
    done = serve("--config", file, "--store", tmp_path / "store.db", DENIABLE_PORT="eighty")
    assert done.returncode == 1
    assert sorted(done.stderr.removeprefix("Error: ").splitlines()) == [
        f"accept_dayz is not a setting: did you mean accept_days? ({file})",
        "port must be an integer in [1, 65,535], got 'eighty' (DENIABLE_PORT)",
    ]
    assert not (tmp_path / "store.db").exists()


def test_a_port_of_prometheus_that_is_taken_is_told(tmp_path):
    with socket.create_server((HOST, 0)) as taken:
        number = taken.getsockname()[1]
        options = ("--store", tmp_path / "store.db", "--port", free_port())
        done = serve(*options, "--metrics-port", number)
    assert done.returncode == 1
    assert f"{HOST}:{number}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_tallies_are_deleted_when_their_time_is_over_and_the_audit_log_says_so(tmp_path):
    store = tmp_path / "store.db"
    tokens = keys(store)
    today = epoch_at(time.time())
    theme = tally_for(METRICS["theme"].spec)
    options = (
        "--batch-reports",
        "1",
        "--fold-seconds",
        "0.05",
        "--accept-days",
        "9",
        "--retention-days",
    )
    with running(store, *options, "9") as server:
        for age in range(10):
            assert send(server, tokens["write"], today - age) == 204
    options = (
        "--batch-reports",
        "1",
        "--fold-seconds",
        "0.05",
        "--accept-days",
        "2",
        "--retention-days",
    )
    with running(store, *options, "4"), contextlib.closing(Store(store)) as opened:

        def kept():
            return [each.epoch for each in opened.tallies.slices(theme, 0, today)]

        wait_until(lambda: kept() == list(range(today - 4, today + 1)))
        noted = [json.loads(each.details) for each in opened.audit.entries()]
    retained = [each["retain_days"] for each in noted if "retain_days" in each]
    assert retained == [9, 4]
