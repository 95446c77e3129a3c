"""Reports about strings, about attributes and about sets, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable._disclosure.explain import describe_items, domain_names, explains, yes_and_no
from deniable._disclosure.phrases import Likelihood, in_decimals, likelihood_clause
from deniable_shared.mechanisms import (
    PrivSet,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    Trie,
    Wheel,
)
from deniable_shared.mechanisms.oracle import set_bits

if TYPE_CHECKING:
    from deniable._disclosure.explain import Sentence
    from deniable_shared.spec import Spec


@explains(Sketch)
def _sketch(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("Sketch", spec.mechanism)
    it = mechanism.inner.decode(report[2:])
    groups = mechanism.buckets
    named = round(it.named_share * groups)
    rule = "by a rule that this device keeps" if mechanism.epsilon_permanent else "at random"
    start = f"all texts were sorted into {groups:,} groups {rule}; said"
    if it.kind == "item":
        (group,) = it.items
        statement = f"its text is in group {group + 1:,}"
        return f"{start} {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    if it.kind == "random_group":
        statement = f"its text is in one of about {named:,} of them, picked at random"
        return f"{start} {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    if it.kind == "set":
        statement = f"its text is in one of about {named:,} of them"
        end = (
            f"names its own with probability {in_decimals(it.p)}, any other with probability "
            f"{in_decimals(it.q)}"
        )
        return f"{start} {statement}; {end}", (Likelihood(statement, it.p, it.q),)
    answer = f"yes to {named:,} of them, no to the others" if named else "no to all of them"
    return (
        f"{start} {answer}; says yes to its own with probability {in_decimals(it.p)}, to any "
        f"other with probability {in_decimals(it.q)}"
    ), yes_and_no(it.p, it.q, "its group" if named else None, named < groups)


@explains(Trie)
def _trie(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("Trie", spec.mechanism)
    level, _, _ = mechanism.decode(report)
    oracle = mechanism.oracle(level)
    named = round(oracle.size * oracle.hyperplane / oracle.outcomes)
    if level == 0:
        asked = "the first part"
        said = f"it is one of about {named:,} of {oracle.size:,} possible ones"
        statement = f"its text's code begins in one of about {named:,} of {oracle.size:,} ways"
    else:
        asked = f"the first {level + 1} parts together"
        said = (
            f"they are in one of about {named:,} of {oracle.size:,} groups, into which all "
            "possible ones were sorted at random"
        )
        statement = f"the beginning of its text's code is in one of about {named:,} groups"
    several = mechanism.levels > 1
    start = f"any text has a code of up to {mechanism.levels} part{'s' if several else ''}"
    how = ", picked at random" if several else ""
    p, q = oracle.support.p, oracle.support.q
    return (
        f"{start}; was asked about {asked}{how}; said {said}; names its own with probability "
        f"{in_decimals(p)}, any other with probability {in_decimals(q)}"
    ), (Likelihood(statement, p, q),)


@explains(Rappor)
def _rappor(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("Rappor", spec.mechanism)
    marked = len(set_bits(report[2:], mechanism.bits))
    p, q = mechanism.support.p, mechanism.support.q
    return (
        f"any text marks up to {mechanism.hashes} of {mechanism.bits:,} places; said yes to "
        f"{marked:,} of them, no to the others; says yes to a marked one with probability "
        f"{in_decimals(p)}, to any other with probability {in_decimals(q)}"
    ), yes_and_no(p, q, "a place" if marked else None, marked < mechanism.bits)


@explains(PrivSet)
def _set(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("PrivSet", spec.mechanism)
    outcome = mechanism.decode(report)
    if outcome < mechanism.size:
        statement = f"'{spec.values[outcome]}' is one of its items"
    elif outcome == mechanism.marker:
        statement = f"it has more than {mechanism.most} items"
    else:
        at_most = mechanism.most - 1 - (outcome - mechanism.first_filler)
        several = f"at most {at_most} item{'s' if at_most > 1 else ''}"
        statement = f"it has {several if at_most else 'no items'}"
    p, q = mechanism.support.p, mechanism.support.q
    return f"said {statement}; {likelihood_clause(p, q)}", (Likelihood(statement, p, q),)


@explains(Wheel)
def _wheel(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("Wheel", spec.mechanism)
    _, bucket = mechanism.decode(report)
    statement = f"one of its items is in group {bucket + 1:,}"
    p, low, high = mechanism.support.p, float(mechanism.least), mechanism.support.q
    return (
        f"all texts were sorted into {mechanism.buckets:,} groups at random; said {statement}; "
        f"would have said so with probability {in_decimals(p)} if it were true, "
        f"{in_decimals(low)} to {in_decimals(high)} if not"
    ), (Likelihood(statement, p, low),)


@explains(SampledAttribute)
def _attribute(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("SampledAttribute", spec.mechanism)
    attribute, oracle = spec.attributes[report[0]], mechanism.inner[report[0]]
    names = domain_names(attribute.type, attribute.values)
    sentence, likelihoods = describe_items(
        oracle.decode(report[1 : 1 + oracle.report_bytes]), names
    )
    count = len(spec.attributes)
    start = f"was asked about '{attribute.name}' only, picked at random from {count}"
    return f"{start}; {sentence}", tuple(
        Likelihood(f"{attribute.name}: {each.statement}", each.if_true, each.if_not)
        for each in likelihoods
    )


@explains(SampledCoefficients)
def _coefficient(spec: Spec, report: bytes) -> Sentence:
    mechanism = cast("SampledCoefficients", spec.mechanism)
    number, bit = divmod(int.from_bytes(report, "big"), 2)
    names = [spec.attributes[place].name for place in mechanism.coefficients[number]]
    it = mechanism.inner.decode(bytes([bit]))
    sentence, (likelihood,) = describe_items(it, domain_names("boolean", ()))
    single, double = f"about '{names[0]}'", f"whether '{names[0]}' and '{names[-1]}' differ"
    asked = single if len(names) == 1 else double
    statement = f"{asked}: {likelihood.statement}"
    count = len(mechanism.coefficients)
    start = f"was asked only {asked}, picked at random from {count} questions"
    return f"{start}; {sentence}", (Likelihood(statement, likelihood.if_true, likelihood.if_not),)
