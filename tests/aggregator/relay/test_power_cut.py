"""A machine with a relay loses power: what it has acknowledged is there, and is forwarded once."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

import pytest

from deniable_aggregator.doors.relay.closing import close_period, sweep
from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
from deniable_shared.sealing import Answer
from tests.aggregator import power
from tests.aggregator.relay.relayed import MONDAY, envelopes
from tests.repetitions import full_or_small

pytestmark = pytest.mark.service
COMMITS, TOGETHER = 36, 4
CUTS = full_or_small(24, 8)
PERIOD = 9
"""After so many commits the period is over."""

PART_BYTES = 4_096
MOST_MISSED = 4
ENVELOPES, FORWARDED = "envelopes", "forwarded"


def work(path):
    """What the process does that loses power: it takes envelopes, closes, forwards, sweeps."""
    with contextlib.closing(EnvelopeStore(path, MONDAY)) as relay:
        for number in range(COMMITS):
            relay.add(envelopes(TOGETHER, seed=number))
            power.acknowledge(ENVELOPES)
            day = MONDAY + 7 * (number // PERIOD)
            if number % PERIOD == 0 and close_period(relay, day, least=2):
                forward(relay, day, power.acknowledge)
            if number % PERIOD == PERIOD // 2:
                sweep(relay, day, most_missed=MOST_MISSED)


def forward(relay, day, settled=lambda _: None):
    """Brings all that is to be brought, of which the aggregator stores all; returns the tags."""
    brought = []
    while (part := relay.next_part(PART_BYTES)) is not None:
        answer = Answer(stored=len(part.tags), duplicates=0, dropped={})
        relay.settle(part, answer, day, most_missed=MOST_MISSED)
        brought += part.tags
        for tag in part.tags:
            settled(f"{FORWARDED} {tag.hex()}")
    return brought


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The system calls of that process that change its folder, in order."""
    folder = tmp_path_factory.mktemp("traced")
    origin, found, state = power.traced("tests.aggregator.relay.test_power_cut", folder, "relay.db")
    assert state.acknowledged[ENVELOPES] == COMMITS
    assert len(forwarded(state.acknowledged)) > COMMITS
    return origin, found


def forwarded(acknowledged):
    """The tags whose settling was durable."""
    return {what.split()[1] for what in acknowledged if what.startswith(FORWARDED)}


def test_a_power_cut_loses_nothing_acknowledged_and_nothing_settled_is_brought_again(
    calls, tmp_path
):
    origin, found = calls
    for seed in range(CUTS):
        end = random.Random(seed).randrange(len(found) + 1)
        folder = tmp_path / str(seed)
        acknowledged = power.cut(origin, found[:end], folder, seed)
        with contextlib.closing(EnvelopeStore(folder / "relay.db", MONDAY)) as relay:
            assert relay.totals().accepted >= acknowledged[ENVELOPES] * TOGETHER
            for number in range(COMMITS):
                relay.add(envelopes(TOGETHER, seed=number))
            day = MONDAY + 7 * COMMITS
            brought = forward(relay, day)  # what was closed before
            close_period(relay, day, least=1)
            brought += forward(relay, day)
            assert not forwarded(acknowledged) & {tag.hex() for tag in brought}
            totals = relay.totals()
            assert totals.accepted == COMMITS * TOGETHER
            assert totals.forwarded["stored"] == COMMITS * TOGETHER
            assert (totals.waiting, totals.forwarding, sum(totals.dropped.values())) == (0, 0, 0)


def test_a_relay_that_syncs_nothing_would_be_noticed(calls, tmp_path):
    origin, found = calls
    unsynced = [call for call in found if call[0] != "synced" or call[1] == str(origin)]
    lost = 0
    for seed in range(6):
        folder = tmp_path / str(seed)
        acknowledged = power.cut(origin, unsynced[:-20], folder, seed)
        try:
            with contextlib.closing(EnvelopeStore(folder / "relay.db", MONDAY)) as relay:
                lost += relay.totals().accepted < acknowledged[ENVELOPES] * TOGETHER
        except Exception:  # noqa: BLE001  not even a relay's file is left
            lost += 1
    assert lost


if __name__ == "__main__":
    work(Path(sys.argv[1]))
