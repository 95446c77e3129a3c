"""What is published of a version of a metric: all but its reports follows from its canonical text.

So an export cannot state an epsilon that its own version does not have: what it says is compared
with what is computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.publication.publication import PublishedVersion
from deniable_aggregator.sentences.privacy import what_devices_give_away

if TYPE_CHECKING:
    from deniable_shared.spec import Spec


def published_version(spec: Spec, reports: int) -> PublishedVersion:
    """A version of a metric as it is published.

    Args:
        spec: as its canonical text says it.
        reports: how many of its reports were counted.
    """
    mechanism = spec.mechanism
    return PublishedVersion(
        version=spec.digest.hex(),
        canonical=spec.canonical_text(),
        title=mechanism.title,
        every=spec.every,
        epsilon=_six_digits(mechanism.epsilon),
        epsilon_permanent=_six_digits_or_none(mechanism.epsilon_permanent),
        epsilon_total=_six_digits_or_none(mechanism.epsilon_total),
        delta=_six_digits(mechanism.delta),
        gives_away=what_devices_give_away(
            spec.every,
            mechanism.epsilon,
            mechanism.epsilon_permanent,
            mechanism.epsilon_total,
            mechanism.delta,
        ),
        reports=reports,
    )


def _six_digits(number: float) -> float:
    """As the registry's history has it: the last digits of logarithms differ between machines."""
    return float(f"{number:.6g}")


def _six_digits_or_none(number: float | None) -> float | None:
    return None if number is None else _six_digits(number)
