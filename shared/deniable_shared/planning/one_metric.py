"""A plan of one metric that a few fields describe, before anybody has written it into a registry.

The command line and the page that plans ask here, so both say the same.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.errors import DeniableError, RegistryError
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.plan import devices_for_share, plan
from deniable_shared.registry import (
    DEFAULT_DEVICES,
    MAX_DEVICES,
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    Registry,
    parse,
)

if TYPE_CHECKING:
    from deniable_shared.planning.result import Plan

NAME: Final = "planned"
"""The name of a metric that has none yet."""

_WIDTH: Final = 76


@dataclass(frozen=True, kw_only=True)
class AskedMetric:
    """A metric that somebody thinks of.

    Attributes:
        kind: its type, any but "attributes".
        epsilon: the privacy loss of one report.
        values: how many values a category has, at least 2, or items there are for a set.
        most: how many items of a device a report covers, of a set; None for as many as usual.
        ends: the lowest and the highest value of a number or distribution.
        every: how often a device may report.
        discover: whether strings are to be found although nobody listed them.
        longest: how many characters are then found whole; None for as many as usual.
        alphabet: of what these are; None for any text.
        devices: how many report; None for as many as `share` needs, or `DEFAULT_DEVICES`.
        share: of a value that is to be told from zero, in (0, 1], or None.
        difference: between two arms of an experiment that is to be told from none, or None.
        width: half the width that an interval should have, or None.
        candidates: how many strings will be looked for at once; None for as many as usual.
        days: for how many days a device reports.
        texts: strings to discover that devices might hold.
    """

    kind: str
    epsilon: float
    values: int | None = None
    most: int | None = None
    ends: tuple[float, float] | None = None
    every: str = "day"
    discover: bool = False
    longest: int | None = None
    alphabet: str | None = None
    devices: int | None = None
    share: float | None = None
    difference: float | None = None
    width: float | None = None
    candidates: int | None = None
    days: int = DAYS_OF_A_YEAR
    texts: tuple[str, ...] = ()


class PlannedMetric(NamedTuple):
    """What the metric will show.

    Attributes:
        plan: the figures.
        devices_from: whether the number of devices was given, is what the share needs, or assumed.
        table: the metric as TOML, for a registry file. The figures are of this text, read as any
            registry is; the description and the values are to be filled in.
    """

    plan: Plan
    devices_from: str
    table: str


GIVEN: Final = "given"
ENOUGH: Final = "enough"
ASSUMED: Final = "assumed"


def plan_one_metric(question: AskedMetric) -> PlannedMetric:
    """Works out what a metric will show.

    Raises:
        RegistryError: if a registry with this metric has problems.
        DeniableError: if no number of devices tells the share from zero.
    """
    devices, devices_from = _devices(question)
    (metric,) = _registry(question, devices).metrics.values()
    planned = plan(
        metric,
        devices=devices,
        values_asked=question.candidates if metric.spec.is_open else None,
        days=question.days,
        width=question.width,
        share=question.share,
        difference=question.difference,
        texts=question.texts,
    )
    return PlannedMetric(planned, devices_from, metric_table(question, devices))


def metric_table(question: AskedMetric, devices: int) -> str:
    """The metric as a table of a registry file.

    Args:
        question: what it is.
        devices: how many are expected.
    """
    lines = [f"[metrics.{NAME}]", f'type = "{question.kind}"', 'description = ""']
    if question.values is not None:
        names = [f"value {number}" for number in range(1, question.values + 1)]
        lines += ["values = [", *_listed(names), "]"]
        if question.kind == "category":
            lines.append("complete = true")
    if question.most is not None:
        lines.append(f"most = {question.most}")
    if question.ends is not None:
        lines.append(f"range = [{question.ends[0]!r}, {question.ends[1]!r}]")
    if question.discover:
        lines.append("discover = true")
    if question.longest is not None:
        lines.append(f"longest = {question.longest}")
    if question.alphabet is not None:
        lines.append(f"alphabet = {json.dumps(question.alphabet)}")
    lines += [
        f"epsilon = {question.epsilon!r}",
        f'every = "{question.every}"',
        f"expected_devices = {devices}",
    ]
    return "\n".join(lines) + "\n"


def _listed(names: list[str]) -> list[str]:
    """Texts with commas after them, as many in a line as there is room for."""
    joined = " ".join(f'"{name}",'.replace(" ", "\0") for name in names)
    return [f"    {line}".replace("\0", " ") for line in textwrap.wrap(joined, _WIDTH)]


def _devices(question: AskedMetric) -> tuple[int, str]:
    """For how many devices the metric is planned, and where that number comes from."""
    if question.devices is not None:
        return question.devices, GIVEN
    (metric,) = _registry(question, DEFAULT_DEVICES).metrics.values()
    if question.share is None or isinstance(metric.spec.mechanism, NumericMechanism):
        return DEFAULT_DEVICES, ASSUMED
    return _enough_devices(question), ENOUGH


def _enough_devices(question: AskedMetric) -> int:
    """The smallest number of devices for which a plan tells a value of the share from zero.

    Sketches get rows for the devices that are expected, and with more rows fewer are needed: so if
    some number is enough, every larger one is.
    """

    def are_enough(devices: int) -> bool:
        (metric,) = _registry(question, devices).metrics.values()
        needed = devices_for_share(metric, question.share, question.candidates)
        return all(number is not None and number <= devices for number in needed)

    low, high = 0, 1
    while not are_enough(high):
        low, high = high, 2 * high
        if high > MAX_DEVICES:
            raise DeniableError(
                f"share must be one that {MAX_DEVICES:,} devices tell from zero, got "
                f"{question.share:g}"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if are_enough(middle) else (middle, high)
    return high


def _registry(question: AskedMetric, devices: int) -> Registry:
    """A registry with only this metric, and with the largest budget that is allowed.

    Raises:
        RegistryError: if it has problems, which are named without the metric.
    """
    budget = (
        f"[budget]\nepsilon_per_day = {MAX_EPSILON_PER_DAY}\n"
        f"epsilon_lifetime = {MAX_EPSILON_LIFETIME}\n"
    )
    head = 'registry = 1\napplication = "plan"\n'
    try:
        return parse(f"{head}{budget}{metric_table(question, devices)}", name=NAME)
    except RegistryError as error:
        place = f"{NAME}: metrics.{NAME}."
        raise RegistryError([each.removeprefix(place) for each in error.problems]) from None
