"""Whole clients: a device shows one class in all metrics and versions, until its user opts out."""

from __future__ import annotations

from deniable_shared.device_classes import CLASSES, groups_of_classes
from deniable_shared.registry import parse
from tests.client.conftest import pending_reports

MEMOIZED = 'repeat = "memoize"\nevery = "day"\nepsilon = 1.0\nepsilon_permanent = 2.0\n'
TEXT = f"""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.word]
type = "string"
{MEMOIZED}
[metrics.home]
type = "string"
mechanism = "rappor"
{MEMOIZED}
[metrics.pages]
type = "distribution"
range = [0, 64]
bins = 64
{MEMOIZED}
"""
CHANGED = TEXT.replace("epsilon = 1.0", "epsilon = 1.1").replace("[0, 64]", "[0, 128]")


def classes_shown(client):
    """The classes that fit all reports that wait on a device, each read by its public map."""
    digests = {metric.spec.digest for metric in client._registry.metrics.values()}
    fitting = set(range(CLASSES))
    for report in pending_reports(client):
        if report.digest in digests:
            groups = groups_of_classes(report.digest, CLASSES)
            shown = int.from_bytes(report.payload[:2], "big")
            fitting &= {each for each in range(CLASSES) if groups[each] == shown}
    return fitting


def record_all(client):
    for metric, value in (("word", "ant"), ("home", "bee"), ("pages", 3.5)):
        assert client.record(metric, value) == "recorded"


def test_all_metrics_and_versions_of_a_registry_show_the_same_class(make_client, clock):
    first = make_client(registry=parse(TEXT))
    record_all(first)
    shown = classes_shown(first)
    assert len(shown) == 1
    first.close()
    clock.forward(days=1)
    later = make_client(registry=parse(CHANGED))
    record_all(later)
    assert len(pending_reports(later)) == 6
    assert classes_shown(later) == shown


def test_opting_out_draws_another_class(make_client, clock):
    """Twelve draws of one of 64 are all the same with a probability of 64^-11."""
    client = make_client(registry=parse(TEXT))
    found = set()
    for _ in range(12):
        record_all(client)
        found |= classes_shown(client)
        client.consent = False
        client.consent = True
        clock.forward(days=1)
    assert len(found) > 1
