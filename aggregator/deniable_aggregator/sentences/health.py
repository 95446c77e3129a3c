"""Whether reports look like those of devices, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import days_shortly, key_in_words
from deniable_aggregator.sentences.wording import counted, listed

if TYPE_CHECKING:
    from deniable_aggregator.answers.integrity import Health


def health_finding(answer: Health) -> str:
    """What the checks found.

    Args:
        answer: the health.
    """
    days = {day.day for day in answer.by_day}
    bad = sorted({day.day for day in answer.by_day if day.verdict == "suspicious"})
    uneven = [each for each in answer.key_contrasts if each.verdict == "uneven"]
    differ = listed([key_in_words(each.key, each.label) for each in uneven]) if uneven else ""
    if bad:
        some = f"{len(bad):,} of {counted(len(days), 'day')}"
        line = f"reports of {some} fail a check ({days_shortly(bad)})"
        names = {key.key: key for day in answer.by_day for key in day.keys}
        odd = sorted({key for day in answer.by_day for key in day.stand_out})
        if odd:
            named = [key_in_words(key, names[key].label if key in names else "") for key in odd]
            stand = "stands" if len(odd) == 1 else "stand"
            line += f"; {'key' if len(odd) == 1 else 'keys'} {listed(named)} {stand} out"
        return line
    if uneven:
        answers = "key {} answers" if len(uneven) == 1 else "keys {} answer"
        return f"no check fails, but {answers.format(differ)} differently from the others"
    if answer.verdict == "unknown" or not answer.checks_made:
        return f"none of {counted(len(days), 'day')} could be checked"
    return f"no check of the reports fails on {_any(len(days))}"


def _any(days: int) -> str:
    return f"any of {days:,} days" if days > 1 else "the only day"
