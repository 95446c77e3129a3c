"""What all reports cost together over days: as a figure, and in characters."""

from __future__ import annotations

import math
from bisect import bisect_right
from textwrap import fill
from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.console import literal_console
from deniable_aggregator.telling.curves import EXACT, account_figure
from deniable_shared.commands.text_plot import MARKS, WIDTH, log_plot

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.accounting.account import Account
    from deniable_aggregator.accounting.figures import Figures
    from deniable_aggregator.telling.figure import Figure

LEAST: Final = 1e-9
"""Smaller figures are drawn as this: a logarithmic axis has no zero."""

LEAST_WIDTH: Final = 40
"""In characters: a narrower terminal breaks the lines of a picture."""

METHODS: Final[dict[str, Callable[[Figures], float | None]]] = {
    EXACT: lambda figures: figures.exact,
    "Renyi": lambda figures: figures.renyi,
    "advanced": lambda figures: figures.advanced,
    "sum": lambda figures: figures.sum,
    "shuffled": lambda figures: figures.shuffled,
}


def account_picture(account: Account) -> Figure:
    """An account as a figure.

    Args:
        account: of a registry.
    """
    spent = account.days_until_lifetime_is_spent
    return account_figure(
        application=account.application,
        delta=account.delta,
        curves=_curves(account),
        spent=None if spent is None or spent > account.days else spent,
    )


def account_plot(account: Account) -> str:
    """The same in characters, with what its marks are; of methods with a figure for every day.

    Args:
        account: of more than one day.
    """
    width = min(WIDTH, max(literal_console().width, LEAST_WIDTH))
    moments = len(account.over_days)
    curves = {name: points for name, points in _curves(account).items() if len(points) == moments}
    picture = log_plot(
        [_between(points) for points in curves.values()],
        1.0,
        float(account.days),
        x_label=lambda days: f"{days:,.0f}",
        y_label=lambda epsilon: f"{epsilon:,g}",
        width=width,
    )
    legend = ", ".join(f"{mark} {name}" for mark, name in zip(MARKS, curves, strict=False))
    caption = f"epsilon of all reports together, by days: {legend}"
    indent = " " * 10
    return f"{picture}\n{fill(caption, width, initial_indent=indent, subsequent_indent=indent)}"


def _curves(account: Account) -> dict[str, list[tuple[int, float]]]:
    """By the name of each method, those of its figures that there are."""
    curves = {
        name: [
            (days, max(figure, LEAST))
            for days, figures in account.over_days
            if (figure := method(figures)) is not None
        ]
        for name, method in METHODS.items()
    }
    return {name: points for name, points in curves.items() if points}


def _between(points: list[tuple[int, float]]) -> Callable[[float], float]:
    """A curve through two points or more, straight over logarithmic axes."""
    across = [math.log(days) for days, _ in points]
    heights = [math.log(epsilon) for _, epsilon in points]

    def curve(days: float) -> float:
        at = math.log(days)
        right = min(max(bisect_right(across, at), 1), len(across) - 1)
        left = right - 1
        part = (at - across[left]) / (across[right] - across[left])
        return math.exp(heights[left] + min(max(part, 0.0), 1.0) * (heights[right] - heights[left]))

    return curve
