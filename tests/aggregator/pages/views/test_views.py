"""The page of saved views, in the application itself."""

from __future__ import annotations

import re
import tomllib
from html import unescape

import pytest

from deniable_aggregator import Settings
from tests.aggregator.pages.visiting import FROM_OUR_PAGE, form_token
from tests.aggregator.service import serving, upload

OF = "/metric/theme?period=4-weeks&compare=none"


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db") as made:
        made.register()
        made.send(upload(b"\x00" * 40))
        made.sign_in()
        yield made


def post(service, path="/views", **form):
    data = {"form_token": form_token(service), **form}
    return service.http.post(path, data=data, headers=FROM_OUR_PAGE)


def test_the_page_of_a_metric_leads_to_a_form_that_saves_it_as_it_is(service):
    page = service.http.get(OF).text
    place = unescape(re.search(r'href="([^"]+)">Save<', page)[1])
    form = service.http.get(place).text
    assert "theme, last 4 whole weeks</a>. Its days move with time" in form
    carried = unescape(re.search(r'name="of" value="([^"]+)"', form)[1])
    assert carried == OF
    saved = post(service, name="Themes", of=carried)
    assert (saved.status_code, saved.location) == (303, "/views?done=saved")
    shown = service.http.get(saved.location).text
    assert "The view is saved." in shown
    assert unescape(re.search(r'href="([^"]+)"><bdi>Themes<', shown)[1]) == OF


def test_days_of_ones_own_stay(service):
    shown = service.http.get(
        "/views", query_string={"of": "/metric/theme?since=2024-09-01&until=2024-09-28"}
    ).text
    assert "theme, 2024-09-01 to 2024-09-28</a>. The view always shows these days." in shown


def test_what_cannot_be_kept_is_shown_again_with_the_reason(service):
    refused = post(service, name="-", of=OF)
    assert refused.status_code == 400
    assert "name must be 1 to 60 characters without /" in refused.text
    assert 'value="-"' in refused.text
    assert f'value="{OF.replace("&", "&amp;")}"' in refused.text
    for of in ("//evil.example/", "/keys", "javascript:alert(1)"):
        assert post(service, name="x", of=of).status_code == 400
        answer = service.http.get("/views", query_string={"of": of})
        assert answer.status_code == 400
        assert f'href="{of}"' not in answer.text


def test_the_overview_leads_to_views_and_a_reader_deletes_them(service):
    post(service, name="Ours", of=OF)
    assert unescape(re.search(r'href="([^"]+)"><bdi>Ours<', service.http.get("/").text)[1]) == OF
    for number in range(9):
        post(service, name=f"v{number}", of="/metric/late")
    assert '<a href="/views"><bdi>all 10</bdi></a>' in service.http.get("/").text
    assert post(service, "/views/Ours/delete").status_code == 303
    assert "Ours" not in service.http.get("/views").text


def test_nobody_saves_without_a_form_of_our_own(service):
    form = {"name": "x", "of": OF}
    assert service.http.post("/views", data=form, headers=FROM_OUR_PAGE).status_code == 403
    forged = {**form, "form_token": form_token(service)}
    foreign = service.http.post("/views", data=forged, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert service.ask("/v1/views").get_json()["views"] == []


def test_who_wants_to_be_told_of_changes_reads_whether_the_server_does_that(service, tmp_path):
    silent = unescape(service.http.get("/views").text)
    assert "It does not yet" in silent
    lines = re.search(r"<code>(digest_every = .*?)</code>", silent, re.DOTALL)[1]
    settings = Settings(**tomllib.loads(lines))
    assert settings.digest_mail_to
    secret = {"digest_mail_server": "smtps://name:password@mail.example.org"}
    with serving(tmp_path / "telling.db", **{**tomllib.loads(lines), **secret}) as telling:
        telling.sign_in()
        page = telling.http.get("/views").text
    assert "each week, by mail" in page
    assert "digest_every" not in page
    assert "example.org" not in page
