"""Few reports of a sketch are estimated from their places alone, with the same numbers."""

from __future__ import annotations

import secrets
from fractions import Fraction

import numpy as np
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import FewCounts, nonempty, share_tally_for, tally_for
from deniable_aggregator.counting.tallies.strings import SketchTally
from deniable_shared import registry, wire
from deniable_shared.mechanisms import ORACLES, ProjectiveGeometryResponse, Sketch
from tests.aggregator.service import REGISTRY, TODAY, serving
from tests.privacy.specs import sketch, string

WORDS = [f"word {number}" for number in range(40)]
SECRET = bytes(32)
WIDE = """[metrics.word]
type = "string"
epsilon = 4.0
expected_devices = 10_000_000
"""
ONE = Fraction(1)
INNER = {
    "all points": ProjectiveGeometryResponse.over_space(13, 3, 183, ONE),
    "some points": ProjectiveGeometryResponse.over_space(13, 3, 150, ONE),
    "signs": ORACLES["ht"].for_epsilon(60, ONE),
}


def payload_of(spec, reports):
    """So many reports, each third one of the same word."""
    report = randomizer_for(spec, Randomness()).report
    held = (WORDS[number % len(WORDS) if number % 3 else 0] for number in range(reports))
    return b"".join(report(spec.encode(word), SECRET) for word in held)


@pytest.mark.parametrize("reports", [1, 150, 2_000])
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_estimates_of_few_reports_are_those_of_all_counters_to_the_digit(inner, reports):
    spec = string(Sketch(rows=64, inner=inner))
    tally, payload = share_tally_for(spec), payload_of(spec, reports)
    counters = tally.count(payload)
    few = FewCounts(np.sort(tally.places(payload)), tally.cells)
    assert (few.array == counters).all()
    assert nonempty([(spec, few)])[0][2] == reports
    ours, theirs = tally.shares_of_few(few, WORDS), tally.shares(counters, WORDS)
    for name in ("share", "variance", "null_variance", "kept", "influence", "law_scores"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert (ours.support_counts.supporting == theirs.support_counts.supporting).all()
    assert ours.unlisted == theirs.unlisted


def test_a_sketch_of_unary_encoding_has_no_places():
    assert not tally_for(string(sketch("oue", 1, rows=4, buckets=32))).has_places


def test_a_series_of_few_reports_a_day_never_has_an_array_of_counters(tmp_path, monkeypatch):
    text = (
        REGISTRY + '[metrics.word]\ntype = "string"\nepsilon = 4.0\nexpected_devices = 10_000_000\n'
    )
    spec = registry.parse(text).metrics["word"].spec
    path = "/v1/metrics/word/series?by=day"
    asked = {"method": "POST", "json": {"candidates": WORDS[:8]}}

    def never(*_):
        raise AssertionError("all counters of a day were gone through")

    with serving(tmp_path / "store.db", part_reports=1) as service:
        assert service.register(text).status_code == 200
        for day in range(TODAY - 9, TODAY - 6):
            part = wire.Part(spec.digest, day, payload_of(spec, 20))
            body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
            assert service.send(body).status_code == 204
        monkeypatch.setattr(SketchTally, "shares", never)
        monkeypatch.setattr(FewCounts, "array", property(never))
        answer = service.ask(path, **asked)
    assert answer.status_code == 200, answer.json
    assert [period["reports"] for period in answer.json["head"]["periods"]] == [20, 20, 20]
