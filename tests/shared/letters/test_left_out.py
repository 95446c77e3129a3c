"""How many bits strings take that are like no example, and what follows for a metric."""

from __future__ import annotations

import binascii
import hashlib

import pytest

from deniable_shared import registry
from deniable_shared.commands.example_text import example_sentences
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.letters import LetterCode, PhraseModel, shipped_model
from deniable_shared.letters.left_out import bits_left_out, groups_of, quantiles
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.phrase_training import trained_on_phrases
from deniable_shared.planning.plan import plan
from deniable_shared.review.metric_rules import metric_findings

HOSTS = [
    f"https://{word}.example/"
    for word in ["amber", "birch", "cedar", "daisy", "elder", "fern", "gorse"]
]
LINKS = [
    f"{host}{word}/{part}"
    for host in HOSTS
    for word in ("docs", "code", "wiki")
    for part in ("index", "about", "start", "guide")
]


def test_strings_that_begin_alike_are_one_group_unless_too_many_do():
    owners = [f"https://hub.example/owner{each:03}/{name}" for each in range(30) for name in "ab"]
    groups = groups_of([*owners, "mailto:someone", "plain"])
    assert groups[0] == groups[1] == "https://hub.example/owner000"
    assert len(set(groups)) == 32
    assert len(set(groups_of(LINKS))) == 21  # a host of more than a tenth is parted further
    few = [f"{scope}/{number:09}x" for scope in "abcdefghijk" for number in range(9)]
    assert groups_of(few) == few  # eleven groups are too few to leave out half of them
    assert groups_of(["one", "two", "one"]) == ["one", "two", "one"]


def test_every_example_is_coded_by_a_model_that_has_seen_none_of_its_group():
    texts = {f"scope{number // 4}/name{number}".encode(): 1.0 for number in range(120)}
    coded = {}

    def train(examples):
        seen = {value.split(b"/")[0] for value in examples}

        def bits(value):
            assert value.split(b"/")[0] not in seen
            coded[value] = len(value)
            return len(value)

        return bits

    counted = bits_left_out(texts, train)
    assert counted == sorted(map(len, texts))
    assert coded.keys() == texts.keys()


def test_a_model_file_says_what_strings_left_out_need():
    examples = {link.encode(): 1.0 for link in LINKS}
    measured = quantiles(list(range(1, 102)))
    assert measured == LeftOutBits(51, 91, 99)
    assert PhraseModel(trained_on_phrases(examples, measured)).left_out == measured
    assert shipped_model().left_out is None


@pytest.mark.parametrize(("nearly_all", "longest_bits"), [(7, 20), (219, 219), (900, 388)])
def test_a_metric_should_send_nearly_all_strings_whole_within_24_levels(nearly_all, longest_bits):
    assert LeftOutBits(5, 6, nearly_all).longest_bits == longest_bits


@pytest.mark.parametrize(("bits", "levels"), [(20, 1), (21, 2), (36, 2), (37, 3), (388, 24)])
def test_levels_are_counted_in_bits(bits, levels):
    code = LetterCode("text", None, shipped_model(), bits)
    assert code.levels == levels
    assert code.bits >= bits
    assert LetterCode.from_canonical(code.canonical()) == code
    assert code.extent == f"at most {bits} bits"


def test_a_string_of_256_bytes_is_sent_whole_where_its_bits_allow_it():
    words = {f"error number {number} of the module".encode(): 1.0 for number in range(60)}
    model = PhraseModel(trained_on_phrases(words, LeftOutBits(1, 1, 1)))
    value = b"error number 7 of the module" * 9 + b"module"[2:]
    assert len(value) == 256
    code = LetterCode("text", None, model, 388)
    assert code.decode(*code.encode(value)) == (value, True)
    assert shipped_model().length(value) > 2 * 388


def test_bits_that_no_metric_can_have_are_refused():
    for bits in (19, 389, 20.0, True):
        with pytest.raises(
            ParameterError, match=r"^longest_bits must be an integer in \[20, 388\]"
        ):
            LetterCode("text", None, shipped_model(), bits)
    with pytest.raises(ParameterError, match="longest_bits must be left out with an alphabet"):
        LetterCode("hex", None, shipped_model(), 64)
    with pytest.raises(ParameterError, match="longest must be left out with longest_bits"):
        LetterCode("text", 10, shipped_model(), 64)


MEASURED = LeftOutBits(60, 140, 190)
REGISTRY = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4
epsilon_lifetime = 40
[metrics.link]
type = "string"
description = "Which page was opened"
epsilon = 4
discover = true
"""


def metric(fields, left_out):
    """A metric that discovers, with a model that says what strings left out need."""
    model = trained_on_phrases({link.encode(): 1.0 for link in LINKS}, left_out)
    text = f"""{REGISTRY}
model = "links.model"
model_digest = "{hashlib.sha256(model).hexdigest()}"
{fields}
[models]
"links.model" = "{binascii.b2a_base64(model, newline=False).decode()}"
"""
    return registry.parse(text).metrics["link"]


def test_a_registry_says_how_many_bits_are_sent():
    assert metric("longest_bits = 100", MEASURED).spec.letters.levels == 6
    digests = {metric(f"longest_bits = {bits}", MEASURED).spec.digest for bits in (100, 101)}
    assert len(digests) == 2
    with pytest.raises(RegistryError, match="longest must be left out with longest_bits"):
        metric("longest_bits = 100\nlongest = 5", MEASURED)
    with pytest.raises(RegistryError, match="longest_bits must be an integer in \\[20, 388\\]"):
        metric("longest_bits = 19", MEASURED)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("longest_bits = 90", "more than 10% of the strings"),
        ("longest_bits = 150", None),
        ("longest_bits = 200", None),
        ("longest_bits = 212", None),
        ("longest_bits = 213", "98% of the strings"),
        ("longest = 64", "98% of the strings"),
    ],
)
def test_a_review_warns_of_levels_that_do_not_fit_the_model(fields, reason):
    found = {
        each.code: each for each in metric_findings(metric(fields, LeftOutBits(60, 140, 190)), 1000)
    }
    if reason is None:
        assert "levels-unlike-model" not in found
    else:
        assert found["levels-unlike-model"].reason.startswith(reason)
        assert "longest_bits = 190" in found["levels-unlike-model"].remedy


def test_levels_beyond_the_median_of_what_was_left_out_are_drawn_less_often():
    shares = metric("longest_bits = 190", LeftOutBits(60, 140, 190)).spec.mechanism.level_shares
    assert len(set(shares[:4])) == 1  # 60 bits end in the fourth level
    assert list(shares[3:-1]) == sorted(shares[3:-1], reverse=True)
    shipped = registry.parse(REGISTRY).metrics["link"].spec
    assert shipped.letters.level_shares == shipped.mechanism.shares == ()


def test_a_plan_forecasts_what_the_model_suggests_beside_what_was_chosen():
    planned = plan(metric("longest = 64", LeftOutBits(40, 80, 100)), devices=100_000)
    suggested = planned.suggestion
    assert (suggested.longest_bits, suggested.levels, suggested.bits) == (100, 6, 80)
    assert suggested.devices < suggested.devices_now
    text = " ".join(example_sentences(planned))
    assert "with longest_bits = 100, which the model suggests, 6 levels find it" in text
    assert planned.as_dict()["suggested_levels"]["devices"] == suggested.devices
    cut = plan(metric("longest_bits = 60", LeftOutBits(40, 80, 100)), devices=100_000)
    assert cut.suggestion.devices_now is None
    assert "the 4 levels of this metric cut it off" in " ".join(example_sentences(cut))
    same = metric("longest_bits = 97", LeftOutBits(40, 80, 100))
    for planned in (same, registry.parse(REGISTRY).metrics["link"]):
        assert plan(planned, devices=100_000).suggestion is None
