"""Questions are passed on, whoever stops waiting for them and whatever cannot be started."""

from __future__ import annotations

import asyncio
import errno
import io
import sys
from pathlib import Path

import pytest

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.doors.server import bodies, flask_bridge, questions
from deniable_aggregator.doors.server.questions import QuestionProcesses
from deniable_aggregator.doors.server.wsgi_call import Asker, Request
from deniable_aggregator.keeping.settings import Settings

QUESTION = Request("GET", "/v1/metrics", "", "1.1", "http", [])
ASKER = Asker("application", "key")

ECHO = """
import os, socket, sys
from deniable_aggregator.doors.server.wsgi_call import AGAIN, encode_answer, read_question
from deniable_aggregator.doors.server.wsgi_call import Response
sys.stdin.buffer.readline()
control = socket.socket(fileno=0)
control.sendall(b"1")
while True:
    _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    if not descriptors:
        break
    connection = socket.socket(fileno=descriptors[0])
    stream = connection.makefile("rb")
    asked = read_question(stream)
    body = stream.read(asked[2]) if asked else b""
    if body == b"wait":
        assert stream.read() == b""
        print("left", file=sys.stderr, flush=True)
    elif body == b"end" or (body == b"end once" and not os.path.exists(sys.argv[1])):
        open(sys.argv[1], "w").close()
        connection.sendall(AGAIN)
        os._exit(1)
    pieces = (body[i : i + 65536] for i in range(0, len(body), 65536))
    if body.endswith(b"break off"):
        pieces = (piece if len(piece) == 65536 else 1 / 0 for piece in pieces)
    try:
        for piece in encode_answer(Response(200, []), pieces):
            connection.sendall(piece)
    except (ZeroDivisionError, OSError):
        pass
    stream.close()
    connection.close()
"""
"""Answers with the body of the question, unless that says otherwise."""


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """The commands that are started; each is replaced by one that only echoes."""
    started = []
    popen = questions.subprocess.Popen

    def start(command, **options):
        started.append(command)
        return popen([sys.executable, "-c", ECHO, str(tmp_path / "ended")], **options)

    monkeypatch.setattr(questions.subprocess, "Popen", start)
    monkeypatch.setattr(questions, "FIRST_PAUSE_SECONDS", 0.001)
    return started


class Client:
    """Receives an answer as the web server does."""

    def response_bytes(self, _status, headers, body):
        self.headers, self.body = headers, body

    def response_file(self, _status, headers, path):
        self.headers, self.body = headers, Path(path).read_bytes()


async def body_of(processes, question):
    client = Client()
    response, answer = await processes.answer(ASKER, QUESTION, question)
    answer.respond(client, response)
    answer.close()
    return client.body


def asked(ask):
    """What a coroutine of the processes returns."""

    async def main():
        processes = QuestionProcesses(Settings(store="unused.db"))
        processes.start(asyncio.get_running_loop())
        try:
            return await asyncio.wait_for(ask(processes), 120)
        finally:
            processes.close()
            for task in processes._tasks:
                task.cancel()
            await asyncio.gather(*processes._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # closed sockets are let go of

    return asyncio.run(main())


@pytest.mark.service
def test_an_answer_that_nobody_waits_for_is_not_taken_for_the_next_one(programs):
    async def ask(processes):
        assert await body_of(processes, b"first") == b"first"
        given_up = asyncio.create_task(processes.answer(ASKER, QUESTION, b"x" * (4 << 20)))
        while not processes.running:
            await asyncio.sleep(0.001)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        return await body_of(processes, b"next")

    assert asked(ask) == b"next"
    assert len(programs) == 1  # what others asked, and what is cached, is not lost


@pytest.mark.service
@pytest.mark.usefixtures("programs")
def test_a_large_answer_waits_for_its_client_in_a_file():
    large = bytes(range(256)) * (5 << 12)

    async def ask(processes):
        assert await body_of(processes, large) == large
        client = Client()
        response, answer = await processes.answer(ASKER, QUESTION, large)
        assert not answer._pieces
        answer.respond(client, response)
        assert client.headers == [("content-length", str(len(large)))]
        answer.close()
        return await body_of(processes, b"next")

    assert asked(ask) == b"next"


@pytest.mark.service
@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("size", [200_000, 3_000_000])
def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(size):
    async def ask(processes):
        with pytest.raises(ProblemError) as refused:
            await processes.answer(ASKER, QUESTION, b"x" * size + b"break off")
        assert refused.value.code == "question_unanswered"
        return await body_of(processes, b"next")

    assert asked(ask) == b"next"


@pytest.mark.service
@pytest.mark.usefixtures("programs")
def test_an_answer_without_room_for_its_file_is_refused(monkeypatch):
    def no_room(**_):
        raise OSError(errno.ENOSPC, "no space left on device")

    async def ask(processes):
        with monkeypatch.context() as patched:
            patched.setattr(bodies, "TemporaryFile", no_room)
            with pytest.raises(ProblemError) as refused:
                await processes.answer(ASKER, QUESTION, b"x" * (3 << 20))
        assert refused.value.code == "question_unanswered"
        return await body_of(processes, b"next")

    assert asked(ask) == b"next"


def test_a_piece_that_has_no_room_as_a_whole_is_not_kept_in_part(monkeypatch):
    class NearlyFull(io.BytesIO):
        def write(self, content):
            return super().write(content[: (2 << 20) - self.tell()])

    async def receive():
        body = bodies.AnswerBody()
        await body.add(bytes(1 << 20))
        await body.add(bytes(1 << 20))
        with pytest.raises(OSError, match="No space left"):
            await body.add(b"x")

    monkeypatch.setattr(bodies, "TemporaryFile", lambda **_: NearlyFull())
    asyncio.run(receive())


@pytest.mark.service
@pytest.mark.usefixtures("programs")
def test_a_process_that_cannot_be_started_is_tried_again(monkeypatch):
    start, failures = questions.subprocess.Popen, [errno.EAGAIN, errno.ENOMEM]

    def fail_twice(command, **options):
        if failures:
            raise OSError(failures.pop(), "no resources")
        return start(command, **options)

    monkeypatch.setattr(questions.subprocess, "Popen", fail_twice)

    async def ask(processes):
        return await body_of(processes, b"at last")

    assert asked(ask) == b"at last"
    assert not failures


@pytest.mark.service
@pytest.mark.usefixtures("programs")
def test_a_process_that_ends_with_a_question_says_that_it_is_not_answered():
    async def ask(processes):
        await body_of(processes, b"warm")
        for each in processes._processes:
            each.popen.kill()
        with pytest.raises(ProblemError) as refused:
            await processes.answer(ASKER, QUESTION, b"lost")
        return refused.value.code

    assert asked(ask) == "question_unanswered"


@pytest.mark.service
def test_the_process_knows_when_nobody_waits_for_an_answer(programs, capfd):
    async def ask(processes):
        asking = asyncio.create_task(processes.answer(ASKER, QUESTION, b"wait"))
        while not processes.running:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert processes.running == processes.waiting == 0
        return await body_of(processes, b"next")

    assert asked(ask) == b"next"
    assert "left" in capfd.readouterr().err
    assert len(programs) == 1


@pytest.mark.service
def test_a_question_is_asked_again_when_its_process_ends_for_the_sake_of_another(programs):
    assert asked(lambda processes: body_of(processes, b"end once")) == b"end once"
    assert len(programs) == 2


@pytest.mark.service
def test_a_question_is_not_asked_again_for_ever(programs):
    async def ask(processes):
        with pytest.raises(ProblemError) as refused:
            await processes.answer(ASKER, QUESTION, b"end")
        return refused.value.code

    assert asked(ask) == "question_unanswered"
    assert len(programs) in (questions.MOST_ATTEMPTS, questions.MOST_ATTEMPTS + 1)


def test_a_key_that_waits_for_many_answers_is_refused_and_others_are_not():
    async def ask():
        processes = QuestionProcesses(Settings(store="unused.db"))  # none is started
        waiting = [
            asyncio.create_task(processes.answer(ASKER, QUESTION, b""))
            for _ in range(questions.MAX_OPEN_OF_KEY)
        ]
        await asyncio.sleep(0)
        with pytest.raises(ProblemError) as refused:
            await processes.answer(ASKER, QUESTION, b"")
        other = asyncio.create_task(processes.answer(Asker("application", "other"), QUESTION, b""))
        await asyncio.sleep(0)
        assert processes.waiting == questions.MAX_OPEN_OF_KEY + 1
        for task in (*waiting, other):
            task.cancel()
        await asyncio.gather(*waiting, other, return_exceptions=True)
        assert processes.waiting == 0
        return refused.value

    refused = asyncio.run(ask())
    assert (refused.code, "64 answers" in refused.document.detail) == ("overloaded", True)


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("GET", "/v1/metrics", True),
        ("GET", "/v1/metrics/theme", True),
        ("GET", "/v1/metrics/theme/health", True),
        ("GET", "/v1/health", True),
        ("GET", "/v1/metrics/theme/series.csv", True),
        ("GET", "/v1/estimates", True),
        ("GET", "/v1/estimates.parquet", True),
        ("POST", "/v1/metrics/theme/estimate", True),
        ("POST", "/v1/metrics/theme/estimate.arrow", True),
        ("POST", "/v1/metrics", False),
        ("DELETE", "/v1/metrics/theme", False),
        ("GET", "/v1/metrics/theme/discoveries", False),
        ("GET", "/healthz", False),
    ],
)
def test_what_only_reads_metrics_is_answered_beside_uploads(method, path, asked):
    question = flask_bridge.asked(method, path)
    assert (question is not None and question.computed) == asked
