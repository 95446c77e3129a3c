"""Weeks in which several keys bring reports of the metric theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.keeping.keys import create_key
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.service import APPLICATION, TODAY, upload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.aggregator.service import Service

WEEKS = f"before={day(-14)}..{day(-8)}&after={day(-7)}..{day(-1)}"
"""Asks about the two weeks of `send_two_weeks`."""


def payload(light: int, dark: int, system: int) -> bytes:
    """Reports that say so many times each value."""
    return b"\x00" * light + b"\x01" * dark + b"\x02" * system


def send_two_weeks(
    service: Service, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> None:
    """Sends, on each day of two weeks, what each key brings; keys are named by their labels."""
    keys = {
        label: create_key(
            service.store, scope="batch", application=APPLICATION, label=label, today=TODAY
        )
        for label in before
    }
    for first, week in ((-14, before), (-7, after)):
        for offset in range(7):
            for label, body in week.items():
                sent = service.send(upload(body, epoch=TODAY + first + offset), key=keys[label])
                assert sent.status_code == 204
