from __future__ import annotations

import pytest

from deniable_aggregator import Settings
from deniable_aggregator.doors.http.browsers import UploadOrigins
from deniable_shared.errors import ParameterError
from tests.aggregator.service import bearer, serving, upload

APP = "https://app.example.org"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture(scope="module")
def open_to_pages(tmp_path_factory):
    store = tmp_path_factory.mktemp("pages") / "store.db"
    with serving(store, browser_origins=f"{APP},capacitor://localhost") as service:
        service.register()
        yield service


def preflight(service, origin, path="/v1/reports"):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return service.http.options(path, headers=asked)


@pytest.mark.one_store
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/v1/metrics", "/no"])
def test_browsers_guess_the_type_of_no_answer(service, path):
    assert service.http.get(path).headers["X-Content-Type-Options"] == "nosniff"
    assert service.ask(path).headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.one_store
def test_no_page_may_send_uploads_unless_its_origin_is_allowed(service):
    service.register()
    for answer in (preflight(service, APP), service.send(upload(), headers={"Origin": APP})):
        assert not [name for name in answer.headers.keys() if name.startswith("Access-Control")]  # noqa: SIM118
        assert "Vary" not in answer.headers


@pytest.mark.parametrize("origin", [APP, "capacitor://localhost"])
def test_a_browser_is_told_that_a_page_of_an_allowed_origin_may_send(open_to_pages, origin):
    answer = preflight(open_to_pages, origin)
    assert answer.status_code == 204
    assert answer.headers[ALLOWED] == origin
    assert answer.headers["Access-Control-Allow-Methods"] == "POST"
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization, content-type"
    assert int(answer.headers["Access-Control-Max-Age"]) > 0
    assert answer.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_a_page_of_an_allowed_origin_can_read_whether_its_upload_was_taken(open_to_pages):
    taken = open_to_pages.send(upload(), headers={"Origin": APP})
    refused = open_to_pages.send(b"no upload", headers={"Origin": APP})
    assert (taken.status_code, refused.status_code) == (204, 400)
    for answer in (taken, refused):
        assert answer.headers[ALLOWED] == APP
        assert answer.headers["Access-Control-Expose-Headers"] == "retry-after"
        assert answer.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    ["https://app.example.org.evil.net", "http://app.example.org", f"{APP}:8443", "null", ""],
)
def test_a_page_of_another_origin_is_not(open_to_pages, origin):
    sent = open_to_pages.send(upload(), headers={"Origin": origin})
    for answer in (preflight(open_to_pages, origin), sent):
        assert ALLOWED not in answer.headers
        assert answer.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    "path", ["/v1/metrics", "/v1/remote", "/v1/keys", "/v1/status", "/healthz"]
)
def test_nothing_but_uploads_is_for_pages(open_to_pages, path):
    asked = {**bearer(open_to_pages.admin), "Origin": APP}
    answers = (preflight(open_to_pages, APP, path), open_to_pages.http.get(path, headers=asked))
    for answer in answers:
        assert ALLOWED not in answer.headers


def test_all_origins_may_be_allowed():
    headers = dict(UploadOrigins("*").preflight_headers("https://any.example.net"))
    assert headers["access-control-allow-origin"] == "*"
    assert "vary" not in headers


@pytest.mark.parametrize(
    "wrong",
    [
        "app.example.org",
        f"{APP}/",
        f"{APP}, https://b.example.org",
        "https://App.example.org",
        "https://*.example.org",
        "*,https://app.example.org",
        "null",
    ],
)
def test_what_no_browser_sends_as_an_origin_is_refused(wrong):
    with pytest.raises(ParameterError, match="browser_origins must be origins such as"):
        Settings(browser_origins=wrong)
