"""Questions pause and end between pieces, and hold nothing that others need while they do."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.yield_points import yielding_by
from deniable_aggregator.doors.app import create_question_app
from deniable_aggregator.keeping.store import Store
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, TODAY, bearer, serving

if TYPE_CHECKING:
    from flask.testing import FlaskClient

TEXT = (
    REGISTRY.replace("epsilon_per_day = 4.0", "epsilon_per_day = 16.0")
    + """
[metrics.load]
type = "distribution"
range = [0, 50]
bins = 10
epsilon = 1.0
[metrics.word]
type = "string"
epsilon = 4.0
"""
)
DAYS = 8
HELD = {"theme": ["light", "dark"], "load": [3.0, 40.0], "word": ["ab", "cd"]}
WORDS = {"candidates": ["ab", "cd", *(f"other {number}" for number in range(2_000))]}
QUESTIONS = {
    "/v1/metrics/theme/estimate?split=key": None,
    "/v1/metrics/theme/series": None,
    "/v1/metrics/theme/health": None,
    "/v1/metrics/theme/change?before=2024-09-27..2024-09-30&after=2024-10-01..2024-10-04": None,
    "/v1/metrics/load/estimate": None,
    "/v1/metrics/load/series": None,
    "/v1/metrics/word/estimate": WORDS,
    "/v1/metrics/word/series": WORDS,
    "/v1/health": None,
}


class LeftError(BaseException):
    """The client has left."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("yielding") / "store.db"
    with serving(path, part_reports=1, accept_days=30) as service:
        assert service.register(TEXT).status_code == 200
        metrics = registry.parse(TEXT).metrics
        for name, values in HELD.items():
            spec = metrics[name].spec
            report = randomizer_for(spec, Randomness()).report
            for day in range(TODAY - DAYS + 1, TODAY + 1):
                made = [report(spec.encode(value), os.urandom(32)) for value in values * 30]
                part = wire.Part(spec.digest, day, b"".join(made))
                upload = wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), (part,)))
                assert service.send(upload).status_code == 204
        service.count()
        # With a store of its own, which nothing in the background reads.
        with closing(Store(path)) as store:
            app = create_question_app(store=store, settings=service.settings, clock=service.clock)
            yield Asked(store, app.test_client(), bearer(service.read))


class Asked(NamedTuple):
    store: Store
    http: FlaskClient
    headers: dict[str, str]


def ask(filled, path, at_point):
    body = QUESTIONS[path]
    method = "GET" if body is None else "POST"
    with yielding_by(at_point):
        return filled.http.open(path, method=method, json=body, headers=filled.headers)


def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


@pytest.mark.parametrize("path", QUESTIONS)
def test_where_a_question_waits_it_holds_neither_a_connection_nor_a_lock(filled, path):
    reading = [filled.store._database._readers.pool, filled.store._database._lookups.pool]
    # Up to Python 3.11 it holds a lock that all objects of the class share.
    locking = [functools.cached_property.__get__.__code__] * (sys.version_info < (3, 12))
    points = []

    def at_point(may_wait):
        points.append(may_wait)
        if may_wait:
            assert [pool.checkedout() for pool in reading] == [0, 0]
            assert not {*frames()} & {*locking}

    assert ask(filled, path, at_point).status_code == 200
    assert points.count(True) > (DAYS if "series" in path else 4)


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_question_that_ends_at_any_point_leaves_the_next_its_answer(filled, path):
    whole = ask(filled, path, lambda _: None).data
    points = []
    ask(filled, path, points.append)
    for last in {0, 1, len(points) // 3, 2 * len(points) // 3, len(points) - 1}:
        passed = []

        def leave(_, passed=passed, last=last):
            if len(passed) == last:
                raise LeftError
            passed.append(1)

        with pytest.raises(LeftError):
            ask(filled, path, leave)
        assert ask(filled, path, lambda _: None).data == whole
