"""The overview: a card for each metric, those that changed most clearly first."""

from __future__ import annotations

import gzip
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from deniable_aggregator.answers.administration import (
    Annotation,
    Annotations,
    Metric,
    Metrics,
    SavedList,
    SavedListHead,
    SavedLists,
)
from deniable_aggregator.answers.discoveries import Discoveries, Discovery
from deniable_aggregator.answers.questions import EstimateQuery
from deniable_aggregator.answers.row import EstimateTable, Row
from deniable_aggregator.asking.questions import (
    ANNOTATIONS,
    DISCOVERIES,
    DISCOVERY,
    ESTIMATE,
    ESTIMATES,
    METRICS,
    SAVED_LIST,
    SAVED_LISTS,
)
from deniable_aggregator.doors.pages.overview.reading import read_weeks
from deniable_aggregator.doors.pages.overview.view import Choice, overview_view
from deniable_aggregator.doors.pages.rendering import page
from deniable_aggregator.media.pictures.svg import sparkline
from deniable_aggregator.telling.ranges import range_in_words
from tests.aggregator.api.estimate_table.filled import ACCEPT_DAYS, write
from tests.aggregator.asking.by_method import ByMethod
from tests.aggregator.pages.metric.test_discovered import found, run
from tests.aggregator.service import TODAY as STORE_TODAY
from tests.aggregator.service import serving
from tests.aggregator.stored import append, decoded, fold, register
from tests.aggregator.telling import answers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.answers.row import EstimateTableQuery
    from deniable_aggregator.asking.questions import Question
    from deniable_aggregator.doors.pages.overview.view import Overview

TODAY = date(2026, 11, 24)
MONDAY = date(2026, 11, 16)
LONG_AGO = date(2026, 1, 5)
HOSTILE = "<script>alert(1)</script>\u202e\"'&"


def metric(name: str, **fields: Any) -> Metric:
    """A registered metric with reports until today."""
    given = {
        "type": "category", "description": f"About {name}", "owners": [], "expires": None,
        "retention_days": None, "every": "day", "mechanism": "grr", "epsilon": 1.0,
        "epsilon_permanent": None, "epsilon_total": None, "delta": 0.0, "version": "00" * 32,
        "registered": LONG_AGO, "candidates": False, "discovers": False, "first_day": LONG_AGO,
        "last_day": TODAY, "reports": 1_000_000, "excluded_reports": 0,
    }  # fmt: skip
    return Metric(name=name, **{**given, **fields})


def made(**fields: Any) -> Row:
    """A row of the table of estimates."""
    return Row(application="flightdeck", question="series", **fields)


def share(metric: str, value: str, estimate: float, week: date = MONDAY, **fields: Any) -> Row:
    """The share of a value in a week."""
    given = {
        "measure": "share", "estimate": estimate, "low": round(estimate - 0.01, 6),
        "high": round(estimate + 0.01, 6), "standard_error": 0.005, "told": True,
        "reports": 70_000, "suspicious": False, "final": False,
    }  # fmt: skip
    return made(
        metric=metric, since=week, until=week + timedelta(6), value=value, **{**given, **fields}
    )


def difference(metric: str, value: str, estimate: float, p_value: float, **more: Any) -> Row:
    """What has changed of a value since the week before."""
    fields = {"measure": "difference in share", "before": 0.4, "told": p_value <= 0.05}
    fields |= {"p_value": p_value, "adjusted_p_value": p_value}
    return share(metric, value, estimate, **{**fields, **more})


class Kept(ByMethod):
    """Answers from rows, as a store does."""

    def __init__(self, metrics: Iterable[Metric], rows: Iterable[Row]) -> None:
        self._metrics, self._rows = list(metrics), list(rows)

    def ask(self, question: Question[Any, Any], query: Any = None) -> Any:
        answers = {
            METRICS.name: lambda: Metrics("flightdeck", self._metrics),
            ESTIMATES.name: lambda: self.estimates(query),
            ANNOTATIONS.name: self.annotations,
            DISCOVERIES.name: lambda: self.discoveries(*question.place),
            DISCOVERY.name: lambda: self.discovery(*question.place),
            SAVED_LISTS.name: self.saved_lists,
        }
        return answers[question.name]()

    def estimates(self, query: EstimateTableQuery) -> EstimateTable:
        rows = [
            row
            for row in self._rows
            if query.since <= row.since
            and row.until <= query.until
            and row.measure in query.measure
            and (not query.metric or row.metric in query.metric)
            and (not query.value or row.value is None or row.value in query.value)
        ]
        return EstimateTable(application="flightdeck", period="week", rows=rows)

    def annotations(self) -> Annotations:
        days = (date(2026, 11, 1), MONDAY, TODAY)
        said = [Annotation(day, f"Version {day.day} <b>") for day in reversed(days)]
        return Annotations(application="flightdeck", annotations=said)

    def saved_lists(self) -> SavedLists:
        return SavedLists(application="flightdeck", lists=[])

    def discoveries(self, metric: str) -> Discoveries:
        return Discoveries(metric, "flightdeck", [])

    def discovery(self, metric: str, number: int) -> Discovery:
        raise NotImplementedError


def shown(
    metrics: Iterable[Metric],
    rows: Iterable[Row] = (),
    choice: Choice | None = None,
    *,
    weekly: bool = True,
) -> Overview:
    weeks = read_weeks(Kept(metrics, rows), TODAY)  # type: ignore[arg-type]
    return overview_view(weeks, choice or Choice(), TODAY, weekly=weekly)


def html(overview: Overview) -> str:
    return page("overview/overview.html.jinja", overview=overview, empty=None).get_data(True)


def words(overview: Overview, name: str) -> str:
    """All that a card says."""
    (card,) = (each for each in overview.cards if each.name == name)
    return " | ".join([card.headline, card.of, card.more, *card.asides, *card.badges])


BROWSERS = [
    share("browser", "Firefox", 0.1),
    share("browser", "Chrome", 0.45),
    share("browser", "Safari", 0.22),
    share("browser", "Netscape", 0.001, told=False),
]


def test_a_card_says_what_leads_and_draws_it_week_by_week() -> None:
    earlier = [share("browser", "Chrome", 0.4, MONDAY - timedelta(7 * ago)) for ago in range(1, 5)]
    overview = shown([metric("browser")], [*BROWSERS, *earlier])
    said = words(overview, "browser")
    assert "44 to 46% | Chrome | then Safari 21 to 23% and Firefox 9 to 11%" in said
    assert "10,000 reports a day; no check fails." in said
    (card,) = overview.cards
    assert (card.title, card.address) == ("About browser", "/metric/browser")
    (panel,) = card.figure.panels
    assert [each.interval.estimate for each in panel.lines[0].moments] == [0.4] * 4 + [0.45]
    assert "2026-11-16 to 2026-11-22" in overview.days
    assert overview.happened == ["2026-11-16: Version 16 <b>", "2026-11-24: Version 24 <b>"]
    assert "Version 24 &lt;b&gt;" in html(overview)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([share("m", "true", 0.17)], "16 to 18% | true"),
        (
            [share("m", "red", 0.3), share("m", "blue", 0.305)],
            "29 to 32% | blue | too close to call with red",
        ),
        ([share("m", "red", 0.0, told=False)], "below 1% | red | can't be told from zero"),
        ([share("m", "red", 0.4, low=0.0, high=0.8)], "Too few reports yet"),
        (
            [share("m", "x=true", 0.5), share("m", "y=true", 0.3),
             made(metric="m", since=MONDAY, until=MONDAY, measure="lift", estimate=1.4,
                      value="x=true & y=true", low=1.3, high=1.5, p_value=0.0, told=True,
                      final=True)],
            "49 to 51% | x=true | then y=true 29 to 31%; x=true and y=true go together "
            "(1.3 to 1.5 times as often as by chance)",
        ),
        (
            [share("m", "red", 0.4, possible_low=0.3, possible_high=0.6)],
            "30 to 60% | red",
        ),
        (
            [made(metric="m", since=MONDAY, until=MONDAY, measure="mean", estimate=1.75,
                      low=1.7, high=1.8, reports=9, final=True)],
            "1.70 to 1.80 | on average",
        ),
        (
            [made(metric="m", since=MONDAY, until=MONDAY, measure="quantile", quantile=q,
                      estimate=q, low=q - 0.1, high=q + 0.1, reports=9, final=True)
             for q in (0.25, 0.5, 0.9)],
            "0.4 to 0.6 | median | the 90th percentile is 0.8 to 1.0",
        ),
    ],
)  # fmt: skip
def test_numbers_of_all_kinds_are_ranges_in_words(rows: list[Row], said: str) -> None:
    assert said in words(shown([metric("m")], rows), "m")


def test_numbers_and_their_sparkline_are_cut_at_the_widest_range_of_the_metric() -> None:
    mean = made(metric="m", since=MONDAY, until=MONDAY + timedelta(6), measure="mean",
                    estimate=250.0, low=-200.0, high=700.0, reports=9, final=True)  # fmt: skip
    versions = [metric("m", range=ends, type="number") for ends in ((0.0, 300.0), (0.0, 600.0))]
    for known, said in ((versions[:1], "0 to 300"), (versions, "0 to 600")):
        overview = shown(known, [mean])
        assert words(overview, "m").startswith(f"anything from {said} | on average")
        (card,) = overview.cards
        assert card.figure is not None
        assert f"anything from {said}, estimate" in sparkline(card.figure)
    high, low = (structs.replace(mean, measure="quantile", quantile=q) for q in (0.9, 0.5))
    assert words(
        shown(versions[:1], [high, structs.replace(low, low=20.0, high=40.0)]), "m"
    ).startswith("20 to 40 | median | the 90th percentile may be anything from 0 to 300")


def test_a_clear_change_is_named_and_comes_first() -> None:
    rows = [
        *BROWSERS,
        difference("browser", "Chrome", 0.0, 0.5),
        share("theme", "dark", 0.5),
        difference("theme", "dark", 0.1, 1e-9, low=0.08, high=0.12),
    ]
    overview = shown([metric("browser"), metric("theme")], rows)
    assert [each.name for each in overview.cards] == ["theme", "browser"]
    assert "dark rose by 8 to 12 points" in words(overview, "theme")
    assert "no clear change" in words(overview, "browser")
    first = "1 of 2 metrics changed clearly since the week before"
    assert overview.finding == f"{first}: theme (dark rose by 8 to 12 points)."
    by_name = shown([metric("browser"), metric("theme")], rows, Choice(sort="name"))
    assert [each.name for each in by_name.cards] == ["browser", "theme"]


def test_what_chance_changes_in_one_of_many_metrics_is_not_clear() -> None:
    names = [f"m{number}" for number in range(30)]
    rows = [share(name, "red", 0.5) for name in names]
    rows += [difference(name, "red", 0.05, 0.04 if name == "m0" else 0.5) for name in names]
    overview = shown(map(metric, names), rows)
    assert overview.finding == "No clear change in 30 metrics since the week before."


def test_suspicious_and_stopped_metrics_are_named_first() -> None:
    week = MONDAY - timedelta(21)
    rows = [
        share("sync", "true", 0.6, suspicious=True, marks="suspicious"),
        difference("sync", "true", 0.2, 1e-9, low=0.1, high=0.3, suspicious=True),
        share("payment", "card", 0.4, week),
    ]
    last = week + timedelta(6)
    overview = shown([metric("sync"), metric("payment", last_day=last)], rows)
    assert overview.warning is not None
    assert "sync" in overview.warning.text
    assert "No reports arrive any more of payment" in overview.warning.text
    assert "change not known: suspicious reports" in words(overview, "sync")
    assert "rose" not in html(overview)
    payment = words(overview, "payment")
    assert f"39 to 41% | card |  | 10,000 reports a day in the week of {week} to {last}" in payment
    assert "no reports since 2026-11-02" in payment


def test_a_change_from_a_suspicious_week_is_not_known() -> None:
    rows = [
        share("sync", "true", 0.6),
        share("sync", "true", 0.4, MONDAY - timedelta(7), suspicious=True, marks="suspicious"),
        difference("sync", "true", 0.2, 1e-9, low=0.1, high=0.3, suspicious=True),
    ]
    said = words(shown([metric("sync")], rows), "sync")
    assert "change not known: suspicious reports" in said
    assert "compared" not in said


def test_metrics_without_numbers_say_what_comes_next() -> None:
    overview = shown(
        [
            metric("new", **NONE, reports_for_one_percent=56_922),
            metric("excluded", **NONE, excluded_reports=70),
            metric("today", first_day=TODAY),
            metric("emoji", type="string", candidates=True),
            metric("search", type="string", candidates=True, discovers=True),
        ],
        [
            made(
                metric="emoji",
                since=MONDAY,
                until=MONDAY + timedelta(6),
                measure="reports",
                reports=70_000,
                suspicious=False,
                final=False,
            )
        ],
    )
    assert "No reports yet" in words(overview, "new")
    assert "56,922 reports" in words(overview, "new")
    assert "All 70 reports are excluded" in words(overview, "excluded")
    assert "Here from 2026-11-30 on" in words(overview, "today")
    assert "Choose the values" in words(overview, "emoji")
    assert "10,000 reports a day" in words(overview, "emoji")
    assert "popular strings" in words(overview, "search")


@pytest.mark.parametrize(("texts", "said"), [(["a", "b"], "nobody had listed"), ([], "No string")])
def test_strings_that_were_looked_for_are_said_to_be_found_only_if_there_are_any(
    texts: list[str], said: str
) -> None:
    class Searched(Kept):
        def discoveries(self, metric: str) -> Discoveries:
            return Discoveries(metric, "flightdeck", [run(1)])

        def discovery(self, _metric: str, number: int) -> Discovery:
            return structs.replace(run(number), result=found(texts))

    weeks = read_weeks(
        Searched([metric("search", type="string", candidates=True, discovers=True)], []), TODAY
    )  # type: ignore[arg-type]
    assert said in words(overview_view(weeks, Choice(), TODAY, weekly=True), "search")


NONE = {"reports": 0, "first_day": None, "last_day": None}


@pytest.mark.parametrize(
    ("fields", "weekly", "title"),
    [
        ({}, False, "The server keeps no weeks"),
        ({}, True, "The numbers of the first weeks are being worked out"),
        ({"first_day": TODAY}, True, "The first week is not over"),
        (NONE, True, "No reports yet"),
        ({**NONE, "excluded_reports": 70}, True, "All reports are excluded"),
    ],
)
def test_without_weeks_the_page_says_why(fields: dict[str, Any], weekly: bool, title: str) -> None:
    overview = shown([metric("theme", **fields)], weekly=weekly)
    assert overview.state is not None
    assert overview.state.title == title
    assert title in html(overview)
    assert [card.address for card in overview.cards] == ["/metric/theme"]


def test_of_very_many_metrics_the_first_are_cards_and_all_can_be_found() -> None:
    names = [f"metric_{number:03}" for number in range(120)]
    rows = [share(name, "red", 0.5, MONDAY - timedelta(7 * w)) for name in names for w in range(12)]
    overview = shown(map(metric, names), rows)
    assert overview.others is not None
    assert len(overview.cards) + len(overview.others.rows) == 120
    text = html(overview)
    assert all(f"/metric/{name}" in text for name in names)
    assert len(gzip.compress(text.encode())) < 30_000
    found = shown(map(metric, names), rows, Choice(find="ABOUT metric_11"))
    assert [card.name for card in found.cards] == names[110:]
    assert shown([metric("red")], (), Choice(find="zzz")).none_found


def test_a_value_is_found_and_leads_to_its_series() -> None:
    metrics = [metric("browser"), metric("theme")]
    found = shown(metrics, [*BROWSERS, share("theme", "dark", 0.5)], Choice(find="safar"))
    (card,) = found.cards
    assert (card.name, card.address) == ("browser", "/metric/browser?follow=Safari")
    assert "Safari: 21 to 23%" in words(found, "browser")
    assert shown(metrics, BROWSERS, Choice(find="netscape")).none_found, "can't be told from zero"


def test_beginnings_of_strings_are_shown_where_they_lead() -> None:
    result = found(["a", "b"])
    result.numbers = [each for each in result.numbers if each.whole is False]

    class Searched(Kept):
        def discoveries(self, metric: str) -> Discoveries:
            return Discoveries(metric, "flightdeck", [run(1)])

        def discovery(self, _metric: str, number: int) -> Discovery:
            return structs.replace(run(number), result=result)

    searched = metric("search", type="string", candidates=True, discovers=True)
    weeks = read_weeks(Searched([searched], []), TODAY)  # type: ignore[arg-type]
    said = words(overview_view(weeks, Choice(), TODAY, weekly=True), "search")
    assert said.startswith("at least 1")
    assert "a…" in said


@pytest.mark.parametrize("name", ["emoji", "food"])
def test_strings_of_the_saved_list_of_a_metric_are_shown_and_found(name: str) -> None:
    answer = answers.shares(
        answers.share("🍕", 0.44, 0.45, 0.46), answers.share("🔥", 0.21, 0.22, 0.23)
    )

    class Listing(Kept):
        def saved_lists(self) -> SavedLists:
            head = SavedListHead(name=name, values=2, saved=MONDAY)
            return SavedLists(application="flightdeck", lists=[head])

        def ask(self, question: Question[Any, Any], query: Any = None, lists: Any = None) -> Any:
            if question.name == SAVED_LIST.name:
                return SavedList(application="flightdeck", name=name, values=["🍕", "🔥"])
            if question.name == ESTIMATE.name:
                assert lists.candidates == ("🍕", "🔥")
                assert query.until == MONDAY + timedelta(6)
                return answer
            return super().ask(question, query)

    emoji = metric("emoji", type="string", candidates=True)
    weeks = read_weeks(Listing([emoji], []), TODAY)
    overview = overview_view(weeks, Choice(), TODAY, weekly=True)
    if name != "emoji":
        assert "a saved list with the name emoji" in words(overview, "emoji")
        return
    said = words(overview, "emoji")
    assert said.startswith('44 to 46% | "🍕" | then "🔥" 21 to 23%')
    assert "the saved list emoji" in said
    (card,) = overview_view(weeks, Choice(find="🔥"), TODAY, weekly=True).cards
    assert card.asides[0] == "🔥: 21 to 23%"
    assert "list=saved%3Aemoji" in card.address


def test_of_a_table_that_is_half_written_it_is_said_how_far_it_is() -> None:
    metrics = [metric("browser"), metric("theme"), metric("emoji", candidates=True)]
    assert "of 1 of 2 metrics are worked out so far" in shown(metrics, BROWSERS).days
    assert "so far" not in shown(metrics, [*BROWSERS, share("theme", "dark", 0.5)]).days


def test_what_is_wrong_comes_after_what_changed_and_before_all_else() -> None:
    rows = [
        *BROWSERS,
        share("alpha", "x", 0.5, suspicious=True),
        share("theme", "dark", 0.5),
        difference("theme", "dark", 0.1, 1e-9, low=0.08, high=0.12),
    ]
    names = ("alpha", "browser", "new", "theme")
    overview = shown([metric(name, reports=9 * (name != "new")) for name in names], rows)
    assert [each.name for each in overview.cards] == ["theme", "alpha", "browser", "new"]
    assert overview.cards[0].address == "/metric/theme?period=last-week&follow=dark"


def test_texts_of_others_never_act() -> None:
    rows = [
        share(HOSTILE, HOSTILE, 0.5),
        difference(HOSTILE, HOSTILE, 0.1, 1e-9, low=0.08, high=0.12),
    ]
    text = html(shown([metric(HOSTILE, description=HOSTILE)], rows, Choice(find="script")))
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert not re.search(r"<[^>]+\bon\w+=", text)
    assert HOSTILE not in text


def test_the_numbers_are_those_of_the_answers(tmp_path) -> None:
    with serving(tmp_path / "store.db") as service:
        register(service.store)
        for epoch in range(STORE_TODAY - 13, STORE_TODAY):
            append(service.store, [decoded(bytes([0, 0, 0, 1, 2] * 40), epoch=epoch)])
        fold(service.store)
        write(service.store, lengths=("week",))
        assert service.settings.accept_days == ACCEPT_DAYS
        service.sign_in()
        text = service.http.get("/").get_data(True)
        since, until = re.search(r"week of (\S+) to (\S+?),", text).groups()
        query = EstimateQuery(since=date.fromisoformat(since), until=date.fromisoformat(until))
        path = f"/v1/metrics/theme/estimate?since={query.since}&until={query.until}"
        shares = service.ask(path).get_json()["numbers"]
        first = max(shares, key=lambda each: each["estimate"])
        assert f"<strong>{range_in_words(first['low'], first['high'])}</strong>" in text
        assert f"<span>{first['value']}</span>" in text
        assert "no clear change" in text
