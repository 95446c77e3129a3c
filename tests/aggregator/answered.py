"""Estimates as answers, without a server."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import msgspec

from deniable_aggregator.answers.common import Head, IntegritySummary
from deniable_aggregator.answers.days import Days
from deniable_aggregator.answers.trends import HealthOfPeriods

HEALTH = IntegritySummary("ok", [], [])
DAYS = Days(
    since=date(2026, 1, 1),
    until=date(2026, 1, 31),
    covered=31,
    reported=31,
    missing=[],
    incomplete=[],
    open_since=None,
    releases=[],
    suspicious=[],
    uneven=[],
    not_checked=0,
    keys_left_out=[],
)
HEAD = Head("flightdeck", "", [], DAYS, None, None, 0, 0, HEALTH)
BOTH_HEALTHY = HealthOfPeriods(HEALTH, HEALTH)


def answer(result: Any) -> Any:
    """The struct that an estimate or a series is answered with."""
    return result.answer(HEAD)


def change_answer(change: Any, *days: Any) -> Any:
    """The struct that a change is answered with."""
    return change.answer(
        "flightdeck",
        days,
        description="",
        covered=(DAYS, DAYS),
        pending_reports=0,
        health=BOTH_HEALTHY,
    )


def as_json(struct: Any) -> Any:
    """What a client reads."""
    return json.loads(msgspec.json.encode(struct))
