"""The registry of a plan: one metric that options describe, and for how many devices."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import DeniableError
from deniable_shared.fields import MAX_VALUES
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.planning.plan import devices_for_share
from deniable_shared.registry import (
    DEFAULT_DEVICES,
    MAX_DEVICES,
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    parse,
)
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_shared.registry import Registry

NAME: Final = "planned"
"""The name of a metric that options describe."""

ENOUGH: Final = ", as many as --share needs"
ASSUMED: Final = " (assumed: say how many with --devices)"
ASSUMED_IN_FILE: Final = " (assumed: the file has no expected_devices)"
"""Where the number of devices comes from, if nobody has given it."""


def without_expected_devices(path: Path) -> Iterator[str]:
    """The metrics of a registry file that do not say how many devices they expect."""
    metrics = tomllib.loads(path.read_text(encoding="utf-8")).get("metrics", {})
    yield from (name for name, metric in metrics.items() if "expected_devices" not in metric)


def planned_from_options(
    options: argparse.Namespace,
) -> tuple[Registry, int, dict[str, str]]:
    """A registry with one metric, for how many devices it is planned, and why for so many."""
    if options.devices is not None:
        return _registry_of_options(options, options.devices), options.devices, {}
    registry = _registry_of_options(options, DEFAULT_DEVICES)
    (metric,) = registry.metrics.values()
    if options.share is None or isinstance(metric.spec.mechanism, NumericMechanism):
        return registry, DEFAULT_DEVICES, {NAME: ASSUMED}
    devices = _enough_devices(options)
    return _registry_of_options(options, devices), devices, {NAME: ENOUGH}


def _enough_devices(options: argparse.Namespace) -> int:
    """The smallest number of devices for which a plan tells a value of --share from zero.

    Sketches get rows for the devices that are expected, and with more rows fewer are needed: so if
    some number is enough, every larger one is.
    """

    def are_enough(devices: int) -> bool:
        (metric,) = _registry_of_options(options, devices).metrics.values()
        needed = devices_for_share(metric, options.share, options.candidates)
        return all(each is not None and each <= devices for each in needed)

    low, high = 0, 1
    while not are_enough(high):
        low, high = high, 2 * high
        if high > MAX_DEVICES:
            raise DeniableError(
                f"share must be one that {MAX_DEVICES:,} devices tell from zero, got "
                f"{options.share:g}"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if are_enough(middle) else (middle, high)
    return high


def _registry_of_options(options: argparse.Namespace, devices: int) -> Registry:
    """A registry with one metric, which the options describe, planned for so many devices."""
    lines = [
        'registry = 1\napplication = "plan"',
        f"[budget]\nepsilon_per_day = {MAX_EPSILON_PER_DAY}",
        f"epsilon_lifetime = {MAX_EPSILON_LIFETIME}",
        f"[metrics.{NAME}]\nexpected_devices = {devices}",
        *_metric_lines(options),
        f'every = "{options.every or "day"}"',
    ]
    return parse("\n".join(lines), name="options")


def _metric_lines(options: argparse.Namespace) -> list[str]:
    kind, values, ends = options.kind, options.values, options.ends
    lines = [f'type = "{kind}"', f"epsilon = {options.epsilon!r}"]
    if values is not None:
        lines.append(f"values = {json.dumps([f'value {index}' for index in range(values)])}")
        lines.append("complete = true")
    if ends is not None:
        lines.append(f"range = [{ends[0]!r}, {ends[1]!r}]")
    if options.discover:
        lines.append("discover = true")
    if options.longest is not None:
        lines.append(f"longest = {options.longest}")
    if options.alphabet is not None:
        lines.append(f"alphabet = {json.dumps(options.alphabet)}")
    return lines


def missing_or_needless(options: argparse.Namespace) -> str | None:
    """What is wrong with the options that describe a metric; None if nothing is."""
    kind = options.kind
    if kind is None or options.epsilon is None:
        return "give FILE, or --type and --epsilon"
    if kind == "attributes":
        return "attributes need a FILE: they have names and domains"
    if (kind == "category") != (options.values is not None):
        return "--values belongs to --type category"
    if options.values is not None and options.values > MAX_VALUES:
        return f"a category has at most {MAX_VALUES:,} values: plan --type string for more"
    if (kind in TYPES_WITH_RANGE) != (options.ends is not None):
        return "--range belongs to --type number and distribution"
    if options.discover and kind != "string":
        return "--discover belongs to --type string"
    if not options.discover and (options.longest, options.alphabet) != (None, None):
        return "--longest and --alphabet belong to --discover"
    return None
