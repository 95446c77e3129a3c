"""What the page that plans shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.pages.plan.form import PERCENT, command_of
from deniable_aggregator.telling.curves import plan_figure
from deniable_aggregator.telling.document import text_table
from deniable_shared.commands.example_text import example_sentences, example_table
from deniable_shared.commands.plan_text import HARDLY_ANYBODY, plan_rows
from deniable_shared.commands.text import rounded
from deniable_shared.errors import DeniableError
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.planning.one_metric import plan_one_metric

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.pages.plan.form import Filled
    from deniable_aggregator.telling.document import Table
    from deniable_aggregator.telling.figure import Figure
    from deniable_shared.planning.one_metric import AskedMetric
    from deniable_shared.planning.result import Plan


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """An answer to one question.

    Attributes:
        asks: the question, in a few words.
        headline: the number.
        says: what the number is of.
    """

    asks: str
    headline: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """What a metric will show.

    Attributes:
        refused: why it cannot work and what is nearest; empty if it can.
        answers: the most important numbers.
        figure: how wide intervals are, by the number of devices.
        rows: what the command says, a label and a sentence each.
        examples: of strings to discover, what becomes of some; else None.
        remarks: what the table of examples means.
        table: the metric for a registry file.
        command: the same question in a terminal.
    """

    refused: str
    answers: Sequence[PlanAnswer]
    figure: Figure
    rows: Sequence[tuple[str, str]]
    examples: Table | None
    remarks: Sequence[str]
    table: str
    command: str


def plan_view(filled: Filled) -> PlanView | str:
    """What a metric will show; or what is wrong with it, in a sentence.

    Args:
        filled: the form.
    """
    if filled.asked is None:
        return "Correct the marked fields."
    try:
        planned = plan_one_metric(filled.asked)
    except DeniableError as error:
        return f"{error}."
    found, rows = planned.plan, list(plan_rows(planned.plan))
    return PlanView(
        refused=next((text for label, text in rows if label == "refused"), ""),
        answers=list(_answers(found, filled.asked)),
        figure=plan_figure(found),
        rows=[row for row in rows if row[0] != "refused"],
        examples=_examples(found) if found.examples else None,
        remarks=list(example_sentences(found)) if found.examples else [],
        table=planned.table,
        command=command_of(filled.asked),
    )


def _examples(found: Plan) -> Table:
    columns, *rows = example_table(found)
    return text_table("texts", "What becomes of some texts", columns, rows)


def _answers(found: Plan, asked: AskedMetric) -> Iterator[PlanAnswer]:
    yield from _of_mean(found) if found.is_mean else _of_shares(found, asked)
    epsilon = found.mechanism.epsilon
    yield PlanAnswer(
        "What one report gives away",
        f"{most_certain(epsilon)} sure, at most",
        f"of whoever thought two values equally likely: 50 to 50 before. Epsilon {epsilon:g}.",
    )


def _of_mean(found: Plan) -> Iterator[PlanAnswer]:
    assert found.devices_for_width is not None
    assert found.width is not None
    yield PlanAnswer(
        "How many devices it takes",
        f"about {rounded(found.devices_for_width)}",
        f"for the mean to be known to ± {found.width:.4g}, wherever in its range it lies.",
    )
    widest = max(found.half_widths.values())
    yield PlanAnswer(
        f"How exact it is with {found.devices:,} devices",
        f"± {widest:.4g}, at most",
        "around the mean: 19 of 20 such ranges hold the true one.",
    )


def _of_shares(found: Plan, asked: AskedMetric) -> Iterator[PlanAnswer]:
    assert asked.share is not None
    percent = f"{PERCENT * asked.share:g}%"
    several = found.values_asked > 1
    alone, of_all = found.devices_for_share, found.devices_for_share_of_all
    if alone is None or of_all is None:
        needed, says = "never enough", "The sketch has too few rows: expect more devices."
    elif found.examples:
        needed = f"about {rounded(alone)}"
        says = (
            f"to find a short text that {percent} hold, in nine of ten cases; "
            f"{rounded(of_all)} if it is as long as can be."
        )
    else:
        needed = f"about {rounded(alone)}"
        says = f"to tell a value of {percent} from zero, in eight of ten cases"
        says += (
            f", if it is asked for by itself; {rounded(of_all)} if {found.values_asked:,} are "
            "asked for at once."
            if several
            else "."
        )
    yield PlanAnswer("How many devices it takes", needed, says)
    seen = found.detectable_share
    of = found.detectable_share_of_all
    yield PlanAnswer(
        f"What {found.devices:,} devices show",
        "nothing at all" if seen is None else f"from {seen:.2%} on",
        "Not even a value that all of them have would be told from zero."
        if seen is None
        else "a value asked for by itself is told from zero"
        + (
            f"; {'no value' if of is None else f'from {of:.2%} on'} if {found.values_asked:,} are "
            "asked for at once."
            if several
            else "."
        ),
    )
    # A flag has no value that nobody holds: half of the devices is its worst place.
    width, *_ = (each for at, each in found.half_widths.items())
    yield PlanAnswer(
        f"How exact shares are with {found.devices:,} devices",
        f"± {PERCENT * width:.2f} points",
        f"for {HARDLY_ANYBODY}; "
        f"± {PERCENT * max(found.half_widths.values()):.2f} for a value of 10%. "
        "19 of 20 such ranges hold the true share.",
    )
