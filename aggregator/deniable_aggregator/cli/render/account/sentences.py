"""What an account means, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.cli.render.account.table import upper
from deniable_aggregator.cli.render.output import literal_text
from deniable_aggregator.sentences import counted
from deniable_aggregator.sentences.wording import listed
from deniable_shared.commands.text import power
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.disclosure_figures import posterior_from_even_odds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.accounting.account import Account

MOST_NAMED: Final = 5
"""Of metrics that a sentence is about."""

_NEARLY_SURE: Final = 0.99995


def account_lines(account: Account) -> Iterator[str]:
    """A line for each thing to know, the result first.

    Args:
        account: of a registry.
    """
    yield _result(account)
    if account.delta:
        yield (
            "Delta: no event is more than e^epsilon times as probable for one history of values as "
            "for another, plus delta."
        )
    yield _budget(account)
    if account.together.sum_delta:
        yield (
            f"The sum has a delta of its own, {account.together.sum_delta:.3g}: the deltas of the "
            "reports, added up."
        )
    yield _reports(account)
    yield from _permanent(account)
    yield from _devices(account)
    if account.shuffled_among is not None:
        yield (
            f"Shuffled among {account.shuffled_among:,}: needs a shuffler; without one the local "
            "figure holds (exact). It counts honest reports of the same metric and period only: a "
            "server that forges the others takes the gain away."
        )
    if account.slack is not None:
        yield (
            f"About {account.slack.grid:.1g} of the exact total comes from the grid of losses, and "
            f"{account.slack.tails:.1g} from cut-off tails and rounding."
        )


def _result(account: Account) -> str:
    period = (
        "A year" if account.days == DAYS_OF_A_YEAR else counted(account.days, "day").capitalize()
    )
    exact = account.together.exact
    if exact is None:
        return (
            f"{period} of all reports: no epsilon holds with delta {power(account.delta)}, as the "
            f"reports' own deltas add up to {account.together.sum_delta:.3g}; ask for a larger "
            "--delta."
        )
    chance = f", with delta {power(account.delta)}" if account.delta else ""
    certain = posterior_from_even_odds(exact)
    meaning = (
        f"Even odds about any two histories of values become at most {certain:.2%} sure."
        if certain < _NEARLY_SURE
        else "A bound this large is no protection against whoever links all reports of a device."
    )
    whom = "a device" if account.devices_per_person == 1 else "a person"
    return f"{period} of all reports costs {whom} at most epsilon {upper(exact)}{chance}. {meaning}"


def _budget(account: Account) -> str:
    together = account.together
    if together.is_stopped:
        return (
            f"Devices count by the sum, and stop at {upper(together.sum)} ({_whose(account)}): "
            f"all reports would make {upper(together.of_all_reports)}. So the figures together are "
            "of the costliest reports that fit into it, by Renyi composition; those of one metric "
            "are as if it had the budget to itself."
        )
    days = account.days_until_lifetime_is_spent
    ends = "never" if days is None else f"after {counted(days, 'day')} of all reports"
    return (
        f"Devices count by the sum. Their lifetime budget is {account.epsilon_lifetime:g}, and is "
        f"{'never spent' if days is None else f'spent {ends}'}."
    )


def _whose(account: Account) -> str:
    devices = account.devices_per_person
    return "the lifetime budget" if devices == 1 else f"the lifetime budgets of {devices:,}"


def _reports(account: Account) -> str:
    every = {each.every for each in account.metrics}
    absent = [each.metric for each in account.metrics if each.reports_absence]
    text = (
        "Reports: one for each period that the days fall into, as many as a device may send"
        if every != {"once"}
        else "Reports: one in a device's life"
    )
    if absent:
        return (
            f"{text}. Of {_named(absent)} every device that is at work sends so many, whether it "
            "recorded anything or not."
        )
    return f"{text}; a device that records less often sends fewer, and how many is not hidden."


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
            f"{upper(extended.epsilon)} with delta {extended.delta:.2g}."
        )
    elif extended is not None:
        text += " Extending the exact figure of one device, without composing, would tell nothing."
    yield text


def _named(texts: list[str]) -> str:
    shown, more = texts[:MOST_NAMED], len(texts) - MOST_NAMED
    return listed([*map(literal_text, shown), *([f"{more:,} more"] if more > 0 else [])])
