"""A report in words for the person whose device made it, with the probabilities that belong to it.

Every mechanism has its words here or in `_plain_numbers`; the probabilities are those that the
shared package states, which are the ones the device draws with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from deniable._disclosure import explain_numbers
from deniable._disclosure.decode import Manner, Told, bits_of, told
from deniable._disclosure.phrases import Chance, likely, odds, several
from deniable_shared.mechanisms import Oracle, SampledAttribute, SampledCoefficients, Sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_shared.mechanisms import Rappor
    from deniable_shared.spec import Spec

_YES_OR_NO: Final = ("'no'", "'yes'")


class Words(NamedTuple):
    """A report in words.

    Attributes:
        sentence: what it says, and how likely it was to say so.
        chances: the same probabilities as data.
    """

    sentence: str
    chances: tuple[Chance, ...]


def words_for(spec: Spec, report: bytes) -> Words:
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
        sentence, chances = _of_values(told(mechanism, report), names)
    elif mechanism.name in explain_numbers.WRITERS:
        sentence, chances = explain_numbers.WRITERS[mechanism.name](spec, report)
    else:
        sentence, chances = _WRITERS[mechanism.name](spec, report)
    return Words(sentence[0].upper() + sentence[1:] + ".", chances)


def _of_values(it: Told, names: Sequence[str]) -> tuple[str, tuple[Chance, ...]]:
    named = [names[item] for item in it.items]
    if it.manner is Manner.BITS:
        return _of_bits(it, named, len(names))
    if not named:
        return "said something that fits none of the possible answers, by chance", ()
    statement = several(named, "or")
    if it.manner is Manner.SET:
        answer = "it is" if len(named) == 1 else f"it is one of {len(named)}:"
        return (
            f"said {answer} {statement}; names the true one with probability {odds(it.p)}, any "
            f"other with probability {odds(it.q)}"
        ), (Chance(statement, it.p, it.q),)
    if it.manner is Manner.ITEM:
        return f"said {statement}; {likely(it.p, it.q)}", (Chance(statement, it.p, it.q),)
    # What fits everything says nothing, and is as likely whatever is true.
    q = it.p if len(named) == len(names) else it.q
    return (
        f"all answers were sorted into {round(1 / it.named)} groups at random; said it is in the "
        f"one with {several(named, 'and')}; {likely(it.p, q)}"
    ), (Chance(statement, it.p, q),)


def _of_bits(it: Told, named: list[str], size: int) -> tuple[str, tuple[Chance, ...]]:
    rest = size - len(named)
    if not rest:
        answer = f"said yes to all {size}"
    elif not named:
        answer = f"said no to all {size}"
    else:
        others = "the other one" if rest == 1 else f"the other {rest}"
        answer = f"said yes to {several(named, 'and')}, no to {others}"
    return (
        f"{answer}; says yes to the true one with probability {odds(it.p)}, to any other with "
        f"probability {odds(it.q)}"
    ), _yes_and_no(it.p, it.q, several(named, "or") if named else None, bool(rest))


def _yes_and_no(p: float, q: float, named: str | None, rest: bool) -> tuple[Chance, ...]:
    yes = () if named is None else (Chance(f"yes to {named}", p, q),)
    no = (Chance("no to any other" if yes else "no to any", 1 - q, 1 - p),) if rest else ()
    return yes + no


def _sketch(spec: Spec, report: bytes) -> tuple[str, tuple[Chance, ...]]:
    mechanism = cast("Sketch", spec.mechanism)
    it = told(mechanism.inner, report[2:])
    groups = mechanism.buckets
    named = round(it.named * groups)
    rule = "by a rule that this device keeps" if mechanism.epsilon_permanent else "at random"
    start = f"all texts were sorted into {groups:,} groups {rule}; said"
    if it.manner is Manner.ITEM:
        (group,) = it.items
        statement = f"its text is in group {group + 1:,}"
        return f"{start} {statement}; {likely(it.p, it.q)}", (Chance(statement, it.p, it.q),)
    if it.manner is Manner.LOT:
        statement = f"its text is in one of about {named:,} of them, picked at random"
        return f"{start} {statement}; {likely(it.p, it.q)}", (Chance(statement, it.p, it.q),)
    if it.manner is Manner.SET:
        statement = f"its text is in one of about {named:,} of them"
        end = (
            f"names its own with probability {odds(it.p)}, any other with probability {odds(it.q)}"
        )
        return f"{start} {statement}; {end}", (Chance(statement, it.p, it.q),)
    answer = f"yes to {named:,} of them, no to the others" if named else "no to all of them"
    return (
        f"{start} {answer}; says yes to its own with probability {odds(it.p)}, to any other with "
        f"probability {odds(it.q)}"
    ), _yes_and_no(it.p, it.q, "its group" if named else None, named < groups)


def _rappor(spec: Spec, report: bytes) -> tuple[str, tuple[Chance, ...]]:
    mechanism = cast("Rappor", spec.mechanism)
    marked = len(bits_of(report[2:], mechanism.bits))
    p, q = mechanism.support.p, mechanism.support.q
    return (
        f"any text marks up to {mechanism.hashes} of {mechanism.bits:,} places; said yes to "
        f"{marked:,} of them, no to the others; says yes to a marked one with probability "
        f"{odds(p)}, to any other with probability {odds(q)}"
    ), _yes_and_no(p, q, "a place" if marked else None, marked < mechanism.bits)


def _attribute(spec: Spec, report: bytes) -> tuple[str, tuple[Chance, ...]]:
    mechanism = cast("SampledAttribute", spec.mechanism)
    attribute, oracle = spec.attributes[report[0]], mechanism.inner[report[0]]
    names = _YES_OR_NO if attribute.type == "boolean" else _quoted(attribute.values)
    sentence, chances = _of_values(told(oracle, report[1 : 1 + oracle.report_bytes]), names)
    count = len(spec.attributes)
    start = f"was asked about '{attribute.name}' only, picked at random from {count}"
    return f"{start}; {sentence}", tuple(
        Chance(f"{attribute.name}: {chance.statement}", chance.if_true, chance.if_not)
        for chance in chances
    )


def _coefficient(spec: Spec, report: bytes) -> tuple[str, tuple[Chance, ...]]:
    mechanism = cast("SampledCoefficients", spec.mechanism)
    number, bit = divmod(int.from_bytes(report, "big"), 2)
    names = [spec.attributes[place].name for place in mechanism.coefficients[number]]
    it = told(mechanism.inner, bytes([bit]))
    sentence, (chance,) = _of_values(it, _YES_OR_NO)
    single, double = f"about '{names[0]}'", f"whether '{names[0]}' and '{names[-1]}' differ"
    asked = single if len(names) == 1 else double
    statement = f"{asked}: {chance.statement}"
    count = len(mechanism.coefficients)
    start = f"was asked only {asked}, picked at random from {count} questions"
    return f"{start}; {sentence}", (Chance(statement, chance.if_true, chance.if_not),)


def _quoted(names: Sequence[str]) -> list[str]:
    return [f"'{name}'" for name in names]


_WRITERS: Final[Mapping[str, Callable[[Spec, bytes], tuple[str, tuple[Chance, ...]]]]] = {
    "pairs": _coefficient,
    "rappor": _rappor,
    "sketch": _sketch,
    "smp": _attribute,
}
