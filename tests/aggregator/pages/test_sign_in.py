from __future__ import annotations

import logging
import re

import pytest

from deniable_aggregator import Settings
from deniable_aggregator.doors.pages import sign_in
from deniable_aggregator.doors.pages.errors import local_page
from deniable_aggregator.doors.pages.sign_in import WRONG_TOKENS
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.aggregator.pages.visiting import FROM_OUR_PAGE, cookies_of, form_token
from tests.aggregator.service import TODAY, bearer, problem, serving
from tests.aggregator.stored import key_administrator, rows


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("signing") / "store.db") as running:
        running.register()
        yield running


@pytest.fixture
def service(shared):
    """A service that others have used, and a browser that has not."""
    shared.http = shared.app.test_client()
    return shared


@pytest.fixture
def fresh(tmp_path):
    """A service that nobody has used."""
    with serving(tmp_path / "store.db") as running:
        running.register()
        yield running


def test_a_visitor_signs_in_and_comes_to_the_page_that_was_asked_for(service):
    asked = service.http.get("/plan?epsilon=1&values=%C3%A4")
    assert asked.status_code == 303
    form = service.http.get(asked.location)
    assert form.status_code == 200
    ((_, next_page),) = re.findall(r'name="(next)" value="([^"]+)"', form.text)
    entered = service.sign_in(next=next_page.replace("&amp;", "&"))
    assert (entered.status_code, entered.location) == (303, "/plan?epsilon=1&values=%C3%A4")
    assert service.http.get("/").status_code == 200


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (lambda _: "", "A token is needed"),
        (lambda _: "hunter2", "This is not a token"),
        (lambda service: service.read[:-1], "This is not a token"),
        (lambda service: service.read[:-2] + "AA", "This token is not known here"),
        (lambda service: service.read.replace("read", "admin"), "This token is not known here"),
        (lambda service: service.write, "--scope read --application flightdeck"),
        (lambda service: expired(service), "This token has expired"),
        (lambda service: revoked(service), "Its key was revoked"),
    ],
)
def test_a_wrong_token_is_refused_in_words_that_help(service, token, said):
    sent = token(service)
    answer = service.sign_in(sent)
    assert answer.status_code == 403
    assert said in answer.text
    assert not sent or sent not in answer.text
    assert not cookies_of(answer)
    assert service.http.get("/").status_code == 303


def expired(service):
    administrator = key_administrator(service.store, TODAY - 9)
    return administrator.create(scope="read", application="one", expires=TODAY - 1).token


def revoked(service):
    issued = key_administrator(service.store).create(scope="read", application="one")
    key_administrator(service.store).revoke(issued.key.id)
    return issued.token


def test_blanks_around_a_token_do_not_matter(service):
    assert service.sign_in(f"  {service.read}\r\n").status_code == 303


def test_only_a_browser_that_asks_our_page_gets_the_cookie(service):
    (cookie,) = cookies_of(service.sign_in())
    assert re.match(r"deniable-8787=[\w-]{43}\.\d+;", cookie)
    for wanted in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"):
        assert wanted in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org", "Origin": "https://example.org"},
        {"Host": "example.org", "Sec-Fetch-Site": "same-origin"},
        # A proxy that does not pass on the host.
        {"Origin": "https://example.org", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_over_a_network_the_cookie_is_for_tls_alone(service, headers):
    answer = service.http.post("/sign-in", data={"token": service.read}, headers=headers)
    (cookie,) = cookies_of(answer)
    assert cookie.startswith("__Host-deniable=")
    assert "Secure" in cookie


def test_a_cookie_for_this_machine_is_not_believed_of_another_host(service):
    service.sign_in()
    (cookie,) = service.http._cookies.values()
    sent = {"Cookie": f"{cookie.key}={cookie.value}"}
    browser = service.app.test_client(use_cookies=False)
    assert browser.get("/", headers=sent).status_code == 200
    assert browser.get("/", headers={**sent, "Host": "example.org"}).status_code == 303


def test_nobody_signs_in_where_the_network_reads_the_token(service):
    headers = {"Host": "10.0.0.7:8787", "Origin": "http://10.0.0.7:8787"}
    answer = service.http.post("/sign-in", data={"token": service.read}, headers=headers)
    assert answer.status_code == 403
    assert "ssh -L 8787:127.0.0.1:8787" in answer.text
    assert not cookies_of(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:1"},
        {"Origin": "localhost"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_no_other_site_signs_a_visitor_in(service, headers):
    answer = service.http.post("/sign-in", data={"token": service.read}, headers=headers)
    assert answer.status_code == 403
    assert not cookies_of(answer)


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        " //evil.example",
        "///evil.example",
        "/health\r\nSet-Cookie: a=b",
        "/health\\evil",
        "health",
        "?application=one",
        "",
        "/v1/status",
        "/sign-out",
        "/sign-in?next=/",
        "/nowhere",
        "/@evil.example",
        "/health" + "a" * 2_000,
    ],
)
def test_signing_in_leads_to_no_other_site(address):
    assert local_page(address) == "/"


def test_a_hostile_next_page_leads_to_the_first_one(service):
    for address in ("//evil.example", "/\\evil.example", "/%2Fevil.example", "/%5Cevil.example"):
        assert service.sign_in(next=address).location == "/"
        assert "evil" not in service.http.get("/sign-in", query_string={"next": address}).text


def test_a_link_of_another_site_opens_the_page_of_whoever_has_signed_in(service):
    """Browsers keep strict cookies back from such a link; our own page sends it again with them."""
    asked, elsewhere = "/plan?epsilon=1&values=%22", {"Sec-Fetch-Site": "cross-site"}
    opening = service.http.get(asked, headers=elsewhere)
    assert opening.status_code == 200
    assert 'content="0; url=/plan?epsilon=1&amp;values=%22"' in opening.text
    from_ours = service.http.get(asked, headers={"Sec-Fetch-Site": "same-origin"})
    assert from_ours.location.startswith("/sign-in?next=/plan")
    hostile = service.http.get("/metric/\\evil.example?\\", headers=elsewhere)
    assert hostile.status_code == 303
    assert service.http.post("/lists", headers=elsewhere).status_code == 401


def test_a_second_application_is_added_by_its_token(service):
    service.sign_in()
    other = service.key("read", "airdeck")
    assert "another application" in service.http.get("/sign-in").text
    service.sign_in(other)
    assert "airdeck" in service.http.get("/?application=airdeck").text
    assert service.http.get("/?application=flightdeck").status_code == 200


def test_signing_out_needs_our_page_and_deletes_the_session_and_the_cookie(fresh):
    fresh.sign_in()
    token = form_token(fresh)
    for data, headers in (({}, FROM_OUR_PAGE), ({"form_token": token}, {"Origin": "http://evil"})):
        assert fresh.http.post("/sign-out", data=data, headers=headers).status_code == 403
    assert fresh.http.get("/").status_code == 200
    left = fresh.http.post("/sign-out", data={"form_token": token}, headers=FROM_OUR_PAGE)
    assert (left.status_code, left.location) == (303, "/sign-in")
    assert all("Max-Age=0" in each for each in cookies_of(left))
    assert left.headers["Clear-Site-Data"] == '"cache"'
    assert rows(fresh.store, "SELECT * FROM sessions") == []
    assert fresh.http.get("/").status_code == 303
    again = fresh.http.post("/sign-out", data={}, headers=FROM_OUR_PAGE)
    assert (again.status_code, again.location) == (303, "/sign-in")


def test_tokens_and_cookies_are_in_no_answer_address_log_or_audit_entry(fresh, caplog):
    caplog.set_level(logging.DEBUG)
    pages = [
        fresh.sign_in(),
        fresh.http.get("/"),
        fresh.http.get("/sign-in"),
        fresh.http.get("/nowhere", headers={"Accept": "text/html"}),
        fresh.sign_in(fresh.write),
    ]
    (cookie,) = fresh.http._cookies.values()
    secrets = fresh.read, fresh.write, cookie.value.split(".")[0]
    told = [caplog.text, *(each.text + str(each.location) for each in pages)]
    told += [str(each) for each in fresh.store.audit.entries()]
    assert not [each for each in told if any(secret in each for secret in secrets)]


def test_wrong_tokens_are_explained_only_so_often_and_a_right_one_always_enters(fresh):
    answers = (fresh.sign_in("wrong").status_code for _ in range(10_000))
    assert next(number for number, status in enumerate(answers) if status == 429) >= WRONG_TOKENS[0]
    assert fresh.sign_in().status_code == 303


def test_a_key_opens_only_so_many_sessions(fresh, monkeypatch):
    """Each is an entry in the audit log, which is never deleted."""
    monkeypatch.setattr(sign_in, "SIGN_INS_OF_KEY", (3, 0.0))
    assert [fresh.sign_in().status_code for _ in range(4)] == [303, 303, 303, 429]
    assert fresh.sign_in(fresh.admin).status_code == 303
    assert len(rows(fresh.store, "SELECT * FROM sessions")) == 1


def test_a_session_ends_after_eight_hours_and_maintenance_deletes_it(fresh):
    fresh.sign_in()
    fresh.clock.epoch += 8 / 24
    assert fresh.http.get("/").status_code == 303
    fresh.clock.epoch += 1
    fresh.running.maintenance.run()
    assert rows(fresh.store, "SELECT * FROM sessions") == []
    assert fresh.clock() > (TODAY + 1) * SECONDS_PER_EPOCH


def test_a_token_in_the_header_is_for_programs_and_opens_no_page(service):
    assert service.http.get("/", headers=bearer(service.read)).status_code == 303


def test_a_session_opens_pages_and_nothing_for_programs(service):
    service.sign_in(service.admin)
    for path in ("/v1/metrics", "/v1/status", "/v1/keys", "/v1/estimates"):
        assert service.http.get(path).status_code == 401


@pytest.mark.parametrize(
    ("host", "setting", "served"),
    [
        ("127.0.0.1", "auto", True),
        ("localhost", "auto", True),
        ("::1", "auto", True),
        ("0.0.0.0", "auto", False),
        ("::", "auto", False),
        ("10.0.0.7", "auto", False),
        ("localhost.example.org", "auto", False),
        ("0.0.0.0", "on", True),
        ("127.0.0.1", "off", False),
    ],
)
def test_pages_are_served_where_the_setting_says(host, setting, served):
    assert Settings(host=host, pages=setting).serves_pages == served


def test_without_pages_their_paths_are_nothing(tmp_path):
    with serving(tmp_path / "store.db", pages="off") as service:
        for path in ("/", "/sign-in", "/plan", "/metric/theme", "/static/page.css"):
            answer = service.http.get(path, headers={"Accept": "text/html"})
            assert problem(answer, 404, "not_found")
        assert service.http.get("/v1/metrics").status_code == 401
