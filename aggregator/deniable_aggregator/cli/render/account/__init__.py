"""Accounts as tables, sentences and pictures."""

from __future__ import annotations

from deniable_aggregator.cli.render.account.pictures import account_picture, account_plot
from deniable_aggregator.cli.render.account.sentences import account_lines
from deniable_aggregator.cli.render.account.table import account_table
from deniable_aggregator.media.console import print_lines
from deniable_aggregator.media.terminal import print_table

TYPE_CHECKING = False

if TYPE_CHECKING:
    from deniable_aggregator.accounting.account import Account

__all__ = ["account_picture", "print_account"]


def print_account(account: Account) -> None:
    """Prints the table, what it means, and a picture of characters.

    Args:
        account: of a registry.
    """
    print_table(account_table(account))
    print_lines(["", *account_lines(account)])
    if account.days > 1:
        print_lines(["", account_plot(account)])
