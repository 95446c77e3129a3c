"""Whatever goes wrong with an upload: the developer reads what it is and what to do."""

from __future__ import annotations

import datetime
import errno
import logging
import pickle
import socket
import ssl
import time
import urllib.error

import pytest
import trustme

from deniable import Client, HttpTransport, ParameterError, Response, UploadError, _event_log
from deniable._transport.proxy import ProxyError
from deniable._upload import delivery, problems
from tests.client.flushing import counts
from tests.client.socket_servers import raw_server, serving, unused_port
from tests.waiting import wait_until

__all__ = ["raw_server"]

MISTAKES = {
    "not_registered",
    "key_refused",
    "no_aggregator",
    "redirected",
    "refused",
    "no_response",
}
STATUSES = {
    200: ("no_aggregator", "Correct the endpoint"),
    301: ("redirected", "curl --head {endpoint}/v1/reports"),
    308: ("redirected", "Make the endpoint the address that it redirects to"),
    400: ("refused", "update the older"),
    401: ("key_refused", "deniable keys create --store STORE --scope write"),
    403: ("key_refused", "--application flightdeck"),
    404: ("no_aggregator", "{endpoint}/v1/reports"),
    405: ("no_aggregator", "`deniable serve`"),
    408: ("cut_off", "tried again"),
    409: ("not_registered", "deniable metrics register metrics.toml --server {endpoint} --token"),
    410: ("too_late", "accept_days"),
    413: ("refused", "deleted"),
    415: ("refused", "deleted"),
    418: ("no_aggregator", "in front of the server"),
    422: ("refused", "metric theme"),
    429: ("busy", "nothing to do"),
    500: ("server_failed", "operator"),
    502: ("server_behind_proxy", "Is it running?"),
    503: ("busy", "nothing to do"),
    504: ("server_behind_proxy", "Is it running?"),
    507: ("server_full", "free space"),
}


class Scripted:
    """A transport that answers or raises what a test sets."""

    def __init__(self, answer=None):
        self.answer = answer
        self.calls = 0

    def send(self, _body, _timeout_seconds):
        self.calls += 1
        answer = self.answer
        if isinstance(answer, BaseException):
            raise answer
        return Response(answer) if isinstance(answer, int) else answer

    def close(self):
        pass


def wrapped(error, cause):
    """An error as a library raises it: because of another."""
    error.__cause__ = cause
    return error


@pytest.fixture
def log(caplog):
    """What was logged: levels and lines; forgets what was returned."""
    caplog.set_level("WARNING", "deniable")
    logging.getLogger("deniable").setLevel(logging.NOTSET)

    def lines():
        found = [
            (each.levelname, each.getMessage())
            for each in caplog.records
            if each.name == "deniable"
        ]
        caplog.clear()
        return found

    return lines


def flushed(client):
    """The word and the words of what a flush of one report says."""
    client.record("theme", "dark")
    kind, _, words = (client.flush().problem or "").partition(": ")
    return kind, words


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_told_with_cause_and_remedy(make_client, collector, status):
    kind, remedy = STATUSES[status]
    evil = "http://evil.example/\x1b[31m"
    collector.answer = lambda _body: (status, {"Location": evil, "Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint, key="s3cret")
    found, words = flushed(client)
    assert found == kind
    assert remedy.format(endpoint=collector.endpoint) in words
    assert collector.endpoint in words
    if kind not in MISTAKES | {"too_late"} or kind == "key_refused":
        assert client.status().pending == 1
    assert client.status().last_error == f"{kind}: {words}"
    for secret in ("evil", "\x1b", "\n", "s3cret", "dark"):
        assert secret not in words


def test_the_words_of_a_status_fit_a_metric_of_an_earlier_version_and_a_strange_transport():
    target = problems.Target("flightdeck")
    told = problems.of_status(409, target, None)
    assert "the version of this program that recorded it" in told.text
    assert "--server ENDPOINT" in told.text
    assert told.text.startswith("The server ")
    assert problems.of_status(10**9, target, None).kind == "no_aggregator"


def test_nobody_listens_hangs_up_or_speaks_http(make_client, raw_server, tmp_path):
    def hang_up(connection):
        connection.recv(65_536)
        connection.close()

    def speak_something_else(connection):
        connection.recv(65_536)
        connection.sendall(b"220 secret-word smtp\r\n")
        connection.close()

    with unused_port() as port:
        nobody = f"http://127.0.0.1:{port}"
        for endpoint, kind in (
            (nobody, "connection_refused"),
            (raw_server(hang_up), "connection_lost"),
            (raw_server(speak_something_else), "not_http"),
        ):
            found, words = flushed(make_client(endpoint=endpoint, directory=tmp_path / kind))
            assert (found, endpoint in words) == (kind, True)
            assert "secret-word" not in words


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (socket.gaierror(-2, "Name or service not known"), "no_address"),
        (UnicodeError("label too long"), "no_address"),
        (TimeoutError(), "timed_out"),
        (ConnectionRefusedError("without a number"), "connection_refused"),
        (ConnectionAbortedError("without a number"), "connection_lost"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "offline"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "offline"),
        (OSError(errno.EPERM, "Operation not permitted"), "forbidden"),
        (OSError(errno.EMFILE, "Too many open files"), "too_many_files"),
        (ssl.SSLError(1, "[SSL: TLSV1_ALERT_PROTOCOL_VERSION]"), "tls_failed"),
        (ssl.SSLEOFError(8, "EOF"), "tls_failed"),
        (ProxyError("unusable", ""), "proxy_unusable"),
        (KeyError("kumquat"), "unreachable"),
        (urllib.error.URLError("kumquat"), "unreachable"),
        (wrapped(urllib.error.URLError("kumquat"), TimeoutError()), "timed_out"),
        (None, "no_response"),
    ],
)
def test_an_exception_is_told_with_its_cause_and_never_with_its_message(make_client, error, kind):
    client = make_client(transport=Scripted(error))
    found, words = flushed(client)
    assert found == kind
    assert len(words) > 40
    assert "kumquat" not in words
    assert client.status().pending == 1


@pytest.mark.service  # TLS servers
def test_what_is_wrong_with_tls_and_proxies_is_told(make_client, tmp_path):
    authority, ca_file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    with serving() as start:

        def tls(issuer=authority, names=("localhost",), **dates):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            issuer.issue_cert(*names, **dates).configure_cert(context)
            return start(lambda connection: context.wrap_socket(connection, server_side=True))

        def answering(head):
            def talk(connection):
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 " + head + b"\r\n\r\n")
                connection.close()

            return start(talk)

        long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        for kind, port, proxy in (
            ("certificate_untrusted", tls(issuer=trustme.CA()), None),
            ("certificate_name", tls(names=("other.example",)), None),
            ("certificate_expired", tls(not_after=long_ago), None),
            ("no_tls", answering(b"400 Bad Request"), None),
            ("proxy_password", 9, answering(b"407 Proxy Authentication Required")),
            ("proxy_refused", 9, answering(b"403 Forbidden")),
        ):
            transport = HttpTransport(
                f"https://localhost:{port}",
                "key",
                ca_file=ca_file,
                proxy=None if proxy is None else f"http://me:s3cret@127.0.0.1:{proxy}",
            )
            client = make_client(transport=transport, directory=tmp_path / kind)
            found, words = flushed(client)
            assert found == kind
            assert "s3cret" not in words
    with unused_port() as port:
        transport = HttpTransport("https://localhost", "key", proxy=f"http://127.0.0.1:{port}")
        assert flushed(make_client(transport=transport))[0] == "proxy_unreachable"


def test_a_strict_flush_raises_for_mistakes_and_for_nothing_else(make_client):
    transport = Scripted(409)
    client = make_client(transport=transport, strict=True)
    client.record("theme", "dark")
    with pytest.raises(UploadError, match=r"not_registered: .*`deniable metrics register") as told:
        client.flush()
    assert told.value.kind == "not_registered"
    assert pickle.loads(pickle.dumps(told.value)).args == told.value.args
    transport.answer = 503
    assert client.flush().problem.startswith("busy: ")
    assert client.status().pending == 1


def test_a_mistake_is_told_before_what_ends_by_itself(make_client):
    answers = iter([409, 503])

    class Both(Scripted):
        def send(self, _body, _timeout_seconds):
            return Response(next(answers))

    client = make_client(transport=Both())
    client.record("theme", "dark")
    client.record("late", value=True)
    assert client.flush().problem.startswith("not_registered: ")


def test_a_problem_is_over_when_reports_are_accepted_again(make_client, log):
    transport = Scripted(TimeoutError())
    client = make_client(transport=transport)
    client.record("theme", "dark")
    client.flush()
    transport.answer = 503
    client.flush()
    client.flush()
    assert [level for level, _ in log()] == ["WARNING", "WARNING"]  # each once
    transport.answer = 204
    assert client.flush().problem is None
    assert client.status().last_error is None
    ((level, line),) = log()
    assert (level, "busy, timed_out" in line) == ("WARNING", True)
    client.record("late", value=True)
    client.flush()
    assert log() == []


def test_a_metric_that_is_not_registered_stays_told_until_it_is(make_client, log):
    transport = Scripted(409)
    client = make_client(transport=transport)
    client.record("theme", "dark")
    client.flush()
    client.flush()
    assert [level for level, _ in log()] == ["ERROR"]
    theme = client.status().last_error
    assert "the metric theme" in theme
    refused = transport.send

    def all_but_theme(body, seconds):
        digest = client._registry.metrics["theme"].spec.digest
        return refused(body, seconds) if digest in body else Response(204)

    transport.send = all_but_theme
    client.record("late", value=True)
    assert counts(client.flush()) == (1, 1, 0)
    assert client.status().last_error == theme
    del transport.send
    transport.answer = 204
    client.flush()
    assert client.status().last_error is None
    assert [level for level, _ in log()] == ["WARNING"]


def test_a_refused_key_is_said_once_and_tried_twice_and_then_by_the_day(
    make_client, log, monkeypatch
):
    now = [1_000.0]
    monkeypatch.setattr(delivery.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(delivery, "random_fraction", lambda: 0.0)
    transport = Scripted(401)
    client = make_client(transport=transport)
    client.record("theme", "dark")
    client._storage.seal()
    sender, rounds = client._uploader._sender, client._uploader._rounds
    waits = []
    for _ in range(5):
        (report,) = client._storage.run_locked(lambda: client._storage.spool.reports())
        assert sender.send(report, lambda: True) is False
        waits.append(sender.silent_until - now[0])
        now[0] = sender.silent_until - 1
        calls = transport.calls
        rounds.send_due(lambda: True, lambda: False)
        assert transport.calls == calls
        now[0] = sender.silent_until
    assert waits == [300, 1_800, 86_400, 86_400, 86_400]
    assert client.status().pending == 1
    assert [level for level, _ in log()] == ["ERROR"]
    now[0] += 7 * 86_400
    transport.answer = 204
    assert sender.send(report, lambda: True)
    assert sender.silent_until <= now[0]
    assert [level for level, _ in log()] == ["WARNING"]
    assert client.status().last_error is None


def test_the_thread_ends_its_tries_with_a_refused_key_and_a_flush_begins_them_again(
    make_client, monkeypatch
):
    monkeypatch.setattr(delivery, "KEY_PAUSES_SECONDS", (0.0, 0.0, 86_400.0))
    monkeypatch.setattr(delivery, "FIRST_BACKOFF_SECONDS", 0.0)
    transport = Scripted(403)
    client = make_client(transport=transport, background=True, upload_delay_seconds=0)
    client.record("theme", "dark")
    wait_until(lambda: client._uploader._sender.silent_until > time.monotonic() + 3_600)
    assert transport.calls == 3
    transport.answer = 204
    client.record("late", value=True)
    assert client.flush().problem is None
    assert client.status().sent == 2
    client.record("emoji", "🙂")
    wait_until(lambda: client.status().sent == 3)


def test_reports_that_are_refused_one_after_the_other_are_said_again(make_client, log, monkeypatch):
    client = make_client(transport=Scripted(422))
    for name, value in (("theme", "dark"), ("late", True)):
        client.record(name, value)
        client.flush()
    assert [level for level, _ in log()] == ["ERROR"]
    monkeypatch.setattr(_event_log, "LOG_INTERVAL_SECONDS", 0.0)
    client.record("emoji", "🙂")
    client.flush()
    assert [level for level, _ in log()] == ["ERROR"]


def test_another_key_is_tried_at_once_in_a_process_that_dropped_a_client_with_a_refused_one(
    collector, registry, directory, clock
):
    collector.answer = lambda _body: (401, {"Content-Length": "0"})
    options = {"directory": directory, "clock": clock, "consent": True, "background": False}
    for key, silent in (("wrong", False), ("wrong", True), ("right", False)):
        client = Client(registry, endpoint=collector.endpoint, key=key, **options)
        assert (client._uploader._sender.silent_until > time.monotonic()) is silent
        client.record("theme", "dark")
        client.flush()
        del client


def test_one_of_several_servers_that_does_not_know_the_key_delays_and_loses_nothing(make_client):
    transport = Scripted(401)
    client = make_client(transport=transport)
    client.record("theme", "dark")
    client.flush()
    sender = client._uploader._sender
    assert sender.silent_until > 0
    transport.answer = 204
    client.record("late", value=True)
    assert counts(client.flush()) == (2, 0, 0)
    assert sender.silent_until == 0  # the next report need not wait
    assert sender._history.key_refusals == 0


def test_reports_that_could_not_be_sent_in_time_are_not_lost_silently(make_client, clock, log):
    client = make_client(transport=Scripted(401))
    client.record("theme", "dark")
    client.flush()
    log()
    clock.forward(days=31)
    result = client.flush()
    assert counts(result) == (0, 0, 1)
    assert result.problem.startswith("too_old: reports were given up")
    assert result.problem.endswith(": 1")
    assert [level for level, _ in log()] == ["WARNING"]


def test_accepted_uploads_are_logged_if_the_loggers_own_level_asks_for_them(make_client, caplog):
    """The level of the root logger is often INFO, and asks for no times of uploads."""
    caplog.set_level(0)
    logger = logging.getLogger("deniable")
    client = make_client(transport=Scripted(204))
    client.record("theme", "dark")
    client.flush()
    assert caplog.records == []
    caplog.set_level("INFO", "deniable")
    client.record("late", value=True)
    client.flush()
    (record,) = caplog.records
    assert (record.name, record.levelname) == (logger.name, "INFO")
    assert record.getMessage() == "accepted: a report of late"


def test_why_nothing_was_tried_is_told(make_client, monkeypatch):
    client = make_client(consent=False, transport=Scripted(204))
    assert client.flush().problem.startswith("no_consent: ")
    client.consent = True
    assert client.flush().problem is None
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client.consent = True
    assert client.flush().problem.startswith("do_not_track: ")
    client.close()
    assert client.flush().problem.startswith("closed: ")


@pytest.mark.parametrize("scope", ["admin", "read"])
def test_a_key_that_must_not_be_in_an_application_is_refused_and_not_shown(scope):
    with pytest.raises(ParameterError, match=f"--scope write .*scope {scope}") as told:
        HttpTransport("https://example.org", f"deniable_{scope}_0123456789ab_s3cret")
    assert "s3cret" not in str(told.value)
    HttpTransport("https://example.org", "deniable_write_0123456789ab_s3cret")


def test_the_path_of_uploads_does_not_belong_to_the_endpoint():
    with pytest.raises(ParameterError, match="base URL"):
        HttpTransport("https://example.org/v1/reports/", "key")
