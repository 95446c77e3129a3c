"""What ends a process that answers questions, and what then becomes of the questions of others."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading

import pytest

from deniable_aggregator.doors.server.wsgi_call import (
    AskAgainError,
    Asker,
    Request,
    encode_question,
    read_head,
    read_piece,
)

pytestmark = pytest.mark.service

PROGRAM = """
import pathlib, socket, sys, time
from flask import Flask
from deniable_aggregator.answering.requests import register_error_handlers
from deniable_aggregator.counting.yield_points import yield_point
from deniable_aggregator.doors.server import question_process as module
from deniable_aggregator.keeping.settings import Settings

module.MOST_PIECE_SECONDS, module.LOOK_SECONDS = 0.3, 0.02
app = Flask("questions")
register_error_handlers(app)

@app.get("/never")
def never():
    while True:
        pass

@app.get("/memory")
def memory():
    raise MemoryError

@app.get("/later")
def later():
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.001)
        yield_point()
    return "an answer"

module.Answering(app, Settings(store="unused.db"), socket.socket(fileno=0)).receive()
"""


class Process:
    """A process that answers questions of three kinds."""

    def __init__(self, gate):
        self.gate = gate
        self.control, theirs = socket.socketpair()
        command = [sys.executable, "-c", PROGRAM, str(gate)]
        self.popen = subprocess.Popen(command, stdin=theirs.fileno(), stderr=subprocess.DEVNULL)
        theirs.close()
        assert self.control.recv(1) == b"1"

    async def answer(self, path, application="application"):
        """Status and body."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"q"], [theirs.fileno()])
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        request = Request("GET", path, "", "1.1", "http", [])
        writer.writelines(encode_question(Asker(application, "key"), request, b""))
        try:
            head, body = await read_head(reader), b""
            while piece := await read_piece(reader):
                body += piece
        finally:
            writer.close()
        return head.status, body


@pytest.fixture
def process(tmp_path):
    process = Process(tmp_path / "gate")
    yield process
    process.popen.kill()
    process.popen.wait()
    process.control.close()


def test_a_piece_that_overruns_ends_the_process_and_others_are_asked_again(process):
    async def ask():
        waiting = [asyncio.create_task(process.answer("/later", each)) for each in "abc"]
        await asyncio.sleep(0.05)
        status, body = await process.answer("/never")
        others = await asyncio.gather(*waiting, return_exceptions=True)
        return status, json.loads(body)["code"], [type(each) for each in others]

    assert asyncio.run(ask()) == (422, "question_too_large", [AskAgainError] * 3)
    assert process.popen.wait(60) == 1


def test_when_memory_runs_out_the_questions_that_have_come_are_answered_first(process):
    async def ask():
        later = asyncio.create_task(process.answer("/later", "other"))
        await asyncio.sleep(0.05)
        status, body = await process.answer("/memory")
        assert (status, json.loads(body)["code"]) == (422, "question_too_large")
        assert await asyncio.to_thread(process.control.recv, 1) == b""  # it takes no more
        assert process.popen.poll() is None
        process.gate.touch()
        return await later

    assert asyncio.run(ask()) == (200, b"an answer")
    assert process.popen.wait(60) == 1


def test_it_ends_with_the_server(process):
    threading.Timer(0.05, process.control.shutdown, (socket.SHUT_RDWR,)).start()
    assert process.popen.wait(60) == 0
