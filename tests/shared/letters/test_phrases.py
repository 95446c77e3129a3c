"""Models of phrases: what they save, what they may never cost, and what a file of one may be."""

from __future__ import annotations

import pickle
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.hashing import canonical
from deniable_shared.letters import (
    LetterCode,
    PhraseModel,
    model_in_file,
    phrase_training,
    shipped_model,
)
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.phrase_file import (
    MAGIC,
    Tables,
    phrase_file,
    read_phrase_file,
)
from deniable_shared.letters.phrase_training import LEAST_USES, trained_on_phrases
from tests.shared.letters.phrases_of import EXAMPLES, PLACES, model_of

MODEL = model_of()
CODE = LetterCode("text", None, MODEL, 388)
NOTHING = LeftOutBits(1, 1, 1)

ALIKE = st.lists(
    st.sampled_from([*PLACES, "https://", "shop.example", "/", "-", "1", "x", "é", "天", "🙂"]),
    max_size=12,
).map("".join)
"""Texts that phrases fit, and that fall back to letters between them."""

TEXTS = st.one_of(st.text(max_size=60), ALIKE)


@given(TEXTS)
def test_any_text_is_read_back_whole_or_as_its_beginning(text):
    value = canonical(text)
    decoded, whole = CODE.decode(*CODE.encode(value))
    assert decoded == value if whole else value.startswith(decoded)
    assert whole == (MODEL.length(value) <= CODE.bits)


@given(TEXTS)
def test_no_text_takes_more_than_two_bits_beyond_the_shipped_model(text):
    value = canonical(text)
    assert MODEL.length(value) <= shipped_model().length(value) + 2


@pytest.mark.parametrize("bits", [20, 52, 100])
@given(text=TEXTS)
def test_what_is_cut_takes_no_more_than_that_either(bits, text):
    value = canonical(text)
    code = LetterCode("text", None, MODEL, bits)
    shipped = LetterCode("text", None, shipped_model(), bits)
    assert code.encode(value)[1] <= min(shipped.encode(value)[1] + 2, code.bits)


@given(TEXTS, st.integers(0, 400))
def test_a_beginning_of_bits_is_a_beginning_of_the_text(text, kept):
    value = canonical(text)
    bits, length = CODE.encode(value)
    kept = min(kept, length - 1)
    decoded, whole = CODE.decode(bits >> length - kept, kept)
    assert value.startswith(decoded)
    assert decoded.decode() is not None
    assert not whole


@given(st.sets(TEXTS, max_size=30))
def test_no_texts_bits_begin_anothers(texts):
    encoded = sorted(
        format(bits, f"0{length}b")
        for bits, length in (MODEL.encode(value, 1 << 20) for value in set(map(canonical, texts)))
    )
    assert not any(other.startswith(one) for one, other in pairwise(encoded))


def test_texts_like_the_examples_take_a_fraction_of_the_bits():
    for one, other in (("cart", "search"), ("天気", "help"), ("größe", "help")):
        value = f"https://shop.example/{one}/{other}-3".encode()
        assert value.decode() not in EXAMPLES
        assert MODEL.length(value) < 0.3 * shipped_model().length(value)


def test_the_first_bits_tell_the_form():
    assert CODE.encode(EXAMPLES[0].encode())[0] >> CODE.encode(EXAMPLES[0].encode())[1] - 1 == 0
    bits, length = CODE.encode(b"zebra")
    assert bits >> length - 2 == 0b11
    with pytest.raises(ParameterError, match="beginning of a string"):
        CODE.decode(0b10, 2)
    assert CODE.decode(1, 1) == CODE.decode(0, 0) == (b"", False)
    bits, length = CODE.encode(EXAMPLES[0].encode())
    with pytest.raises(ParameterError, match="zero bits after an end"):
        CODE.decode(bits << 1 | 1, length + 1)


def test_a_cut_code_word_shows_what_all_its_phrases_have_in_common():
    phrases = [b"ab1", b"ab2", b"c"]
    # The words are: c 0, ab1 100, ab2 101, END 110, CHARACTER 111.
    model = PhraseModel(phrase_file(NOTHING, phrases, Tables([3, 3, 1, 3, 3], {})))
    assert model.decode(0b0_0_10, 4) == (b"cab", False)
    assert model.decode(0b0_0_1, 3) == (b"c", False)
    assert model.decode(0b0_0_11, 4) == (b"c", False)
    assert model.decode(0b0_0_100_110, 8) == (b"cab1", True)


def test_a_code_remembers_nothing_of_what_it_has_coded():
    code = LetterCode("text", None, model_of(EXAMPLES[1:]), 100)
    code.encode(b"")
    before = pickle.dumps(code)
    for value in (EXAMPLES[0], "quince", "Zürich", "天気"):
        code.pieces(value.encode())
        assert pickle.dumps(code) == before


@pytest.mark.parametrize("text", ["🙂" * 2_000, "x" + "🙂" * 2_000, "cart" * 2_000])
def test_the_longest_values_have_pieces_and_end_with_a_whole_character(text):
    value = canonical(text)
    assert len(CODE.pieces(value)) == CODE.levels
    decoded, whole = MODEL.decode(*MODEL.encode(value, 1 << 20))
    assert whole
    assert value.startswith(decoded)
    assert len(value) - len(decoded) < 4


def test_a_model_is_the_same_in_any_order_and_on_every_machine():
    again = trained_on_phrases({text.encode(): 1.0 for text in EXAMPLES[::-1]}, MODEL.left_out)
    assert again == MODEL.body
    assert model_in_file(again) == MODEL


def test_every_phrase_stands_in_the_examples_often_enough():
    for phrase in MODEL.phrases:
        assert sum(text.encode().count(phrase) for text in EXAMPLES) >= LEAST_USES
    once = (*EXAMPLES, "https://shop.example/secret-4711")
    assert b"4711" not in b" ".join(model_of(once).phrases)


def test_a_string_that_goes_on_unlike_the_examples_is_still_put_together_of_their_parts():
    systems, engines = ("Linux; K", "Windows NT; x64", "Macintosh; Intel"), ("Chrome", "Firefox")
    texts = [
        f"Mozilla/5.0 ({system}) AppleWebKit (KHTML, like Gecko) {engine}/{version}.0"
        for system in systems
        for engine in engines
        for version in range(3)
    ]
    model = model_of(tuple(texts))
    for other in ("Opera/7", "Chrome/9.0 Safari/5"):
        value = f"Mozilla/5.0 (Linux; K) AppleWebKit (KHTML, like Gecko) {other}".encode()
        own = shipped_model().length(other.encode())
        assert model.length(value) < own + 30 < 0.4 * shipped_model().length(value)


def test_what_comes_often_gets_shorter():
    value = EXAMPLES[0].encode()
    often = {text.encode(): 1.0 + 999 * (text == EXAMPLES[0]) for text in EXAMPLES}
    counted = PhraseModel(trained_on_phrases(often, MODEL.left_out))
    assert counted.length(value) < MODEL.length(value)


def test_a_file_is_small_enough_for_every_device(monkeypatch):
    monkeypatch.setattr(phrase_training, "MAX_FILE_BYTES", len(MODEL.body) // 2)
    small = PhraseModel(trained_on_phrases({text.encode(): 1.0 for text in EXAMPLES}, NOTHING))
    assert len(small.body) <= len(MODEL.body) // 2
    assert small.length(EXAMPLES[0].encode()) < shipped_model().length(EXAMPLES[0].encode())


def test_a_script_of_many_characters_leaves_the_rare_ones_to_the_shipped_model():
    texts = [
        "".join(chr(0x4E00 + 7 * number + step) for step in range(30)) for number in range(200)
    ]
    model = PhraseModel(trained_on_phrases({text.encode(): 1.0 for text in texts}, NOTHING))
    assert len(model.phrases) <= phrase_training.PHRASES
    for text in texts[:20]:
        assert model.decode(*model.encode(text.encode(), 1 << 20)) == (text.encode(), True)


def test_a_code_is_what_its_canonical_data_says():
    assert CODE.canonical()["code"] == 2
    assert LetterCode.from_canonical(CODE.canonical()) == CODE
    with pytest.raises(ParameterError):
        LetterCode.from_canonical({**CODE.canonical(), "code": 1})
    with pytest.raises(ParameterError, match="alphabet must be text with a model of phrases"):
        LetterCode("hex", 8, MODEL)


def test_a_model_tells_how_many_bits_its_metric_should_send():
    assert MODEL.left_out == LeftOutBits(30, 60, 90)
    assert read_phrase_file(MODEL.body)[0] == MODEL.left_out
    assert b"public" in MODEL.body.splitlines()[0]


PINNED = {
    "": (393216,),
    "ab": (163840,),
    "abab": (40960,),
    "cc": (313856,),
    "c天": (304384,),
    "cab": (297472,),
    "天x天": (342006, 9472),
    "é": (1037504,),
    "the": (955424,),
    "abxc": (229250, 43008),
    "ab🙂ccc": (229179, 49818, 20480),
    "abc" * 40: (67650, 4228, 8456, 16912, 33825, 2114),
}


def test_bits_of_phrases_never_change():
    """Devices have sent them."""
    phrases = [b"ab", b"c", "天".encode()]
    rows = {3: {0: 1, 3: 3, 5: 2}, 1: {1: 2, 4: 2, 5: 1}}  # behind START, and behind "c"
    code = LetterCode("text", None, PhraseModel(packed(phrases, [2, 2, 3, 3, 3], rows)), 100)
    assert {text: code.pieces(text.encode()) for text in PINNED} == PINNED


GOOD = ([b"ab", b"c"], [2, 2, 2, 2], {2: {0: 1, 4: 1}})
"""Phrases, the general code, and one row, behind START."""


def packed(phrases, general, rows):
    return phrase_file(NOTHING, phrases, Tables(general, rows))


def test_the_good_file_of_these_tests_is_read():
    assert PhraseModel(packed(*GOOD)).decode(0b0_0_10, 4) == (b"ab", True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        MAGIC,
        MAGIC + b"x",
        MAGIC + zlib.compress(b""),
        MAGIC + zlib.compress(bytes(1 << 20)),
        packed(*GOOD) + b"x",
        packed(*GOOD)[:-1],
        MAGIC + zlib.compress(zlib.decompress(packed(*GOOD)[len(MAGIC) :]) + b"x"),
        packed([b"c", b"ab"], *GOOD[1:]),  # not in their order
        packed([b"ab", b"ab"], *GOOD[1:]),
        packed([b"", b"c"], *GOOD[1:]),
        packed([b"ab", b"\xc3"], *GOOD[1:]),  # half a character
        packed(GOOD[0], [2, 2, 2, 0], GOOD[2]),
        packed(GOOD[0], [2, 2, 2, 1], GOOD[2]),  # more code words than there are
        packed(GOOD[0], [2, 2, 2, 16], GOOD[2]),
        packed(*GOOD[:2], {3: GOOD[2][2]}),  # behind CHARACTER
        packed(*GOOD[:2], {2: {0: 1, 3: 1}}),  # without ELSE
        packed(*GOOD[:2], {2: {0: 1, 4: 1, 5: 1}}),
        packed(*GOOD[:2], {2: {0: 1, 1: 1, 4: 1}}),
        packed(*GOOD[:2], {2: {}}),
    ],
)
def test_a_file_that_breaks_the_format_is_refused(body):
    with pytest.raises(ParameterError, match=r"^model must be"):
        PhraseModel(body)
