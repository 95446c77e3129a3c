"""What a device repeats in all of its uploads, every other device sends, too.

Everything that reaches the network is compared byte by byte: what is the same in all uploads of a
device, and not in those of another one, would be a name of the device, wherever it stands.
"""

from __future__ import annotations

import contextlib

import pytest

from deniable._transport.http import HttpTransport
from deniable_shared import wire
from tests.client.socket_servers import raw_server, serving  # noqa: F401  a fixture

UPLOADS = 8
"""Of one device. That a byte of noise or of an id is the same in all of them, and another one in
all of another device, has a probability below 1e-8."""

MARKED = (
    "HTTP/1.1 204 No Content\r\nSet-Cookie: device=4242; Max-Age=99999999\r\nETag: device-4242\r\n"
    'Last-Modified: Thu, 01 Jan 1970 00:42:42 GMT\r\nAlt-Svc: h2="device-4242:1"\r\n'
    "Strict-Transport-Security: max-age=4242\r\nConnection: keep-alive\r\n\r\n"
)
"""An answer with all that browsers remember, and by which servers recognise them."""

HEAD = """\
POST /v1/reports HTTP/1.1\r
Host: {host}\r
Accept-Encoding: identity\r
Content-Length: 256\r
Authorization: Bearer write-key\r
User-Agent: deniable/1\r
Connection: close\r
Content-Type: application/msgpack\r
\r
"""


def names(one, other):
    """The places at which each of two devices repeats a byte of its own in all of its messages."""
    assert len({len(message) for message in (*one, *other)}) == 1
    columns = zip(zip(*one, strict=True), zip(*other, strict=True), strict=True)
    return [
        place
        for place, (first, second) in enumerate(columns)
        if len({*first}) == len({*second}) == 1 and first[0] != second[0]
    ]


def read_request(connection):
    """A whole request: its head, and the body that follows."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def requests_of(make_client, directory, raw_server, clock):  # noqa: F811
    """The requests of a device that records one metric on as many days, byte for byte."""
    seen = []

    def answer(connection):
        seen.append(read_request(connection))
        connection.sendall(MARKED.encode())
        connection.close()

    endpoint, noon = raw_server(answer), clock.now

    def requests_of(name):
        seen.clear()
        clock.now = noon
        client = make_client(endpoint=endpoint, directory=directory.parent / name)
        for _ in range(UPLOADS):
            assert client.record("emoji", "🙂") == "recorded"
            clock.forward(days=1)
            assert client.flush().sent == 1
        return [*seen], endpoint

    return requests_of


def test_no_byte_of_a_request_is_a_name_of_the_device(requests_of):
    one, _ = requests_of("one")
    other, _ = requests_of("other")
    assert len(one) == len(other) == UPLOADS
    assert names(one, other) == []


def test_the_head_of_every_request_is_these_bytes_whatever_the_server_answered(requests_of):
    requests, endpoint = requests_of("device")
    head = HEAD.format(host=endpoint.removeprefix("http://")).encode()
    assert {request[: len(head)] for request in requests} == {head}
    assert all(wire.decode(request[len(head) :]).parts for request in requests)


def test_no_byte_of_a_tls_greeting_is_a_name_of_the_device():
    """Neither a session that was kept, nor a random number that is drawn once."""
    greetings = {"one": [], "other": []}
    with serving() as start:
        for name, found in greetings.items():

            def note(connection, found=found):
                kind = connection.recv(5)
                length, record = int.from_bytes(kind[3:], "big"), b""
                while len(record) < length:
                    record += connection.recv(length - len(record))
                found.append(kind + record)
                connection.close()

            transport = HttpTransport(f"https://localhost:{start(note)}", f"key of {name}")
            for _ in range(UPLOADS):
                with contextlib.suppress(OSError):
                    transport.send(b"body", 30.0)
    assert names(*greetings.values()) == []


def test_such_a_name_would_be_found():
    messages = [[bytes([number, device, 7]) for number in range(UPLOADS)] for device in (1, 2)]
    assert names(*messages) == [1]
