"""A report in words for the person whose device made it, with its likelihoods.

What a report of an oracle says about its items is decoded by the oracle; the words for it are here.
Mechanisms for numbers, for strings and for attributes have words of their own: here, in
`explain_numbers` and in `explain_composites`. All probabilities are those that the shared package
states, which are the ones that the device draws with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._disclosure.phrases import Likelihood, in_decimals, join_names, likelihood_clause
from deniable._disclosure.summary import NEARLY_SURE, format_percent
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import DecodedReport, Mechanism, Oracle
from deniable_shared.planning.disclosure_figures import posterior_from_even_odds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.spec import Spec

    Sentence = tuple[str, tuple[Likelihood, ...]]
    """What a report says, without capital and full stop, and its likelihoods."""

    Explain = Callable[[Spec, bytes], Sentence]

_YES_OR_NO: Final = ("'no'", "'yes'")

EXPLANATIONS: Final[dict[type[Mechanism], Explain]] = {}
"""What puts reports into words, of each mechanism that is no oracle; filled by `explains`."""


class Explanation(NamedTuple):
    """A report in words.

    Attributes:
        sentence: what it says, and how likely it was to say so.
        likelihoods: the same probabilities as data.
    """

    sentence: str
    likelihoods: tuple[Likelihood, ...]


def explains(*mechanisms: type[Mechanism]) -> Callable[[Explain], Explain]:
    """Registers what puts the reports of mechanisms into words."""

    def register(explanation: Explain) -> Explain:
        EXPLANATIONS.update(dict.fromkeys(mechanisms, explanation))
        return explanation

    return register


def explain(spec: Spec, report: bytes) -> Explanation:
    """What a report says.

    Args:
        spec: its metric.
        report: its bytes.

    Raises:
        ParameterError: if nobody has put the mechanism's reports into words.
        ValueError: if the bytes are no report of this spec.
        IndexError: the same.
    """
    width = spec.mechanism.report_bytes
    if len(report) != width:
        raise ValueError(f"a report must be {width} bytes long, got {len(report)}")
    said, likelihoods = explanation_for(spec.mechanism)(spec, report)
    sentence = said[0].upper() + said[1:] + "."
    if spec.picks:
        sentence += f" This is of one random value of all that its {spec.every} had."
    return Explanation(sentence, likelihoods)


def explain_not_kept(mechanism: Mechanism) -> str:
    """What a memoised report that was delivered can have revealed; the report itself is not kept.

    Args:
        mechanism: one that memoises.
    """
    one = posterior_from_even_odds(mechanism.epsilon)
    every = posterior_from_even_odds(mechanism.epsilon_permanent or mechanism.epsilon)
    all_together = f"at most {format_percent(every)}" if every <= NEARLY_SURE else "nearly certain"
    return (
        "Gave an answer that is used again as long as nothing changes, and so is not kept here "
        "once it is sent: beside this device's secret it could be recognised. Somebody who thinks "
        f"two possibilities equally likely can be at most {format_percent(one)} sure of either by "
        f"it alone, and {all_together} by all answers given while nothing changes. It cost at most "
        f"epsilon {mechanism.epsilon:.2f}."
    )


def explanation_for(mechanism: Mechanism) -> Explain:
    """What puts the reports of a mechanism into words.

    Raises:
        ParameterError: if nothing is registered for its very class, and it is no oracle.
    """
    if isinstance(mechanism, Oracle):
        return _explain_oracle
    # Each registers its explanations, with what this module has.
    from deniable._disclosure import explain_composites, explain_numbers  # noqa: F401

    explanation = EXPLANATIONS.get(type(mechanism))
    if explanation is None:
        raise ParameterError("mechanism", "one whose reports are explained", mechanism.name)
    return explanation


def _explain_oracle(spec: Spec, report: bytes) -> Sentence:
    assert isinstance(spec.mechanism, Oracle)
    names = domain_names(spec.type, spec.values)
    return describe_items(spec.mechanism.decode(report), names)


def domain_names(kind: str, values: Sequence[str]) -> Sequence[str]:
    """How the items of a flag or category are called in a sentence."""
    return _YES_OR_NO if kind == "boolean" else [f"'{value}'" for value in values]


def describe_items(it: DecodedReport, names: Sequence[str]) -> Sentence:
    """What a decoded report says about items that have names."""
    named = [names[item] for item in it.items]
    if it.kind == "bits":
        return _describe_bits(it, named, len(names))
    if not named:
        return "said something that fits none of the possible answers, by chance", ()
    statement = join_names(named, "or")
    if it.kind == "set":
        answer = "it is" if len(named) == 1 else f"it is one of {len(named)}:"
        return (
            f"said {answer} {statement}; names the true one with probability {in_decimals(it.p)}, "
            f"any other with probability {in_decimals(it.q)}"
        ), (Likelihood(statement, it.p, it.q),)
    if it.kind == "item":
        return f"said {statement}; {likelihood_clause(it.p, it.q)}", (
            Likelihood(statement, it.p, it.q),
        )
    # A group of all items says nothing: it is as likely whatever is true.
    q = it.p if len(named) == len(names) else it.q
    return (
        f"all answers were sorted into {round(1 / it.named_share)} groups at random; said it is "
        f"in the one with {join_names(named, 'and')}; {likelihood_clause(it.p, q)}"
    ), (Likelihood(statement, it.p, q),)


def _describe_bits(it: DecodedReport, named: list[str], size: int) -> Sentence:
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
    ), yes_and_no(it.p, it.q, join_names(named, "or") if named else None, bool(rest))


def yes_and_no(p: float, q: float, named: str | None, rest: bool) -> tuple[Likelihood, ...]:
    """The likelihoods of a yes and of a no.

    Args:
        p: probability of a yes if it is true.
        q: probability of a yes if it is not.
        named: what a yes was said to; None if to nothing.
        rest: whether a no was said to anything.
    """
    yes = () if named is None else (Likelihood(f"yes to {named}", p, q),)
    no = (Likelihood("no to any other" if yes else "no to any", 1 - q, 1 - p),) if rest else ()
    return yes + no
