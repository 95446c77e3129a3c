"""What was found of strings that nobody listed, what was missed, and why: beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

from deniable_shared.planning.discovery import example_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings
    from deniable_shared.registry import Metric

NAMED: Final = 4


def report(console: Console, metric: Metric, answer: FoundStrings, held: Counter[str]) -> None:
    """Prints a table of what was found, and sentences about the rest.

    Args:
        console: where to.
        metric: one that discovers.
        answer: what the aggregator found.
        held: how many devices truly hold each string.
    """
    console.print()
    console.print(_table(answer, held))
    for sentence in _sentences(metric, answer, held):
        console.print(sentence)


def _table(answer: FoundStrings, held: Counter[str]) -> Table:
    title = f"{answer.metric}: {answer.reports:,} reports, nobody listed its strings"
    table = Table(title=title, title_justify="left")
    table.add_column("found")
    for heading in ("truth", "share", "interval"):
        table.add_column(heading, justify="right")
    table.add_column("covers")
    devices = held.total()
    for row in _rows(answer):
        truth = _others(row.text, answer, held) if row in answer.prefixes else held[row.text]
        share = truth / devices
        table.add_row(
            row.shown,
            f"{share:.2%}" if truth else "nobody",
            f"{row.share:.2%}",
            f"{row.low:.2%} to {row.high:.2%}",
            "yes" if row.low <= share <= row.high else "no",
        )
    return table


def _rows(answer: FoundStrings) -> Sequence[FoundString]:
    return sorted([*answer.strings, *answer.prefixes], key=lambda row: -row.share)


def _others(beginning: str, answer: FoundStrings, held: Counter[str]) -> int:
    """How many devices hold a string that begins so, and that is not shown in another row."""
    longer = tuple(
        row.text
        for row in answer.prefixes
        if row.text.startswith(beginning) and row.text != beginning
    )
    whole = {row.text for row in answer.strings}
    return sum(
        count
        for string, count in held.items()
        if string.startswith(beginning) and string not in whole and not string.startswith(longer)
    )


def _sentences(metric: Metric, answer: FoundStrings, held: Counter[str]) -> Iterator[str]:
    whole, begun = ({row.text for row in each} for each in (answer.strings, answer.prefixes))
    false = [text for text in whole if not held[text]]
    false += [text for text in begun if not any(string.startswith(text) for string in held)]
    yield (
        f"[bold]Found: {len(whole)} strings and {len(begun)} beginnings of others[/bold], of "
        f"{len(held)} strings that devices hold and that the aggregator has no list of; "
        f"{len(false) or 'none'} of them false."
    )
    yield (
        "… stands for what is not known: the rest of a string, or of several. Their share is that "
        "of all strings which begin so and have no row of their own."
    )
    for why, texts in _missed(metric, answer, held, whole).items():
        named = ", ".join(f"{text} ({held[text] / held.total():.2%})" for text in texts[:NAMED])
        more = f" and {len(texts) - NAMED} others" if len(texts) > NAMED else ""
        yield f"Not found, {why}: {named}{more}."


def _missed(
    metric: Metric, answer: FoundStrings, held: Counter[str], found: set[str]
) -> dict[str, list[str]]:
    """The strings that were not found, the most common first, by the reason that a plan gives."""
    reasons: dict[str, list[str]] = {}
    for text, count in held.most_common():
        if text not in found:
            reasons.setdefault(_why(metric, text, count / held.total(), answer), []).append(text)
    return reasons


def _why(metric: Metric, text: str, share: float, answer: FoundStrings) -> str:
    forecast = example_of(metric, text, answer.reports)
    if not forecast.whole:
        bits = metric.spec.letters.bits if metric.spec.letters else 0
        return f"but for their beginnings, since their code is longer than the {bits} bits sent"
    if forecast.least_share is not None and share > forecast.least_share:
        return "by chance, though nine times out of ten they are"
    return "since too few hold them for a string of their length"
