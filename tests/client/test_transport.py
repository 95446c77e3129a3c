from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from deniable import HttpTransport, ParameterError, Response
from tests.client.collector import collecting


@pytest.fixture
def raw_server():
    """Starts servers that treat each connection as a test says."""
    sockets = []

    def start(handle):
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                sockets.append(connection)
                threading.Thread(target=guarded, args=(connection,), daemon=True).start()

        def guarded(connection):
            with contextlib.suppress(OSError):
                handle(connection)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for each in sockets:
        each.close()


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
    assert transport.send(b"body", 5.0) == Response(204, None)
    path, headers = collector.requests[0]
    assert path == "/base/v1/reports"
    assert collector.bodies == [b"body"]
    headers.pop("Host")
    assert headers == {
        "Accept-Encoding": "identity",
        "Authorization": "Bearer write-key",
        "Content-Length": "4",
        "Content-Type": "application/msgpack",
        "User-Agent": "deniable/1",
    }


def test_the_representation_does_not_show_the_key():
    assert "s3cret" not in repr(HttpTransport("https://example.org", "s3cret"))


def test_a_connection_is_used_again(collector):
    transport = HttpTransport(collector.endpoint, "key")
    for _ in range(3):
        transport.send(b"body", 5.0)
    assert len(collector.connections) == 1


def test_a_connection_that_the_server_left_is_replaced():
    with collecting() as first:
        transport = HttpTransport(first.endpoint, "key")
        first.answer = lambda _body: (204, {"Connection": "close"})
        transport.send(b"one", 5.0)
        port = first.port
    with collecting(port) as second:
        assert transport.send(b"two", 5.0).status == 204
        assert second.bodies == [b"two"]


def test_a_kept_connection_that_broke_is_tried_once_more(raw_server):
    seen = []

    def answer_once_then_hang_up(connection):
        seen.append(connection)
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    transport = HttpTransport(raw_server(answer_once_then_hang_up), "key")
    assert transport.send(b"one", 5.0).status == 204
    assert transport.send(b"two", 5.0).status == 204
    assert len(seen) == 2


def test_redirects_are_not_followed(collector):
    with collecting() as other:
        collector.answer = lambda _body: (307, {"Location": other.endpoint, "Content-Length": "0"})
        assert HttpTransport(collector.endpoint, "key").send(b"body", 5.0).status == 307
        assert other.bodies == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120.0), ("-5", None), ("soon", None), ("9" * 400, 999_999_999.0)],
)
def test_retry_after_is_read_in_seconds(collector, header, seconds):
    collector.answer = lambda _body: (503, {"Retry-After": header, "Content-Length": "0"})
    response = HttpTransport(collector.endpoint, "key").send(b"body", 5.0)
    assert response == Response(503, seconds)


def test_an_endless_body_is_cut(raw_server):
    def babble(connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 99999999\r\n\r\n")
        while True:
            connection.sendall(bytes(65_536))

    transport = HttpTransport(raw_server(babble), "key")
    assert transport.send(b"body", 5.0).status == 400
    assert transport.send(b"body", 5.0).status == 400


def test_the_status_counts_even_if_the_body_never_comes_and_the_server_closes(raw_server):
    def close_after_head(connection):
        connection.recv(65_536)
        connection.sendall(
            b"HTTP/1.1 422 Nope\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
        )
        connection.close()

    assert HttpTransport(raw_server(close_after_head), "key").send(b"body", 5.0).status == 422


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


@pytest.mark.parametrize("answer", [b"", b"hello\r\n\r\n", b"\x00" * 100_000])
def test_an_answer_that_is_not_http_raises(raw_server, answer):
    import http.client

    def talk(connection):
        connection.recv(65_536)
        connection.sendall(answer)
        connection.close()

    with pytest.raises((OSError, http.client.HTTPException)):
        HttpTransport(raw_server(talk), "key").send(b"body", 2.0)


def test_nobody_listening_raises():
    with pytest.raises(OSError, match="refused"):
        HttpTransport("http://127.0.0.1:9", "key").send(b"body", 2.0)
