from __future__ import annotations

import asyncio

import pytest

from deniable_aggregator.answers.views import read_place
from deniable_aggregator.doors.server.bodies import AnswerBody
from deniable_aggregator.doors.server.flask_bridge import BoundedThreadPool, FlaskBridge
from deniable_aggregator.doors.server.wsgi_call import Response
from tests.aggregator.service import bearer, serving

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8787"}
HOST = "127.0.0.1:8787"


class Headers(dict):
    def items(self):
        return list(super().items())


class Scope:
    """A request as the web server gives it."""

    http_version, scheme = "1.1", "http"

    def __init__(self, method, target, headers, body):
        self.method = method
        self.path, _, self.query_string = target.partition("?")
        length = {"content-length": str(len(body))} if body else {}
        self.headers = Headers({"host": HOST, **length, **headers})


class Protocol:
    """The connection of a request."""

    def __init__(self, body):
        self.sent, self.was_read = body, False

    async def __call__(self):
        self.was_read = True
        return self.sent

    async def __aiter__(self):
        self.was_read = True
        yield self.sent

    async def client_disconnect(self):
        await asyncio.Event().wait()

    def response_bytes(self, status, headers, body):
        self.status, self.headers, self.body = status, dict(headers), body.decode()


class Processes:
    """In the place of the processes that answer questions."""

    def __init__(self):
        self.asked = []

    async def answer(self, _asker, request, _):
        self.asked.append(request.path)
        return Response(200, [("content-type", "text/html")]), AnswerBody(b"answered")

    def close(self):
        pass


class Server:
    """A server without sockets or processes."""

    def __init__(self, service):
        self.checks = BoundedThreadPool("checks", threads=1, waiting=8)
        self.bridge = FlaskBridge(service.app, service.settings, self.checks)
        self.bridge.questions = self.processes = Processes()
        self.cookie = ""

    def ask(self, method, target, body=b"", **headers):
        protocol = Protocol(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent["cookie"] = self.cookie
        asyncio.run(self.bridge.handle(Scope(method, target, sent, body), protocol))
        return protocol

    def sign_in(self, token):
        entered = self.ask("POST", "/sign-in", f"token={token}".encode(), **FORM)
        assert entered.status == 303
        self.cookie = entered.headers["set-cookie"].partition(";")[0]

    def close(self):
        self.bridge.close()
        self.checks.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    path = tmp_path_factory.mktemp("requests") / "store.db"
    # No process is started, as no event loop is told to.
    limits = {"question_processes": 1, "read_rate_limit": "9/minute", "share_links": "on"}
    with serving(path, **limits) as running:
        running.register()
        yield running


@pytest.fixture
def server(service):
    service.read = service.key("read")
    started = Server(service)
    yield started
    started.close()


def share_link(service):
    """The path of a link to a page."""
    pages = service.running.pages
    key = service.running.key_verifier.verify(service.read)
    place = read_place("/metric/theme?since=2024-09-01&until=2024-09-28")
    return f"/shared/{pages.links.make(key, place, 7)}"


def test_a_share_link_is_answered_like_a_question_within_a_limit_of_its_own(server, service):
    link, other = share_link(service), share_link(service)
    for method in ("GET", "HEAD"):
        assert server.ask(method, link).status == 200
    assert server.processes.asked == [link, link]
    statuses = [server.ask("GET", link).status for _ in range(8)]
    assert statuses == [*[200] * 7, 429]
    refused = server.ask("GET", link)
    assert refused.headers["referrer-policy"] == "no-referrer"
    assert server.ask("GET", other).status == 200


def test_a_share_link_that_does_not_work_costs_no_question_process(server, service):
    link = share_link(service)
    for path in (f"/shared/{'A' * 43}", "/shared/", "/shared/x", f"/{link}", f"{link}/more"):
        answer = server.ask("GET", path)
        assert answer.status == 404
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert server.ask("POST", link, b"x=1", **FORM).status in (401, 405)
    assert server.processes.asked == []


PAGES = ["/", "/plan?epsilon=1", "/metric/theme", "/metric/theme/discoveries/1.csv", "/health"]


@pytest.mark.parametrize("target", PAGES)
def test_a_page_costs_no_question_process_before_somebody_signs_in(server, target):
    for method in ("GET", "HEAD"):
        answer = server.ask(method, target, accept="application/json", **bearer("x"))
        assert answer.status == 303
        assert answer.headers["location"].startswith("/sign-in")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    below = server.ask("GET", target, **{"x-forwarded-prefix": "/below"})
    assert below.headers["location"].startswith("/below/sign-in")
    server.cookie = "deniable-8787=" + "A" * 43 + ".99999999999"
    assert server.ask("GET", target).status == 303
    assert server.processes.asked == []


def test_pages_that_ask_are_made_by_question_processes_within_the_readers_limit(server, service):
    server.sign_in(service.read)
    for target in PAGES:
        assert server.ask("GET", target).body == "answered"
    assert server.processes.asked == [each.partition("?")[0] for each in PAGES]
    for _ in range(4):
        server.ask("GET", "/lists")
    refused = server.ask("GET", "/")
    assert refused.status == 429
    assert "the next one has to wait" in refused.body
    assert int(refused.headers["retry-after"]) > 0
    assert len(server.processes.asked) == len(PAGES)


def test_other_pages_are_made_by_the_server_itself(server, service):
    server.sign_in(service.read)
    assert server.ask("GET", "/lists").status == 200
    assert server.ask("POST", "/metric/theme/discover", b"a=b", **FORM).status == 403
    assert server.processes.asked == []


@pytest.mark.parametrize(
    ("target", "body", "headers", "status"),
    [
        ("/lists", b"a=b", FORM, 401),
        ("/operations", b"a=b", {}, 401),
        ("/sign-in", b"{}", {"content-type": "application/json"}, 415),
        ("/sign-in", b"token=" + b"a" * 9_000, FORM, 413),
        ("/sign-out", b"token=" + b"a" * 9_000, FORM, 413),
        ("/nowhere", b"a=b", {**FORM, "accept": "text/html"}, 401),
    ],
)
def test_no_body_is_read_of_somebody_who_has_not_signed_in(server, target, body, headers, status):
    answer = server.ask("POST", target, body, **headers)
    assert answer.status == status
    assert not answer.was_read
    assert "text/html" in answer.headers["content-type"]


@pytest.mark.parametrize(("size", "status"), [(60_000, 403), (70_000, 413)])
def test_a_form_is_short_unless_it_has_a_list_of_values(server, service, size, status):
    server.sign_in(service.read)
    answer = server.ask("POST", "/metric/theme/discover", b"a=" + b"b" * size, **FORM)
    assert answer.status == status
    assert server.ask("POST", "/lists", b"a=" + b"b" * size, **FORM).status == 403


def test_a_path_that_looks_like_a_page_to_the_application_alone_is_nothing(server, service):
    server.sign_in(service.read)
    for path in ("//", "//plan", "//metric/theme", "//evil.example"):
        assert server.ask("GET", path).status == 404
    assert server.processes.asked == []
    assert server.ask("GET", "//healthz").status == 200


def test_errors_of_the_event_loop_are_pages_for_people_and_documents_for_programs(server):
    full = BoundedThreadPool("none", threads=1, waiting=-1)
    server.bridge._threads = server.bridge._sign_in_thread = full
    page, document = server.ask("GET", "/sign-in"), server.ask("GET", "/v1/status")
    assert (page.status, document.status) == (429, 429)
    assert "The server is busy" in page.body
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["retry-after"] == "2"
    assert document.headers["content-type"] == "application/problem+json"


def test_a_flood_of_tokens_keeps_nobody_from_other_pages(server, service):
    server.sign_in(service.read)
    server.bridge._sign_in_thread = BoundedThreadPool("none", threads=1, waiting=-1)
    assert server.ask("POST", "/sign-in", b"token=x", **FORM).status == 429
    assert server.ask("GET", "/lists").status == 200


def test_without_pages_nothing_is_redirected(tmp_path):
    with serving(tmp_path / "store.db", pages="off") as service:
        server = Server(service)
        for target in ("/", "/sign-in", "/plan"):
            answer = server.ask("GET", target, accept="text/html")
            assert (answer.status, "problem+json" in str(answer.headers)) == (404, True)
        server.close()
