from __future__ import annotations

import re

import pytest
from flask import Response, request

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.doors.pages import routes
from deniable_aggregator.doors.pages.rendering import needs_session
from deniable_aggregator.doors.pages.visit import current_visit, require_administrator
from deniable_aggregator.keeping.store import StoreUnavailableError
from tests.aggregator.pages.visiting import FROM_OUR_PAGE, form_token
from tests.aggregator.service import serving

ERRORS = {
    "asking": AskingError(
        "No such metric is registered (unknown_metric). Ask again.", "unknown_metric"
    ),
    "problem": ProblemError("overloaded", "Send it again.", headers={"Retry-After": "2"}),
    "detail": ProblemError("days_rolled_up", "Ask about whole <b>months</b>."),
    "store": StoreUnavailableError("/var/lib/secret.db: away"),
    "fault": ZeroDivisionError("a value nobody may see"),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A service with pages that tests need."""
    made = routes.server_pages

    def with_more(*parts, **more):
        pages = made(*parts, **more)

        def visit():
            return current_visit().application

        def administer():
            return require_administrator().key.scope

        def fail():
            raise ERRORS[request.args["error"]]

        pages.add_url_rule("/operations/visit", "test visit", visit, methods=["GET", "POST"])
        pages.add_url_rule("/operations/admin", "test admin", administer, methods=["POST"])
        pages.add_url_rule("/operations/fail", "test fail", fail)
        pages.add_url_rule("/operations/file", "test file", lambda: Response("a,b"))
        return pages

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(routes, "server_pages", with_more)
        with serving(tmp_path_factory.mktemp("admission") / "store.db") as running:
            running.register()
            yield running


@pytest.fixture
def service(shared):
    """A service that others have used, and a browser that has not."""
    shared.http = shared.app.test_client()
    return shared


def test_a_page_is_about_an_application_of_the_session_alone(service):
    service.sign_in(service.key("read", "airdeck"))
    service.sign_in()
    asked = service.http.get
    assert asked("/operations/visit").text == "flightdeck"
    assert asked("/operations/visit?application=airdeck").text == "airdeck"
    service.key("read", "third")
    refusals = [asked(f"/operations/visit?application={each}") for each in ("third", "nothing", "")]
    assert [each.status_code for each in refusals] == [403] * 3
    # Whether there is such an application is not told.
    third, nothing = (
        re.sub('(?<=value=")[0-9a-f]{128}', "TOKEN", each.text) for each in refusals[:2]
    )
    assert third.replace("third", "nothing") == nothing
    assert "/sign-in?next=/operations/visit%3Fapplication%3Dthird" in refusals[0].text


@pytest.mark.parametrize(
    ("form", "headers", "status"),
    [
        ({"form_token": "TOKEN"}, FROM_OUR_PAGE, 200),
        ({"form_token": "TOKEN"}, {"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, FROM_OUR_PAGE, 415),
        ({"more": "a"}, FROM_OUR_PAGE, 403),
        ({"form_token": ""}, FROM_OUR_PAGE, 403),
        ({"form_token": "0" * 64}, FROM_OUR_PAGE, 403),
        ({"form_token": "é"}, FROM_OUR_PAGE, 403),
        ({"form_token": "TOKEN"}, {}, 403),
        ({"form_token": "TOKEN"}, {"Origin": "http://evil.example"}, 403),
        ({"form_token": "TOKEN"}, {"Origin": "null"}, 403),
        ({"form_token": "TOKEN"}, {"Origin": "http://"}, 403),
        ({"form_token": "TOKEN"}, {**FROM_OUR_PAGE, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"form_token": "TOKEN"}, {**FROM_OUR_PAGE, "Content-Type": "text/plain"}, 415),
        ({"form_token": "TOKEN"}, {**FROM_OUR_PAGE, "Content-Type": "application/json"}, 415),
        ({"form_token": "TOKEN", "more": "a" * 70_000}, FROM_OUR_PAGE, 413),
    ],
)
def test_a_form_is_taken_from_our_own_pages_alone(service, form, headers, status):
    service.sign_in()
    token = form_token(service)
    sent = {name: value.replace("TOKEN", token) for name, value in form.items()}
    answer = service.http.post("/operations/visit", data=sent, headers=headers)
    assert answer.status_code == status
    assert "text/html" in answer.content_type


def test_a_form_of_an_earlier_session_or_in_the_address_changes_nothing(service):
    service.sign_in()
    token = form_token(service)
    in_address = f"/operations/visit?form_token={token}"
    form = {"content_type": "application/x-www-form-urlencoded", "headers": FROM_OUR_PAGE}
    assert service.http.post(in_address, **form).status_code == 403
    service.sign_in()
    sent = {"data": {"form_token": token}, "headers": FROM_OUR_PAGE}
    assert service.http.post("/operations/visit", **sent).status_code == 403


def test_a_form_without_a_session_says_to_sign_in(service):
    answer = service.http.post("/operations/visit", data={"a": "b"}, headers=FROM_OUR_PAGE)
    assert answer.status_code == 401
    assert "Nothing was changed" in answer.text


def paths_of_pages(service, method):
    """Every address of a page that needs a session, with something in the place of names."""
    return sorted(
        re.sub(r"<any\((\w+)[^>]*>", r"\1", re.sub(r"<(int[^:]*:)?\w+>", "1", rule.rule))
        for rule in service.app.url_map.iter_rules()
        if rule.endpoint.startswith(("pages of answers", "pages of the server"))
        and method in rule.methods
    )


def test_every_page_needs_a_session(service):
    paths = paths_of_pages(service, "GET")
    assert len(paths) > 10
    for path in paths:
        # Otherwise the server would not ask for a session before it gives work to a process.
        assert needs_session(path)
        answer = service.http.get(path)
        assert (answer.status_code, answer.location.partition("?")[0]) == (303, "/sign-in")


def test_every_form_needs_a_session_our_own_page_and_its_token(service):
    paths = paths_of_pages(service, "POST")
    assert len(paths) > 5
    form = {"day": "2024-01-01", "text": "a", "name": "a", "values": "a"}
    for path in paths:
        assert service.http.post(path, data=form, headers=FROM_OUR_PAGE).status_code == 401
    service.sign_in(service.admin)
    whole = {**form, "form_token": form_token(service)}
    for path in paths:
        assert service.http.post(path, data=form, headers=FROM_OUR_PAGE).status_code == 403
        assert service.http.post(path, data=whole).status_code == 403
        assert (
            service.http.post(path, data=whole, headers={"Origin": "http://evil"}).status_code
            == 403
        )


def test_only_an_administrator_administers(service):
    for key, status in ((service.read, 403), (service.admin, 200)):
        service.sign_in(key)
        sent = {"data": {"form_token": form_token(service)}, "headers": FROM_OUR_PAGE}
        assert service.http.post("/operations/admin", **sent).status_code == status
        for path in paths_of_pages(service, "POST"):
            if path.startswith(("/keys/", "/annotations")):
                assert (service.http.post(path, **sent).status_code == 403) == (status == 403)


@pytest.mark.parametrize(
    ("error", "status", "said", "next_step"),
    [
        ("asking", 404, "There is no such metric", 'href="/"'),
        ("problem", 429, "The server is busy", 'href="/operations/fail?error=problem"'),
        ("detail", 422, "Ask about whole &lt;b&gt;months&lt;/b&gt;.", 'href="/"'),
        ("store", 503, "The numbers cannot be read", 'href="/operations/fail?error=store"'),
        ("fault", 500, "This is a fault of the program", 'href="/operations/fail?error=fault"'),
    ],
)
def test_an_error_is_a_page_that_says_what_to_do_next(service, error, status, said, next_step):
    service.sign_in()
    answer = service.http.get(f"/operations/fail?error={error}")
    assert answer.status_code == status
    assert said in answer.text
    assert next_step in answer.text
    assert "secret.db" not in answer.text
    assert "nobody may see" not in answer.text
    assert answer.headers.get("Retry-After") == {"problem": "2", "store": "5"}.get(error)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/sign-in", 200),
        ("GET", "/operations/file", 200),
        ("GET", "/operations/fail?error=fault", 500),
        ("GET", "/operations/nothing", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/sign-out", 405),
        ("POST", "/", 405),
        ("POST", "/sign-in", 415),
        ("GET", "/?application=another", 403),
    ],
)
def test_every_answer_forbids_framing_guessing_and_shared_caches(service, method, path, status):
    service.sign_in()
    answer = service.http.open(path, method=method, headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert "Cookie" in answer.vary
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert (answer.text == "") == (method == "HEAD")


def test_nothing_is_built_from_the_host_that_a_request_names(service):
    service.sign_in()
    (cookie,) = service.http._cookies.values()
    for host in ("evil.example", "localhost:80@evil.example", "localhost"):
        headers = {"Host": host, "Cookie": f"{cookie.key}={cookie.value}", "Accept": "text/html"}
        for path in ("/", "/sign-in", "/nowhere", "/plan?application=x", "/plan//", "/plan/"):
            answer = service.app.test_client(use_cookies=False).get(path, headers=headers)
            assert "evil" not in answer.text + str(answer.headers)


def test_problems_for_programs_stay_documents(service):
    for path in ("/v1/nowhere", "/v1/metrics", "/healthz/nothing"):
        answer = service.http.get(path, headers={"Accept": "text/html"})
        assert answer.content_type == "application/problem+json"
    assert service.http.get("/nowhere").content_type == "application/problem+json"
