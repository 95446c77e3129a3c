"""A question that asks for too much is refused before it begins, with what to ask instead."""

from __future__ import annotations

import re

import pytest

from deniable_aggregator.answering import reader
from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.questions import SeriesQuery
from deniable_aggregator.asking.questions import SERIES
from deniable_aggregator.keeping.parts import Parts
from deniable_shared import registry, wire
from tests.aggregator.service import APPLICATION, REGISTRY, SPECS, TODAY, problem, serving, upload

DAYS = 10
EMOJI_BYTES = SPECS["emoji"].mechanism.report_bytes
THEME, EMOJI = "/v1/metrics/theme", "/v1/metrics/emoji"


@pytest.fixture
def asked_of(tmp_path):
    """Makes a service with reports of ten days, whose questions may use so many seconds."""
    services = []

    def make(seconds):
        made = serving(tmp_path / "store.db", question_seconds=seconds, part_reports=1)
        services.append(made)
        service = made.__enter__()
        service.register()
        for day in range(TODAY - DAYS + 1, TODAY + 1):
            assert service.send(upload(b"\0\1\2" * 9, epoch=day)).status_code == 204
            emoji = upload(bytes(9 * EMOJI_BYTES), metric="emoji", epoch=day)
            assert service.send(emoji).status_code == 204
        return service

    yield make
    for each in services:
        each.__exit__(None, None, None)


def refused(answer):
    return problem(answer, 422, "question_too_large")["detail"]


def test_a_series_is_refused_before_its_reports_are_read_and_says_which_would_do(
    asked_of, monkeypatch
):
    service = asked_of(0.004)
    with monkeypatch.context() as patched:
        patched.setattr(reader, "read_reports", None)
        detail = refused(service.ask(f"{THEME}/series?by=day"))
    assert "10 periods of 1 version" in detail
    assert "question_seconds is 0.004. Ask by week." in detail
    assert service.ask(f"{THEME}/series?by=week").status_code == 200
    assert service.ask(f"{THEME}/series?by=day&since=2024-10-01").status_code == 200


def test_a_list_of_values_may_be_as_long_as_the_refusal_of_a_longer_one_says(asked_of):
    service = asked_of(0.004)

    def ask(values):
        listed = [f"value {number}" for number in range(values)]
        return service.ask(f"{EMOJI}/estimate", method="POST", json={"candidates": listed})

    detail = refused(ask(1_000))
    assert "1 period of 1 version, 1,000 values each" in detail
    most = int(re.search(r"Ask for at most ([\d,]+) values\.", detail)[1].replace(",", ""))
    assert 1 < most < 1_000
    assert ask(most).status_code == 200
    refused(ask(most + 50))


def test_of_many_versions_one_may_be_asked_about(asked_of):
    service = asked_of(0.0008)
    text = REGISTRY.replace("complete = true\nepsilon = 1.0", "complete = true\nepsilon = 2.0")
    assert service.register(text).status_code == 200
    spec = registry.parse(text).metrics["theme"].spec
    part = wire.Part(spec.digest, TODAY, b"\0\1\2" * 9)
    body = wire.encode(wire.Upload(bytes(wire.ID_BYTES), (part,)))
    assert service.ask(f"{THEME}/estimate").status_code == 200
    assert service.send(body).status_code == 204
    detail = refused(service.ask(f"{THEME}/estimate"))
    assert "1 period of 2 versions" in detail
    version = re.search(r"such as (version=\w+)\.", detail)[1]
    assert service.ask(f"{THEME}/estimate?{version}").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        f"{THEME}/estimate?split=key",
        f"{THEME}/change?before=2024-09-25..2024-09-28&after=2024-10-01..2024-10-04&why=key",
    ],
)
def test_a_split_counts_and_the_refusal_names_it(asked_of, path):
    service = asked_of(0.0015)
    (option,) = re.findall("split|why", path)
    assert f"Ask without {option}." in refused(service.ask(path))
    assert service.ask(path[: path.index(option) - 1]).status_code == 200


def test_a_program_that_asks_its_own_store_is_not_bounded(asked_of):
    service = asked_of(0.0001)
    service.count()
    refused(service.ask(f"{THEME}/series"))
    source = LocalSource(
        Answerer(Parts(service.store, service.settings, service.clock)), APPLICATION
    )
    assert source.ask(SERIES.of("theme"), SeriesQuery(by="day")).head.reports == 27 * DAYS
