"""What was found of strings that nobody listed, what was missed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.planning.discovery import example_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.answer import Answer
    from deniable_shared.registry import Metric

NAMED: Final = 4


def found_in_words(metric: Metric, answer: Answer, held: Mapping[str, float]) -> Iterator[str]:
    """Sentences about what was found, and about the rest.

    Args:
        metric: one that discovers.
        answer: what the aggregator found.
        held: the share of the devices that truly hold each string.
    """
    whole = {row.value or "" for row in answer.strings}
    begun = {row.value or "" for row in answer.prefixes}
    false = [text for text in whole if text not in held]
    false += [text for text in begun if not any(string.startswith(text) for string in held)]
    yield (
        f"Found: {len(whole)} strings and {len(begun)} beginnings of others, of {len(held)} "
        "strings that devices hold and that the aggregator has no list of; "
        f"{len(false) or 'none'} of them false."
    )
    if begun:
        yield (
            "… stands for what is not known: the rest of a string, or of several. Their share is "
            "that of all strings which begin so and have no row of their own."
        )
    for why, texts in _missed(metric, answer, held, whole).items():
        named = ", ".join(f"{text} ({held[text]:.2%})" for text in texts[:NAMED])
        more = f" and {len(texts) - NAMED} others" if len(texts) > NAMED else ""
        yield f"Not found, {why}: {named}{more}."


def _missed(
    metric: Metric, answer: Answer, held: Mapping[str, float], found: set[str]
) -> dict[str, list[str]]:
    """The strings that were not found, the most common first, by the reason that a plan gives."""
    reasons: dict[str, list[str]] = {}
    for text in sorted(held, key=lambda text: -held[text]):
        if text not in found:
            reasons.setdefault(_why(metric, text, held[text], answer), []).append(text)
    return reasons


def _why(metric: Metric, text: str, share: float, answer: Answer) -> str:
    forecast = example_of(metric, text, answer.head.reports)
    if not forecast.whole:
        bits = metric.spec.letters.bits if metric.spec.letters else 0
        return f"but for their beginnings, since their code is longer than the {bits} bits sent"
    if forecast.least_share is not None and share > forecast.least_share:
        return "by chance, though nine times out of ten they are"
    return "since too few hold them for a string of their length"
