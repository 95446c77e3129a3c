"""Questions are answered by a process of their own, whatever happens to it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import httpx
import pytest

from tests.aggregator.service import bearer
from tests.end_to_end import asking
from tests.end_to_end.serving import answers, running
from tests.end_to_end.test_served import body, headers, keys, send
from tests.ports import HOST, free_port
from tests.waiting import wait_until

ESTIMATE = "/v1/metrics/theme/estimate"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def tokens(path):
    return keys(path)


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A server that tests share if they leave it as it was, its keys, and a port of its counts."""
    path, port = tmp_path_factory.mktemp("usual") / "store.db", free_port()
    tokens = keys(path)
    with running(path, "--question-seconds", "5", "--metrics-port", str(port)) as server:
        assert send(server, tokens["write"], body()).status_code == 204
        assert ask(server, tokens["read"]).status_code == 200
        yield server, tokens, port


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def question_processes(server):
    """The processes that the server's worker has started."""
    return [each for worker in server.children() for each in children(worker)]


def question_process(server):
    """The only one, once it can answer."""
    wait_until(lambda: question_processes(server))
    (process,) = question_processes(server)
    return process


def sockets(pid):
    """How many sockets a process has open."""
    found = Path(f"/proc/{pid}/fd").iterdir()
    return sum(str(each.readlink()).startswith("socket:") for each in found)


def is_running(pid):
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ask(server, token, path=ESTIMATE):
    if path == ESTIMATE:
        server.show()
    return asking.get(f"{server.url}{path}", headers=headers(token))


def reports(server, tokens):
    return ask(server, tokens["read"]).json()["head"]["reports"]


def test_a_question_is_answered_by_the_other_process_and_an_upload_is_not(usual):
    server, tokens, _ = usual
    before, process = reports(server, tokens), question_process(server)

    def accepted():
        return ask(server, tokens["admin"], "/v1/status").json()["since_start"]["accepted"]

    taken = accepted()
    os.kill(process, signal.SIGSTOP)
    for _ in range(3):
        assert send(server, tokens["write"], body()).status_code == 204
    assert accepted() == taken + 3
    assert asking.get(f"{server.url}/readyz").status_code == 200
    os.kill(process, signal.SIGCONT)
    assert reports(server, tokens) == before + 3


def test_a_process_that_dies_is_replaced_and_the_next_question_waits_for_the_other(usual):
    server, tokens, _ = usual
    before = reports(server, tokens)
    os.kill(question_process(server), signal.SIGKILL)
    answer = ask(server, tokens["read"])
    if answer.status_code == 503:  # it came before the end was noticed
        assert answer.json()["code"] == "question_unanswered"
        assert int(answer.headers["Retry-After"]) > 0
        answer = ask(server, tokens["read"])
    assert answer.json()["head"]["reports"] == before


def test_a_question_that_uses_too_much_is_refused_and_its_process_lives_on(path, tokens):
    with running(path, "--question-seconds", "0.000001") as server:
        assert send(server, tokens["write"], body()).status_code == 204
        process = question_process(server)
        answer = ask(server, tokens["read"])
        assert (answer.status_code, answer.json()["code"]) == (422, "question_too_large")
        assert "question_seconds" in answer.json()["detail"]
        assert is_running(process)
        assert question_process(server) == process


def test_time_that_a_question_waits_does_not_count(usual):
    server, tokens, _ = usual
    process = question_process(server)
    os.kill(process, signal.SIGSTOP)
    threading.Timer(7, os.kill, (process, signal.SIGCONT)).start()
    assert ask(server, tokens["read"]).status_code == 200
    assert question_process(server) == process


def test_a_client_that_leaves_is_noticed_while_its_question_is_worked_on(usual):
    server, tokens, port = usual

    def is_open(number):
        return f"deniable_questions_running {number}" in asking.get(
            f"http://{HOST}:{port}/metrics"
        ).text.replace(".0", "")

    process = question_process(server)
    wait_until(lambda: is_open(0))
    before = sockets(process)
    os.kill(process, signal.SIGSTOP)
    with pytest.raises(httpx.ReadTimeout):
        asking.get(f"{server.url}{ESTIMATE}", headers=headers(tokens["read"]), timeout=1)
    wait_until(lambda: is_open(0))
    os.kill(process, signal.SIGCONT)
    assert ask(server, tokens["read"]).status_code == 200
    wait_until(lambda: sockets(process) == before)
    assert question_process(server) == process


def test_a_question_that_needs_too_much_memory_is_refused_and_the_next_is_answered(path, tokens):
    with running(path, "--question-memory-bytes", str(256 << 20)) as server:
        assert send(server, tokens["write"], body()).status_code == 204
        reader = {**headers(tokens["read"]), "Content-Type": "application/json"}
        long = b'{"candidates": ["' + b"x" * (120 << 20) + b'"]}'
        answer = asking.post(f"{server.url}{ESTIMATE}", content=long, headers=reader)
        assert answer.status_code in (422, 503), answer.text
        wait_until(lambda: ask(server, tokens["read"]).status_code == 200)


def test_a_revoked_key_is_refused_within_two_seconds(usual):
    server, tokens, _ = usual
    admin = bearer(tokens["admin"])
    made = asking.post(f"{server.url}/v1/keys", json={"scope": "read"}, headers=admin)
    token, key_id = made.json()["token"], made.json()["key"]["id"]
    assert ask(server, token).status_code == 200
    revoke = f"{server.url}/v1/keys/{key_id}/revoke"
    assert asking.post(revoke, headers=admin).status_code == 200
    asked = f"{server.url}{ESTIMATE}"
    wait_until(lambda: asking.get(asked, headers=headers(token)).status_code != 200)
    assert ask(server, token).json()["code"] == "unknown_key"


def test_no_process_outlives_the_server_that_is_killed_or_told_to_end(path, tokens):
    for end in ("kill", "stop"):
        with running(path, "--drain-seconds", "0") as server:
            assert send(server, tokens["write"], body()).status_code == 204
            assert ask(server, tokens["read"]).status_code == 200
            process, (worker,) = question_process(server), server.children()
            if end == "stop":
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda process=process: not is_running(process))
                wait_until(lambda: len(server.children()) == 1 and answers(server.url))
                wait_until(lambda: ask(server, tokens["read"]).status_code == 200)
                process, (worker,) = question_process(server), server.children()
                assert server.stop() == 0
            else:
                server.process.kill()
            for each in (process, worker):
                wait_until(lambda each=each: not is_running(each))


def test_a_key_that_asks_too_often_is_told_when_to_come_again(path, tokens):
    with running(path, "--read-rate-limit", "2/hour") as server:
        assert send(server, tokens["write"], body()).status_code == 204
        codes = [ask(server, tokens["read"], "/v1/metrics").status_code for _ in range(3)]
        assert codes == [200, 200, 429]
        refused = ask(server, tokens["read"])
        assert refused.json()["code"] == "rate_limited"
        assert int(refused.headers["Retry-After"]) > 0
        assert ask(server, tokens["admin"]).status_code == 200  # each key by itself
        assert send(server, tokens["write"], body()).status_code == 204


def test_without_processes_the_server_answers_by_itself(path, tokens):
    with running(path, "--question-processes", "0") as server:
        assert send(server, tokens["write"], body()).status_code == 204
        assert ask(server, tokens["read"]).json()["head"]["reports"] == 1
        assert question_processes(server) == []
