"""What pages say where there is nothing to show yet, or nothing to rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.pages.parts import State
from deniable_aggregator.telling.document import Link
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from datetime import date


def no_metrics(application: str) -> State:
    """Nothing is registered.

    Args:
        application: whose metrics are shown.
    """
    return State(
        "No metrics yet",
        f"Metrics of {application} appear here as soon as their file is registered.",
        ("deniable check metrics.toml", "deniable metrics register metrics.toml"),
    )


def no_reports(needed: int | None = None, of: str = "") -> State:
    """Devices have sent nothing yet.

    Args:
        needed: how many reports make a first useful number, as planned; None if that is not known.
        of: what can be seen with so many, such as "a share of 10%".
    """
    text = "Reports appear after devices have sent them; most send once a day."
    if needed is not None:
        text += f" {of or 'A first number'} needs about {counted(needed, 'report')}."
    return State("No reports yet", text, link=Link("Plan how many are needed", "/plan"))


def suspicious(address: str) -> State:
    """The reports are not those of honest devices.

    Args:
        address: of the page about their health.
    """
    return State(
        "Do not rely on these numbers",
        "The reports are not all those of honest devices.",
        link=Link("See which checks fail, and which key stands out", address),
        kind="warning",
    )


def all_excluded() -> State:
    """Every report that there is was excluded."""
    return State(
        "All reports are excluded",
        "There are reports of these days, but those of all their keys are excluded.",
        ("deniable keys list", "deniable keys include KEY"),
        kind="warning",
    )


def stopped(since: date) -> State:
    """There are no reports any more.

    Args:
        since: the first day without.
    """
    return State(
        "Reports have stopped",
        f"There are no reports from {since} on. Devices may run a version that reports "
        "this metric no longer, or their key may be revoked.",
        ("deniable status", "deniable keys list"),
        kind="warning",
    )


def failed(message: str) -> State:
    """A question has no answer.

    Args:
        message: why, and what to do next.
    """
    return State("There is no answer", message, kind="error")
