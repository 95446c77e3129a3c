"""One epsilon for all values of a period together, where a random one of them is reported.

Ranks are 64 random bits each, so every order of k ranks is equally likely, up to ties. For each
order the shipped client chooses a value, and the shipped randomizer has P(report | value).
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from math import factorial

import pytest

from deniable._recording import recorder
from deniable.randomizers import randomizer_for
from deniable.testing import RecordingClient
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.registry import parse
from tests.privacy.conformance import secret_of
from tests.privacy.walking import distribution

VALUES = "abc"
REGISTRY_TEXT = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400.0
[metrics.command]
type = "category"
values = ["a", "b", "c"]
complete = true
epsilon = 1.0
mechanism = "grr"
pick = "random"
"""
REGISTRY = parse(REGISTRY_TEXT)
SPEC = REGISTRY.metrics["command"].spec
LONGEST = 4


class Day:
    now = 20_800 * 86_400.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def kept():
    """Which of so many values is kept, by the order of their ranks; whatever the values are."""
    chosen = {}
    with pytest.MonkeyPatch.context() as patch:
        for count in range(1, LONGEST + 1):
            for order in itertools.permutations(range(1, count + 1)):
                places = set()
                for shift in range(count):
                    said = []
                    client = RecordingClient(REGISTRY, clock=Day())
                    plan = client._recorder._plan_for("command")
                    patch.setattr(plan, "randomizer", _Noting(said))
                    ranks = iter(order)
                    patch.setattr(recorder, "draw_rank", ranks.__next__)
                    values = [VALUES[(shift + place) % 3] for place in range(count)]
                    for value in values:
                        client.record("command", value)
                    # The last report that was made has taken the place of all others.
                    least = order.index(1)
                    assert said[-1] == SPEC.encode(values[least])
                    places.add(least)
                    client.close()
                (chosen[order],) = places
    return chosen


class _Noting:
    def __init__(self, said):
        self._said = said

    def report(self, item, _):
        self._said.append(item)
        return b"\x00"


def channel(kept, values):
    """P(report | sequence of values), exactly."""
    count = len(values)
    found = {}
    for order in itertools.permutations(range(1, count + 1)):
        for report, probability in of_value(values[kept[order]]).items():
            found[report] = found.get(report, 0) + probability / factorial(count)
    return found


OF_VALUE = {}


def of_value(value):
    if value not in OF_VALUE:
        item = SPEC.encode(value)
        OF_VALUE[value] = distribution(
            lambda walk: randomizer_for(SPEC, walk).report(item, secret_of(1))
        )
    return OF_VALUE[value]


def sequences():
    for count in range(1, LONGEST + 1):
        yield from itertools.product(VALUES, repeat=count)


def test_whole_sequences_of_any_two_lengths_cost_one_epsilon_together(kept):
    channels = {values: channel(kept, values) for values in sequences()}
    assert len(channels) == 3 + 9 + 27 + 81
    assert all(sum(each.values()) == 1 for each in channels.values())
    reports = set().union(*channels.values())
    worst = max(
        max(each[report] for each in channels.values())
        / min(each[report] for each in channels.values())
        for report in reports
    )
    assert worst <= exp_lower(Fraction(1))
    assert log_upper(worst) >= 1 - 1e-3


def test_a_report_is_that_of_a_uniform_value_of_the_sequence(kept):
    """So shares are a device's own frequencies, and the estimate of their mean is unbiased."""
    for values in sequences():
        expected = {}
        for value in values:
            for report, probability in of_value(value).items():
                expected[report] = expected.get(report, 0) + probability / len(values)
        assert channel(kept, values) == expected


def test_one_value_of_a_sequence_changes_a_report_by_its_part_alone(kept):
    """Sequences that differ in one of k values have the same report but for one draw in k."""
    single = max(abs(of_value("a")[report] - of_value("b")[report]) for report in of_value("a"))
    for count in range(1, LONGEST + 1):
        rest = ("c",) * (count - 1)
        for place in range(count):
            one = channel(kept, (*rest[:place], "a", *rest[place:]))
            other = channel(kept, (*rest[:place], "b", *rest[place:]))
            assert max(abs(one[each] - other[each]) for each in one) == single / count


@pytest.mark.statistics
def test_shares_are_those_of_devices_own_values_where_first_values_are_those_of_a_start():
    """85% of the devices begin with a, which is a small part of what they do afterwards.

    Standard errors of 1,200 reports at epsilon 2 are at most .022: 6 of them are allowed.
    """
    text = REGISTRY_TEXT.replace("epsilon = 1.0", "epsilon = 2.0").replace("command", "any")
    first = text[text.index("[metrics") :].replace('pick = "random"', "").replace("any", "first")
    registry, drawn, devices = parse(text + first), random.Random(11), 1_200
    truth, said = Counter(), {"any": Counter(), "first": Counter()}
    names = {metric.spec.digest: name for name, metric in registry.metrics.items()}
    for _ in range(devices):
        count = drawn.choice([1, 2, 5, 20])
        start = "a" if drawn.random() < 0.85 else drawn.choice(VALUES)
        values = [start, *drawn.choices(VALUES, [1, 6, 3], k=count - 1)]
        client = RecordingClient(registry, clock=Day())
        for value in values:
            truth[value] += 1 / count / devices
            client.record("any", value)
            client.record("first", value)
        for report in client._storage.spool.reports():
            said[names[report.digest]][VALUES[report.payload[-1]]] += 1 / devices
        client.close()
    mechanism = registry.metrics["any"].spec.mechanism
    q = mechanism.other / SCALE
    share = {
        name: {value: (found[value] - q) / (1 - 3 * q) for value in VALUES}
        for name, found in said.items()
    }
    assert all(abs(share["any"][value] - truth[value]) < 6 * 0.022 for value in VALUES)
    assert share["first"]["a"] - truth["a"] > 0.3
