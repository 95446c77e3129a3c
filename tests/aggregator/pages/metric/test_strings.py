"""The page of a metric of strings: values, lists, and runs that find strings."""

from __future__ import annotations

import html
import re

import pytest
from msgspec import json

from deniable_aggregator.telling.ranges import range_in_words
from tests.aggregator.discovered import discovering
from tests.aggregator.service import TODAY, serving, upload
from tests.aggregator.telling.answers import string, strings

ORIGIN = {"Origin": "http://localhost"}
DAYS = "since=2024-09-01&until=2024-10-04"


def words(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("strings") / "store.db") as made:
        made.register()
        reports = bytes(range(4)) * 3 * 200
        made.send(upload(reports, metric="emoji", epoch=TODAY - 1))
        made.running.inbox_fold.fold(seconds=60)
        made.sign_in()
        yield made


def test_without_values_the_page_asks_for_some_and_suggests_none(service):
    page = words(service.http.get(f"/metric/emoji?{DAYS}").text)
    assert "Choose what to look for" in page
    assert "A value of a list need not be one that anybody has." in page
    assert "told from zero" not in page


def test_numbers_are_those_of_the_api(service):
    put = service.ask("/v1/lists/fruit", method="PUT", json={"values": ["🍎", "🍌", "🥝"]})
    assert put.status_code == 200
    chosen = "list=saved:fruit&values=%F0%9F%8D%87"
    page = words(service.http.get(f"/metric/emoji?{DAYS}&{chosen}").text)
    asked = {"candidates": ["🍎", "🍌", "🥝", "🍇"]}
    path = f"/v1/metrics/emoji/estimate?{DAYS}"
    answer = service.ask(path, method="POST", json=asked).get_json()
    assert len(answer["numbers"]) == 4
    for row in answer["numbers"]:
        low = row["low"] if row["told"] else min(row["low"], 0.0)
        assert range_in_words(low, row["high"]) in page
    assert "Values to look for: fruit and 1 of your own" in page
    assert "4 values asked for at once" in page


def test_a_long_list_has_a_small_page_and_a_whole_file(service):
    values = [f"value {number}" for number in range(20_000)]
    service.ask("/v1/lists/many", method="PUT", json={"values": values})
    page = service.http.get(f"/metric/emoji?{DAYS}&list=saved:many&top=all").text
    assert len(page) < 400_000
    assert page.count("<tr>") < 250
    assert "20,000 values asked for at once" in page
    assert "is looked for in these days alone" in words(page)
    file = service.http.get(f"/metric/emoji/export.csv?{DAYS}&list=saved:many&top=all")
    assert file.text.count("\n") == 20_001
    service.ask("/v1/lists/many", method="DELETE")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A service in which runs wait until the test has worked on them."""
    with discovering(tmp_path_factory.mktemp("found") / "store.db") as made:
        made.running.discovery_runs.close()
        made.sign_in()
        yield made


def test_given_values_of_a_discovering_metric_are_not_followed_period_by_period(found):
    page = words(found.http.get("/metric/code?since=-28d&values=1234").text)
    assert "Strings of this metric are not followed over time here" in page
    assert "1234" in page
    assert "Over time" not in page.partition("Over time by")[2]


def row(text, share, **more):
    """A string that was found."""
    return string(text, share - 0.01, share, share + 0.01, **more)


def test_a_run_is_started_watched_and_shown(found):
    path = f"/metric/code?{DAYS}"
    before = found.http.get(path).text
    assert "Nobody has looked for strings in these days yet." in before
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', before))
    form = {name: html.unescape(value) for name, value in form.items()}
    started = found.http.post("/metric/code/discover", data=form, headers=ORIGIN)
    assert started.status_code == 303
    assert started.location == f"/metric/code?{DAYS}#discovered"

    assert "Looking for strings: 0%, waits to begin" in words(found.http.get(path).text)
    stored = found.store.discoveries
    (asked, _) = stored.claim()
    stored.beat(asked.number, "read level 1 of 4", 0.25)
    page = found.http.get(path).text
    assert 'data-again="3"' in page
    again = f"3; url={html.escape(path)}"
    assert f'<noscript><meta http-equiv="refresh" content="{again}"></noscript>' in page
    assert "Looking for strings: 25%, read level 1 of 4" in words(page)

    whole = [row("1234", 0.5), row("<b>", 0.25)]
    result = strings(*whole, row("902", 0.125, whole=False))
    stored.finish(asked.number, json.encode(result))
    page = found.http.get(path).text
    assert "data-again" not in page
    shown = found.ask(f"/v1/metrics/code/discoveries/{asked.number}").get_json()["result"]
    assert len(shown["numbers"]) == 3
    for each in shown["numbers"]:
        ellipsis = "" if each["whole"] else "…"
        assert f"<bdi>{html.escape(each['value'])}{ellipsis}</bdi>" in page
        assert range_in_words(each["low"], each["high"]) in page or ellipsis
    assert "Of 2 whole strings found, " in words(page)
    file = found.http.get(f"/metric/code/discoveries/{asked.number}.csv")
    assert file.data == found.ask(f"/v1/metrics/code/discoveries/{asked.number}.csv").data
    looked = words(found.http.get(f"{path}&list=found").text)
    assert "2 values asked for at once" in looked


def test_a_form_cannot_send_a_visitor_elsewhere(found):
    token = re.search(r'name="form_token" value="([^"]+)"', found.http.get("/lists").text)[1]
    for away in ("//evil.example", "\r\nSet-Cookie: a=b", "https://evil.example/?x=1"):
        form = {"form_token": token, "shown": away, "until": "2024-09-30"}
        answer = found.http.post("/metric/code/discover", data=form, headers=ORIGIN)
        assert answer.status_code == 303
        assert answer.location.startswith("/metric/code")
        assert "Set-Cookie: a" not in str(answer.headers)


def test_values_that_look_mangled_are_pointed_out_and_asked_for_as_they_stand(service):
    page = words(
        service.http.get(f"/metric/emoji?{DAYS}&values=cafe%CC%81%0Acaf%C3%A9%0Adark%20").text
    )
    assert "1 value with white space at an end, such as 'dark '" in page
    assert "Values to look for: 2 values" in page
