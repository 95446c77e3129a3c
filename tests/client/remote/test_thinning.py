"""How much less a device reports when it is asked to: thinning and slowing down."""

from __future__ import annotations

import os

import pytest

from deniable._remote.configuration import MAX_SLOWED_SECONDS, Remote
from deniable._status import Journal
from deniable_shared import registry as registries
from tests.client.conftest import DAY, NOON
from tests.client.signing import TEXT, signed

SPECS = {name: metric.spec for name, metric in registries.parse(TEXT).metrics.items()}


class Fixed:
    """A transport that hands out one document."""

    def __init__(self, document):
        self.document = document

    def fetch(self, _path, _timeout_seconds, _limit_bytes):
        return 200, self.document


class Folder:
    """As much of a device as `Remote` uses."""

    def __init__(self, directory):
        self.directory = directory

    def use(self, action, *arguments):
        return action(*arguments)


def remote(directory, document):
    directory.mkdir(exist_ok=True)
    made = Remote(
        registries.parse(TEXT), Folder(directory), Fixed(document), Journal(), lambda: NOON
    )
    made.uploaded()
    assert made.refused == 0
    return made


def test_thinning_keeps_the_share_it_says(tmp_path):
    """4,000 devices: five standard deviations of a quarter are 0.034."""
    thinning = remote(tmp_path / "a", signed(thin={"theme": 0.25}))
    secrets = [os.urandom(32) for _ in range(4_000)]
    kept = [not thinning.thins(SPECS["theme"], 7, secret) for secret in secrets]
    assert sum(kept) / len(kept) == pytest.approx(0.25, abs=0.034)
    again = [not thinning.thins(SPECS["theme"], 7, secret) for secret in secrets]
    assert again == kept
    later = [not thinning.thins(SPECS["theme"], 8, secret) for secret in secrets]
    assert sum(one and other for one, other in zip(kept, later, strict=True)) / len(
        kept
    ) == pytest.approx(1 / 16, abs=0.02)


def test_a_smaller_share_keeps_a_part_of_a_larger_one(tmp_path):
    small = remote(tmp_path / "a", signed(thin={"theme": 0.25}))
    large = remote(tmp_path / "b", signed(thin={"theme": 0.5}))
    for _ in range(500):
        secret = os.urandom(32)
        if not small.thins(SPECS["theme"], 7, secret):
            assert not large.thins(SPECS["theme"], 7, secret)


def test_thinning_one_metric_says_nothing_about_another(tmp_path):
    thinning = remote(tmp_path / "a", signed(thin={"theme": 0.5, "late": 0.5}))
    secrets = [os.urandom(32) for _ in range(4_000)]
    both = sum(
        thinning.thins(SPECS["theme"], 7, secret) and thinning.thins(SPECS["late"], 7, secret)
        for secret in secrets
    )
    assert both / len(secrets) == pytest.approx(0.25, abs=0.034)
    assert not thinning.thins(SPECS["emoji"], 7, secrets[0])


def test_slowing_down_stretches_delays_to_a_week_and_shortens_none(tmp_path):
    slow = remote(tmp_path / "a", signed(slow=10))
    assert slow.slowed(60.0) == 600.0
    assert slow.slowed(3 * DAY) == MAX_SLOWED_SECONDS
    assert slow.slowed(30 * DAY) == 30 * DAY
    assert slow.slowed(0.0) == 0.0
    assert slow.slowed_at_most(60.0) == MAX_SLOWED_SECONDS
    assert remote(tmp_path / "b", signed()).slowed(60.0) == 60.0
