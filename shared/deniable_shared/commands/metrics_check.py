"""``deniable metrics check``: what a registry file means for privacy, before anything ships."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.metric_text import DETECTED_SHARE, devices_for_mean, metric_text
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import wrapped
from deniable_shared.device_classes import CLASSES, shown_bits
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.planning.budget import (
    MOST_DELTA_A_YEAR,
    days_until_lifetime_is_spent,
    delta_of_a_year,
    epsilon_of_busiest_day,
)
from deniable_shared.planning.disclosure_figures import (
    bits_revealed,
    devices_to_detect,
    posterior_from_even_odds,
)
from deniable_shared.registry import load

if TYPE_CHECKING:
    import argparse

    from deniable_shared.letters import LetterCode
    from deniable_shared.registry import Metric, Registry

_ABOUT: Final = """\
Checks FILE and says what each metric can reveal.

For each metric: its mechanism; the exact epsilon of one report and of all
reports of one unchanged value, and what a device is charged at most where it
has only so many permanent answers; how certain one report can make somebody who
thought two values equally likely, and how many bits it can reveal about
anything; the size of a report; and how many devices it takes to detect a
value that 1% of them have (80% power, 5% false alarms), or to bring a mean to
within 1% of its range (95% interval). Gaussian noise also has a delta, the
probability that a report reveals more than its epsilon.

For all metrics together: what a device spends; the sum of a year's deltas, with
a warning above 1e-4; and what is the same in all reports of a device.

All problems of the file are listed at once, and the exit status is then 1.
"""


def parser() -> Parser:
    """The options of the command."""
    made = Parser("deniable metrics check", _ABOUT, arguments="FILE")
    made.add_argument("file", type=Path, metavar="FILE", help="A registry file.")
    made.add_argument("--json", action="store_true", help="Print JSON.")
    return made


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
    """
    registry = load(options.file)
    print(
        json.dumps(as_json(registry), indent=2) if options.json else _text(options.file, registry)
    )
    return 0


def as_json(registry: Registry) -> dict[str, Any]:
    """What is printed for programs."""
    return {
        "application": registry.application,
        "budget": {
            "epsilon_per_day": registry.budget.epsilon_per_day,
            "epsilon_lifetime": registry.budget.epsilon_lifetime,
            "epsilon_on_the_busiest_day": epsilon_of_busiest_day(registry),
            "delta_of_a_year": delta_of_a_year(registry),
            "days_until_lifetime_is_spent": days_until_lifetime_is_spent(registry),
        },
        "constants": {
            "metrics": list(_metrics_with_constants(registry)),
            "bits": _bits_of_constants(registry),
        },
        "metrics": [_metric_as_json(metric) for metric in registry.metrics.values()],
    }


def _metrics_with_constants(registry: Registry) -> dict[str, tuple[bytes, int]]:
    """The metrics whose reports show a lasting group: digest and number of groups, by name."""
    return {
        name: (metric.spec.digest, metric.spec.mechanism.permanent_groups)
        for name, metric in registry.metrics.items()
        if metric.spec.mechanism.permanent_groups > 1
    }


def _bits_of_constants(registry: Registry) -> float:
    return shown_bits(_metrics_with_constants(registry).values())


def _metric_as_json(metric: Metric) -> dict[str, Any]:
    spec, mechanism = metric.spec, metric.spec.mechanism
    is_mean = isinstance(mechanism, NumericMechanism)
    return {
        "name": spec.name,
        "type": spec.type,
        "every": spec.every,
        "retention_days": metric.retention_days,
        "absent": spec.absent,
        "attributes": [each.canonical() for each in spec.attributes],
        "segments": spec.segments and spec.segments.canonical(),
        "version": spec.digest.hex(),
        "mechanism": mechanism.description(),
        "epsilon": mechanism.epsilon,
        "epsilon_permanent": mechanism.epsilon_permanent,
        "epsilon_total": mechanism.epsilon_total,
        "resemblance_bits": mechanism.resemblance_bits,
        "memoized_values": mechanism.memoized_values,
        "posterior_from_even_odds": posterior_from_even_odds(mechanism.epsilon),
        "bits": bits_revealed(mechanism.epsilon),
        "report_bytes": mechanism.report_bytes,
        "delta": mechanism.delta,
        "range": None if spec.range is None else [float(end) for end in spec.range],
        "letters": spec.letters and _letters_as_json(spec.letters),
        "minimum_devices": metric.minimum_devices,
        "devices_to_detect_1_percent": None
        if is_mean
        else devices_to_detect(mechanism, DETECTED_SHARE),
        "devices_for_mean_within_1_percent": devices_for_mean(mechanism) if is_mean else None,
    }


def _letters_as_json(code: LetterCode) -> dict[str, Any]:
    return {
        "alphabet": code.alphabet,
        "longest": code.longest,
        "levels": code.levels,
        "bits": code.bits,
        "model": code.model.digest.hex(),
    }


def _text(file: Path, registry: Registry) -> str:
    blocks = [f"{file}: application {registry.application}, no problems"]
    blocks += map(metric_text, registry.metrics.values())
    together = [*_budget_lines(registry), *_constant_lines(registry)]
    return "\n\n".join([*blocks, "\n".join(wrapped(together))])


def _constant_lines(registry: Registry) -> list[str]:
    """What is the same, without noise, in all reports of a device."""
    names = list(_metrics_with_constants(registry))
    if not names:
        return []
    bits = _bits_of_constants(registry)
    return [
        f"The same in all reports of a device, without noise: the row, cohort or group of bins in "
        f"{', '.join(names)}. All metrics together show {bits:.1f} bits by them, never more than "
        f"{math.log2(CLASSES):.0f}: a device shares them with 1 in {2**bits:.0f} devices."
    ]


def _budget_lines(registry: Registry) -> list[str]:
    busiest, budget = epsilon_of_busiest_day(registry), registry.budget
    lines = [
        f"A device spends an epsilon of at most {busiest:.2f} on the busiest day "
        f"(its budget: {budget.epsilon_per_day:g} a day, {budget.epsilon_lifetime:g} for life)."
    ]
    if busiest > budget.epsilon_per_day:
        lines.append(
            "Warning: on such a day some metrics will not be recorded. Raise "
            "budget.epsilon_per_day, or report less often or with a smaller epsilon."
        )
    delta = delta_of_a_year(registry)
    if delta:
        lines.append(
            f"The deltas of a year's reports add up to {delta:.3g}: at most so probable is it that "
            "they reveal more than their epsilons."
        )
    if delta > MOST_DELTA_A_YEAR:
        lines.append(
            f"Warning: a year's delta should be at most {MOST_DELTA_A_YEAR:g}. Lower delta, report "
            "less often, or take a mechanism without it."
        )
    days = days_until_lifetime_is_spent(registry)
    if days is not None:
        lines.append(
            f"If every metric reports as often as it may, the lifetime budget lasts {days:,} days."
        )
    return lines
