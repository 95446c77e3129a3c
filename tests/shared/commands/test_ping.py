from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from click.testing import CliRunner

from tests.command_line import deniable
from tests.ports import HOST, free_port

READY = {"status": "ok", "checks": {"database": "ok", "disk": "ok"}}
NOT_READY = {
    "status": 503,
    "detail": "disk: 7 bytes are free",
    "checks": {"database": "ok", "disk": "7 bytes are free"},
}


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture
def answering():
    """A function that starts a server with these answers, by path, and says its address."""
    running = []

    def start(answers):
        def app(environ, start_response):
            status, answer = answers[environ["PATH_INFO"]]
            start_response(status, [("Content-Type", "application/json")])
            return [answer if isinstance(answer, bytes) else json.dumps(answer).encode()]

        server = make_server(HOST, 0, app, handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        running.append((server, thread))
        return f"http://{HOST}:{server.server_port}"

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


def ping(*arguments, **variables):
    return CliRunner(env=variables).invoke(deniable, ["ping", *arguments])


def test_a_server_that_answers_and_is_ready_is_status_0(answering):
    url = answering({"/healthz": ("200 OK", {}), "/readyz": ("200 OK", READY)})
    done = ping(DENIABLE_SERVER=url)
    assert (done.exit_code, done.output) == (0, f"{url} answers and is ready\n")
    told = json.loads(ping("--server", f"{url}/", "--json").output)
    assert told == {"answers": True, "ready": True, "checks": READY["checks"], "problem": None}


def test_a_server_that_is_not_ready_says_why_in_one_line_and_is_status_1(answering):
    url = answering({"/healthz": ("200 OK", {}), "/readyz": ("503 Unavailable", NOT_READY)})
    done = ping("--server", url)
    assert done.exit_code == 1
    assert done.output == f"{url} answers but is not ready: disk: 7 bytes are free\n"
    told = json.loads(ping("--server", url, "--json").output)
    assert (told["answers"], told["ready"]) == (True, False)
    assert told["checks"] == NOT_READY["checks"]


@pytest.mark.parametrize("answer", [b"no JSON\x1b[2J", b"[]", b'{"detail": "a\\u001b[2J"}', b""])
def test_another_server_is_status_1_and_cannot_write_to_the_terminal(answering, answer):
    url = answering({"/healthz": ("200 OK", b"hello"), "/readyz": ("404 Not Found", answer)})
    done = ping("--server", url)
    assert done.exit_code == 1
    assert done.output.startswith(f"{url} answers but is not ready: ")
    assert "\x1b" not in done.output


def test_nobody_listening_is_status_1():
    url = f"http://{HOST}:{free_port()}"
    done = ping("--server", url)
    assert done.exit_code == 1
    assert done.output.startswith(f"{url} does not answer: Connection refused")
    assert not json.loads(ping("--server", url, "--json").output)["answers"]


def test_a_server_that_hangs_is_waited_for_only_so_long():
    with socket.create_server((HOST, 0)) as hanging:
        url = f"http://{HOST}:{hanging.getsockname()[1]}"
        done = ping("--server", url, "--timeout", "0.05")
    assert (done.exit_code, done.output) == (1, f"{url} does not answer: timed out\n")


@pytest.mark.parametrize(
    "server", ["example.org:8787", "ftp://x", "http://", "http://u:secret@x", "http://x:99999"]
)
def test_what_is_no_address_is_refused_and_not_quoted(server):
    done = ping("--server", server)
    assert done.exit_code == 2
    assert "\nError: server must be an address such as http://127.0.0.1:8787" in done.output
    assert "secret" not in done.output


@pytest.mark.service
def test_it_loads_nothing_of_the_server():
    words = ["ping", "--server", f"http://{HOST}:{free_port()}"]
    program = (
        f"import sys; sys.argv[1:] = {words!r}\n"
        "from deniable_shared.commands.entry import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    heavy = {"click", "deniable_aggregator", "flask", "httpx", "msgspec", "numpy", "rich"}
    assert not loaded & {*heavy, "granian", "scipy", "sqlalchemy", "deniable"}
