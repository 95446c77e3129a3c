"""What devices hold, from the file of shares that ``deniable check --priors`` reads, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.simulating.laws import Prior
from deniable_aggregator.simulating.population import numbered
from deniable_shared.characters import visible
from deniable_shared.review.priors import normalized, raise_problems, read_weights, shares_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deniable_shared.registry import Registry
    from deniable_shared.spec import Spec

NOBODY: Final = "held by nobody"
ABSENT: Final = 20
"""So many strings are asked for that nobody holds, to see whether they are told from zero."""


def stated_priors(path: Path, registry: Registry) -> dict[str, Prior]:
    """What a file says that devices hold, by metric.

    Items are as `read_weights` says; of a number they are numbers, of which a device has any.

    Args:
        path: of the file.
        registry: the newest version's.

    Raises:
        PriorsError: if it cannot be read, or says what cannot be; its first problems are listed.
    """
    problems: list[str] = []
    priors = {
        name: prior
        for name, weights in read_weights(path, registry).items()
        if (prior := _prior(registry.metrics[name].spec, weights, problems)) is not None
    }
    raise_problems(path, problems)
    return priors


def _prior(spec: Spec, weights: Mapping[str, float], problems: list[str]) -> Prior | None:
    """What devices hold of one metric; None, with a problem, if they cannot hold that."""
    if spec.range is not None:
        return _numbers(spec, weights, problems)
    if shares_of(spec, weights, problems) is None:
        return None
    if spec.segments is not None:
        by, of = spec.segments.by, spec.segments.of
        pairs = {
            (value, segment): weights.get(spec.segments.item(value, segment), 0.0)
            for segment in by.domain
            for value in of.domain
        }
        total = math.fsum(pairs.values())
        return Prior(pairs={pair: weight / total for pair, weight in pairs.items()})
    if spec.type == "attributes":
        return Prior(
            attributes={
                attribute.name: _shares(
                    {
                        value: weights.get(f"{attribute.name}={value}", 0.0)
                        for value in attribute.domain
                    }
                )
                for attribute in spec.attributes
            }
        )
    absent = tuple(numbered(NOBODY, ABSENT)) if spec.type == "string" else ()
    return Prior(shares=_shares(weights), absent=absent)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = math.fsum(weights.values())
    return {item: weight / total for item, weight in weights.items()}


def _numbers(spec: Spec, weights: Mapping[str, float], problems: list[str]) -> Prior | None:
    numbers = [_number(item) for item in weights]
    wrong = [item for item, number in zip(weights, numbers, strict=True) if number is None]
    if wrong:
        problems.append(f"{spec.name}: its items must be numbers, got {visible(wrong[0])!r}")
        return None
    shares = normalized(spec.name, weights.values(), problems)
    if shares is None:
        return None
    return Prior(numbers=tuple(n for n in numbers if n is not None), weights=shares)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
