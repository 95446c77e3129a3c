"""What reports say, word for word, and the pieces that the sentences are made of."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable._disclosure.explain import explain
from deniable._disclosure.phrases import (
    format_number,
    in_decimals,
    join_names,
    likelihood_clause,
)
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    OneBitMean,
    SampledCoefficients,
    SquareWave,
)
from tests.privacy.specs import attribute, category, histogram, record
from tests.privacy.specs import number as numeric

ONE = Fraction(1)


def test_the_sentence_of_a_category_is_the_one_that_the_documentation_shows():
    spec = category("light dark system", GeneralizedRandomizedResponse.for_epsilon(3, ONE))
    assert explain(spec, b"\x01").sentence == (
        "Said 'dark'; would have said so with probability 0.58 if it were true, 0.21 if not."
    )


@pytest.mark.parametrize(
    ("spec", "report", "sentence"),
    [
        (
            numeric(OneBitMean.for_epsilon(ONE)),
            b"\x01",
            "Said 'high', where only 'low' or 'high' could be said; would have said so with "
            "probability 0.73 if the number were 1, 0.27 if it were 0, and something in between "
            "for numbers in between.",
        ),
        (
            numeric(OneBitMean.for_epsilon(ONE)),
            b"\x00",
            "Said 'low', where only 'low' or 'high' could be said; would have said so with "
            "probability 0.73 if the number were 0, 0.27 if it were 1, and something in between "
            "for numbers in between.",
        ),
        (  # inside = 3e / (3e + 5)
            histogram(SquareWave.with_shape(6, 3, ONE)),
            b"\x02",
            "Said it is between 0 and 0.5; what is said covers the true number with probability "
            "0.62, and is anywhere else otherwise.",
        ),
        (  # the standard deviation of the noise is 2.8 steps of 1/4
            numeric(DiscreteLaplace(steps=4, scale=2)),
            bytes([48 + 6]),
            "Said 1.5: its number, from 0 to 1, plus a random one, typically 0.7 up or down.",
        ),
        (
            histogram(DBitFlip.for_epsilon(5, ONE, 3)),
            b"\x00\x04\x40",
            "Is asked about 3 of 5 ranges, drawn for this answer; said yes to '0 to 0.2', no to "
            "'0.2 to 0.4' and '0.8 to 1'; says yes to the true one with probability 0.62, to any "
            "other with probability 0.38.",
        ),
        (
            record(SampledCoefficients.for_epsilon(2, ONE), attribute("late"), attribute("paid")),
            b"\x05",
            "Was asked only whether 'late' and 'paid' differ, picked at random from 3 questions; "
            "said 'yes'; would have said so with probability 0.73 if it were true, 0.27 if not.",
        ),
    ],
    ids=lambda value: value.mechanism.name if hasattr(value, "mechanism") else "",
)
def test_the_words_say_what_the_bytes_say(spec, report, sentence):
    assert explain(spec, report).sentence == sentence


def test_probabilities_keep_what_tells_them_from_never_and_always():
    assert [in_decimals(p) for p in (0.5, 0.0123, 0.00012, 0.993307, 0.999967, 1.0)] == [
        "0.50",
        "0.01",
        "0.00012",
        "0.9933",
        "0.999967",
        "1.00",
    ]
    assert likelihood_clause(0.5, 0.25).endswith("0.50 if it were true, 0.25 if not")


def test_lists_and_numbers_are_short():
    assert join_names(["a"], "or") == "a"
    assert join_names(["a", "b", "c"], "or") == "a, b or c"
    assert join_names([str(n) for n in range(30)], "and") == "0, 1, 2, 3 and 26 more"
    assert len(join_names(["x" * 500], "or")) == 40
    assert [format_number(0.5), format_number(12345.6), format_number(Fraction(1, 3))] == [
        "0.5",
        "12,350",
        "0.3333",
    ]
    assert [format_number(-273.15), format_number(1e30), format_number(1234, 2)] == [
        "-273.1",
        "1e+30",
        "1,200",
    ]
