"""The privacy account of a device, in words, figures and a table."""

from __future__ import annotations

import math
from bisect import bisect_right
from textwrap import fill
from typing import Final

from deniable_aggregator.media.console import literal_console, literal_text, print_lines
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.telling.curves import EXACT, account_figure
from deniable_aggregator.telling.document import Column, Row, Table
from deniable_aggregator.telling.wording import counted, listed
from deniable_shared.commands.text_plot import MARKS, WIDTH, log_plot
from deniable_shared.planning import upper_bounds
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.disclosure_figures import NEARLY_SURE, posterior_from_even_odds
from deniable_shared.planning.upper_bounds import power, upper_percent, upper_power

TYPE_CHECKING = False  # importing it from typing costs time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.counting.account import Account, Figures, MetricAccount
    from deniable_aggregator.telling.figure import Figure

__all__ = [
    "account_picture",
    "print_account",
]


TOGETHER = "together"
UNCHANGING = "unchanging"
"""Stands for all metrics together while no value of a memoised metric changes."""


def account_table(account: Account) -> Table:
    """One row per metric, then one for all together, for any two histories of values.

    The last one is of values that do not change in memoised metrics, if there are any.

    Args:
        account: of a registry.
    """
    metrics = account.metrics
    headings = ["metric", "reports", "epsilon", "sum", "advanced", "Renyi", "exact"]
    named = [(each.metric, _reports(each), upper(each.epsilon)) for each in metrics]
    figures = [each.figures for each in metrics]
    totals = [(TOGETHER, account.together)]
    if account.unchanging is not None:
        totals.append((UNCHANGING, account.unchanging))
    shuffled = account.shuffled_among is not None
    rows = [
        Row(
            cells=(*names, *_figures(each, shuffled=shuffled)),
            group_ends=place == len(metrics) - 1,
        )
        for place, (names, each) in enumerate(
            zip(
                [*named, *((name, "", "") for name, _ in totals)],
                [*figures, *(each for _, each in totals)],
                strict=True,
            )
        )
    ]
    return Table(
        name="account",
        caption="What reports cost",
        columns=[
            Column(heading=each, words=each == "metric", folds=each == "metric")
            for each in [*headings, *(["shuffled"] if shuffled else [])]
        ],
        rows=rows,
    )


def _figures(figures: Figures, *, shuffled: bool) -> list[str]:
    methods = [figures.sum, figures.advanced, figures.renyi, figures.exact]
    return [upper(each) for each in [*methods, *([figures.shuffled] if shuffled else [])]]


def upper(epsilon: float | None) -> str:
    """An upper bound, rounded up; "none" if a method has none."""
    if epsilon is None:
        return "none"
    return upper_bounds.upper(epsilon)


def _reports(metric: MetricAccount) -> str:
    return f"{metric.reports:,}{'' if metric.histories is None else '*'}"


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


MOST_NAMED: Final = 5
"""Of metrics that a sentence is about."""

MOST_RARE: Final = 1e-3
"""What only a larger delta leaves out is not called rare."""


def account_lines(account: Account) -> Iterator[str]:
    """A line for each thing to know, the result first.

    Args:
        account: of a registry.
    """
    yield _result(account)
    if account.delta:
        yield (
            "Delta: no event is more than e^epsilon times as probable for one history of values as "
            "for another, plus delta. The probability that reports tell more than epsilon may be "
            "larger than delta."
        )
    yield _budget(account)
    if account.together.sum_delta:
        yield (
            f"The sum has a delta of its own, {upper_power(account.together.sum_delta)}: the "
            "deltas of the reports, added up."
        )
        if account.together.advanced is None and account.together.exact is not None:
            yield 'Where "none" stands, the method has no figure with so small a delta.'
    yield _reports_sentence(account)
    yield from _permanent(account)
    yield from _devices(account)
    if account.shuffled_among is not None:
        yield (
            f"Shuffled among {account.shuffled_among:,}: needs a shuffler; without one the local "
            "figure holds (exact). N counts honest reports of the same metric and period only: a "
            "server that forges the others takes the gain away."
        )
    yield from _tightness(account)


def _tightness(account: Account) -> Iterator[str]:
    """How tight the exact figure together is; nothing where there is no other than the sum."""
    if account.slack is not None:
        yield (
            f"About {account.slack.grid:.1g} of the exact total comes from the grid of losses, and "
            f"{account.slack.tails:.1g} from cut-off tails and rounding."
        )
    elif account.delta and account.together.exact is not None:
        yield (
            f"Exact composition is not tighter here than {_smallest(account.together)}, whose "
            "figure is shown."
        )


def _smallest(together: Figures) -> str:
    """Whose figure it is if not that of exact composition."""
    if _is_by_renyi(together):
        return "Renyi composition"
    return "advanced composition" if together.exact == together.advanced else "the sum"


def _is_by_renyi(together: Figures) -> bool:
    """Whether the figure is that of Renyi composition, and not that of the sum.

    It is above that of the sum where the deltas that come with the sum are larger.
    """
    exact = together.exact
    return exact is not None and exact == together.renyi and exact != together.sum


def _result(account: Account) -> str:
    period = (
        "A year" if account.days == DAYS_OF_A_YEAR else counted(account.days, "day").capitalize()
    )
    exact = account.together.exact
    if account.together.sum is None:
        return (
            f"{period} of all reports: no epsilon holds for values that change, as permanent "
            "answers are sent as they are."
        )
    if exact is None:
        return (
            f"{period} of all reports: no epsilon holds with delta {power(account.delta)}, as the "
            f"reports' own deltas add up to {upper_power(account.together.sum_delta)}; ask for a "
            "larger --delta."
        )
    chance = f", with delta {power(account.delta)}" if account.delta else ""
    whom = "a device" if account.devices_per_person == 1 else "a person"
    costs = "costs" if account.days in (1, DAYS_OF_A_YEAR) else "cost"
    return (
        f"{period} of all reports {costs} {whom} at most epsilon {upper(exact)}{chance}. "
        f"{_meaning(account, exact)}"
    )


def _meaning(account: Account, exact: float) -> str:
    """How sure somebody becomes at most, and what is excepted."""
    certain = posterior_from_even_odds(exact)
    if not certain < NEARLY_SURE:
        return "A bound this large is no protection against whoever links all reports of a device."
    sure, together = upper_percent(certain), account.together
    text = f"Even odds about any two histories of values become at most {sure} sure"
    assert together.sum is not None  # as there is an exact figure
    by_the_sum = upper_percent(posterior_from_even_odds(together.sum))
    if not together.sum_delta and sure == by_the_sum:
        return f"{text}."
    if not account.delta <= MOST_RARE:
        return "With so large a delta, epsilon does not say how sure anybody becomes."
    return f"{text}, but for rare reports that tell more (delta {power(account.delta)})."


def _budget(account: Account) -> str:
    if account.is_stopped:
        limit = account.epsilon_lifetime * account.devices_per_person
        return (
            f"Devices count by the sum, and stop at {upper(limit)} ({_whose(account)}): "
            f"all reports would make {upper(account.counted)}.{_within_the_budget(account)}"
        )
    days = account.days_until_lifetime_is_spent
    spent = "never spent" if days is None else f"spent after {counted(days, 'day')} of all reports"
    return (
        f"Devices count by the sum. Their lifetime budget is {account.epsilon_lifetime:g}, and is "
        f"{spent}."
    )


def _within_the_budget(account: Account) -> str:
    together, text = account.together, ""
    if _is_by_renyi(together):
        text = ' The line "together" assumes the most revealing reports that the budget allows.'
    if len(account.metrics) > 1:
        text += " Each metric's line assumes that it has the whole budget."
    return text


def _whose(account: Account) -> str:
    devices = account.devices_per_person
    return "the lifetime budget" if devices == 1 else f"the lifetime budgets of {devices:,}"


def _reports_sentence(account: Account) -> str:
    """How many are counted, and that it is seen how many a device really sends."""
    absent = [each.metric for each in account.metrics if each.reports_absence]
    if {each.every for each in account.metrics} == {"once"}:
        text = "Reports: one in a device's life."
    else:
        text = "Reports: the most that a device may send, one per period."
    fewer = "A device that records less often sends fewer; how many it sends is visible."
    if absent:
        text += (
            f" Of {_named(absent)} every device that is at work sends so many, whether it recorded "
            "anything or not."
        )
        fewer = f"Of the other metrics, {fewer[0].lower()}{fewer[1:]}"
    if len(absent) < len(account.metrics):
        text += f" {fewer}"
    picks = [each.metric for each in account.metrics if each.picks]
    if picks:
        text += (
            f" Of {_named(picks)} a report costs the same however many values it was picked from. "
            "Not counted: reports that were replaced, which whoever reads the device's directory "
            "again and again sees, too."
        )
    return text


def _permanent(account: Account) -> Iterator[str]:
    starred = [each for each in account.metrics if each.histories is not None]
    if not starred:
        return
    yield (
        "* Drawn from permanent answers. Figures hold for any two histories of values, and "
        f'"{UNCHANGING}" while no value of these metrics changes.'
    )
    yield from map(literal_text, map(_of_histories, starred[:MOST_NAMED]))
    yield (
        "Devices count each permanent answer once, and not when values change: of these metrics "
        "the budget bounds only histories whose answers change alike. Another version of a metric "
        "has other answers, and costs as much again."
    )


def _of_histories(metric: MetricAccount) -> str:
    """What all reports of a memoised metric cost, by how its value changes."""
    bounds = metric.histories
    assert bounds is not None
    never, alike, once, always = (
        upper(bound) if bound < math.inf else "without a bound"
        for bound in (bounds.never, bounds.alike, bounds.once, bounds.always)
    )
    return (
        f"{metric.metric}: at most {never} while the value never changes; {alike} if the same "
        f"reports of two histories share permanent answers; {once} if each changes once, at any "
        f"time; {always} if they change in every period."
    )


def _devices(account: Account) -> Iterator[str]:
    if account.devices_per_person == 1:
        return
    text = (
        f"Figures are of a person with {account.devices_per_person:,} devices that hold the same "
        "values: the reports of all of them, composed."
    )
    extended = account.extended
    if extended is not None and extended.delta < 1:
        text += (
            f" Extending the exact figure of one device would give epsilon "
            f"{upper(extended.epsilon)} with delta {upper_power(extended.delta)}."
        )
    elif extended is not None:
        text += " Extending the exact figure of one device, without composing, would tell nothing."
    yield text


def _named(texts: list[str]) -> str:
    shown, more = texts[:MOST_NAMED], len(texts) - MOST_NAMED
    return listed([*map(literal_text, shown), *([f"{more:,} more"] if more > 0 else [])])


def print_account(account: Account) -> None:
    """Prints the table, what it means, and a picture of characters.

    Args:
        account: of a registry.
    """
    print_table(account_table(account))
    print_lines(["", *account_lines(account)])
    if account.days > 1:
        print_lines(["", account_plot(account)])
