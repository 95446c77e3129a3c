"""Whether reports look honest as tables, and the lines below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import key_in_words
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, close_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.integrity import (
        CheckResult,
        DayHealth,
        Health,
        KeyContrast,
        KeyHealth,
    )


def health_table(answer: Health, width: int = UNBROKEN) -> Table:
    """One row per day and version: its verdict and its worst check.

    Args:
        answer: the health.
        width: of the terminal, in characters.
    """
    table = close_table(title=f"{answer.metric}: {answer.verdict}")
    table.add_column("day", no_wrap=True)
    table.add_column("reports", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("worst check", overflow="fold")
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("keys that\nstand out", no_wrap=True)
    for day in answer.by_day:
        worst = _worst(day)
        passed = worst is not None and worst.verdict == "ok"
        table.add_row(
            str(day.day),
            f"{day.reports:,}",
            day.verdict,
            "" if worst is None else f"{worst.check}, {'passed' if passed else 'failed'}",
            "" if worst is None else f"{worst.p:.2g}",
            (", " if width >= WIDE else ",\n").join(_names(day)),
        )
    return table


def contrast_table(answer: Health) -> Table:
    """One row per key: where it differs most from the others.

    Args:
        answer: the health.
    """
    table = close_table(title="each key against all others, on the same days")
    table.add_column("key", overflow="fold")
    table.add_column("reports", justify="right", no_wrap=True)
    table.add_column("of all", justify="right", no_wrap=True)
    table.add_column("differs most in", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for each in answer.key_contrasts:
        table.add_row(
            key_in_words(each.key, each.label),
            f"{each.reports:,}",
            f"{each.share:.1%}",
            _contrast(each),
            each.verdict,
        )
    return table


def _contrast(each: KeyContrast) -> str:
    if each.own is None or each.others is None:
        return f"all that its devices hold: {each.difference:.0%} apart"
    if each.kind == "mean":
        return f"the mean: {each.own:.4g} against {each.others:.4g}"
    return f"{each.value}: {each.own:.1%} against {each.others:.1%}"


def health_notes(answer: Health) -> Iterator[str]:
    """What failed, in words, and what no check can see; a line each.

    Args:
        answer: as above.
    """
    for day in answer.by_day:
        for whose, checks in _checks(day):
            for check in checks:
                if check.verdict == "suspicious":
                    expected = f"in honest reports, {check.asks}"
                    yield f"{day.day}{whose}, {check.check}: {check.found}; {expected}."
    yield (
        "A key is uneven if a share differs from that of the other keys by more than 20 points, or "
        "a mean by a fifth of its range, beyond what noise explains, and moves the answer by a "
        "point or more. Devices may really differ: compare with and without the key."
    )
    if answer.days.not_checked:
        yield f"{answer.days.not_checked:,} earlier days were not checked: narrow --until."
    shown = [worst for day in answer.by_day if (worst := _worst(day)) is not None]
    for name, asks in {worst.check: worst.asks for worst in shown}.items():
        yield f"The check {name}: in honest reports, {asks}."
    yield (
        f"{answer.checks_made:,} checks were made. p is how often honest reports look at least "
        f"so odd; a check fails below {answer.alarm.p_below:.2g}, which happens to honest reports "
        "in less than one of a thousand answers."
    )
    yield answer.invisible


def _worst(day: DayHealth) -> CheckResult | None:
    made = [
        (check.p, check) for _, checks in _checks(day) for check in checks if check.p is not None
    ]
    return min(made, key=lambda each: each[0])[1] if made else None


def _checks(day: DayHealth) -> Iterator[tuple[str, list[CheckResult]]]:
    """Whose checks, and they."""
    yield "", day.checks
    for each in day.keys:
        yield f", key {_name(each)}", each.checks


def _names(day: DayHealth) -> list[str]:
    """The keys that stand out."""
    named = {each.key: _name(each) for each in day.keys}
    return [named.get(key, key) for key in day.stand_out]


def _name(key: KeyHealth) -> str:
    return key_in_words(key.key, key.label)
