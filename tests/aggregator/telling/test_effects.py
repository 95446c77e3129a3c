"""The sentence that says what a change comes from."""

from __future__ import annotations

import pytest

from deniable_aggregator.answers.answer import Answer, AskedQuestion
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.effects import effects_sentence
from tests.aggregator.answered import HEAD


def split(*, mix: bool, answers: bool, after: float = 0.4) -> Answer:
    """A change of a mean by 2.5, of which key a, once 80% of reports, has most."""
    numbers = [
        Measured(
            measure="difference in mean", before=12, after=14.5, estimate=2.5, standard_error=0.5,
            low=1.5, high=3.5, told=True,
        )
    ]  # fmt: skip
    for within, size, before in (("key a", 1.4, 0.8), ("key b", 1.1, 0.2)):
        end = after if within == "key a" else 1 - after
        shares = {"within": within, "before": before, "after": end}
        ends = {True: {"low": 0.1, "high": 2.7}, False: {"low": -0.1, "high": 2.7}}
        numbers += [
            Measured(measure="effect together", estimate=size, told=True, **ends[True], **shares),
            Measured(measure="effect of mix", estimate=0.1, told=mix, **ends[mix], **shares),
            Measured(
                measure="effect of answers", within=within, estimate=size - 0.1, told=answers,
                before=12.0, after=14.0, part=0.6, **ends[answers],
            ),
        ]  # fmt: skip
    return Answer(head=HEAD, question=AskedQuestion(name="change"), numbers=numbers)


@pytest.mark.parametrize(
    ("mix", "answers", "said"),
    [
        (True, False, ", whose share of reports fell from 80.0% to 40.0%; within it there is no"),
        (False, True, ", whose share of reports fell from 80.0% to 40.0%; within it the mean went"),
        (
            False,
            False,
            "; whether as its share of reports fell from 80.0% to 40.0%, or from other answers "
            "within it, cannot be told.",
        ),
    ],
)
def test_a_cause_is_named_only_if_it_can_be_told(mix: bool, answers: bool, said: str) -> None:
    sentence = effects_sentence(split(mix=mix, answers=answers))
    assert sentence.startswith("Of the change of the mean, 1.4 of the 2.5 comes from key a" + said)


def test_a_part_of_the_same_size_has_changed_within_or_not_at_all() -> None:
    sentence = effects_sentence(split(mix=False, answers=False, after=0.8))
    assert "key a, whose share of reports stayed; within it there is no clear change" in sentence
