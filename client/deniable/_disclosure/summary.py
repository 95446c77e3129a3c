"""One paragraph about all reports of a device, for people who have never heard of epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.planning.disclosure_figures import posterior_from_even_odds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable._status import RememberedConsent
    from deniable_shared.mechanisms import Mechanism

NEARLY_SURE: Final = 0.9995
"""A larger bound on somebody's certainty says nothing useful to a person, so it is left out."""


def paragraph(
    application: str,
    *,
    sent: int,
    pending: int,
    mechanisms: Sequence[Mechanism],
    lifetime: float | None,
    delta: float | None,
    consent: RememberedConsent | None,
    problem: str | None,
) -> str:
    """How much was said, and how sure anybody can be of anything because of it.

    Args:
        application: the application's name; may be empty.
        sent: how many reports the aggregator has.
        pending: how many reports wait on the device.
        mechanisms: the mechanisms that made the reports.
        lifetime: epsilon that the device has spent, in nats; None if unknown.
        delta: the sum of the deltas of all its reports; None if unknown.
        consent: the user's answer, if it is remembered.
        problem: what could not be read; None if all could.
    """
    name = application or "the application"
    sentences = [] if consent is None else [answered(consent)]
    if sent or pending:
        sentences.append(f"{_counted(sent, pending, name)}.")
        sentences += _certainty(mechanisms, lifetime, delta, several=sent + pending > 1)
    elif problem is None:
        sentences.append(f"This device has sent no answers to {name} in the last 30 days.")
    if problem is not None:
        sentences.append(f"{problem[0].upper()}{problem[1:]}.")
    return " ".join(sentences)


def format_percent(probability: float) -> str:
    """A probability below 1 in percent, rounded up, in as many digits as keep it below 100%."""
    decimals = 0
    while (scaled := math.ceil(probability * 10 ** (2 + decimals))) == 10 ** (2 + decimals):
        decimals += 1
    return f"{scaled / 10**decimals:.{decimals}f}%"


def answered(consent: RememberedConsent) -> str:
    """The user's answer and its day, in words."""
    day = f"{consent.since.day} {consent.since:%B %Y}"
    return f"You agreed to this on {day}." if consent.agreed else f"You said no on {day}."


def _counted(sent: int, pending: int, name: str) -> str:
    if not sent:
        waiting = "1 answer waits" if pending == 1 else f"{pending:,} answers wait"
        return f"{waiting} on this device to be sent to {name}"
    text = f"In the last 30 days this device has sent {_answers(sent)} to {name}"
    if pending:
        text += f", and {pending:,} more {'waits' if pending == 1 else 'wait'} to be sent"
    return text


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count:,} answers"


def _certainty(
    mechanisms: Sequence[Mechanism],
    lifetime: float | None,
    delta: float | None,
    *,
    several: bool,
) -> list[str]:
    sentences = [
        "Chance had a say in each before it was stored, so it may be true or not; the truth itself "
        "was neither stored nor sent."
    ]
    if not mechanisms:
        return sentences
    one = posterior_from_even_odds(max(mechanism.epsilon for mechanism in mechanisms))
    sentences.append(
        "Somebody who thinks two possibilities equally likely, and then reads an answer, can be at "
        f"most {format_percent(one)} sure of either."
    )
    memoised = any(mechanism.epsilon_permanent is not None for mechanism in mechanisms)
    if several and lifetime is not None:
        together = posterior_from_even_odds(lifetime)
        if together <= NEARLY_SURE:
            # The ledger does not bound what the time of a change reveals.
            unless = ", unless what was asked about has changed" if memoised else ""
            sentences.append(
                "All answers that this device has ever given, taken together, can raise that to "
                f"{format_percent(together)} at most{unless}."
            )
        else:
            sentences.append(
                "All answers that this device has ever given, taken together, might make somebody "
                "surer than that; each is sent by itself, and nothing in it names you."
            )
    if memoised:
        sentences.append(
            "To some questions the answer is drawn once and used again as long as nothing changes; "
            "that something has changed may show."
        )
    delta = max(delta or 0.0, *(mechanism.delta for mechanism in mechanisms))
    if delta > 0:
        sentences.append(
            f"In rare cases, for which a delta of {delta:.2g} stands, these answers say more than "
            "that."
        )
    return sentences
