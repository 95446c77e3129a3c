"""A registry and a few figures become a deployment: what ``deniable simulate`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.asking.dates import utc_today
from deniable_aggregator.simulating.draws import Population
from deniable_aggregator.simulating.laws import FLAGS
from deniable_aggregator.simulating.population import DAYS_PER_WEEK, Deployment, Forgery, Late
from deniable_aggregator.simulating.priors import priors_of, reporting_of, stated_priors
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.nearest import did_you_mean
from deniable_shared.registry import parse
from deniable_shared.registry.discovery import with_models

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from deniable_aggregator.simulating import ForgerKind
    from deniable_aggregator.simulating.laws import Prior
    from deniable_aggregator.simulating.population import Value
    from deniable_shared.spec import Spec

FORGED_KEY: Final = "partner"
KEYS: Final = {"release": 0.9, "beta": 0.08, FORGED_KEY: 0.02}
LATE_DAYS: Final = 2
"""So much later reports come that are late."""

RELAY_DAYS: Final = 15
"""After so many days a relay has closed on the reports of a week, of whatever day."""

NAIVE_DAYS: Final = 3
"""On so many days in a row one report is sent again and again."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        files: the registry that each version of the application ships, the oldest first.
        devices: how many there are; each reports each metric once, on one of the days.
        days: how many.
        until: the last day; None for yesterday, or with a relay `RELAY_DAYS` ago.
        seed: of the population and of the noise.
        priors: a file of shares, see `stated_priors`; None to make them up.
        growth: by which part the number of devices grows in a week.
        weekend_volume: reports of a Saturday or Sunday, relative to another day.
        keys: the share of the devices with each build, by its write key.
        change_points: how much changes, see `laws.changed`; 0 for nothing.
        change_on: from which day on; None for the last quarter, in whole weeks.
        outage: a day whose reports are all lost; None for no day.
        late: the part of the reports that come two days late.
        forged: a metric and the value that is forged, such as "theme=dark"; None for no forger.
        forger: in what manner.
        forged_part: forged reports, relative to the honest ones of a day; of a patient forger, and
            of one upload, of all days together.
    """

    files: tuple[Path, ...]
    devices: int
    days: int
    until: date | None
    seed: int = 1
    priors: Path | None = None
    growth: float = 0.0
    weekend_volume: float = 0.6
    keys: Mapping[str, float] = field(default_factory=lambda: dict(KEYS))
    change_points: float = 5.0
    change_on: date | None = None
    outage: date | None = None
    late: float = 0.05
    forged: str | None = None
    forger: ForgerKind = "naive"
    forged_part: float = 0.1


class Prepared(NamedTuple):
    """A deployment, and what its devices hold.

    Attributes:
        deployment: the calendar.
        priors: what devices hold of each metric.
        population: draws them.
    """

    deployment: Deployment
    priors: Mapping[str, Prior]
    population: Population


def prepared(scenario: Scenario) -> Prepared:
    """The deployment of a scenario.

    Raises:
        RegistryError: if a file of a registry cannot be read, or has problems.
        PriorsError: if the file of shares cannot be read, or says what cannot be.
        ParameterError: if a day is none of the days, or what is forged cannot be.
    """
    texts = tuple(_text(file) for file in scenario.files)
    _check_application(scenario, texts)
    count = len(texts)
    has_relay = parse(texts[-1]).relay is not None
    until = scenario.until or utc_today() - timedelta(RELAY_DAYS if has_relay else 1)
    deployment = Deployment(
        registries=texts,
        days=scenario.days,
        seed=scenario.seed,
        first_day=until - timedelta(scenario.days - 1),
        keys=scenario.keys,
        releases=tuple(scenario.days * number // count for number in range(count)),
        growth=scenario.growth,
        weekend_volume=scenario.weekend_volume,
        late=Late(scenario.late, LATE_DAYS) if scenario.late else None,
    )
    stated = {}
    if scenario.priors is not None:
        stated = stated_priors(scenario.priors, deployment.registry(count))
    priors = priors_of(deployment, stated)
    deployment = replace(
        deployment,
        outage=_day(deployment, "outage", scenario.outage),
        change=_change(deployment, scenario),
        forgeries=_forgeries(deployment, scenario),
    )
    # What an outage loses was sent all the same.
    whole = sum(map(replace(deployment, outage=None).volume, range(scenario.days)))
    metrics = {
        name: reporting_of(
            deployment,
            name,
            prior,
            reports=scenario.devices / whole,
            points=scenario.change_points,
        )
        for name, prior in priors.items()
    }
    return Prepared(deployment, priors, Population(deployment, metrics))


def _text(file: Path) -> str:
    """The text of a registry with the models that it names; `parse` refuses what has problems."""
    body = file.read_bytes()
    parse(body, name=str(file), folder=file.parent)
    return with_models(body, file.parent).decode()


def _check_application(scenario: Scenario, texts: tuple[str, ...]) -> None:
    names = [parse(text).application for text in texts]
    for file, name in zip(scenario.files, names, strict=True):
        if name != names[0]:
            raise ParameterError(f"application of {file}", f"{names[0]!r}, as before", name)


def _day(deployment: Deployment, name: str, chosen: date | None) -> int | None:
    if chosen is None:
        return None
    day = (chosen - deployment.first_day).days
    if not 0 <= day < deployment.days:
        days = f"{deployment.first_day} to {deployment.date_of(deployment.last)}"
        raise ParameterError(name, f"one of the days {days}", str(chosen))
    return day


def _change(deployment: Deployment, scenario: Scenario) -> int | None:
    if not scenario.change_points:
        return None
    day = _day(deployment, "change_on", scenario.change_on)
    if day is None:
        quarter = deployment.days // 4 // DAYS_PER_WEEK * DAYS_PER_WEEK
        last = max(DAYS_PER_WEEK, quarter)
        day = deployment.days - last if deployment.days > last else deployment.days // 2
    elif day == 0:
        raise ParameterError("change_on", "after the first day", str(scenario.change_on))
    return day or None


def _forgeries(deployment: Deployment, scenario: Scenario) -> tuple[Forgery, ...]:
    """What is forged, and when.

    Raises:
        ParameterError: if there is no such metric, or no device could report the value.
    """
    if scenario.forged is None:
        return ()
    if deployment.relay is not None:
        raise ParameterError("forged", "left out for a registry with [relay]", scenario.forged)
    name, _, text = scenario.forged.partition("=")
    if name not in deployment.metrics:
        meant = did_you_mean(name, deployment.metrics)
        constraint = f"METRIC=VALUE, with one of {', '.join(deployment.metrics)}"
        raise ParameterError("forged", f"{constraint}{meant and ';' + meant}", scenario.forged)
    newest = max(
        version for version in deployment.versions if name in deployment.registry(version).metrics
    )
    value = _value(deployment.registry(newest).metrics[name].spec, text, scenario.forged)
    key = FORGED_KEY if FORGED_KEY in deployment.keys else min(
        deployment.keys, key=lambda label: deployment.keys[label]
    )  # fmt: skip
    half = deployment.days // 2
    if scenario.forger == "naive":
        days, part = range(half, min(half + NAIVE_DAYS, deployment.days)), scenario.forged_part
    elif scenario.forger == "patient":
        days, part = range(deployment.days), scenario.forged_part
    else:
        days, part = range(half, half + 1), scenario.forged_part * deployment.days
    return (Forgery(name, value, scenario.forger, part, days, key),)


def _value(spec: Spec, text: str, forged: str) -> Value | float:
    """What is forged, as a device would record it.

    Raises:
        ParameterError: if no device could.
    """
    value: Value | float = text
    try:
        if spec.range is not None:
            value = float(text)
        elif spec.type == "attributes":
            pairs = dict(pair.split("=", 1) for pair in text.split(","))
            flags = {each.name for each in spec.attributes if each.type == "boolean"}
            value = tuple(
                (name, held == FLAGS[0] if name in flags else held) for name, held in pairs.items()
            )
            spec.encode(dict(value))
            return value
        elif spec.type == "set":
            value = tuple(text.split(","))
        elif spec.segments is not None:
            own, _, segment = text.partition(",")
            flag = spec.value_type == "boolean"
            value = (own == FLAGS[0] if flag else own, segment or None)
            spec.encode(*value)
            return value
        elif spec.type == "boolean":
            value = {FLAGS[0]: True, FLAGS[1]: False}[text]
        spec.encode(value)
    except (DomainError, KeyError, ValueError):
        raise ParameterError("forged", f"a value that {spec.name} takes", forged) from None
    return value
