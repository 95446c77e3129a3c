"""Whether the reports of each day look honest as a table, and the lines below it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.common import IntegritySummary, NamedKey
from deniable_aggregator.answers.days import key_in_words
from deniable_aggregator.answers.words import VERDICT_WORDS
from deniable_aggregator.cli.render.layout import Texts, fits, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN
from deniable_aggregator.sentences.checks import (
    CHECK_WORDS,
    NO_CHECK_SEES_LIES,
    checks_of,
    failed_checks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.integrity import (
        CheckResult,
        DayHealth,
        Health,
        KeyHealth,
    )


FOLDED: Final = 3
"""From so many rows of honest days on these are one row."""

SHORT: Final = 4
"""So many letters of a version's id are shown."""


def health_summary(answer: Health) -> IntegritySummary:
    """Whether the reports look honest, as other answers say it.

    Args:
        answer: the health.
    """
    failing = {
        each.key: NamedKey(each.key, each.label)
        for day in answer.by_day
        for each in day.keys
        if each.key in day.stand_out
    }
    uneven = {
        each.key: NamedKey(each.key, each.label)
        for each in answer.key_contrasts
        if each.verdict == "uneven"
    }
    return IntegritySummary(answer.verdict, list(failing.values()), list(uneven.values()))


class _Line(NamedTuple):
    """A row of the table: a day and version, or honest days together.

    Attributes:
        day: the day, or the first and the last.
        version: the first letters of its id; empty for several.
        reports: how many.
        look: how they look.
        worst: the check that says the least good.
        keys: those that fail a check.
    """

    day: str
    version: str
    reports: int
    look: str
    worst: CheckResult | None
    keys: str


def health_table(answer: Health, width: int = UNBROKEN) -> Table:
    """One row per day and version: how its reports look, and which check says the least good.

    Honest days that follow each other are one row, unless rows are to be cut and searched for.

    Args:
        answer: the health.
        width: of the terminal, in characters.
    """
    lines = list(_lines(answer, fold=width < UNBROKEN))
    several = len({line.version for line in lines}) > 1
    checks = [_in_words(line.worst) for line in lines]
    rare = ["" if line.worst is None else f"{line.worst.p:.2g}" for line in lines]
    reports = Texts("reports", [f"{line.reports:,}" for line in lines], "right")
    look = Texts("look", [line.look for line in lines])
    days = [line.day for line in lines]
    for shown in (days, [day.replace(" to ", " to\n") for day in days]):
        columns = [
            Texts("day", shown),
            *([Texts("version", [line.version for line in lines])] if several else []),
            reports,
            look,
            Texts("worst check", checks, folds=True),
            Texts("p", rare, "right"),
            Texts("keys that\nfail it", [line.keys for line in lines]),
        ]
        if fits(columns, width, bars=False):
            return lay_out(columns, None, width)
        days = shown
    if several:
        days = [
            "\n".join(filter(None, (day, line.version)))
            for day, line in zip(days, lines, strict=True)
        ]
    failed = [
        "\n".join(filter(None, (check, p and f"p {p}", line.keys)))
        for check, p, line in zip(checks, rare, lines, strict=True)
    ]
    stacked = [
        Texts("day,\nversion" if several else "day", days),
        reports,
        look,
        Texts("worst check, its p,\nkeys that fail it", failed, folds=True),
    ]
    return lay_out(stacked, None, width)


def _lines(answer: Health, *, fold: bool) -> Iterator[_Line]:
    """The rows of the table."""
    odd = {day.day for day in answer.by_day if day.verdict != "ok"}
    for honest, group in groupby(answer.by_day, lambda each: each.day not in odd):
        days = list(group)
        if fold and honest and len(days) >= FOLDED:
            yield _line(days)
        else:
            yield from (_line([day]) for day in days)


def _line(days: list[DayHealth]) -> _Line:
    """Some days in a row, which look alike."""
    first, last = min(day.day for day in days), max(day.day for day in days)
    versions = {day.version for day in days}
    worst = [each for day in days if (each := _worst(day)) is not None and each.p is not None]
    return _Line(
        day=str(first) if first == last else f"{first} to {last}",
        version=days[0].version[:SHORT] if len(versions) == 1 else "",
        reports=sum(day.reports for day in days),
        look=VERDICT_WORDS[days[0].verdict],
        worst=min(worst, key=lambda check: check.p or 0.0, default=None),
        keys=", ".join(dict.fromkeys(name for day in days for name in _names(day))),
    )


def _in_words(check: CheckResult | None) -> str:
    """What a check looks at, and whether it passed."""
    if check is None:
        return ""
    return f"{CHECK_WORDS[check.check]}, {'passed' if check.verdict == 'ok' else 'failed'}"


def health_notes(answer: Health) -> Iterator[str]:
    """What failed, in words; a line each.

    Args:
        answer: as above.
    """
    yield from failed_checks(answer)
    if answer.days.not_checked:
        yield f"{answer.days.not_checked:,} earlier days were not checked: narrow --until."
    yield f"{answer.checks_made:,} checks were made. {NO_CHECK_SEES_LIES}"


def _worst(day: DayHealth) -> CheckResult | None:
    made = [
        (check.p, check) for _, checks in checks_of(day) for check in checks if check.p is not None
    ]
    return min(made, key=lambda each: each[0])[1] if made else None


def _names(day: DayHealth) -> list[str]:
    """The keys that stand out."""
    named = {each.key: _name(each) for each in day.keys}
    return [named.get(key, key) for key in day.stand_out]


def _name(key: KeyHealth) -> str:
    return key_in_words(key.key, key.label)
