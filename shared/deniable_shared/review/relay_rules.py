"""What a reviewer should know of what goes through a relay: a rule for each code of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.planning.crowds import DELTA, epsilon_among
from deniable_shared.planning.upper_bounds import power, upper
from deniable_shared.review.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.registry import Metric, Registry

CROWD: Final = 10_000
SMALL_EPSILON: Final = 2
"""Above this, fewer devices than `CROWD` make little of a report's epsilon."""


def relay_findings(registry: Registry, devices: int | None) -> Iterator[Finding]:
    """What the rules find if a registry has a relay, but not whether it is ignored.

    Args:
        devices: among how many a device is to be hidden; None for as many as each metric expects.
    """
    if registry.relay is None:
        return
    for metric in registry.metrics.values():
        yield from _no_crowd(metric, devices or metric.expected_devices)
        yield from _memoized_relay(metric)
    if registry.relay.every == "day":
        yield Finding(
            "daily-relay",
            None,
            "the relay closes each day: a device that is off on the day after a period sends into "
            "a later batch, in which few reports are like its own",
            'take every = "week" in [relay]; answers are a week later',
        )


def key_findings(registry: Registry, before: Registry) -> Iterator[Finding]:
    """The finding that two builds seal to two keys, so that their reports form two crowds.

    Args:
        registry: as it is now.
        before: as it was.
    """
    now, old = registry.relay, before.relay
    if now is not None and old is not None and now.key != old.key:
        yield Finding(
            "many-keys",
            None,
            "the relay key is another than before: until devices have the new build, reports "
            "sealed to the old key and to the new one hide among their own alone",
            "keep the key unless it was lost or is a year old, and retire the old one in time",
        )


def behind_relay(metric: Metric, devices: int) -> str:
    """What a relay makes of the epsilon of a report, as a clause.

    Args:
        devices: how many report; half of them count as honest.
    """
    epsilon, honest = metric.spec.mechanism.epsilon, max(devices // 2, 1)
    central = epsilon_among(epsilon, honest)
    return (
        f"to everybody but relay and aggregator together it is at most {upper(central)} "
        f"(delta {power(DELTA)}), if {honest:,} honest devices report in each period"
    )


def _no_crowd(metric: Metric, devices: int) -> Iterator[Finding]:
    epsilon = metric.spec.mechanism.epsilon
    if devices >= CROWD or not epsilon > SMALL_EPSILON or _has_no_central_epsilon(metric):
        return
    yield Finding(
        "no-crowd",
        metric.spec.name,
        f"{devices:,} devices are no crowd for an epsilon of {epsilon:.4g}: "
        f"{behind_relay(metric, devices)}",
        f"take an epsilon of {SMALL_EPSILON} or less, or expect {CROWD:,} devices",
    )


def _memoized_relay(metric: Metric) -> Iterator[Finding]:
    if metric.spec.mechanism.epsilon_permanent is None:
        return
    yield Finding(
        "memoized-relay",
        metric.spec.name,
        "its reports repeat permanent noise, so a relay does not lower what they tell; and they "
        "wait on the device until their period is over, where they can be read",
        'leave out repeat = "memoize", as a relay makes more of fresh reports',
    )


def _has_no_central_epsilon(metric: Metric) -> bool:
    mechanism = metric.spec.mechanism
    return mechanism.epsilon_permanent is not None or mechanism.delta > 0
