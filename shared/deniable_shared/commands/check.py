"""``deniable check``: what a registry file means for privacy, before anything ships."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.metric_text import DETECTED_SHARE, devices_for_mean, metric_text
from deniable_shared.commands.parser import Parser, integer_in, number
from deniable_shared.commands.plan_registry import without_expected_devices
from deniable_shared.commands.review_text import (
    guess_as_json,
    guess_lines,
    review_as_json,
    review_lines,
)
from deniable_shared.commands.text import wrapped
from deniable_shared.mechanisms import NumericMechanism
from deniable_shared.planning.budget import (
    days_until_lifetime_is_spent,
    delta_of_a_year,
    epsilon_of_busiest_day,
)
from deniable_shared.planning.detection import devices_to_detect
from deniable_shared.planning.disclosure_figures import bits_revealed, posterior_from_even_odds
from deniable_shared.planning.upper_bounds import power, upper_power
from deniable_shared.registry import DEFAULT_DEVICES, MAX_DEVICES, Metric, Registry, load
from deniable_shared.review import (
    FEWEST_DEVICES,
    Guess,
    Review,
    guess_after,
    read_pairs,
    read_priors,
    review,
)
from deniable_shared.review.matching import matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.letters import LetterCode

_ABOUT: Final = """\
Checks FILE and says what each metric can reveal.

For each metric: its mechanism; the exact epsilon of one report and of all
reports of one unchanged value, and what a device is charged at most where it
has only so many permanent answers; how certain one report can make somebody who
thought two values equally likely, and how many bits it can reveal about
anything; the size of a report; and how many devices it takes to detect a
value that 1% of them have (80% power, 5% false alarms), or to bring a mean to
within 1% of its range (95% interval). Gaussian noise also has a delta, by how
much an event may be more probable than epsilon allows.

For all metrics together: what a device spends; the sum of a year's deltas; and
whether what is collected, taken together, can single out a device: in bits, of
each metric's value, of one report and of a year of reports, beside the bits
that single out one of --devices.

Findings have a code each, and say what to do. One that is known and meant is
listed as ignored where the file says so, in a metric or at its top:

    ignore = ["large-epsilon"]    # why that is so here

With --strict the exit status is 1 if any other finding is left: let the tests
or the build of your application run it.

All problems of the file are listed at once, and the exit status is then 1.

    deniable check metrics.toml --strict
    deniable check metrics.toml --devices 5000 --priors shares.csv
    deniable check metrics.toml --prior 0.366
    deniable check metrics.toml --before shipped.toml
"""

LEAST_PRIOR: Final = 1e-9
_ASSUMED: Final = (
    f"{DEFAULT_DEVICES:,} devices are assumed, as the file does not say of each metric how many it "
    "expects. Fewer bits single out one of fewer: say how many there are with --devices."
)


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable check", _ABOUT, arguments="FILE")
    command_parser.add_argument("file", type=Path, metavar="FILE", help="A registry file.")
    command_parser.add_argument(
        "--devices",
        type=integer_in(FEWEST_DEVICES, MAX_DEVICES),
        metavar="N",
        help="How many devices a device should be hidden among. Default: the largest "
        f"expected_devices of the file, {DEFAULT_DEVICES:,} for metrics that have none.",
    )
    command_parser.add_argument(
        "--priors",
        type=Path,
        metavar="FILE",
        help="How common values are: lines of metric, item and share or count, as CSV or TSV; "
        "without the metric, of the only one that lists the items.",
    )
    command_parser.add_argument(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="How common pairs of values are: lines of metric, item, metric, item and share or "
        "count. Says what values tell together in one number, and which pairs few devices hold.",
    )
    command_parser.add_argument(
        "--prior",
        type=_prior,
        metavar="P",
        help="How probable somebody thought a value; says what one report makes of it.",
    )
    command_parser.add_argument(
        "--before",
        type=Path,
        metavar="FILE",
        help="The file before an edit, such as the one that shipped last: says which memoised "
        "metrics have another version now.",
    )
    command_parser.add_argument("--strict", action="store_true", help="Exit with 1 on findings.")
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def _prior(text: str) -> float:
    """The type of an option that is a probability, but for what is next to 0 or 1."""
    value = number(text)
    if not LEAST_PRIOR <= value <= 1 - LEAST_PRIOR:
        constraint = f"above 0 and below 1, by at least {power(LEAST_PRIOR)}"
        raise argparse.ArgumentTypeError(f"must be {constraint}, got {value!r}")
    return value


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
    """
    registry = load(options.file)
    priors = read_priors(options.priors, registry) if options.priors else None
    before = load(options.before) if options.before else None
    pairs = read_pairs(options.pairs, registry) if options.pairs else ()
    result = review(registry, devices=options.devices, priors=priors, pairs=pairs, before=before)
    guesses: list[Guess] = []
    if options.prior is not None:
        specs = (metric.spec for metric in registry.metrics.values())
        guesses = [guess_after(spec, options.prior) for spec in specs]
    if options.json:
        print(json.dumps(as_json(registry, result, guesses), indent=2))
    else:
        assumed = options.devices is None and result.together.devices == DEFAULT_DEVICES
        assumed = assumed and any(without_expected_devices(options.file))
        print(_text(options.file, registry, result, guesses, assumed=assumed))
    return 1 if options.strict and result.findings else 0


def as_json(registry: Registry, result: Review, guesses: Sequence[Guess] = ()) -> dict[str, Any]:
    """What is printed for programs.

    Args:
        result: what the review of it found.
        guesses: what a report makes of somebody's guess, of each metric, if that was asked.
    """
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
            "metrics": list(result.together.constant_metrics),
            "bits": result.together.constants,
        },
        "metrics": [_metric_as_json(metric) for metric in registry.metrics.values()],
        "review": review_as_json(result),
        "guesses": [guess_as_json(guess) for guess in guesses],
    }


def _metric_as_json(metric: Metric) -> dict[str, Any]:
    spec, mechanism = metric.spec, metric.spec.mechanism
    is_mean = isinstance(mechanism, NumericMechanism)
    return {
        "name": spec.name,
        "type": spec.type,
        "every": spec.every,
        "retention_days": metric.retention_days,
        "absent": spec.absent_text,
        "pick": spec.pick,
        "attributes": [attribute.canonical() for attribute in spec.attributes],
        "segments": spec.segments and spec.segments.canonical(),
        "version": spec.digest.hex(),
        "mechanism": mechanism.description(),
        "epsilon": mechanism.epsilon,
        "epsilon_permanent": mechanism.epsilon_permanent,
        "epsilon_total": mechanism.epsilon_total,
        "matching": _matching_as_json(metric),
        "memoized_values": mechanism.memoized_values,
        "posterior_from_even_odds": posterior_from_even_odds(mechanism.epsilon),
        "bits": bits_revealed(mechanism.epsilon),
        "report_bytes": mechanism.report_bytes,
        "delta": mechanism.delta,
        "range": None if spec.range is None else [float(end) for end in spec.range],
        "letters": spec.letters and _letters_as_json(spec.letters),
        "minimum_devices": metric.minimum_devices,
        "renamed": dict(metric.renamed),
        "devices_to_detect_1_percent": None
        if is_mean
        else devices_to_detect(mechanism, DETECTED_SHARE),
        "devices_for_mean_within_1_percent": devices_for_mean(mechanism) if is_mean else None,
    }


def _matching_as_json(metric: Metric) -> dict[str, float] | None:
    devices = metric.expected_devices
    found = matching(metric.spec.mechanism, devices)
    return found and {"devices": devices, **found._asdict()}


def _letters_as_json(code: LetterCode) -> dict[str, Any]:
    return {
        "alphabet": code.alphabet,
        "longest": code.longest,
        "longest_bits": code.longest_bits,
        "levels": code.levels,
        "bits": code.bits,
        "model": code.model.digest.hex(),
    }


def _text(
    file: Path, registry: Registry, result: Review, guesses: Sequence[Guess], *, assumed: bool
) -> str:
    count = len(result.findings)
    below = f"{count:,} finding{'s' * (count != 1)} below" if count else "no findings"
    blocks = [f"{file}: a valid file of application {registry.application}; {below}"]
    blocks += map(metric_text, registry.metrics.values())
    blocks.append("\n".join(wrapped(_budget_lines(registry))))
    if guesses:
        blocks.append("\n".join(guess_lines(guesses)))
    if assumed:
        blocks.append("\n".join(wrapped([_ASSUMED])))
    blocks.append("\n".join(review_lines(result)))
    return "\n\n".join(blocks)


def _budget_lines(registry: Registry) -> list[str]:
    busiest, budget = epsilon_of_busiest_day(registry), registry.budget
    lines = [
        f"A device spends an epsilon of at most {busiest:.2f} on the busiest day "
        f"(its budget: {budget.epsilon_per_day:g} a day, {budget.epsilon_lifetime:g} for life)."
    ]
    delta = delta_of_a_year(registry)
    if delta:
        lines.append(
            f"The deltas of a year's reports add up to {upper_power(delta)}: the sum of their "
            "epsilons holds with this delta."
        )
    days = days_until_lifetime_is_spent(registry)
    if days is not None:
        lines.append(
            "If every metric reports as often as it may, the lifetime budget lasts "
            f"{days:,} {'day' if days == 1 else 'days'}."
        )
    return lines
