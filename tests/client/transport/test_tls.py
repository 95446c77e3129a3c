"""Certificates and proxies, with real TLS servers and a real CONNECT proxy."""

from __future__ import annotations

import base64
import datetime
import http.client
import re
import socket
import ssl
import threading
import time

import pytest
import trustme

from deniable import HttpTransport, ParameterError
from deniable._transport.proxy import ProxyError
from tests.client.socket_servers import reset, serving

pytestmark = pytest.mark.service  # TLS servers

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority, tmp_path_factory):
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


def answer(connection):
    request = b""
    while not request.endswith(b"body"):
        request += connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


@pytest.fixture
def tls_server(authority):
    """Starts TLS servers and returns their ports; certificates are for localhost by default."""
    with serving() as start:

        def make(handle=answer, *, issuer=authority, names=("localhost", "127.0.0.1"), **dates):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            issuer.issue_cert(*names, **dates).configure_cert(context)

            def talk(connection):
                with context.wrap_socket(connection, server_side=True) as secured:
                    handle(secured)

            return start(talk)

        yield make


class ConnectProxy:
    """Opens tunnels to any port of this machine, whatever host name it is asked for.

    Attributes:
        heads: the requests that it got.
        connections: how many there were.
    """

    def __init__(self, start):
        self.heads = []
        self.answer = b"HTTP/1.1 200 Connection established\r\nVia: it\r\n\r\n"
        self.port = start(self.serve)
        self.url = f"http://127.0.0.1:{self.port}"

    def serve(self, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.heads.append(head.decode())
        port = int(re.match(rb"CONNECT .*:([0-9]+) HTTP/1.1\r\n", head)[1])
        connection.sendall(self.answer)
        with socket.create_connection(("127.0.0.1", port)) as onward:
            back = threading.Thread(target=pump, args=(onward, connection), daemon=True)
            back.start()
            pump(connection, onward)
            back.join()


def pump(source, sink):
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def proxy():
    with serving() as start:
        yield ConnectProxy(start)


def send(port, *, host="localhost", timeout_seconds=30.0, **options):
    return HttpTransport(f"https://{host}:{port}", "key", **options).send(b"body", timeout_seconds)


def test_a_private_authority_is_trusted_when_it_is_named(tls_server, ca_file):
    assert send(tls_server(), ca_file=ca_file).status == 204
    assert send(tls_server(), ca_file=str(ca_file), host="127.0.0.1").status == 204


def test_a_ca_file_may_be_relative_and_the_program_may_move(
    tls_server, ca_file, tmp_path, monkeypatch
):
    monkeypatch.chdir(ca_file.parent)
    transport = HttpTransport(f"https://localhost:{tls_server()}", "key", ca_file="ca.pem")
    monkeypatch.chdir(tmp_path)
    assert transport.send(b"body", 30.0).status == 204


def test_an_authority_that_the_system_does_not_know_is_refused(tls_server):
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        send(tls_server())


def test_another_authority_than_the_named_one_is_refused(tls_server, ca_file):
    with pytest.raises(ssl.SSLCertVerificationError, match="CERTIFICATE_VERIFY_FAILED"):
        send(tls_server(issuer=trustme.CA()), ca_file=ca_file)


def test_a_certificate_for_another_host_is_refused(tls_server, ca_file):
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        send(tls_server(names=("other.example",)), ca_file=ca_file)


def test_an_expired_certificate_is_refused(tls_server, ca_file):
    begun = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    port = tls_server(not_before=begun, not_after=begun + datetime.timedelta(days=30))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        send(port, ca_file=ca_file)


def test_a_refused_server_sees_no_byte_of_the_request(tls_server, ca_file):
    seen = []
    port = tls_server(lambda connection: seen.append(connection.recv(1)), names=("other.example",))
    with pytest.raises(ssl.SSLCertVerificationError):
        send(port, ca_file=ca_file)
    assert seen == []


def test_a_server_without_tls_is_refused(raw_port, ca_file):
    def talk(connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        connection.close()

    with pytest.raises(OSError, match=r"SSL|EOF|reset"):
        send(raw_port(talk), ca_file=ca_file)


@pytest.fixture
def raw_port():
    with serving() as start:
        yield start


def dribble(connection):
    while True:
        time.sleep(0.02)
        connection.sendall(b"\x16")


@pytest.mark.parametrize("treatment", [lambda _connection: threading.Event().wait(20), dribble])
def test_the_timeout_bounds_the_handshake(raw_port, ca_file, treatment):
    port = raw_port(treatment)
    with pytest.raises(OSError, match=r"timed out|SSL"):
        send(port, ca_file=ca_file, timeout_seconds=0.3)


# A reset at the wrong instant makes Python's own `SSLSocket` fail half made, and not close itself.
half_made = pytest.mark.filterwarnings("ignore:unclosed .*SSLSocket:ResourceWarning")


@half_made
def test_a_reset_in_the_handshake_raises(raw_port, ca_file):
    with pytest.raises(OSError, match=r"reset|SSL|EOF|[Bb]roken"):
        send(raw_port(reset), ca_file=ca_file)


def test_the_timeout_bounds_an_answer_that_comes_byte_by_byte_through_tls(tls_server, ca_file):
    def slowly(connection):
        answer_head = b"HTTP/1.1 204 No Content\r\nX: "
        connection.recv(65_536)
        connection.sendall(answer_head)
        while True:
            time.sleep(0.02)
            connection.sendall(b"y")

    with pytest.raises(TimeoutError):
        send(tls_server(slowly), ca_file=ca_file, timeout_seconds=0.5)


def test_every_upload_does_its_own_handshake_without_resuming_a_session(tls_server, ca_file):
    resumed = []

    def note(connection):
        resumed.append(connection.session_reused)
        answer(connection)

    transport = HttpTransport(f"https://localhost:{tls_server(note)}", "key", ca_file=ca_file)
    for _ in range(3):
        transport.send(b"body", 30.0)
    assert resumed == [False, False, False]


def test_a_proxy_carries_a_tunnel_and_sees_host_and_port_only(tls_server, ca_file, proxy):
    port = tls_server(names=("telemetry.example",))
    sent = send(port, host="telemetry.example", ca_file=ca_file, proxy=proxy.url)
    assert sent.status == 204
    target = f"telemetry.example:{port}"
    assert proxy.heads == [f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"]


def test_a_password_is_for_the_proxy_and_is_shown_nowhere(tls_server, ca_file, proxy):
    url = proxy.url.replace("//", "//me%40home:s3cret%2F@")
    transport = HttpTransport(
        f"https://localhost:{tls_server()}", "key", ca_file=ca_file, proxy=url
    )
    assert transport.send(b"body", 30.0).status == 204
    credentials = base64.b64encode(b"me@home:s3cret/").decode()
    assert f"\r\nProxy-Authorization: Basic {credentials}\r\n" in proxy.heads[0]
    assert "s3cret" not in repr(transport)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_environments_proxy_is_used(tls_server, ca_file, proxy, monkeypatch, variable, scheme):
    monkeypatch.setenv(variable, f"{scheme}127.0.0.1:{proxy.port}")
    assert send(tls_server(), ca_file=ca_file).status == 204
    assert len(proxy.heads) == 1


@pytest.mark.parametrize("excepted", ["localhost", "*", "other.example, localhost"])
def test_hosts_in_no_proxy_are_reached_directly(tls_server, ca_file, proxy, monkeypatch, excepted):
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", excepted)
    assert send(tls_server(), ca_file=ca_file).status == 204
    assert proxy.heads == []


def test_the_environment_can_be_ignored(tls_server, ca_file, proxy, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    assert send(tls_server(), ca_file=ca_file, proxy=None).status == 204
    assert proxy.heads == []


def test_an_endpoint_on_this_machine_without_tls_is_never_sent_through_a_proxy(
    collector, proxy, monkeypatch
):
    for variable in PROXY_VARIABLES[:3]:
        monkeypatch.setenv(variable, proxy.url)
    assert HttpTransport(collector.endpoint, "key").send(b"body", 30.0).status == 204
    assert proxy.heads == []


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:9", "https://127.0.0.1:9", "http://"])
def test_an_unusable_proxy_of_the_environment_is_not_bypassed(
    tls_server, ca_file, monkeypatch, url
):
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(OSError, match="the environment names a proxy that is not http://"):
        send(tls_server(), ca_file=ca_file)


def test_a_proxy_that_is_down_is_not_bypassed(tls_server, ca_file):
    with pytest.raises(ProxyError, match="no connection to the proxy"):
        send(tls_server(), ca_file=ca_file, proxy="http://127.0.0.1:9")


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "302 Found", "502 No"])
def test_a_proxy_that_opens_no_tunnel_raises(tls_server, ca_file, proxy, status):
    proxy.answer = f"HTTP/1.1 {status}\r\nLocation: http://127.0.0.1:9/\r\n\r\n".encode()
    with pytest.raises(OSError, match=f"the proxy answered {status[:3]}"):
        send(tls_server(), ca_file=ca_file, proxy=proxy.url)


def test_a_proxy_cannot_pose_as_the_aggregator(tls_server, ca_file, proxy):
    port = tls_server(issuer=trustme.CA(), names=("telemetry.example",))
    with pytest.raises(ssl.SSLCertVerificationError):
        send(port, host="telemetry.example", ca_file=ca_file, proxy=proxy.url)


@half_made
@pytest.mark.parametrize("said", [None, b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_proxy_that_resets_raises_in_every_phase(raw_port, ca_file, said):
    def talk(connection):
        if said is not None:
            connection.recv(65_536)
            connection.sendall(said)
            time.sleep(0.05)  # a reset may discard what was sent just before it
        reset(connection)

    with pytest.raises((OSError, http.client.HTTPException)):
        send(9, ca_file=ca_file, proxy=f"http://127.0.0.1:{raw_port(talk)}")


def test_the_timeout_bounds_a_proxy_that_answers_byte_by_byte(raw_port, ca_file):
    def slowly(connection):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            time.sleep(0.02)
            connection.sendall(b"y")

    url = f"http://127.0.0.1:{raw_port(slowly)}"
    with pytest.raises(ProxyError, match="opened no tunnel"):
        send(9, ca_file=ca_file, proxy=url, timeout_seconds=0.3)


@pytest.mark.parametrize(
    "proxy_url",
    [
        "",
        "example.org:3128",
        "https://example.org",
        "http://",
        "http://a:s3cret@/",
        "http://h:x",
        7,
    ],
)
def test_a_proxy_that_is_no_http_url_is_refused_and_not_shown(proxy_url):
    with pytest.raises(ParameterError, match="proxy must be") as caught:
        HttpTransport("https://example.org", "key", proxy=proxy_url)
    assert "s3cret" not in str(caught.value)


def test_a_proxy_or_an_authority_is_refused_without_tls(ca_file):
    with pytest.raises(ParameterError, match="proxy must be left out"):
        HttpTransport("http://127.0.0.1:9", "key", proxy="http://127.0.0.1:9")
    with pytest.raises(ParameterError, match="ca_file must be"):
        HttpTransport("http://127.0.0.1:9", "key", ca_file=ca_file)


@pytest.mark.parametrize("path", ["/nowhere/ca.pem", 7, ""])
def test_a_missing_ca_file_is_refused(path):
    with pytest.raises(ParameterError, match="ca_file must be a file"):
        HttpTransport("https://example.org", "key", ca_file=path)
