"""Whether a device reports does not depend on its value, unless a list was said to be complete."""

from __future__ import annotations

import pytest

from deniable import Outcome
from deniable_shared.errors import RegistryError
from deniable_shared.registry import parse
from tests.client.conftest import pending_reports

HEAD = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 40.0
[metrics.m]
epsilon = 1.0
"""
THEME = 'type = "category"\nvalues = ["light", "dark"]\n'
CHANNEL = 'segment = { name = "channel", values = ["stable", "beta"], other = "another" }\n'
CARRIER = 'carrier = { values = ["AA", "DL"], other = "another" }\nlate = "boolean"\n'
SECONDS = "range = [0, 30]\n"


@pytest.fixture
def reports_of(make_client, directory, clock):
    """The days and lengths of what a device stores that holds a value on the first of two days."""

    def made(fields, value, segment):
        client = make_client(registry=parse(HEAD + fields), directory=directory / str(clock.now))
        given = {} if segment is None else {"segment": segment}
        client.record("m", value, **given)
        clock.forward(days=1)
        client.flush()
        rows = pending_reports(client)
        return sorted((row.epoch, len(row.payload)) for row in rows)

    return made


@pytest.mark.parametrize(
    ("fields", "listed", "outside"),
    [
        (THEME + 'other = "rest"', "dark", ["purple", "", "x" * 10**6, "\ud800"]),
        (THEME + 'absent = "none"', "dark", ["purple", "", "\ud800"]),
        (THEME + 'complete = true\nabsent = "none"', "dark", ["purple"]),
        ('type = "string"', "dark", ["", "x" * 10**6, "é" * 4_096, "a\ud800"]),
        ('type = "number"\n' + SECONDS, 3.0, [-1e300, 31, 10**400]),
        ('type = "distribution"\n' + SECONDS, 3.0, [-1e300, 31, 10**400]),
        (
            'type = "attributes"\n[metrics.m.attributes]\n' + CARRIER,
            {"carrier": "AA", "late": True},
            [{"carrier": "ZZ", "late": True}, {"late": False}],
        ),
    ],
)
def test_a_value_outside_of_the_list_or_the_range_is_reported_like_any_other(
    reports_of, clock, fields, listed, outside
):
    """An observer of silence gains nothing: days and lengths are the same for every value."""
    start = clock.now
    seen = set()
    for place, value in enumerate([listed, *outside]):
        clock.now = start + place
        reports = reports_of(fields, value, None)
        seen.add(tuple((epoch - start // 86_400, length) for epoch, length in reports))
    assert len(seen) == 1
    assert seen != {()}


@pytest.mark.parametrize("segment", ["beta", "nightly", None])
def test_a_segment_outside_of_the_list_is_reported_like_any_other(reports_of, segment):
    assert len(reports_of(THEME + 'other = "rest"\n' + CHANNEL, "dark", segment)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        THEME,
        THEME + 'absent = "none"\nevery = "once"',
        THEME + 'other = ""',
        THEME + "complete = false",
        THEME + 'other = "rest"\n' + CHANNEL.replace('other = "another"', "complete = false"),
        'type = "boolean"\n' + CHANNEL.replace(', other = "another"', ""),
        'type = "attributes"\n[metrics.m.attributes]\n'
        + CARRIER.replace(', other = "another"', ""),
    ],
)
def test_a_list_that_does_not_say_what_becomes_of_other_values_is_refused(fields):
    """By default nobody's silence can tell: it takes a statement in the registry."""
    with pytest.raises(RegistryError, match=r"other must be given, or complete = true"):
        parse(HEAD + fields)


def test_a_broken_promise_of_completeness_is_counted_and_named_for_the_developer(make_client):
    """Silence tells here, with certainty; so it takes a statement, and is seen when it is wrong."""
    client = make_client(registry=parse(HEAD + THEME + "complete = true"))
    for _ in range(3):
        assert client.record("m", "purple") is Outcome.OUTSIDE_DOMAIN
    status = client.status()
    assert status.outcomes == {"outside_domain": 3}
    assert status.last_error.startswith("outside_domain: m ")
    assert "purple" not in status.last_error
    assert status.pending == 0
