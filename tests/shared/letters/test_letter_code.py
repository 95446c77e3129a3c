"""Strings to bits and pieces, and back."""

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.hashing import canonical
from deniable_shared.letters import END, LetterCode, shipped_model

TEXT = LetterCode("text", 10, shipped_model())
LONG = LetterCode("text", 64, shipped_model())
CODES = {
    "text": TEXT,
    "hex": LetterCode("hex", 16, shipped_model()),
    "digits": LetterCode("digits", 6, shipped_model()),
    "own": LetterCode("abcdé的🙂-", 8, shipped_model()),
}
WORDS = ["", "the", "的", "में", "وكان", "здравствуйте", "naïve", "🙂", "a7f3", "example.com", "\x00"]


PINNED = [
    ("text", 10, "", (1042432,)),
    ("text", 10, "the", (675968,)),
    ("text", 10, "的", (943104,)),
    ("text", 10, "में", (25609, 0)),
    ("text", 10, "وكان", (733656, 9216)),
    ("text", 10, "здравствуйте", (441168, 1954, 11337, 60491)),
    ("text", 10, "naïve", (643031, 44742)),
    ("text", 10, "🙂", (548373, 0)),
    ("text", 10, "example.com", (610098, 55968)),
    ("text", 10, "user.name@example.com", (890003, 19995, 52988, 52074)),
    ("hex", 16, "0123456789abcdef", (2330, 11068, 19806, 28536)),
    ("hex", 16, "7", (547840,)),
    ("hex", 16, "XYZ", (1048303, 38909, 59904)),
    ("digits", 6, "123456", (85596,)),
    ("digits", 6, "42", (672768,)),
    ("digits", 6, "a", (873472,)),
]
"""Pieces that devices have sent: they may never change."""


@pytest.mark.parametrize(("alphabet", "longest", "word", "pieces"), PINNED)
def test_pieces_of_the_shipped_model_never_change(alphabet, longest, word, pieces):
    assert LetterCode(alphabet, longest, shipped_model()).pieces(word.encode()) == pieces


def every_code(test):
    return pytest.mark.parametrize("code", CODES.values(), ids=list(CODES))(test)


def joined(pieces):
    bits = pieces[0]
    for piece in pieces[1:]:
        bits = bits << 16 | piece
    return bits, 20 + 16 * (len(pieces) - 1)


@every_code
@given(text=st.text(max_size=40))
def test_any_text_is_read_back_whole_or_as_its_beginning(code, text):
    value = canonical(text)
    decoded, whole = code.decode(*code.encode(value))
    assert decoded == value if whole else value.startswith(decoded)


@every_code
@given(text=st.text(alphabet="0123456789abcdé的🙂-", max_size=12))
def test_texts_of_an_alphabet_are_read_back(code, text):
    value = canonical(text)
    decoded, whole = code.decode(*code.encode(value))
    assert decoded == value if whole else value.startswith(decoded)


@every_code
@pytest.mark.parametrize("word", WORDS)
def test_pieces_are_the_bits_padded_with_zeros(code, word):
    bits, length = code.encode(word.encode())
    pieces = code.pieces(word.encode())
    joint, size = joined(pieces)
    assert joint == bits << size - length
    assert size - length < (16 if len(pieces) > 1 else 21)
    assert pieces[0] < 1 << 20
    assert max(pieces[1:], default=0) < 1 << 16
    assert code.decode(joint, size) == code.decode(bits, length)


@every_code
def test_no_strings_bits_begin_anothers(code):
    values = {canonical(word) for word in [*WORDS, "t", "th", "0", "00", "0" * 16, "0" * 6, "aa"]}
    encoded = sorted(format(bits, f"0{length}b") for bits, length in map(code.encode, values))
    assert not any(b.startswith(a) for a, b in pairwise(encoded))


@every_code
def test_every_state_has_a_prefix_free_code(code):
    for state in range(code.machine.states):
        lengths = code.machine.lengths(state)
        assert len(lengths) == END + 1
        assert sum(2.0**-length for length in lengths if length) <= 1
        assert all(0 <= after < code.machine.states for after in code.machine.next_states(state))


@every_code
def test_a_code_remembers_nothing_of_what_it_has_coded(code):
    code.encode(b"")
    before = pickle.dumps(code)
    for value in ("quince", "0123456789abcdef", "Zürich", "天気"):
        code.pieces(value.encode())
        assert pickle.dumps(code) == before


def test_every_string_has_a_code():
    reached = unseen = {(0, "")}
    while unseen:
        found = set()
        for state, expected in unseen:
            lengths = TEXT.machine.lengths(state)
            for symbol, after in following(expected):
                assert lengths[symbol], (state, symbol)
                if symbol != END:
                    found.add((TEXT.machine.next_state(state, symbol), after))
        unseen = found - reached
        reached = reached | unseen


def following(expected):
    """The symbols that UTF-8 allows next, and the kinds of bytes expected after each.

    A kind is "c" for any continuation, or an upper-case letter for those after some first bytes.
    """
    spans = {"c": (0x80, 0xC0), "A": (0xA0, 0xC0), "B": (0x80, 0xA0), "C": (0x90, 0xC0),
             "D": (0x80, 0x90)}  # fmt: skip
    if expected:
        return [(byte, expected[1:]) for byte in range(*spans[expected[0]])]
    leads = [(0x00, 0x80, ""), (0xC2, 0xE0, "c"), (0xE0, 0xE1, "Ac"), (0xE1, 0xED, "cc"),
             (0xED, 0xEE, "Bc"), (0xEE, 0xF0, "cc"), (0xF0, 0xF1, "Ccc"), (0xF1, 0xF4, "ccc"),
             (0xF4, 0xF5, "Dcc")]  # fmt: skip
    return [(byte, rest) for low, high, rest in leads for byte in range(low, high)] + [(END, "")]


def test_a_string_that_does_not_fit_is_cut():
    value = b"abcdefghijklmnopqrstuvwxyz0123456789" * 3
    bits, length = TEXT.encode(value)
    assert length == TEXT.bits == 68
    assert len(TEXT.pieces(value)) == TEXT.levels
    decoded, whole = TEXT.decode(bits, length)
    assert not whole
    assert decoded
    assert value.startswith(decoded)
    more, _ = LONG.encode(value)
    assert more >> LONG.bits - 68 == bits


@every_code
@pytest.mark.parametrize("text", ["🙂" * 2_000, "x" + "🙂" * 2_000, "的" * 5_000, "0" * 9_999])
def test_the_longest_values_have_pieces(code, text):
    value = canonical(text)
    assert len(value) == 4_096
    assert len(code.pieces(value)) == code.levels


def test_a_prefix_ends_with_a_whole_character():
    value = "的" * 40
    bits, length = TEXT.encode(value.encode())
    for cut in range(length):
        decoded, whole = TEXT.decode(bits >> cut, length - cut)
        assert value.startswith(decoded.decode())
        assert not whole


def test_bits_of_no_string_are_refused():
    bits, length = TEXT.encode(b"the")
    with pytest.raises(ParameterError, match="zero bits after an end"):
        TEXT.decode(bits << 1 | 1, length + 1)
    with pytest.raises(ParameterError, match="beginning of a string"):
        LetterCode("aé", 4, shipped_model()).decode(0b011, 3)
    assert TEXT.decode(0, 0) == (b"", False)


@pytest.mark.parametrize(("longest", "levels"), [(1, 1), (3, 1), (10, 4), (14, 5), (18, 7),
                                                 (26, 10), (64, 24)])  # fmt: skip
def test_levels_of_text_hold_six_bits_a_character(longest, levels):
    code = LetterCode("text", longest, shipped_model())
    assert code.levels == levels
    assert code.bits == 20 + 16 * (levels - 1) >= 6 * longest


def test_full_strings_of_an_alphabet_need_no_end():
    code = CODES["hex"]
    bits, length = code.encode(b"0123456789abcdef")
    assert (length, code.levels) == (65, 4)
    assert bits == 0x0123456789ABCDEF
    assert code.decode(bits, length) == (b"0123456789abcdef", True)


def test_shorter_and_other_strings_have_forms_of_their_own():
    code = CODES["hex"]
    assert code.encode(b"7")[0] >> code.encode(b"7")[1] - 2 == 0b10
    assert code.encode(b"xyz")[0] >> code.encode(b"xyz")[1] - 2 == 0b11
    assert code.encode(b"xyz")[1] == TEXT.encode(b"xyz")[1] + 2


@pytest.mark.parametrize("name", ["hex", "digits", "own"])
def test_strings_of_an_alphabet_that_are_not_too_long_are_never_cut(name):
    code = CODES[name]
    characters = {"hex": "0f", "digits": "09", "own": "a🙂"}[name]
    for size in range(code.longest + 1):
        for character in characters:
            value = (character * size).encode()
            assert code.decode(*code.encode(value)) == (value, True)


def test_hex_is_lower_cased_where_the_whole_value_is_hex():
    code = CODES["hex"]
    assert code.encode(b"ABCDEF0123456789") == code.encode(b"abcdef0123456789")
    assert code.decode(*code.encode(b"ABX")) == (b"ABX", True)


def test_a_code_is_what_its_canonical_data_says():
    for code in CODES.values():
        assert LetterCode.from_canonical(code.canonical()) == code
    assert TEXT.canonical() == {"alphabet": "text", "longest": 10, "model": "words", "code": 1}


def test_what_a_code_cannot_be_is_refused():
    model = shipped_model()
    for longest in (0, 65, True, 2.5):
        with pytest.raises(ParameterError, match="longest must be an integer"):
            LetterCode("text", longest, model)
    for alphabet in ("", "a", "aa", "".join(map(chr, range(300, 500)))):
        with pytest.raises(ParameterError, match="alphabet must be text, hex, digits or 2 to 128"):
            LetterCode(alphabet, 4, model)
    with pytest.raises(ParameterError, match="U\\+202E"):
        LetterCode("ab\u202e", 4, model)
    with pytest.raises(ParameterError, match="normal form C"):
        LetterCode("ab\u212b", 4, model)
    with pytest.raises(ParameterError, match="at most 24 levels"):
        LetterCode("".join(map(chr, range(0x4E00, 0x4E80))), 64, model)
    with pytest.raises(ParameterError, match="update Deniable"):
        LetterCode.from_canonical({**TEXT.canonical(), "code": 3})
    with pytest.raises(ParameterError, match="words or base64"):
        LetterCode.from_canonical({**TEXT.canonical(), "model": "%"})
