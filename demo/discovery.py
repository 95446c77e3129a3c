"""What was found of strings that nobody listed, what was missed, and why: beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from demo.truth import table_beside_truth
from deniable_aggregator.media.console import print_lines
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.telling.tables import ordered
from deniable_shared.planning.discovery import example_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from rich.console import Console

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured
    from deniable_shared.registry import Metric

NAMED: Final = 4


def report(console: Console, metric: Metric, answer: Answer, held: Counter[str]) -> None:
    """Prints a table of what was found, and sentences about the rest.

    Args:
        console: where to.
        metric: one that discovers.
        answer: what the aggregator found.
        held: how many devices truly hold each string.
    """
    found = ordered([*answer.strings, *answer.prefixes], "largest")
    truths = [_truth(row, answer, held) / held.total() for row in found]
    reports = answer.head.reports
    print_lines(["", f"{answer.head.metric}: {reports:,} reports, nobody listed its strings"])
    print_table(table_beside_truth(answer, found, truths))
    for sentence in _sentences(metric, answer, held):
        console.print(sentence)


def _truth(row: Measured, answer: Answer, held: Counter[str]) -> int:
    text = row.value or ""
    return held[text] if row.whole else _others(text, answer, held)


def _others(beginning: str, answer: Answer, held: Counter[str]) -> int:
    """How many devices hold a string that begins so, and that is not shown in another row."""
    begun = [row.value or "" for row in answer.prefixes]
    longer = tuple(text for text in begun if text.startswith(beginning) and text != beginning)
    whole = {row.value for row in answer.strings}
    return sum(
        count
        for string, count in held.items()
        if string.startswith(beginning) and string not in whole and not string.startswith(longer)
    )


def _sentences(metric: Metric, answer: Answer, held: Counter[str]) -> Iterator[str]:
    whole = {row.value or "" for row in answer.strings}
    begun = {row.value or "" for row in answer.prefixes}
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
    metric: Metric, answer: Answer, held: Counter[str], found: set[str]
) -> dict[str, list[str]]:
    """The strings that were not found, the most common first, by the reason that a plan gives."""
    reasons: dict[str, list[str]] = {}
    for text, count in held.most_common():
        if text not in found:
            reasons.setdefault(_why(metric, text, count / held.total(), answer), []).append(text)
    return reasons


def _why(metric: Metric, text: str, share: float, answer: Answer) -> str:
    forecast = example_of(metric, text, answer.head.reports)
    if not forecast.whole:
        bits = metric.spec.letters.bits if metric.spec.letters else 0
        return f"but for their beginnings, since their code is longer than the {bits} bits sent"
    if forecast.least_share is not None and share > forecast.least_share:
        return "by chance, though nine times out of ten they are"
    return "since too few hold them for a string of their length"
