"""Estimates as answers, without a server."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import msgspec

from deniable_aggregator.answers.answer import Answer, AskedQuestion, Head, Period
from deniable_aggregator.answers.common import Days, IntegritySummary, ordered_notices

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
HEAD = Head(
    application="flightdeck",
    metric="theme",
    kind="shares",
    days=DAYS,
    health=HEALTH,
    periods=[Period(since=DAYS.since, until=DAYS.until, reports=0)],
)


def answer(result: Any, covered: Days = DAYS) -> Answer:
    """What an estimate or a series is answered with.

    Args:
        result: of an estimator.
        covered: the days that it is about.
    """
    head = result.head(msgspec.structs.replace(HEAD, days=covered))
    series = hasattr(result, "points")
    if not series:
        period = Period(since=covered.since, until=covered.until, reports=head.reports)
        head = msgspec.structs.replace(head, periods=[period])
    return Answer(
        head=head,
        question=AskedQuestion(name="series" if series else "estimate"),
        numbers=list(result.numbers()),
        checks=result.checks(covered) if series else [],
        notices=ordered_notices(result.notices),
    )


def change_answer(change: Any, *days: Any) -> Answer:
    """What a change is answered with.

    Args:
        change: of an estimator.
        days: of the first and of the second period.
    """
    head = change.head(HEAD, days, (DAYS, DAYS), (HEALTH, HEALTH))
    return Answer(
        head=msgspec.structs.replace(head, days=None, health=None),
        question=AskedQuestion(name="change"),
        numbers=change.numbers(),
        notices=ordered_notices(change.notices),
    )


def as_json(struct: Any) -> Any:
    """What a client reads."""
    return json.loads(msgspec.json.encode(struct))
