"""How much less a device reports when it is asked to: thinning and slowing down."""

from __future__ import annotations

import os

import pytest

from deniable._event_log import EventLog
from deniable._remote.configuration import MAX_SLOWED_SECONDS, RemoteSettings
from deniable_shared import registry as registries
from tests.client.conftest import DAY, NOON
from tests.client.signing import TEXT, signed

SPECS = {name: metric.spec for name, metric in registries.parse(TEXT).metrics.items()}


class Fixed:
    """A transport that returns one document."""

    def __init__(self, document):
        self.document = document

    def fetch(self, _path, _timeout_seconds, _limit_bytes):
        return 200, self.document


class Folder:
    """As much of `DeviceStorage` as `RemoteSettings` uses."""

    def __init__(self, directory):
        self.directory = directory

    def run_syncing(self, action):
        return action()


def remote(directory, document):
    directory.mkdir(exist_ok=True)
    made = RemoteSettings(
        registries.parse(TEXT), Folder(directory), Fixed(document), EventLog(), lambda: NOON
    )
    made.fetch_if_due()
    assert made.refused_count == 0
    return made


def test_thinning_keeps_the_share_it_says(tmp_path):
    """For 4,000 devices, five standard deviations of a share of 1/4 are 0.034."""
    thinning = remote(tmp_path / "a", signed(thin={"theme": 0.25}))
    secrets = [os.urandom(32) for _ in range(4_000)]
    kept = [not thinning.skips_period(SPECS["theme"], 7, secret) for secret in secrets]
    assert sum(kept) / len(kept) == pytest.approx(0.25, abs=0.034)
    again = [not thinning.skips_period(SPECS["theme"], 7, secret) for secret in secrets]
    assert again == kept
    later = [not thinning.skips_period(SPECS["theme"], 8, secret) for secret in secrets]
    assert sum(one and other for one, other in zip(kept, later, strict=True)) / len(
        kept
    ) == pytest.approx(1 / 16, abs=0.02)


def test_a_smaller_share_keeps_a_part_of_a_larger_one(tmp_path):
    small = remote(tmp_path / "a", signed(thin={"theme": 0.25}))
    large = remote(tmp_path / "b", signed(thin={"theme": 0.5}))
    for _ in range(500):
        secret = os.urandom(32)
        if not small.skips_period(SPECS["theme"], 7, secret):
            assert not large.skips_period(SPECS["theme"], 7, secret)


def test_thinning_one_metric_says_nothing_about_another(tmp_path):
    thinning = remote(tmp_path / "a", signed(thin={"theme": 0.5, "late": 0.5}))
    secrets = [os.urandom(32) for _ in range(4_000)]
    both = sum(
        thinning.skips_period(SPECS["theme"], 7, secret)
        and thinning.skips_period(SPECS["late"], 7, secret)
        for secret in secrets
    )
    assert both / len(secrets) == pytest.approx(0.25, abs=0.034)
    assert not thinning.skips_period(SPECS["emoji"], 7, secrets[0])


def test_a_slower_configuration_lengthens_delays_to_a_week_at_most_and_shortens_none(tmp_path):
    slow = remote(tmp_path / "a", signed(slow=10))
    assert slow.stretched(60.0) == 600.0
    assert slow.stretched(3 * DAY) == MAX_SLOWED_SECONDS
    assert slow.stretched(30 * DAY) == 30 * DAY
    assert slow.stretched(0.0) == 0.0
    assert slow.longest(60.0) == MAX_SLOWED_SECONDS
    assert remote(tmp_path / "b", signed()).stretched(60.0) == 60.0
