"""Reports in words: the probabilities that are stated are those of the code that ships.

Each is compared with P(report | value), enumerated over every random choice of the randomizer, of
the permanent ones as well where answers are memoised.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from deniable._disclosure.explain import explain
from deniable._disclosure.phrases import format_number, in_decimals
from deniable.randomizers import randomizer_for
from deniable_shared import hashing
from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.mechanisms import (
    MECHANISMS,
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    Piecewise,
    PrivSet,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    RecursiveHadamardResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
    SubsetSelection,
    SymmetricUnaryEncoding,
    Wheel,
)
from tests.privacy.conformance import secret_of
from tests.privacy.seeds import FewSeeds
from tests.privacy.specs import (
    attribute,
    boolean,
    category,
    histogram,
    record,
    set_of,
    string,
    trie,
)
from tests.privacy.specs import number as numeric
from tests.privacy.walking import distribution

ONE, TWO = Fraction(1), Fraction(2)
NAMES = "ant bee cat dog eel"
WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")

ORACLES = [
    boolean(RandomizedResponse.for_epsilon(2, ONE)),
    boolean(MemoizedRandomizedResponse.for_epsilons(2, ONE, TWO)),
    category(NAMES, GeneralizedRandomizedResponse.for_epsilon(5, ONE)),
    category(NAMES, MemoizedRandomizedResponse.for_epsilons(5, ONE, TWO)),
    category(NAMES, SubsetSelection.for_epsilon(5, ONE)),
    category(NAMES, ProjectiveGeometryResponse.over_space(2, 3, 5, ONE)),
    category(NAMES, ProjectiveGeometryResponse.over_space(3, 3, 5, TWO)),
    category(NAMES, HadamardResponse.for_epsilon(5, ONE)),
    category(NAMES, RecursiveHadamardResponse.with_bits(5, 2, ONE)),
    category(NAMES, RecursiveHadamardResponse.with_bits(5, 3, TWO)),
    category(NAMES, OptimizedLocalHashing.for_epsilon(5, ONE)),
    category(NAMES, SymmetricUnaryEncoding.for_epsilon(5, ONE)),
    category(NAMES, OptimizedUnaryEncoding.for_epsilon(5, ONE)),
    category("ant bee cat", MemoizedUnaryEncoding.for_epsilons(3, ONE, TWO)),
]
SKETCHES = [
    string(Sketch(rows=3, inner=inner))
    for inner in (
        GeneralizedRandomizedResponse.for_epsilon(4, ONE),
        HadamardResponse.for_epsilon(4, ONE),
        OptimizedUnaryEncoding.for_epsilon(3, ONE),
        ProjectiveGeometryResponse.over_space(2, 3, 5, ONE),
        MemoizedRandomizedResponse.for_epsilons(4, ONE, TWO),
        MemoizedUnaryEncoding.for_epsilons(3, ONE, TWO),
    )
]
NUMBERS = [
    numeric(OneBitMean.for_epsilon(ONE)),
    numeric(MemoizedOneBitMean.for_epsilons(ONE, TWO, steps=2)),
    numeric(Piecewise.with_shape(9, 5, ONE)),
    numeric(Piecewise.with_shape(3, 7, ONE)),  # some answers cover the whole range
    numeric(DiscreteLaplace(steps=4, scale=2)),
    numeric(DiscreteGaussian(steps=2, noise=9, nanonats=4 * 10**9)),
    histogram(SquareWave.with_shape(6, 3, ONE)),
]
BINS = [
    histogram(DBitFlip.for_epsilon(5, ONE, 3)),
    histogram(DBitFlip.for_epsilon(4, ONE, 1)),
    histogram(MemoizedDBitFlip.for_epsilons(4, ONE, TWO, 2)),
]
HYBRID = numeric(
    Hybrid(
        inner=Piecewise.with_shape(9, 5, ONE), flip=OneBitMean.for_epsilon(ONE).flip, heads=1 << 30
    )
)
RAPPOR = string(Rappor(bits=8, hashes=2, cohorts=1, flip=1 << 30, p=0, q=1 << 31))
SAMPLED = record(
    SampledAttribute(
        inner=(RandomizedResponse.for_epsilon(2, ONE), SubsetSelection.for_epsilon(4, ONE))
    ),
    attribute("late"),
    attribute("carrier", "AA DL UA WN"),
)
PAIRS = record(SampledCoefficients.for_epsilon(2, ONE), attribute("late"), attribute("paid"))
TRIE = trie(levels=3, epsilon=2)
SETS = set_of(NAMES, PrivSet.for_epsilon(5, 3, ONE))
TEXTS = set_of("", Wheel.for_epsilon(3, ONE, 1_000, rows=8))
EVERY = [*ORACLES, *SKETCHES, *NUMBERS, *BINS, HYBRID, RAPPOR, SAMPLED, PAIRS, TRIE, SETS, TEXTS]


def name_of(spec):
    mechanism = spec.mechanism
    return mechanism.name if mechanism.name != "sketch" else f"sketch over {mechanism.inner.name}"


def channel(spec, value):
    """P(report | value), exactly; what would be permanent is drawn like everything else."""
    item = spec.encode(value)

    def run(walk):
        randomizer = randomizer_for(spec, FewSeeds(walk), lambda *_: FewSeeds(walk))
        return randomizer.report(item, secret_of(1))

    return distribution(run)


def values_of(spec):
    return (False, True) if spec.type == "boolean" else spec.values


def same(stated, exact):
    return stated == pytest.approx(float(exact), rel=1e-9)


def test_every_mechanism_has_words():
    assert {spec.mechanism.name for spec in EVERY} == set(MECHANISMS)


def test_the_probabilities_of_a_set_are_those_of_the_device():
    words = {
        **{number: f"'{item}' is one of its items" for number, item in enumerate(SETS.values)},
        5: "it has more than 3 items",
        6: "it has at most 2 items",
        7: "it has at most 1 item",
        8: "it has no items",
    }
    for size in range(4):
        for held in itertools.combinations(SETS.values, size):
            for report, exact in channel(SETS, held).items():
                outcome = report[0]
                ((statement, if_true, if_not),) = (
                    (each.statement, each.if_true, each.if_not)
                    for each in explain(SETS, report).likelihoods
                )
                assert statement == words[outcome]
                fits = outcome > 5 and len(held) <= 8 - outcome
                is_true = SETS.values[outcome] in held if outcome < 5 else fits
                assert same(if_true if is_true else if_not, exact)
    large = channel(SETS, SETS.values)
    assert same(explain(SETS, b"\5").likelihoods[0].if_true, large[b"\5"])


@pytest.mark.parametrize("spec", ORACLES, ids=name_of)
def test_the_probabilities_of_a_known_domain_are_those_of_the_device(spec):
    channels = [channel(spec, value) for value in values_of(spec)]
    first = spec.mechanism.decode(next(iter(channels[0])))
    named = [[Fraction(0)] * len(channels) for _ in channels]
    splits = {}
    for report in set().union(*channels):
        it = spec.mechanism.decode(report)
        items = set(it.items)
        chances = explain(spec, report).likelihoods
        for own, exact in enumerate(channels):
            for item in items:
                named[own][item] += exact.get(report, 0)
        if first.kind in ("item", "random_group"):
            # The split says nothing about the item, so all its answers together are as likely.
            split = split_of(spec.mechanism, report)
            splits.setdefault(split, []).append((items, report, chances))
    p, q = first.p, first.q
    if first.kind in ("set", "bits"):
        for own, row in enumerate(named):
            for item, exact in enumerate(row):
                assert same(p if item == own else q, exact)
        return
    for answers in splits.values():
        total = sum(channels[0].get(report, 0) for _, report, _ in answers)
        for items, report, chances in answers:
            for own, exact in enumerate(channels):
                likelihood = exact.get(report, 0) / total
                if chances:
                    (chance,) = chances
                    stated = chance.if_true if own in items else chance.if_not
                    assert same(stated, likelihood)
                else:
                    assert same(q, likelihood)


def split_of(mechanism, report):
    outcome = int.from_bytes(report, "big")
    if isinstance(mechanism, HadamardResponse):
        return outcome // 2
    if isinstance(mechanism, RecursiveHadamardResponse):
        return outcome // mechanism.symbols
    if isinstance(mechanism, OptimizedLocalHashing):
        return report[:4]
    return None


@pytest.mark.parametrize("spec", ORACLES, ids=name_of)
def test_the_items_that_are_named_stand_in_the_sentence_with_the_probabilities(spec):
    names = ("'no'", "'yes'") if spec.type == "boolean" else [f"'{name}'" for name in spec.values]
    for report in channel(spec, values_of(spec)[0]):
        it = spec.mechanism.decode(report)
        sentence, chances = explain(spec, report)
        answer = " ".join(sentence.split("; ")[:-1])
        yes, _, _ = answer.partition(", no to")
        items = set(it.items)
        if not chances:
            assert not items
            continue
        if it.kind == "bits" and len(items) in (0, spec.mechanism.size):
            assert (" to all " in answer) is True
            continue
        for index, name in enumerate(names):
            assert (name in yes) is (index in items)
        for chance in chances[:1]:
            assert in_decimals(chance.if_true) in sentence
            assert in_decimals(chance.if_not) in sentence


@pytest.mark.parametrize("spec", SKETCHES, ids=name_of)
def test_the_probabilities_of_a_sketch_are_those_of_the_device(spec):
    mechanism = spec.mechanism
    channels = [channel(spec, value) for value in WORDS]
    for row in range(mechanism.rows):
        buckets = [
            hashing.bucket(
                hashing.word(value.encode(), spec.salt), hashing.key(row), mechanism.buckets
            )
            for value in WORDS
        ]
        kept = mechanism.permanent_groups > 1
        common = Fraction(classes_by_group(mechanism.rows)[row], CLASSES) if kept else 0
        share = common or Fraction(1, mechanism.rows)
        rows = [
            {report: p / share for report, p in exact.items() if report[:2] == row_of(row)}
            for exact in channels
        ]
        for own, exact in zip(buckets, rows, strict=True):
            named = [Fraction(0)] * mechanism.buckets
            for report, probability in exact.items():
                it = mechanism.inner.decode(report[2:])
                items = set(it.items)
                for item in items:
                    named[item] += probability
                chance = explain(spec, report).likelihoods[0]
                if it.kind == "item":
                    assert same(chance.if_true if own in items else chance.if_not, probability)
                if it.kind == "random_group":
                    splits = mechanism.inner.order - 1
                    stated = chance.if_true if own in items else chance.if_not
                    assert same(stated, probability * splits)
                if it.kind == "bits" and items:
                    assert (chance.if_true, chance.if_not) == (it.p, it.q)
            if it.kind in ("set", "bits"):
                for item, probability in enumerate(named):
                    assert same(it.p if item == own else it.q, probability)


def test_the_probabilities_of_a_trie_are_those_of_the_device():
    """A report names the cells whose own reports are more likely to be at its point."""
    mechanism = TRIE.mechanism
    drawn = {0: 4, 1: 8, 2: 4}  # of the levels and rows: one in four, in eight, in four
    for value in ("3", "3.0", "7.2.1"):
        named = Counter()
        for report, probability in channel(TRIE, value).items():
            level, row, point = mechanism.decode(report)
            oracle = mechanism.oracle(level)
            (chance,) = explain(TRIE, report).likelihoods
            assert (chance.if_true, chance.if_not) == (oracle.support.p, oracle.support.q)
            for item in oracle.decode(point.to_bytes(oracle.report_bytes, "big")).items:
                own = item == mechanism.cell(TRIE.encode(value), level, row, TRIE.salt)
                named[level, row, item, own] += probability * drawn[level]
        for (level, _, _, own), probability in named.items():
            support = mechanism.oracle(level).support
            assert same(support.p if own else support.q, probability)


def row_of(row):
    return row.to_bytes(2, "big")


@pytest.mark.parametrize("spec", NUMBERS, ids=name_of)
def test_the_probabilities_of_a_number_are_the_largest_and_the_least_of_the_device(spec):
    grid = sorted({Fraction(k, n) for n in (2, 3, 4, 6, 8) for k in range(n + 1)})
    channels = [channel(spec, float(place)) for place in grid]
    for report in set().union(*channels):
        likelihoods = [exact.get(report, Fraction(0)) for exact in channels]
        (chance,) = explain(spec, report).likelihoods
        assert chance.if_true == pytest.approx(float(max(likelihoods)), rel=2e-5)
        assert chance.if_not == pytest.approx(float(min(likelihoods)), rel=2e-5)


def test_a_window_covers_the_values_that_make_it_likely():
    spec = numeric(Piecewise.with_shape(9, 5, ONE))
    near, far = spec.mechanism.outcome_probabilities
    for step in range(9):
        for report, probability in channel(spec, step / 8).items():
            (chance,) = explain(spec, report).likelihoods
            ends = chance.statement.removeprefix("between ").removeprefix("about ").split(" and ")
            covered = float(ends[0]) <= step / 8 <= float(ends[-1])
            assert same(near if covered else far, probability)


def test_the_hybrid_says_what_its_two_parts_say():
    ends = [channel(HYBRID, value) for value in (0.0, 1.0)]
    heads = Fraction(HYBRID.mechanism.heads, 1 << 32)
    for report in ends[0]:
        part = heads if report[-1] >= 2 else 1 - heads
        middle = channel(HYBRID, 0.5)
        likelihoods = [exact.get(report, 0) / part for exact in (*ends, middle)]
        sentence, (chance,) = explain(HYBRID, report)
        assert ("low" in sentence) is (report[-1] < 2)
        assert any(same(chance.if_not, likelihood) for likelihood in likelihoods)
        assert float(max(likelihoods)) <= chance.if_true * (1 + 1e-9)


@pytest.mark.parametrize("spec", BINS, ids=name_of)
def test_the_probabilities_of_a_bin_are_those_of_the_device(spec):
    size = spec.mechanism.size
    for own in range(size):
        exact = channel(spec, (own + 0.5) / size)
        asked, yes = {}, {}
        for report, probability in exact.items():
            sentence, chances = explain(spec, report)
            for chance in chances:
                answer, _, bins = chance.statement.partition(" to ")
                for index in range(size):
                    name = f"{format_number(index / size)} to {format_number((index + 1) / size)}"
                    if name in bins:
                        assert name in sentence
                        asked[index] = asked.get(index, 0) + probability
                        if answer == "yes":
                            yes[index] = yes.get(index, 0) + probability
                            stated = (chance.if_true, chance.if_not)
        assert sorted(asked) == list(range(size))
        for index in range(size):
            assert same(stated[index != own], yes[index] / asked[index])


def test_the_probabilities_of_rappor_are_those_of_the_device():
    support = RAPPOR.mechanism.support
    exact = channel(RAPPOR, "ant")
    word = hashing.word(b"ant", RAPPOR.salt)
    marked = {hashing.bucket(word, hashing.key(member), 8) for member in range(2)}
    ones = [Fraction(0)] * 8
    for report, probability in exact.items():
        sentence, chances = explain(RAPPOR, report)
        count = report[2].bit_count()
        assert f"yes to {count} of them" in sentence
        if count:
            assert (chances[0].if_true, chances[0].if_not) == (support.p, support.q)
        if count < 8:
            assert (chances[-1].if_true, chances[-1].if_not) == (1 - support.q, 1 - support.p)
        for place in range(8):
            ones[place] += probability * (report[2] >> 7 - place & 1)
    for place, probability in enumerate(ones):
        assert same(support.p if place in marked else support.q, probability)


def test_a_record_speaks_of_the_attribute_that_was_drawn():
    own = {"late": True, "carrier": "DL"}
    told_of = {"late": Fraction(0), "carrier": Fraction(0)}
    named = {"late": {}, "carrier": {}}
    for report, probability in channel(SAMPLED, own).items():
        sentence, (chance,) = explain(SAMPLED, report)
        name, _, statement = chance.statement.partition(": ")
        assert f"'{name}'" in sentence
        told_of[name] += probability
        for value in statement.replace(" or ", ", ").split(", "):
            named[name][value] = named[name].get(value, 0) + probability
            stated = chance
        truth = "'yes'" if name == "late" else "'DL'"
        if name == "late":
            stated = chance.if_true if statement == truth else chance.if_not
            assert same(stated, probability / Fraction(1, 2))
    assert told_of == {"late": Fraction(1, 2), "carrier": Fraction(1, 2)}
    support = SAMPLED.mechanism.inner[1].support
    for value, probability in named["carrier"].items():
        assert same(support.p if value == "'DL'" else support.q, probability * 2)


def test_a_pair_speaks_of_the_question_that_was_drawn():
    own = {"late": True, "paid": False}
    truth = {
        "about 'late'": "'yes'",
        "about 'paid'": "'no'",
        "whether 'late' and 'paid' differ": "'yes'",
    }
    seen = set()
    for report, probability in channel(PAIRS, own).items():
        sentence, (chance,) = explain(PAIRS, report)
        question, _, answer = chance.statement.partition(": ")
        assert question in sentence
        seen.add(question)
        stated = chance.if_true if answer == truth[question] else chance.if_not
        assert same(stated, probability * 3)
    assert seen == set(truth)


@pytest.mark.parametrize("spec", EVERY, ids=name_of)
def test_bytes_that_are_no_report_are_refused(spec):
    width = spec.mechanism.report_bytes
    for report in (b"", bytes(width + 1)):
        with pytest.raises(ValueError, match="bytes long"):
            explain(spec, report)


@pytest.mark.parametrize("spec", EVERY, ids=name_of)
def test_any_bytes_of_the_right_width_are_explained_or_refused(spec):
    width = spec.mechanism.report_bytes
    for byte in (0, 1, 7, 128, 255):
        try:
            sentence, chances = explain(spec, bytes([byte]) * width)
        except (LookupError, ValueError):
            continue
        assert sentence.endswith(".")
        assert all(0 <= each.if_not <= each.if_true <= 1 for each in chances)
