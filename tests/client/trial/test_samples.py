"""Made-up values: a legitimate one of every kind of metric, and one that it refuses."""

from __future__ import annotations

import json

import pytest

from deniable._trial.samples import draw_sample, wrong_value
from deniable_shared import registry
from deniable_shared.errors import DomainError

METRICS = registry.parse("""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.flag]
type = "boolean"
epsilon = 1
[metrics.theme]
type = "category"
values = ["light", "no such value"]
complete = true
epsilon = 1
[metrics.browser]
type = "category"
values = ["Chrome", "Firefox"]
other = "another"
epsilon = 1
segment = { name = "channel", values = ["stable", "beta"], complete = true }
[metrics.beta_flag]
type = "boolean"
epsilon = 1
segment = { name = "channel", values = ["stable", "beta"], complete = true }
[metrics.crash]
type = "category"
values = ["startup", "editor"]
absent = "none"
epsilon = 1
[metrics.plugins]
type = "set"
values = ["git", "latex"]
epsilon = 1
[metrics.text]
type = "string"
epsilon = 1
[metrics.short]
type = "string"
discover = true
longest = 2
epsilon = 1
[metrics.code]
type = "string"
discover = true
alphabet = "hex"
epsilon = 1
[metrics.gene]
type = "string"
discover = true
alphabet = "ACGT"
epsilon = 1
[metrics.narrow]
type = "number"
range = [0.0000001, 0.0000002]
epsilon = 1
[metrics.wide]
type = "distribution"
range = [-1e12, 1e12]
epsilon = 1
[metrics.flight]
type = "attributes"
epsilon = 1
[metrics.flight.attributes]
carrier = { values = ["AA", "DL"], other = "another" }
late = "boolean"
""").metrics


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_drawn_value_is_taken_and_the_wrong_one_is_refused(metric):
    spec = metric.spec
    for _ in range(50):
        value, segment = draw_sample(spec)
        spec.encode(value, segment)
        assert json.loads(json.dumps(value)) == value
        if spec.range is not None:
            low, high = map(float, spec.range)  # 0.0000001 is not quite the float 1e-07
            assert low <= value <= high
        if spec.letters is not None:
            assert 0 < len(value) <= spec.letters.longest
    with pytest.raises(DomainError):
        spec.encode(wrong_value(spec), segment)


def test_absence_is_never_drawn_as_a_value():
    assert {draw_sample(METRICS["crash"].spec).value for _ in range(60)} == {"startup", "editor"}


def test_numbers_are_short_to_read():
    assert len(str(draw_sample(METRICS["narrow"].spec).value)) <= 8
    assert isinstance(draw_sample(METRICS["wide"].spec).value, int)
