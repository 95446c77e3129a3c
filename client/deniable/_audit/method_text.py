"""Says in a few sentences how a mechanism was audited, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._audit.noise_weights import GAUSSIAN_REACH, LAPLACE_REACH
from deniable_shared.mechanisms import DiscreteGaussian, DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable._audit.sections import Followed, Section


def how_it_was_found(section: Section) -> str:
    """What was walked through, in whole sentences; of the mechanisms inside see there."""
    return " ".join(_sentences(section))


def _sentences(section: Section) -> Iterator[str]:
    for walk in section.walks:
        yield _walked(walk)
    if section.note:
        yield section.note
    if any(draw.primitive == "bits" for draw in section.draws):
        yield (
            "Rows of random bits were kept symbolic, so that all of their outcomes count; no two "
            "places of a report depend on the same bit."
        )
    if section.kept is not None:
        yield (
            "What a device keeps was taken as uniform over secrets, for which SHAKE-256 stands; "
            "all reports of an unchanged value reveal what it keeps, and no more."
        )
    if isinstance(section.mechanism, DiscreteLaplace):
        yield _noise(f"{LAPLACE_REACH} times its scale")
    if isinstance(section.mechanism, DiscreteGaussian):
        yield _noise(f"{GAUSSIAN_REACH} standard deviations")
    if section.parts:
        names = " or ".join(dict.fromkeys(part.mechanism.name for part in section.parts))
        yield (
            "What a report shows in the clear is as likely for each of them; the rest is the "
            f"report of {names} inside, which is audited by itself."
        )


def _noise(reach: str) -> str:
    return (
        f"e^x was computed to 77 digits. Noise larger than {reach} was left out; its "
        "probability is below 10^-27."
    )


def _walked(walk: Followed) -> str:
    if walk.of_values is None:
        values = f"Checked {walk.values} {walk.noun}, out of any that there may be,"
    elif walk.values == walk.of_values:
        values = f"Checked all {walk.values:,} {walk.noun}"
    else:
        values = f"Checked {walk.values:,} of {walk.of_values:,} {walk.noun}, evenly spaced,"
    if walk.first == walk.of_first:
        return f"{values} with every possible random choice."
    return (
        f"{values} with {walk.first:,} of the {walk.of_first:,} outcomes of the first draw, which "
        "is uniform for each of them, and with every possible choice after it."
    )
