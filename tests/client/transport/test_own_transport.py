"""What a transport of the host's own may get wrong."""

from __future__ import annotations

import pytest

from deniable import FlushResult, Response
from tests.client.flushing import counts


class Answering:
    """Takes every upload and returns what it was made with."""

    def __init__(self, answer):
        self.answer = answer

    def send(self, _body, _timeout_seconds):
        return self.answer

    def close(self):
        pass


@pytest.mark.parametrize("answer", [None, 204, "204", (204, None), Response("204"), Response(None)])
def test_an_answer_that_is_no_response_keeps_the_report_and_is_noted(make_client, answer):
    client = make_client(transport=Answering(answer))
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 1, 0)
    last_error = client.status().last_error
    assert last_error.startswith("no_response: The transport did not return a Response")


@pytest.mark.parametrize("seconds", [float("nan"), -1.0, 0, "soon"])
def test_no_retry_after_loses_a_report(make_client, seconds):
    transport = Answering(Response(503, seconds))
    client = make_client(transport=transport)
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 1, 0)
    transport.answer = Response(204)
    assert client.flush() == FlushResult(sent=1, pending=0, dropped=0)
