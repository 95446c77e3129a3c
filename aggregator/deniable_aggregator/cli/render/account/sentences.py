"""What an account means, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.cli.render.account.table import upper
from deniable_aggregator.media.console import literal_text
from deniable_aggregator.telling.wording import counted, listed
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.disclosure_figures import NEARLY_SURE, posterior_from_even_odds
from deniable_shared.planning.upper_bounds import power, upper_percent, upper_power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.accounting.account import Account
    from deniable_aggregator.accounting.figures import Figures

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
    yield _reports(account)
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
    by_the_sum = upper_percent(posterior_from_even_odds(together.sum))
    if not together.sum_delta and sure == by_the_sum:
        return f"{text}."
    if not account.delta <= MOST_RARE:
        return "With so large a delta, epsilon does not say how sure anybody becomes."
    return f"{text}, but for rare reports that tell more (delta {power(account.delta)})."


def _budget(account: Account) -> str:
    together = account.together
    if together.is_stopped:
        return (
            f"Devices count by the sum, and stop at {upper(together.sum)} ({_whose(account)}): "
            f"all reports would make {upper(together.of_all_reports)}.{_within_the_budget(account)}"
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


def _reports(account: Account) -> str:
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
    return text if len(absent) == len(account.metrics) else f"{text} {fewer}"


def _permanent(account: Account) -> Iterator[str]:
    permanent = [each for each in account.metrics if each.permanent]
    if not permanent:
        return
    unchanged = _named([f"{each.metric} {upper(each.epsilon_unchanged)}" for each in permanent])
    yield (
        "* Drawn from permanent answers, which count once, however often they are reported. While "
        f"the value never changes they cost at most: {unchanged}. What they do not hide is "
        "when a value changed. Another version of the metric has other answers, and costs as much "
        "again."
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
