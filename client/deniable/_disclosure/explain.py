"""A report in words for the person whose device made it, with the probabilities that belong to it.

Every mechanism has its words here or in `_plain_numbers`; the probabilities are those that the
shared package states, which are the ones the device draws with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from deniable._disclosure import explain_numbers
from deniable._disclosure.decode import DecodedReport, ReportKind, decode_report, set_bits
from deniable._disclosure.phrases import (
    Likelihood,
    in_decimals,
    join_names,
    likelihood_clause,
)
from deniable_shared.mechanisms import Oracle, SampledAttribute, SampledCoefficients, Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_shared.mechanisms import Rappor
    from deniable_shared.spec import Spec

_YES_OR_NO: Final = ("'no'", "'yes'")


class Explanation(NamedTuple):
    """A report in words.

    Attributes:
        sentence: what it says, and how likely it was to say so.
        chances: the same probabilities as data.
    """

    sentence: str
    likelihoods: tuple[Likelihood, ...]


def explain(spec: Spec, report: bytes) -> Explanation:
    """What a report says.

    Args:
        spec: its metric.
        report: its bytes.

    Raises:
        KeyError: if nobody has put the mechanism's reports into words.
        ValueError: if the bytes are no report of this spec.
        IndexError: the same.
    """
    mechanism = spec.mechanism
    if len(report) != mechanism.report_bytes:
        raise ValueError("a report has the width of its mechanism")
    if isinstance(mechanism, Oracle):
        names = _YES_OR_NO if spec.type == "boolean" else _quoted(spec.values)
        sentence, chances = _of_values(decode_report(mechanism, report), names)
    elif mechanism.name in explain_numbers.WRITERS:
        sentence, chances = explain_numbers.WRITERS[mechanism.name](spec, report)
    else:
        sentence, chances = _WRITERS[mechanism.name](spec, report)
    return Explanation(sentence[0].upper() + sentence[1:] + ".", chances)


def _of_values(it: DecodedReport, names: Sequence[str]) -> tuple[str, tuple[Likelihood, ...]]:
    named = [names[item] for item in it.items]
    if it.kind is ReportKind.BITS:
        return _of_bits(it, named, len(names))
    if not named:
        return "said something that fits none of the possible answers, by chance", ()
    statement = join_names(named, "or")
    if it.kind is ReportKind.SET:
        answer = "it is" if len(named) == 1 else f"it is one of {len(named)}:"
        return (
            f"said {answer} {statement}; names the true one with probability {in_decimals(it.p)}, "
            f"any other with probability {in_decimals(it.q)}"
        ), (Likelihood(statement, it.p, it.q),)
    if it.kind is ReportKind.ITEM:
        return f"said {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    # What fits everything says nothing, and is as likely whatever is true.
    q = it.p if len(named) == len(names) else it.q
    return (
        f"all answers were sorted into {round(1 / it.named_share)} groups at random; said it is "
        f"in the one with {join_names(named, 'and')}; {likelihood_clause(it.p, q)}"
    ), (Likelihood(statement, it.p, q),)


def _of_bits(it: DecodedReport, named: list[str], size: int) -> tuple[str, tuple[Likelihood, ...]]:
    rest = size - len(named)
    if not rest:
        answer = f"said yes to all {size}"
    elif not named:
        answer = f"said no to all {size}"
    else:
        others = "the other one" if rest == 1 else f"the other {rest}"
        answer = f"said yes to {join_names(named, 'and')}, no to {others}"
    return (
        f"{answer}; says yes to the true one with probability {in_decimals(it.p)}, to any other "
        f"with probability {in_decimals(it.q)}"
    ), _yes_and_no(it.p, it.q, join_names(named, "or") if named else None, bool(rest))


def _yes_and_no(p: float, q: float, named: str | None, rest: bool) -> tuple[Likelihood, ...]:
    yes = () if named is None else (Likelihood(f"yes to {named}", p, q),)
    no = (Likelihood("no to any other" if yes else "no to any", 1 - q, 1 - p),) if rest else ()
    return yes + no


def _sketch(spec: Spec, report: bytes) -> tuple[str, tuple[Likelihood, ...]]:
    mechanism = cast("Sketch", spec.mechanism)
    it = decode_report(mechanism.inner, report[2:])
    groups = mechanism.buckets
    named = round(it.named_share * groups)
    rule = "by a rule that this device keeps" if mechanism.epsilon_permanent else "at random"
    start = f"all texts were sorted into {groups:,} groups {rule}; said"
    if it.kind is ReportKind.ITEM:
        (group,) = it.items
        statement = f"its text is in group {group + 1:,}"
        return f"{start} {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    if it.kind is ReportKind.RANDOM_GROUP:
        statement = f"its text is in one of about {named:,} of them, picked at random"
        return f"{start} {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    if it.kind is ReportKind.SET:
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
    ), _yes_and_no(it.p, it.q, "its group" if named else None, named < groups)


def _rappor(spec: Spec, report: bytes) -> tuple[str, tuple[Likelihood, ...]]:
    mechanism = cast("Rappor", spec.mechanism)
    marked = len(set_bits(report[2:], mechanism.bits))
    p, q = mechanism.support.p, mechanism.support.q
    return (
        f"any text marks up to {mechanism.hashes} of {mechanism.bits:,} places; said yes to "
        f"{marked:,} of them, no to the others; says yes to a marked one with probability "
        f"{in_decimals(p)}, to any other with probability {in_decimals(q)}"
    ), _yes_and_no(p, q, "a place" if marked else None, marked < mechanism.bits)


def _attribute(spec: Spec, report: bytes) -> tuple[str, tuple[Likelihood, ...]]:
    mechanism = cast("SampledAttribute", spec.mechanism)
    attribute, oracle = spec.attributes[report[0]], mechanism.inner[report[0]]
    names = _YES_OR_NO if attribute.type == "boolean" else _quoted(attribute.values)
    sentence, chances = _of_values(
        decode_report(oracle, report[1 : 1 + oracle.report_bytes]), names
    )
    count = len(spec.attributes)
    start = f"was asked about '{attribute.name}' only, picked at random from {count}"
    return f"{start}; {sentence}", tuple(
        Likelihood(f"{attribute.name}: {chance.statement}", chance.if_true, chance.if_not)
        for chance in chances
    )


def _coefficient(spec: Spec, report: bytes) -> tuple[str, tuple[Likelihood, ...]]:
    mechanism = cast("SampledCoefficients", spec.mechanism)
    number, bit = divmod(int.from_bytes(report, "big"), 2)
    names = [spec.attributes[place].name for place in mechanism.coefficients[number]]
    it = decode_report(mechanism.inner, bytes([bit]))
    sentence, (chance,) = _of_values(it, _YES_OR_NO)
    single, double = f"about '{names[0]}'", f"whether '{names[0]}' and '{names[-1]}' differ"
    asked = single if len(names) == 1 else double
    statement = f"{asked}: {chance.statement}"
    count = len(mechanism.coefficients)
    start = f"was asked only {asked}, picked at random from {count} questions"
    return f"{start}; {sentence}", (Likelihood(statement, chance.if_true, chance.if_not),)


def _quoted(names: Sequence[str]) -> list[str]:
    return [f"'{name}'" for name in names]


_WRITERS: Final[Mapping[str, Callable[[Spec, bytes], tuple[str, tuple[Likelihood, ...]]]]] = {
    "pairs": _coefficient,
    "rappor": _rappor,
    "sketch": _sketch,
    "smp": _attribute,
}
