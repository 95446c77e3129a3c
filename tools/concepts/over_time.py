"""What a device gives away as time passes: its budget, and one value that it reports every day."""

from __future__ import annotations

from typing import Final

from deniable_shared import registry
from deniable_shared.commands.first_registry import registry_text
from deniable_shared.planning.budget import days_until_lifetime_is_spent
from tools.concepts.drawing import Drawing
from tools.concepts.epsilon import most_sure

_LEFT, _TOP, _WIDTH, _HEIGHT = 56, 84, 264, 230
_DAYS: Final = 450
_PERIOD_DAYS: Final = {"week": 7, "month": 30}
FRESH_EPSILON: Final = 1.0
PERMANENT_EPSILON: Final = 2.0
MOST_REPORTS: Final = 14


def draw_budget() -> str:
    """What the metrics of ``deniable init`` spend, day after day."""
    example = registry.parse(registry_text("flightdeck"))
    lasts = days_until_lifetime_is_spent(example)
    assert lasts is not None
    limit = example.budget.epsilon_lifetime
    metrics = [
        (metric.spec.mechanism.epsilon, _PERIOD_DAYS[metric.spec.every])
        for metric in example.metrics.values()
    ]
    spent = 0.0
    points = []
    for day in range(_DAYS + 1):
        before = spent
        for epsilon, period in metrics:
            if day % period == 0 and spent + epsilon <= limit:
                spent += epsilon
        points += [(day, before), (day, spent)]
    year = next(value for day, value in points if day == 365)
    picture = Drawing(
        380,
        "What a device with the metrics of deniable init has spent: an epsilon of "
        f"{year:.0f} after a year. Its budget of {limit:g} for life lasts about {lasts} days; then "
        "it is silent.",
    )
    picture.text(20, 28, "What one device has spent:", "bold")
    picture.text(20, 47, "one weekly and two monthly metrics")
    _grid(picture, [0, 20, 40, 60, 80], 90, "{:g}")
    for day in range(0, _DAYS + 1, 90):
        picture.text(_x(day, _DAYS), _TOP + _HEIGHT + 20, f"{day}", "middle small")
    picture.text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 44, "days", "middle")
    picture.line([(_x(day, _DAYS), _y(value, 90)) for day, value in points], "curve")
    picture.line([(_LEFT, _y(limit, 90)), (_LEFT + _WIDTH, _y(limit, 90))], "rule")
    picture.text(_LEFT + _WIDTH + 10, _y(limit, 90) + 5, f"budget: {limit:g}")
    picture.text(_LEFT + _WIDTH + 10, _y(limit, 90) + 24, "silent from", "small")
    picture.text(_LEFT + _WIDTH + 10, _y(limit, 90) + 41, "here on", "small")
    picture.text(20, _TOP - 8, "epsilon", "small")
    return picture.svg()


def draw_memoising() -> str:
    """How sure somebody can become who links all reports of one device."""
    fresh = [most_sure(0.5, FRESH_EPSILON * count) for count in range(MOST_REPORTS + 1)]
    permanent = [
        most_sure(0.5, min(FRESH_EPSILON * count, PERMANENT_EPSILON))
        for count in range(MOST_REPORTS + 1)
    ]
    picture = Drawing(
        380,
        "How sure of a value somebody can become, at most, who links all reports of one device and "
        f"began with even odds. Fresh noise: {fresh[1]:.1%} after one report, {fresh[5]:.1%} after "
        f"five, {fresh[10]:.3%} after ten. Memoised: never above {permanent[-1]:.1%}.",
    )
    picture.text(20, 28, "How sure can somebody become", "bold")
    picture.text(20, 47, "who links all reports of a device?", "bold")
    _grid(picture, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], 1.0, "{:.0%}", 0.5)
    for count in range(0, MOST_REPORTS + 1, 2):
        picture.text(_x(count, MOST_REPORTS), _TOP + _HEIGHT + 20, f"{count}", "middle small")
    picture.text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 44, "reports of the same value", "middle")
    for values, kind, lines in (
        (fresh, "other", ("fresh noise:", "certain")),
        (permanent, "curve", ("memoised:", f"{permanent[-1]:.1%}")),
    ):
        points = [
            (_x(count, MOST_REPORTS), _y(value, 1.0, 0.5)) for count, value in enumerate(values)
        ]
        picture.line(points, kind)
        for place, line in enumerate(lines):
            picture.text(_LEFT + _WIDTH + 10, points[-1][1] + 5 + 17 * place, line)
    return picture.svg()


def _grid(
    picture: Drawing, values: list[float], most: float, wording: str, least: float = 0.0
) -> None:
    for value in values:
        y = _y(value, most, least)
        picture.line([(_LEFT, y), (_LEFT + _WIDTH, y)], "grid")
        picture.text(_LEFT - 8, y + 5, wording.format(value), "end small")


def _x(value: float, most: float) -> float:
    return _LEFT + _WIDTH * value / most


def _y(value: float, most: float, least: float = 0.0) -> float:
    return _TOP + _HEIGHT * (1 - (value - least) / (most - least))
