from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import date

import httpx
import msgspec
import pytest

from deniable_aggregator.answers.discoveries import DiscoveryLists, DiscoveryQuery
from deniable_aggregator.answers.fields import parse_query
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    DaysQuery,
    EstimateQuery,
    SeriesQuery,
    ValueLists,
)
from deniable_aggregator.asking import AskingError, HttpSource, http_source
from deniable_aggregator.asking.http_source import query_parameters
from deniable_aggregator.asking.questions import (
    CHANGE,
    ESTIMATE,
    HEALTH,
    HEALTH_OVERVIEW,
    METRIC,
    METRICS,
    SERIES,
)
from tests.aggregator.listening import listening
from tests.aggregator.service import TODAY, serving, upload

TODAY_DATE = date.fromordinal(date(1970, 1, 1).toordinal() + TODAY)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A source, and the service that it asks."""
    with serving(tmp_path_factory.mktemp("asked") / "store.db") as service:
        service.register()
        service.send(upload(b"\x02" * 150 + b"\x00" * 90 + b"\x01" * 60))
        service.send(upload(b"\x02" * 90 + b"\x00" * 90 + b"\x01" * 60, epoch=TODAY - 7))
        service.running.inbox_fold.fold(seconds=60)
        with listening(service.app) as url:
            source = HttpSource(url, service.read)
            yield source, service
            source.close()


def served(service, path, **more):
    return service.ask(f"/v1/metrics/theme/{path}", **more).get_json()


def test_answers_are_those_of_the_server(asked):
    source, service = asked
    same = [
        (source.ask(ESTIMATE.of("theme")), served(service, "estimate")),
        (
            source.ask(
                ESTIMATE.of("theme"), EstimateQuery(top=2, since=TODAY_DATE, split="version")
            ),
            served(service, f"estimate?top=2&since={TODAY_DATE}&split=version"),
        ),
        (
            source.ask(
                ESTIMATE.of("theme"), lists=ValueLists(("dark", "light"), ("dark", "light"))
            ),
            served(
                service,
                "estimate",
                method="POST",
                json={"candidates": ["dark", "light"], "combined": ["dark", "light"]},
            ),
        ),
        (
            source.ask(SERIES.of("theme"), SeriesQuery(value=("dark", "light"), by="week")),
            served(service, "series?by=week&value=dark&value=light"),
        ),
        (source.ask(HEALTH.of("theme")), served(service, "health")),
        (source.ask(METRIC.of("theme")), service.ask("/v1/metrics/theme").get_json()),
        (source.ask(HEALTH_OVERVIEW), service.ask("/v1/health").get_json()),
        (source.ask(METRICS), service.ask("/v1/metrics").get_json()),
    ]
    days = f"{date.fromordinal(TODAY_DATE.toordinal() - 7)}", f"{TODAY_DATE}"
    same.append(
        (
            source.ask(CHANGE.of("theme"), ChangeQuery(before=days[0], after=days[1])),
            served(service, f"change?before={days[0]}&after={days[1]}"),
        )
    )
    for struct, json in same:
        assert msgspec.json.decode(msgspec.json.encode(struct)) == json


def test_a_problem_has_its_code_and_what_to_do(asked):
    source, _ = asked
    with pytest.raises(AskingError, match="has no reports in these days") as told:
        source.ask(ESTIMATE.of("late"))
    assert told.value.code == "no_reports"
    assert pickle.loads(pickle.dumps(told.value)).code == "no_reports"
    with pytest.raises(AskingError) as told:
        HttpSource(source.server, "deniable_nonsense").ask(METRICS)
    assert (told.value.code, "nonsense" in str(told.value)) == ("unknown_key", False)


@pytest.mark.parametrize("typed", ["thme", "th/me", "a?b#c", "..", "\n"])
def test_a_metric_that_is_not_there_is_told(asked, typed):
    source, _ = asked
    with pytest.raises(AskingError) as error:
        source.ask(ESTIMATE.of(typed))
    assert error.value.code in ("unknown_metric", "not_found", "malformed_question")
    assert typed != "thme" or "Did you mean 'theme'?" in str(error.value)


def test_a_server_that_is_not_there_or_is_none_is_told():
    with pytest.raises(AskingError, match="Is deniable serve running there") as told:
        HttpSource("http://127.0.0.1:1", "deniable_hunter2").ask(METRICS)
    assert (told.value.code, "hunter2" in str(told.value)) == ("unreachable", False)

    def page(_environ, start):
        start("500 Oops", [("Content-Type", "text/html")])
        return [b"<h1>Oops"]

    with listening(page) as url, pytest.raises(AskingError, match="500, not as an agg") as told:
        HttpSource(url, "t").ask(METRICS)
    assert told.value.code == "not_an_aggregator"


@pytest.mark.parametrize(
    "query",
    [
        EstimateQuery(),
        EstimateQuery(
            since=date(2026, 1, 31),
            without_key=("a b", "ü&="),
            top=3,
            detected=True,
            quantile=(0.5, 0.999),
            postprocess="none",
            interval="all",
        ),
        SeriesQuery(value=("a", "a,b"), by="month", until=date(2026, 1, 31)),
        ChangeQuery(before="2026-01-01", after="2026-01-02..2026-01-03", false_finds="none"),
        DaysQuery(),
        DiscoveryQuery(version="cafe"),
    ],
)
def test_a_query_is_read_as_it_was_written(query):
    assert parse_query(type(query), query_parameters(query)) == query


def discovery(**more):
    known = {"id": 7, "metric": "search", "application": "flightdeck", "asked": "2026-01-15"}
    days = {"since": "2026-01-08", "until": "2026-01-14"}
    asked = {"without_key": [], "version": None}
    return {**known, **days, **asked, "state": "done", "stage": "", "progress": 1.0, **more}


@pytest.fixture
def answering(monkeypatch):
    """A source whose server gives these answers, and the requests that it was sent."""
    monkeypatch.setattr(http_source, "FIRST_PAUSE_SECONDS", 0.0)

    def prepare(*answers):
        left, requests = list(answers), []

        def request(_client, method, url, **more):
            requests.append((method, url, more))
            return httpx.Response(200, json=left.pop(0))

        monkeypatch.setattr(httpx.Client, "request", request)
        return HttpSource("http://x", "token"), requests

    return prepare


def test_a_discovery_is_waited_for_and_says_how_far_it_is(answering):
    running = discovery(state="running", stage="search level 1", progress=0.4)
    source, requests = answering(
        discovery(state="waiting", progress=0.0), running, discovery(state="failed", failure="Why.")
    )
    told = []
    with pytest.raises(AskingError, match=r"the run has failed\. Why\.") as error:
        source.discover(
            "search",
            DiscoveryQuery(since=date(2026, 1, 8)),
            DiscoveryLists(hints=("maps",)),
            lambda *progress: told.append(progress),
        )
    assert error.value.code == "run_failed"
    assert told == [(0.0, "wait to begin"), (0.4, "search level 1")]
    first, *polled = requests
    assert first[:2] == ("POST", "http://x/v1/metrics/search/discoveries")
    assert first[2]["params"] == [("since", "2026-01-08")]
    assert msgspec.json.decode(first[2]["content"])["hints"] == ["maps"]
    assert [each[:2] for each in polled] == [
        ("GET", "http://x/v1/metrics/search/discoveries/7")
    ] * 2


@pytest.mark.service
def test_httpx_is_imported_with_the_first_request_only(tmp_path):

    program = (
        "import sys; from deniable_aggregator.asking import HttpSource; "
        "HttpSource('http://x', 't'); "
        "assert not {'httpx', 'flask', 'numpy', 'sqlalchemy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ), cwd=tmp_path)
