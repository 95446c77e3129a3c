"""The automaton over bits reads what the codes of strings say, no more and no less."""

from __future__ import annotations

import random

import pytest

from deniable_aggregator.answering.discovery.automaton import ENDED, IMPOSSIBLE, ROOT, steps_of
from deniable_shared.errors import ParameterError
from deniable_shared.letters import LetterCode, PhraseModel, shipped_model
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.phrase_file import Tables, phrase_file
from tests.shared.letters.phrases_of import PLACES, model_of

pytestmark = pytest.mark.audit

WITHOUT_ROWS = PhraseModel(
    phrase_file(LeftOutBits(1, 1, 1), [b"ab", b"c"], Tables([2, 2, 2, 3], {}))
)
"""Whose general code does not use all code words."""
MODELS = [model_of(), WITHOUT_ROWS]
PARTS = [*PLACES, "https://", "shop.example", "/", "x", "é", "天", "🙂", "zebra", "Q", "ab", "c"]


def reached(steps, bits, length):
    node = ROOT
    for place in range(length):
        node = int(steps[node, bits >> length - 1 - place & 1])
    return node


@pytest.mark.parametrize("model", [*MODELS, shipped_model()])
def test_the_bits_of_a_string_lead_to_its_end_and_not_before(model):
    steps, drawn = steps_of(model), random.Random(1)
    for _ in range(500):
        value = "".join(drawn.choices(PARTS, k=drawn.randrange(8))).encode()
        bits, length = model.encode(value, 1 << 20)
        assert reached(steps, bits, length) == ENDED
        assert reached(steps, bits >> 1, length - 1) not in (ENDED, IMPOSSIBLE)
        assert reached(steps, bits << 1, length + 1) == ENDED
        assert reached(steps, bits << 1 | 1, length + 1) == IMPOSSIBLE


@pytest.mark.parametrize("model", [*MODELS, shipped_model()])
def test_any_bits_are_possible_and_end_where_the_code_says_so(model):
    steps, drawn = steps_of(model), random.Random(2)
    code = LetterCode("text", None, model, 388)
    seen = set()
    for _ in range(4_000):
        length = drawn.randrange(1, 60)
        bits = drawn.getrandbits(length)
        try:
            expected = "ended" if code.decode(bits, length)[1] else "open"
        except ParameterError:
            expected = "impossible"
        node = reached(steps, bits, length)
        assert {ENDED: "ended", IMPOSSIBLE: "impossible"}.get(node, "open") == expected
        seen.add(expected)
    assert len(seen) >= 2


def test_an_automaton_is_built_once_for_equal_models():
    model = model_of()
    assert steps_of(PhraseModel(model.body)) is steps_of(model)
    with pytest.raises(ValueError, match="read-only"):
        steps_of(model)[0, 0] = 1
