"""Hosts that fork in C, without Python's hooks, and may keep threads from running: uWSGI."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import types

import pytest

from deniable._upload import uploader as uploader_module
from tests.waiting import wait_until

AMPLE_SECONDS = 120
FORKS_AT_IMPORTS = """
import ctypes, importlib.abc, os, signal, sys, threading
import deniable

imported, importing, forked = [], threading.Event(), threading.Event()

class ForkWhileAnotherThreadImports(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if threading.current_thread() is not threading.main_thread():
            imported.append(name)
            forked.clear()
            importing.set()
            forked.wait(30)

def fork_in_c():
    child = ctypes.PyDLL(None).fork()
    if child == 0:
        signal.alarm(10)
        for name in imported:
            __import__(name)
        os._exit(0)
    return os.waitpid(child, 0)[1]

sys.meta_path.insert(0, ForkWhileAnotherThreadImports())
client = deniable.Client(
    sys.argv[1], endpoint=sys.argv[3], key="k", directory=sys.argv[2], consent=True,
    upload_delay_seconds=0,
)
assert client.record("theme", "dark") == "recorded"
statuses = []
flush = threading.Thread(target=client.flush)
for thread in (None, flush):
    if thread is flush:
        flush.start()
    while client._events.last_error is None and not client._events.sent or flush.is_alive():
        if importing.wait(0.01):
            importing.clear()
            statuses.append(fork_in_c())
            forked.set()
assert statuses == [0] * len(statuses), (statuses, imported)
assert imported == [], imported
"""


@pytest.mark.service
@pytest.mark.parametrize("answer", ["accepted", "refused", "unreachable", "no proxy"])
def test_no_import_of_the_clients_thread_is_under_way_at_a_fork(
    registry, directory, collector, monkeypatch, answer
):
    collector.answer = lambda _body: (422 if answer == "refused" else 204, {})
    endpoint = (
        "https://127.0.0.1:9" if answer in ("unreachable", "no proxy") else collector.endpoint
    )
    if answer == "no proxy":
        monkeypatch.setenv("HTTPS_PROXY", "http://user:password@127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-c", FORKS_AT_IMPORTS, str(registry), str(directory), endpoint],
        capture_output=True, check=False, timeout=AMPLE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture
def uwsgi(monkeypatch):
    """The module that uWSGI has, as in the process that it forks workers from."""
    made = types.ModuleType("uwsgi")
    made.worker = 0
    made.worker_id = lambda: made.worker
    made.mule_id = made.i_am_the_spooler = lambda: 0
    made.opt = {"master": True, "enable-threads": True}
    monkeypatch.setitem(sys.modules, "uwsgi", made)
    return made


def uploaders():
    return [each for each in threading.enumerate() if each.name == "deniable-uploader"]


def test_a_thread_starts_in_workers_of_uwsgi_alone(make_client, collector, uwsgi):
    client = make_client(
        endpoint=collector.endpoint, background=True, clock=time.time, upload_delay_seconds=0
    )
    assert client.record("theme", "dark") == "recorded"
    assert uploaders() == []
    uwsgi.worker = 1
    assert client.record("theme", "dark") == "already_reported"  # the report is still to be sent
    wait_until(lambda: len(collector.uploads()) == 1)


def test_a_flush_before_uwsgi_forks_says_who_sends(make_client, collector, uwsgi):  # noqa: ARG001
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    result = client.flush(timeout_seconds=20)
    assert (result.sent, result.pending) == (0, 1)
    assert result.problem.startswith("no_thread: uWSGI is going to fork its workers")


@pytest.mark.parametrize("switch", ["enable-threads", "threads"])
def test_uwsgi_with_threads_is_no_problem(make_client, uwsgi, switch):
    uwsgi.worker, uwsgi.opt = 1, {switch: True}
    client = make_client(background=True)
    client.record("theme", "dark")
    assert client.status().last_error is None


def test_a_developer_is_told_what_uwsgi_needs_to_run_threads(make_client, uwsgi):
    uwsgi.worker, uwsgi.opt = 1, {"master": True}
    client = make_client(background=True)
    client.record("theme", "dark")
    assert client.status().last_error.endswith("set enable-threads = true")


def test_another_module_that_is_called_uwsgi_changes_nothing(make_client, collector, monkeypatch):
    monkeypatch.setitem(sys.modules, "uwsgi", types.ModuleType("uwsgi"))
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    assert client.flush().sent == len(collector.uploads()) == 1


def test_finalizers_print_nothing_when_names_of_modules_are_gone(make_client, monkeypatch):
    uploader = make_client()._uploader
    with monkeypatch.context() as patch:
        for name in vars(uploader_module).keys() - {"__builtins__"}:
            patch.setitem(vars(uploader_module), name, None)
        uploader.__del__()
        uploader.__del__()  # it has rung already
