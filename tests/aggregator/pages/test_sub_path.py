"""Pages below a path: a proxy takes it away from requests, and says so."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.aggregator.pages.visiting import FROM_OUR_PAGE, form_token
from tests.aggregator.service import serving, upload

BELOW = {"X-Forwarded-Prefix": "/tele/metry"}
LINK = re.compile(r'\b(?:href|action|src)="(/[^"]*)"')


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("below") / "store.db") as running:
        running.register()
        running.send(upload(bytes(200)))
        yield running


def visit(service, place, below=BELOW):
    """What a proxy passes on of a link, answered."""
    assert place.startswith("/tele/metry/")
    return service.http.get(unescape(place.removeprefix("/tele/metry")), headers=below)


def test_every_link_form_and_file_is_below_the_path(service):
    service.http = service.app.test_client()
    sent_away = service.http.get("/health", headers=BELOW)
    form = visit(service, sent_away.location)
    assert 'action="/tele/metry/sign-in"' in form.text
    entered = service.http.post(
        "/sign-in",
        data={"token": service.admin, "next": "/health"},
        headers={"Origin": "http://localhost", **BELOW},
    )
    assert entered.location == "/tele/metry/health"
    seen, due = set(), [entered.location]
    while due:
        place = due.pop()
        page = visit(service, place)
        assert page.status_code == 200, place
        seen.add(place.partition("?")[0])
        for link in LINK.findall(page.text if page.mimetype == "text/html" else ""):
            assert link.startswith("/tele/metry/"), (place, link)
            if link.partition("?")[0] not in seen and "sign-out" not in link:
                due.append(link)
    assert len(seen) > 15
    missing = service.http.get("/nothing", headers={**BELOW, "Accept": "text/html"})
    assert missing.status_code == 404
    assert all(link.startswith("/tele/metry/") for link in LINK.findall(missing.text))
    left = service.http.post(
        "/sign-out",
        data={"form_token": form_token(service)},
        headers={**FROM_OUR_PAGE, **BELOW},
    )
    assert left.location.startswith("/tele/metry/")


@pytest.mark.parametrize(
    "prefix", ["//evil.example", "/a//b", "/a/", "https://evil.example", '/"><script>', "/..", ""]
)
def test_what_is_no_path_changes_nothing(service, prefix):
    service.http = service.app.test_client()
    answers = [
        service.http.get("/sign-in", headers={"X-Forwarded-Prefix": each}) for each in (prefix, "")
    ]
    hidden = [re.sub(r'value="[^"]*"', "", each.text) for each in answers]
    assert hidden[0] == hidden[1]
    away = service.http.get("/health", headers={"X-Forwarded-Prefix": prefix})
    assert away.location.startswith("/sign-in")
