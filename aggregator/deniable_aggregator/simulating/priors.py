"""What devices hold: from a file of shares, or made up and said to be.

The file is the one that ``deniable check --priors`` reads, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from deniable_aggregator.answers import lists
from deniable_aggregator.simulating.laws import (
    FLAGS,
    Item,
    Numbers,
    Prior,
    Shares,
    Values,
    changed,
    law,
)
from deniable_aggregator.simulating.population import Reporting, numbered, zipf
from deniable_shared.review.priors import (
    numbers_of,
    raise_problems,
    read_weights,
    records_of,
    sets_of,
    shares_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.random import Generator

    from deniable_aggregator.simulating.population import Deployment
    from deniable_shared.attributes import Attribute
    from deniable_shared.mechanisms import SetMechanism
    from deniable_shared.registry import Metric, Registry
    from deniable_shared.spec import Spec

NOBODY: Final = "held by nobody"
UNHELD: Final = 20
"""So many strings are asked for that nobody holds, to see whether they are told from zero."""


def stated_priors(path: Path, registry: Registry) -> dict[str, Prior]:
    """What a file says that devices hold, by metric.

    Args:
        path: of the file, see `read_weights`.
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
        numbers = numbers_of(spec, weights, problems)
        return None if numbers is None else Prior(numbers=numbers)
    if shares_of(spec, weights, problems) is None:
        return None
    absent = tuple(numbered(NOBODY, UNHELD)) if spec.is_open else ()
    if spec.type == "set":
        return Prior(records=_shares(sets_of(weights)), absent=absent)
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
        records = records_of(spec, weights)
        if records:
            return Prior(records=_shares(records))
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
    return Prior(shares=_shares(weights), absent=absent)


def _shares(weights: Mapping[Item, float]) -> dict[Item, float]:
    total = math.fsum(weights.values())
    return {item: weight / total for item, weight in weights.items()}


SET: Final = 0.3
"""The share of the devices on which a flag is set."""

CATCH_ALL: Final = 0.05
"""The share of all values that a metric does not list."""

ABSENT: Final = 0.8
"""The share of the devices that report a period without a value, where a metric has that."""
EXPONENT: Final = 1.0
KINDS_OF_SETS: Final = 2_048
"""So many sets are drawn, and are as common as each other."""

MEAN_ITEMS: Final = 3.0
"""How many items a set has on average, or a third of what a report covers if that is less."""

COMMONEST: Final = 0.8
"""The largest share of an item."""

MEDIAN: Final = 0.2
"""Of numbers, as a part of the range."""

SPREAD: Final = 0.6
MOST_STRINGS: Final = 300
DEFAULT_LIST: Final = "browsers"
_LISTS: Final = {
    "emoji": "emoji",
    "countr": "countries",
    "locale": "locales",
    "language": "locales",
}
"""The list whose strings are held, by what occurs in the name or description of a metric."""


def made_up(metric: Metric, generator: Generator) -> Prior:
    """What devices are taken to hold of a metric.

    Categories fall by Zipf's law in the order in which they are listed, numbers are lognormal
    within the range, strings come from a shipped list.

    Args:
        metric: any.
        generator: draws which strings are popular.
    """
    spec = metric.spec
    if spec.range is not None:
        low, high = map(float, spec.range)
        median = MEDIAN * (high - low)
        return Prior(
            median=median, spread=SPREAD, made_up=f"lognormal, half below {low + median:g}"
        )
    if spec.type == "attributes":
        parts = {each.name: _of(each) for each in spec.attributes}
        return Prior(attributes=parts, made_up="independent of each other, falling by Zipf's law")
    if spec.segments is not None:
        own, by = _of(spec.segments.of, _absent_category(spec)), _of(spec.segments.by)
        pairs = {(value, of): a * b for value, a in own.items() for of, b in by.items()}
        return Prior(pairs=pairs, made_up="falling by Zipf's law, the same in every segment")
    if spec.type == "boolean":
        return Prior(shares=_flag(), made_up=f"set on {SET:.0%} of devices")
    if spec.is_open:
        name = _list_for(metric)
        strings = list(lists.load(name))
        generator.shuffle(strings)
        held, absent = strings[:MOST_STRINGS], tuple(strings[MOST_STRINGS:])
        words = f"strings of list:{name}, falling by Zipf's law"
        if spec.type == "set":
            sets = _sets(spec, held, generator)
            return Prior(records=sets, absent=absent, made_up=words)
        return Prior(shares=_zipf(held), absent=absent, made_up=words)
    if spec.type == "set":
        listed = [value for value in spec.values if value != spec.other]
        sets = _sets(spec, listed, generator)
        return Prior(records=sets, made_up="items falling by Zipf's law")
    shares = _falling(spec.values, spec.other, _absent_category(spec))
    return Prior(shares=shares, made_up="falling by Zipf's law, in the order of the file")


def _sets(spec: Spec, names: Sequence[str], generator: Generator) -> dict[tuple[str, ...], float]:
    """Whole sets, whose items are independent of each other."""
    mechanism = cast("SetMechanism", spec.mechanism)
    mean = min(MEAN_ITEMS, mechanism.most / 3, len(names) / 2)
    shares = np.array(list(_zipf(names, mean).values())).clip(0.0, COMMONEST)
    kinds: dict[tuple[str, ...], float] = {}
    for row in generator.random((KINDS_OF_SETS, len(names))) < shares:
        items = tuple(name for name, held in zip(names, row, strict=True) if held)
        kinds[items] = kinds.get(items, 0.0) + 1 / KINDS_OF_SETS
    return kinds


def _list_for(metric: Metric) -> str:
    words = f"{metric.spec.name} {metric.description}".lower()
    return next((name for part, name in _LISTS.items() if part in words), DEFAULT_LIST)


def _flag() -> Shares:
    return dict(zip(FLAGS, (SET, 1 - SET), strict=True))


def _absent_category(spec: Spec) -> str | None:
    return spec.absent if isinstance(spec.absent, str) else None


def _of(part: Attribute, absent: str | None = None) -> Shares:
    return _flag() if part.type == "boolean" else _falling(part.values, part.other, absent)


def _falling(values: Sequence[str], other: str | None, absent: str | None = None) -> Shares:
    """Zipf's law for what is listed; little for the catch-all, and much for absence."""
    given = {value: share for value, share in ((other, CATCH_ALL), (absent, ABSENT)) if value}
    listed = [value for value in values if value not in given]
    if not listed:
        return {value: 1 / len(given) for value in given}
    return _zipf(listed, 1 - sum(given.values())) | given


def _zipf(values: Iterable[str], total: float = 1.0) -> dict[str, float]:
    return {str(value): share for value, share in zipf(values, EXPONENT, total).items()}


def priors_of(deployment: Deployment, stated: Mapping[str, Prior]) -> dict[str, Prior]:
    """What devices hold of each metric, as its newest version declares it.

    Args:
        deployment: the calendar.
        stated: what somebody says of some metrics.
    """
    newest: dict[str, Metric] = {}
    for version in deployment.versions:
        newest.update(deployment.registry(version).metrics)
    return {
        name: stated.get(name) or made_up(newest[name], deployment.generator("made up", name))
        for name in deployment.metrics
    }


def reporting_of(
    deployment: Deployment,
    name: str,
    prior: Prior,
    *,
    reports: float,
    points: float,
    devices: int = 0,
) -> Reporting:
    """Who reports a metric, and what.

    Args:
        deployment: the calendar.
        name: of the metric.
        prior: what devices hold, as the newest version declares it.
        reports: on a whole working day in the first week.
        points: how large the change is, see `laws.changed`.
        devices: see `Reporting`.
    """
    before: list[Prior] = []
    specs: list[Spec] = []
    for version in deployment.versions:
        metrics = deployment.registry(version).metrics
        metric = metrics.get(name) or _declared(deployment, name)
        generator = deployment.generator("made up", name)
        before.append(prior if prior.fits(metric.spec) else made_up(metric, generator))
        specs.append(metric.spec)
    after = [changed(each, points) for each in before]
    if specs[-1].range is not None:
        low = tuple(float(spec.range[0]) if spec.range else 0.0 for spec in specs)
        return Reporting(
            reports, samples=Numbers(tuple(before), tuple(after), low), devices=devices
        )
    laws = [
        tuple(
            law(spec, each, deployment.generator("kinds of devices", name))
            for spec, each in zip(specs, held, strict=True)
        )
        for held in (before, after)
    ]
    return Reporting(reports, holds=Values(*laws), devices=devices)


def _declared(deployment: Deployment, name: str) -> Metric:
    """A metric as some version declares it."""
    registries = map(deployment.registry, deployment.versions)
    return next(each.metrics[name] for each in registries if name in each.metrics)
