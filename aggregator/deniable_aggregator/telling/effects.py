"""What a change comes from: a table of parts of the reports, and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from deniable_aggregator.telling.document import Column, Row, Table
from deniable_aggregator.telling.interval import interval_of
from deniable_aggregator.telling.numbers import estimate_of, named, range_of
from deniable_aggregator.telling.ranges import difference_in_words, points_in_words
from deniable_aggregator.telling.wording import as_sentence
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured

LEAST_PARTS = 2
"""A change can come from."""

_FEW_POINTS = 0.05
"""Below so large a change points have a decimal in the sentence."""

_MOVED = 0.005
"""A part of all reports that moved by less is said to be the same."""


def effects_table(answer: Answer) -> Table | None:
    """The parts of the reports that a change comes from, the largest first; None without them.

    Args:
        answer: a change.
    """
    parts = list(_parts(answer))
    if not parts or len({each.within for each in answer.of("effect of mix")}) < LEAST_PARTS:
        return None
    first = parts[0][0]
    unit = ", in points" if first.unit == "points" else ""
    return Table(
        name="effects",
        caption=f"What the change of {_subject(first)} comes from{unit}; intervals cover all at "
        "once",
        columns=[
            Column(heading="part of reports", words=True, folds=True),
            Column(heading="together"),
            Column(heading="estimate", minor=True),
            Column(heading="from another mix", minor=True),
            Column(heading="from other answers", minor=True),
            Column(heading="of all before", minor=True),
            Column(heading="of all after", minor=True),
        ],
        rows=[
            Row(
                cells=(
                    visible(together.within or ""),
                    range_of(together),
                    estimate_of(together),
                    "" if mix is None else range_of(mix),
                    "" if answers is None else range_of(answers),
                    _percent(together.before),
                    _percent(together.after),
                ),
                interval=interval_of(
                    together.estimate or 0.0,
                    *together.ends,
                    level=answer.head.level,
                    standard_error=together.standard_error,
                    told=together.told is not False,
                    step=together.step,
                ),
            )
            for together, mix, answers in parts
        ],
        unit=first.unit,
    )


def explained(answer: Answer) -> Answer:
    """The same without the parts of a change that is not clear, where nobody has asked for them.

    Args:
        answer: a change.
    """
    effects = answer.of("effect together")
    value = {each.value for each in effects}
    clear = any(
        each.told and each.value in value
        for each in answer.of("difference in share", "difference in mean")
    )
    mixes = answer.of("effect of mix")
    if not effects or (clear and len(mixes) >= LEAST_PARTS):
        return answer
    kept = [each for each in answer.numbers if not each.measure.startswith("effect")]
    return replace(answer, numbers=kept)


def effects_sentence(answer: Answer) -> str:
    """From which part most of a change comes, and whether from its mix or its answers.

    Args:
        answer: a change; the sentence is empty where it was not split.
    """
    parts = [(every, mix, within) for every, mix, within in _parts(answer) if within is not None]
    if not parts:
        return ""
    if len(parts) < LEAST_PARTS:
        return f"All reports of both periods are of {visible(parts[0][0].within or '')}."
    whole = next(
        each
        for each in answer.of("difference in share", "difference in mean")
        if each.value == parts[0][0].value
    )
    total = whole.estimate or 0.0
    same_way = [each for each in parts if (each[0].estimate or 0.0) * total > 0]
    if not whole.told or not same_way:
        return "What it comes from cannot be told, as no change is clear."
    most, mix, within = max(same_way, key=lambda each: abs(each[0].estimate or 0.0))
    if not most.told:
        return "From which part it comes cannot be told."
    name = visible(most.within or "")
    share, of = abs(most.estimate or 0.0), abs(total)
    if whole.unit == "points":
        digits = 0 if of >= _FEW_POINTS else 1
        sizes = [f"{100 * each:.{digits}f}" for each in (share, of)]
        words, comes = " points", "come"
    else:
        sizes = [f"{each:.3g}" for each in (share, of)]
        words, comes = "", "comes"
    size = f"{sizes[0]} of the {sizes[1]}{words}"
    if share > of:
        size = f"{sizes[0]}{words}, against {sizes[1]} in all,"
    return as_sentence(
        f"Of the change of {_subject(whole)}, {size} {comes} from {name}{_how(most, mix, within)}"
    )


def _subject(number: Measured) -> str:
    """What has changed."""
    return "the mean" if number.value is None else named(number)


def _how(together: Measured, mix: Measured | None, answers: Measured | None) -> str:
    """How its part of all reports moved and what changed within it, or that neither is clear."""
    before, after = together.before or 0.0, together.after or 0.0
    if not before or not after:
        brought = "which brought no reports " + ("after" if before else "before")
        return f", {brought}; {_within(answers)}"
    if abs(after - before) < _MOVED:
        return f", whose share of reports stayed; {_within(answers)}"
    moved = f"{'rose' if after > before else 'fell'} from {_percent(before)} to {_percent(after)}"
    if not (mix is not None and mix.told) and not (answers is not None and answers.told):
        return (
            f"; whether as its share of reports {moved}, or from other answers within it, "
            "cannot be told"
        )
    return f", whose share of reports {moved}; {_within(answers)}"


def _within(answers: Measured | None) -> str:
    """What changed within a part."""
    if answers is None or answers.before is None or answers.after is None or not answers.part:
        return "what it held is not known of both periods"
    low, high = (end / answers.part for end in answers.ends)
    words = (points_in_words if answers.unit == "points" else difference_in_words)(low, high)
    if not answers.told:
        return f"within it there is no clear change ({words})"
    return f"within it {_subject(answers)} went {words}"


def _parts(answer: Answer) -> Iterator[tuple[Measured, Measured | None, Measured | None]]:
    """Both effects of each part together, and each of them; what is left over has no such."""
    mixes = {each.within: each for each in answer.of("effect of mix")}
    answers = {each.within: each for each in answer.of("effect of answers")}
    for each in answer.of("effect together"):
        yield each, mixes.get(each.within), answers.get(each.within)


def _percent(part: float | None) -> str:
    return "" if part is None else f"{part:.1%}"
