from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from deniable import HttpTransport, ParameterError, Response
from deniable_shared import wire
from tests.client.collector import collecting
from tests.client.socket_servers import raw_server, reset

__all__ = ["raw_server"]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://example.org",
        "http://10.0.0.1",
        "http://127.0.0.1.example.org",
        "ftp://example.org",
        "https://",
        "https://user:secret-word@example.org",
        "https://example.org/?a=b",
        "https://example.org/#a",
        "https://example.org:99999",
        "https://example.org:0",
        "https://exa mple.org",
        "https://example.org/\r\nX: y",
        "example.org",
        "",
        None,
        7,
    ],
)
def test_an_endpoint_that_is_not_private_or_not_a_base_url_is_refused(endpoint):
    with pytest.raises(ParameterError, match="endpoint must be") as caught:
        HttpTransport(endpoint, "key")
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    ["https://example.org", "http://localhost:8000", "http://127.0.0.1:1", "http://[::1]:80/base/"],
)
def test_https_and_this_machine_are_accepted(endpoint):
    HttpTransport(endpoint, "key")


@pytest.mark.parametrize("key", ["", "a\r\nX-Evil: 1", "ключ", None, b"key"])
def test_a_key_that_is_no_header_value_is_refused_and_not_shown(key):
    with pytest.raises(ParameterError, match="not shown") as caught:
        HttpTransport("https://example.org", key)
    assert "Evil" not in str(caught.value)


def test_an_upload_is_posted_with_constant_headers(collector):
    transport = HttpTransport(collector.endpoint + "/base/", "write-key")
    assert transport.send(b"body", 30.0) == Response(204, None)
    path, headers = collector.requests[0]
    assert path == "/base/v1/reports"
    assert collector.bodies == [b"body"]
    headers.pop("Host")
    assert headers == {
        "Accept-Encoding": "identity",
        "Authorization": "Bearer write-key",
        "Connection": "close",
        "Content-Length": "4",
        "Content-Type": "application/msgpack",
        "User-Agent": "deniable/1",
    }


def test_the_representation_does_not_show_the_key():
    assert "s3cret" not in repr(HttpTransport("https://example.org", "s3cret"))


@pytest.mark.parametrize("endpoint", ["http://[::1]:8000/base", "https://[2001:db8::1]:8443"])
def test_the_representation_of_an_address_can_be_used_as_an_endpoint(endpoint):
    assert repr(HttpTransport(endpoint, "key")) == f"HttpTransport({endpoint})"


@pytest.mark.parametrize("proxy", ["http://proxy.example:0", "http://proxy.example:99999"])
def test_a_proxy_has_a_port_that_can_be_reached(proxy):
    with pytest.raises(ParameterError, match="proxy must be"):
        HttpTransport("https://example.org", "key", proxy=proxy)


def test_every_upload_has_a_connection_of_its_own(collector):
    transport = HttpTransport(collector.endpoint, "key")
    for _ in range(3):
        transport.send(b"body", 30.0)
    assert len(collector.connections) == 3


def test_redirects_are_not_followed(collector):
    with collecting() as other:
        collector.answer = lambda _body: (307, {"Location": other.endpoint, "Content-Length": "0"})
        assert HttpTransport(collector.endpoint, "key").send(b"body", 30.0).status == 307
        assert other.bodies == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120.0), ("-5", None), ("soon", None), ("9" * 400, 3_600.0)],
)
def test_retry_after_is_read_in_seconds(collector, header, seconds):
    collector.answer = lambda _body: (503, {"Retry-After": header, "Content-Length": "0"})
    response = HttpTransport(collector.endpoint, "key").send(b"body", 30.0)
    assert response == Response(503, seconds)


def test_an_endless_body_is_cut(raw_server):
    def babble(connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 99999999\r\n\r\n")
        while True:
            connection.sendall(bytes(65_536))

    transport = HttpTransport(raw_server(babble), "key")
    assert transport.send(b"body", 30.0).status == 400
    assert transport.send(b"body", 30.0).status == 400


def test_the_status_counts_even_if_the_body_never_comes_and_the_server_closes(raw_server):
    def close_after_head(connection):
        connection.recv(65_536)
        connection.sendall(
            b"HTTP/1.1 422 Nope\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
        )
        connection.close()

    assert HttpTransport(raw_server(close_after_head), "key").send(b"body", 30.0).status == 422


def hang(connection):
    connection.recv(65_536)
    threading.Event().wait(20)


def dribble(connection):
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 204 No Content\r\nX: ")
    while True:
        time.sleep(0.02)
        connection.sendall(b"y")


def continue_for_ever(connection):
    connection.recv(65_536)
    while True:
        time.sleep(0.02)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("treatment", [hang, dribble, continue_for_ever])
def test_the_timeout_bounds_the_whole_exchange(raw_server, treatment):
    transport = HttpTransport(raw_server(treatment), "key")
    with pytest.raises(TimeoutError):
        transport.send(b"body", 0.2)


def test_the_timeout_bounds_sending_to_a_server_that_does_not_read(raw_server):
    transport = HttpTransport(raw_server(lambda _connection: threading.Event().wait(20)), "key")
    with pytest.raises(TimeoutError):
        transport.send(bytes(50_000_000), 0.3)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 204 No Content\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n" + b"X: yyyyyyyyyyyyyyyyyyyy\r\n" * 50_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000 + b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" * 50_000,
    ],
    ids=["long header", "many headers", "many continues", "many hints"],
)
def test_a_huge_head_is_not_read(raw_server, head):
    def talk(connection):
        connection.recv(65_536)
        connection.sendall(head)

    with pytest.raises((OSError, http.client.HTTPException)):
        HttpTransport(raw_server(talk), "key").send(b"body", 30.0)


def test_answers_of_status_1xx_are_skipped(raw_server):
    def talk(connection):
        connection.recv(65_536)
        for interim in (b"100 Continue\r\n", b"103 Early Hints\r\nLink: </x>\r\n", b"102 W\r\n"):
            connection.sendall(b"HTTP/1.1 " + interim + b"\r\n")
        connection.sendall(b"HTTP/1.1 204 No Content\r\nRetry-After: 7\r\n\r\n")

    assert HttpTransport(raw_server(talk), "key").send(b"body", 30.0) == Response(204, 7.0)


@pytest.mark.parametrize("answer", [b"", b"hello\r\n\r\n", b"\x00" * 100_000, b"HTTP/1.1 20"])
def test_an_answer_that_is_not_http_raises(raw_server, answer):
    def talk(connection):
        connection.recv(65_536)
        connection.sendall(answer)
        connection.close()

    with pytest.raises((OSError, http.client.HTTPException)):
        HttpTransport(raw_server(talk), "key").send(b"body", 30.0)


@pytest.mark.parametrize(
    "said",
    [None, b"", b"HTTP/1.1 2", b"HTTP/1.1 204 No Content\r\n", b"HTTP/1.1 204 No Content\r\nA: b"],
    ids=["before reading", "before answering", "in the status", "after it", "in the headers"],
)
def test_a_connection_that_is_reset_raises_in_every_phase(raw_server, said):
    def talk(connection):
        if said is not None:
            connection.recv(65_536)
            connection.sendall(said)
            time.sleep(0.05)  # a reset may discard what was sent just before it
        reset(connection)

    with pytest.raises((OSError, http.client.HTTPException)):
        HttpTransport(raw_server(talk), "key").send(b"body" * 100_000, 30.0)


def test_nobody_listening_raises():
    with pytest.raises(OSError, match="refused"):
        HttpTransport("http://127.0.0.1:9", "key").send(b"body", 30.0)


def test_the_next_address_of_a_host_is_tried(collector, monkeypatch):
    real = socket.getaddrinfo

    def two(_host, port, *rest):
        return real("127.0.0.1", 9, *rest) + real("127.0.0.1", port, *rest)

    monkeypatch.setattr(socket, "getaddrinfo", two)
    assert HttpTransport(collector.endpoint, "key").send(b"body", 30.0).status == 204


def document(head, body):
    def talk(connection):
        assert connection.recv(65_536).startswith(b"GET /base/v1/remote HTTP/1.1\r\n")
        connection.sendall(b"HTTP/1.1 " + head + b"\r\n\r\n" + body)
        connection.close()

    return talk


CHUNKED = b"200 OK\r\nTransfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        (b"200 OK\r\nContent-Length: 5", b"hello", (200, b"hello")),
        (b"200 OK\r\nContent-Length: 5", b"hello and more", (200, b"hello")),
        (b"200 OK", b"hello", (200, b"hello")),
        (CHUNKED, b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", (200, b"hello")),
        (b"404 Not Found\r\nContent-Length: 5", b"hello", (404, b"")),
        (b"302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0", b"", (302, b"")),
    ],
)
def test_a_document_is_fetched(raw_server, head, body, found):
    transport = HttpTransport(raw_server(document(head, body)) + "/base", "key")
    assert transport.fetch("/v1/remote", 30.0, 10) == found


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"200 OK\r\nContent-Length: 11", b"hello world"),
        (b"200 OK\r\nContent-Length: 9", b"hello"),
        (b"200 OK", bytes(1_000_000)),
        (CHUNKED, b"b\r\nhello world\r\n0\r\n\r\n"),
        (CHUNKED, b"5\r\nhello\r\n"),
        (CHUNKED, b"nonsense"),
    ],
    ids=["too long", "cut", "endless", "long chunk", "missing chunk", "no chunk"],
)
def test_a_document_that_is_too_long_or_cut_raises(raw_server, head, body):
    transport = HttpTransport(raw_server(document(head, body)) + "/base", "key")
    with pytest.raises((OSError, http.client.HTTPException)):
        transport.fetch("/v1/remote", 30.0, 10)


def test_an_own_transport_as_the_documentation_shows_it(make_client):
    text = (ROOT / "docs" / "client" / "reference.md").read_text("utf-8")
    (example,) = (
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Courier" in code
    )
    posted = []

    def my_post(body, _timeout_seconds):
        posted.append(body)
        return 204

    names = {"my_post": my_post}
    exec(example, names)
    client = make_client(transport=names["Courier"]())
    assert client.record("late", value=True) == "recorded"
    assert client.flush().sent == 1
    assert [len(wire.decode(body).parts) for body in posted] == [1]
