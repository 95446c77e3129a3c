"""What is said of a metric of which any value of a period may be the one that is reported."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import convert

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.metrics import MetricDetails
from deniable_aggregator.counting.account import account_of
from deniable_aggregator.doors.cli.account_text import account_lines
from deniable_aggregator.doors.cli.metrics import _domain_lines
from deniable_aggregator.doors.pages.privacy import _collected
from deniable_aggregator.telling.meaning import meaning
from deniable_aggregator.telling.method import given_away
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_shared import registry
from tests import one_metric
from tests.aggregator.api.test_comparability import PATH, Devices, compared
from tests.aggregator.publication.estimated import TallySource
from tests.aggregator.served import shares
from tests.aggregator.service import problem

CATEGORY = 'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true\nepsilon = 6\n'
PICKED = CATEGORY + 'pick = "random"\n'
VALUES = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
AVERAGED = "that of a device's values, averaged over devices"


@pytest.fixture
def devices(service):
    return Devices(service)


@pytest.mark.one_store
@pytest.mark.parametrize("question", ["estimate", "series?by=day"])
def test_an_answer_says_that_a_share_is_not_of_devices(devices, question):
    devices.send(PICKED, VALUES, -2, -1)
    found = devices.service.ask(f"{PATH}/{question}").get_json()
    (said,) = [line for line in meaning(convert(found, Answer)) if line.startswith("Several")]
    assert said.startswith("Several values: a device reports one random value of those")
    assert AVERAGED in said


@pytest.mark.one_store
def test_what_a_device_reports_is_said_of_the_metric(devices):
    devices.send(CATEGORY, VALUES, -2)
    devices.send(PICKED, VALUES, -1)
    found = devices.service.ask(PATH).get_json()
    assert [each["pick"] for each in found["versions"]] == ["random", "first"]
    details = convert(found, MetricDetails)
    random, first = details.versions
    assert ("which value", f"a random one of a day; a share or mean is {AVERAGED}") in (
        list(_domain_lines(random, [first]))
    )
    assert "which value" not in dict(_domain_lines(first, []))
    assert f"Of several values in a day a random one is reported, so a share is {AVERAGED}." in (
        _collected(random)
    )
    assert given_away(details)[0].endswith(", of one random value of that time.")


@pytest.mark.one_store
def test_the_first_value_and_a_random_one_are_neither_added_nor_compared(devices):
    """At the start of a program everybody has a; of all values, it is six of ten."""
    first = devices.send(CATEGORY, ["a"] * 1_000, *range(-14, -7))
    picked = devices.send(PICKED, VALUES, *range(-7, 0))
    found = devices.service.ask(f"{PATH}/estimate").get_json()
    assert [each["version"] for each in found["head"]["versions"]] == [picked]
    assert shares(found)["a"] == pytest.approx(0.6, abs=0.05)
    (notice,) = [each for each in found["notices"] if each["code"] == "other_version_left_out"]
    about = "this answer is about a category, of any value of a period. Ask for version "
    assert about + first[:12] in notice["message"]
    detail = problem(compared(devices.service), 422, "estimate_refused")["detail"]
    assert "a category, of any value of a period after" in detail


def test_a_publication_says_it_once():
    spec = one_metric.spec_of(PICKED)
    made = publish(TallySource([(spec, np.array([600, 300, 100]))]), "m", policy=Policy(10))
    assert [AVERAGED in note for note in made.notes].count(True) == 1
    assert "A value is shown if it is picked by at least 10 devices" in " ".join(made.reading)
    plain = one_metric.spec_of(CATEGORY)
    made = publish(TallySource([(plain, np.array([600, 300, 100]))]), "m", policy=Policy(10))
    assert not any(AVERAGED in note for note in made.notes)


def test_the_account_is_of_the_report_and_not_of_what_was_replaced():
    figures = [account_of(registry.parse(one_metric.HEAD + text)) for text in (CATEGORY, PICKED)]
    assert figures[0].together == figures[1].together
    said = [" ".join(account_lines(each)) for each in figures]
    assert "Of m a report costs the same however many values it was picked from." not in said[0]
    assert "Of m a report costs the same however many values it was picked from." in said[1]
    assert "whoever reads the device's directory again and again sees, too" in said[1]
