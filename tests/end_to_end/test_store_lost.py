"""What devices and operators meet while the store hangs, or is taken away beneath the server."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from tests.end_to_end import asking
from tests.end_to_end.serving import answers, running, start
from tests.end_to_end.test_served import body, counted, keys, send
from tests.ports import HOST, free_port
from tests.waiting import wait_until

QUEUE_SECONDS = 0.5
LONG_SECONDS = 30.0
"""The database hangs for as long as the test wants: who waits for it waits longer than this."""


def ready(server):
    return asking.get(f"{server.url}/readyz", timeout=LONG_SECONDS)


def test_nothing_is_acknowledged_into_a_store_that_was_deleted(tmp_path):
    path = tmp_path / "store.db"
    tokens = keys(path)
    with running(path, "--fold-seconds", "1000") as server:
        assert send(server, tokens["write"], body()).status_code == 204
        kept = {each: each.read_bytes() for each in tmp_path.glob("store.db*")}
        for each in kept:
            each.unlink()
        answer = send(server, tokens["write"], body())
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        wait_until(lambda: ready(server).status_code == 503)
        assert ready(server).json()["checks"]["database"].endswith("was moved or replaced")
        assert "the store's file was moved or replaced" in server.output.read_text()
        (worker,) = server.children()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: "there is no store" in server.output.read_text())
        assert not path.exists()  # an empty one would look like all is well
        for each in sorted(kept, reverse=True):  # the store last, as a worker waits for it
            each.write_bytes(kept[each])
        wait_until(lambda: answers(server.url))
        assert counted(server, tokens["read"]) == 1


def test_a_database_that_hangs_makes_nobody_wait_for_long(postgresql, tmp_path):
    url, port = postgresql.fresh_schema(), free_port()
    tokens = keys(url)
    options = ["--queue-seconds", str(QUEUE_SECONDS), "--metrics-port", str(port)]
    server = start(url, *options, output=tmp_path / "server.log")

    def measured(text):
        answer = asking.get(f"http://{HOST}:{port}/metrics", timeout=LONG_SECONDS).text
        return text in answer

    with contextlib.closing(server), ThreadPoolExecutor(8) as pool:
        assert send(server, tokens["write"], body()).status_code == 204
        with postgresql.hanging():
            sent = [body() for _ in range(16)]
            for pause in (0, 2.1):  # a key is believed for two seconds, and then looked up again
                time.sleep(pause)
                began = time.monotonic()
                answers = list(pool.map(lambda each: send(server, tokens["write"], each), sent))
                assert time.monotonic() - began < LONG_SECONDS
                assert {each.status_code for each in answers} <= {429, 503}
                assert all(int(each.headers["Retry-After"]) > 0 for each in answers)
            assert ready(server).json()["checks"]["database"].startswith("no answer for")
            assert measured('deniable_ready{check="database"} 0.0')
            assert measured("deniable_uploads_total")
            assert not measured("deniable_inbox_rows")
            assert asking.get(f"{server.url}/healthz", timeout=LONG_SECONDS).status_code == 200
        wait_until(lambda: ready(server).status_code == 200)
        wait_until(
            lambda: {send(server, tokens["write"], each).status_code for each in sent} == {204}
        )
        wait_until(lambda: counted(server, tokens["read"]) == 17)
        assert "the store does not answer" in server.output.read_text()
