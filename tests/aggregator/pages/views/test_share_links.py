"""Share links: who has one sees one view with fixed days, and nothing else."""

from __future__ import annotations

import json
import logging
import re
from html import escape, unescape

import pytest

from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.share_links import NoSuchLinkError, ShareLinkKeeper
from tests.aggregator.pages.visiting import FROM_OUR_PAGE, cookies_of, form_token
from tests.aggregator.service import TODAY, bearer, serving, upload

OF = "/metric/theme?period=7d&top=10"
DAYS = {"since": "2024-09-27", "until": "2024-10-03", "before": "2024-09-20..2024-09-26"}


def running(folder, **settings):
    return serving(folder / "store.db", **{"share_links": "on", **settings})


@pytest.fixture
def service(tmp_path):
    with running(tmp_path) as made:
        made.register()
        made.send(upload(b"\x00\x02" * 300, epoch=TODAY - 1))
        made.send(upload(b"\x00" * 300, epoch=TODAY - 9))
        made.send(upload(b"\x01" * 500, epoch=TODAY - 40))
        yield made


def share(service, *, days="30", of=OF, **other):
    """Makes a link from the page of a metric, as a visitor does; returns its path."""
    service.sign_in()
    page = service.http.get(of).text
    form = service.http.get(unescape(re.search(r'href="([^"]+)">Save or share', page)[1])).text
    hidden = dict(re.findall(r'name="(of|since|until|before|by)" value="([^"]*)"', form))
    data = {each: unescape(value) for each, value in hidden.items()} | {"days": days, **other}
    made = post(service, "/views/share", **data)
    assert made.status_code == 200, made.text
    assert made.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in made.headers["Cache-Control"]
    found = re.search(r"http://localhost(/shared/[A-Za-z0-9_-]{43})<", made.text)
    assert found
    assert f'href="{escape(of)}">Back to the page<' in made.text
    return found[1]


def post(service, path, **form):
    data = {"form_token": form_token(service), **form}
    return service.http.post(path, data=data, headers=FROM_OUR_PAGE)


def stranger(service, path, **options):
    """What somebody without a session is answered."""
    return service.app.test_client(use_cookies=False).get(path, **options)


def test_whoever_has_a_link_sees_the_view_with_its_days_for_ever(service):
    link = share(service)
    seen = stranger(service, link)
    assert seen.status_code == 200
    assert "Shared from flightdeck: theme, 2024-09-27 to 2024-10-03" in seen.text
    assert "from 2024-09-27 to 2024-10-03" in seen.text
    assert "Which colour theme is active" in seen.text
    service.clock.epoch += 20
    later = stranger(service, link)
    assert re.search(r'<p class="finding">.*?</p>', later.text)[0] in seen.text


def test_a_shared_page_has_nothing_to_choose_and_leads_only_to_signing_in(service):
    page = stranger(service, share(service)).text
    assert "<form" not in page
    main = re.search(r"<main.*?</main>", page, re.DOTALL)[0]
    assert "href=" not in main
    assert set(re.findall(r'<a [^>]*href="([^"]+)"', page)) == {"#content", "/"}
    assert "export" not in page
    assert stranger(service, "/").location == "/sign-in"


def test_no_parameter_shows_more_than_the_link(service):
    link = share(service)
    plain = stranger(service, link).text
    for query in (
        "period=all",
        "since=2024-01-01&until=2024-10-04",
        "metric=late",
        "application=elsewhere",
        "follow=dark",
        "question=series",
    ):
        assert stranger(service, f"{link}?{query}").text == plain
    for more in ("/export.csv", "/export.json", "/discover", "/"):
        assert stranger(service, link + more).status_code in (303, 404)
    assert stranger(service, "/metric/theme").status_code == 303
    answer = service.app.test_client().get("/v1/metrics", headers=bearer(link.rpartition("/")[2]))
    assert answer.status_code == 401


def test_a_shared_page_tells_no_other_site_its_address_and_sets_no_cookie(service):
    link = share(service)
    for answer in (stranger(service, link), stranger(service, f"{link[:-1]}!")):
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert cookies_of(answer) == []
    gzipped = stranger(service, link, headers={"Accept-Encoding": "gzip"})
    assert gzipped.headers["Content-Encoding"] == "gzip"


def test_the_store_and_its_log_have_no_secret_and_the_lists_say_who_made_a_link(service, caplog):
    caplog.set_level(logging.DEBUG)
    link = share(service)
    secret = link.rpartition("/")[2]
    stranger(service, link)
    service.store.empty_log()
    kept = service.store.path.read_bytes()
    assert secret.encode() not in kept
    assert secret not in caplog.text
    page = service.http.get("/views").text
    assert secret not in page
    key = service.read.split("_")[2]
    assert f"made with key {key}" in page
    assert "works until 2024-11-03" in page
    (made,) = (each for each in service.store.audit.last(9) if each.act == "link.create")
    details = json.loads(made.details)
    assert secret not in made.details
    assert (details["metric"], details["until"]) == ("theme", "2024-11-03")
    assert made.actor == key


def refused(service, link):
    answer = stranger(service, link)
    assert answer.status_code == 404
    assert "This link does not work" in answer.text
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    return answer.text


def test_a_link_that_has_ended_was_revoked_or_never_was_says_the_same(service):
    link = share(service, days="7")
    ended = share(service)
    page = service.http.get("/views").text
    revoke = re.findall(r'action="(/views/links/[0-9a-f]+/revoke)"', page)
    assert len(revoke) == 2
    unknown = refused(service, f"/shared/{'A' * 43}")
    assert refused(service, f"{link[:-1]}{'B' if link[-1] != 'B' else 'C'}") == unknown
    for at in ("/shared/x", "/shared/é"):
        refused(service, at)
    for each in revoke:
        assert post(service, each).location == "/views?done=revoked"
    assert refused(service, link) == refused(service, ended) == unknown
    assert "works until" not in service.http.get("/views").text
    acts = [each.act for each in service.store.audit.last(2)]
    assert acts == ["link.revoke", "link.revoke"]
    last = share(service, days="7")
    service.clock.epoch += 7
    assert stranger(service, last).status_code == 200
    service.clock.epoch += 1
    assert refused(service, last) == unknown


def test_a_link_ends_with_the_key_that_made_it(service):
    secret = share(service).rpartition("/")[2]

    def find():
        fresh = KeyVerifier(service.store, clock=service.clock)
        return ShareLinkKeeper(service.store, fresh, service.clock, allowed=True).find(secret)

    assert find().place.metric == "theme"
    key = service.read.split("_")[2]
    service.http.post(f"/v1/keys/{key}/revoke", headers=bearer(service.admin))
    with pytest.raises(NoSuchLinkError):
        find()


def test_only_readers_of_the_application_see_and_revoke_its_links(service):
    link = share(service)
    revoke = re.search(r'"(/views/links/\w+/revoke)"', service.http.get("/views").text)[1]
    service.http.get("/sign-out")
    other = service.app.test_client()
    service.http, mine = other, service.http
    service.sign_in(service.key("read", "elsewhere"))
    assert "Revoke" not in service.http.get("/views").text
    post(service, revoke)
    assert stranger(service, link).status_code == 200
    foreign = post(service, "/views/share", of=OF, by="day", days="7", **DAYS)
    assert foreign.status_code == 400
    service.http = mine


def test_nobody_makes_links_and_none_works_unless_the_operator_allows_it(tmp_path):
    with running(tmp_path) as made:
        made.register()
        made.send(upload(b"\x00\x02" * 300, epoch=TODAY - 1))
        link = share(made)
    with running(tmp_path, share_links="off") as off:
        unknown = refused(off, f"/shared/{'A' * 43}")
        assert refused(off, link) == unknown
        off.sign_in()
        page = off.http.get("/views", query_string={"of": OF, "by": "day", **DAYS}).text
        assert "Make a link" not in page
        assert "None of them works: share_links is off" in page
        answer = post(off, "/views/share", of=OF, by="day", days="7", **DAYS)
        assert answer.status_code == 400
        assert "share_links must be on, in the settings of the server" in answer.text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"of": "//evil.example/"}, "place must be path and query of the page of a metric"),
        ({"of": "/metric/unheard"}, "place must be the page of a metric of flightdeck"),
        ({"of": "/metric/emoji?list=found"}, "place must be without strings that nobody listed"),
        ({"since": "-7d"}, "since must be a day"),
        ({"since": ""}, "since must be a day"),
        ({"until": "today"}, "until must be a day"),
        ({"before": "2024-09-20..-7d"}, "before must be a day"),
        ({"by": "hour"}, "by must be one of"),
        ({"days": "3650"}, "days must be one of 7, 30, 90"),
        ({"days": "-1"}, "days must be one of 7, 30, 90"),
    ],
)
def test_a_link_is_made_of_fixed_days_of_a_page_and_for_a_while(service, wrong, said):
    service.sign_in()
    answer = post(service, "/views/share", **{"of": OF, "by": "day", "days": "7", **DAYS, **wrong})
    assert answer.status_code == 400
    assert said in answer.text
    assert service.store.share_links.all("flightdeck") == []


def test_a_page_of_strings_that_nobody_listed_can_be_saved_and_says_why_it_is_not_shared(service):
    service.sign_in()
    query = {"of": "/metric/emoji?list=found", "by": "day", **DAYS}
    page = service.http.get("/views", query_string=query).text
    assert "Save a view" in page
    assert "The page must be without strings that nobody listed, as links show none." in page
    assert "Make a link" not in page
