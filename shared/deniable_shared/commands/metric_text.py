"""One metric of a registry in words, a line for each thing that a reviewer asks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.accounting import history_bounds
from deniable_shared.commands.text import (
    WHICH_WAY_FOR_STRINGS,
    byte_count,
    labelled_lines,
    metric_kind,
    report_limit,
    rounded,
    which_value,
)
from deniable_shared.mechanisms import (
    EXTREME_PLACES,
    GroupedBins,
    Mechanism,
    NumericMechanism,
    SampledAttribute,
    SetMechanism,
    Sketch,
    SquareWave,
    Trie,
)
from deniable_shared.mechanisms.sketch import FAMILY_TO_NOISE
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.candidates import collision_variance
from deniable_shared.planning.detection import devices_to_detect
from deniable_shared.planning.disclosure_figures import (
    Z,
    bits_revealed,
    devices_for_width,
    most_certain,
)
from deniable_shared.planning.discovery import Forecast
from deniable_shared.planning.upper_bounds import upper, upper_decimals, upper_power
from deniable_shared.review.matching import matching, matching_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.registry import Metric
    from deniable_shared.spec import Spec

DETECTED_SHARE: Final = 0.01
"""The share of devices that have a value, for which the devices to detect it are counted."""

SHORT_LEVELS: Final = 4
"""Words and names end within so many levels; strings of more are long."""

MEAN_WIDTH: Final = 0.01
"""Half the width of a mean's interval, as a part of its range, for which devices are counted."""


def metric_text(metric: Metric) -> str:
    """A heading and labelled lines."""
    spec = metric.spec
    heading = f"{spec.name}: {metric_kind(spec)}, {report_limit(spec.every)}"
    return "\n".join([heading, *labelled_lines(_rows(metric))])


def devices_for_mean(mechanism: Mechanism) -> int:
    """How many devices bring a mean to within 1% of its range, wherever in the range it lies."""
    return max(devices_for_width(mechanism, place, MEAN_WIDTH) for place in EXTREME_PLACES)


def _rows(metric: Metric) -> Iterator[tuple[str, str]]:
    spec, mechanism = metric.spec, metric.spec.mechanism
    if metric.description:
        yield "what", metric.description
    if spec.range is not None:
        low, high = (float(end) for end in spec.range)
        bins = (
            f" in {mechanism.size} bins" if isinstance(mechanism, SquareWave | GroupedBins) else ""
        )
        yield "range", f"{low:g} to {high:g}{bins}; values outside count as its ends"
    for line in _attributes(spec):
        yield "attributes", line
    if spec.segments is not None:
        by = spec.segments.by
        yield (
            "segments",
            f"{by.name}: {', '.join(by.values)}; sent with the value, as one value of all pairs",
        )
    if spec.absent is not None:
        shown = repr(spec.absent) if isinstance(spec.absent, str) else spec.absent_text
        empty = ", as of a set without items" * (spec.type == "set")
        yield "absent", f"{shown} is reported where nothing was recorded{empty}"
    if spec.may_pick:
        yield "which value", which_value(spec)
    for earlier, now in metric.renamed:
        yield "renamed", f"{earlier!r} of earlier versions is {now!r} in answers"
    if metric.retention_days is not None:
        yield "kept", f"for {metric.retention_days:,} days by the server, then deleted"
    yield "mechanism", f"{_shape(mechanism)}; reports of {byte_count(mechanism.report_bytes)}"
    yield "epsilon", f"{mechanism.epsilon:.4f} for one report; {_further_reports(mechanism)}"
    yield (
        "one report",
        f"somebody who was 50% sure becomes at most {most_certain(mechanism.epsilon)} sure; "
        f"reveals at most {upper_decimals(bits_revealed(mechanism.epsilon), 2)} bits",
    )
    if mechanism.delta:
        yield (
            "delta",
            f"{upper_power(mechanism.delta)} comes on top: in rare cases a report reveals more "
            "than that",
        )
    if mechanism.epsilon_permanent is not None:
        yield "not hidden", _changes(metric)
        yield "not hidden", _resemblance(metric)
    if isinstance(mechanism, Trie):
        yield from _discovers(metric, mechanism)
    else:
        yield from _needs(metric)


def _discovers(metric: Metric, mechanism: Trie) -> Iterator[tuple[str, str]]:
    """What can be found of strings that nobody listed, and what protects them."""
    code, minimum = metric.spec.letters, metric.minimum_devices
    assert code is not None
    yield (
        "code",
        f"{code.alphabet} of {code.extent}, of which {code.bits} bits are sent in "
        f"{mechanism.levels} {'level' if mechanism.levels == 1 else 'levels'}; of longer texts the "
        f"beginning; model {code.model.digest.hex()[:12]}",
    )
    short = Forecast(mechanism, mechanism.first_bits, 0, minimum)
    long = Forecast(mechanism, code.bits, mechanism.levels - 1, minimum)
    yield (
        f"{DETECTED_SHARE:.0%} string",
        f"needs about {rounded(short.devices(DETECTED_SHARE))} devices to be found if it is short, "
        f"about {rounded(long.devices(DETECTED_SHARE))} if it is as long as can be; deniable plan "
        "says it of examples",
    )
    if mechanism.levels > SHORT_LEVELS:
        yield "long strings", WHICH_WAY_FOR_STRINGS
    yield (
        "found",
        f"any string, whatever is in it, that about {minimum:,} reports surely hold; only epsilon "
        "hides what one device holds. Not for secrets, names and addresses",
    )


def _needs(metric: Metric) -> Iterator[tuple[str, str]]:
    """How many devices it takes to learn something."""
    spec, mechanism = metric.spec, metric.spec.mechanism
    if isinstance(mechanism, NumericMechanism):
        needed = rounded(devices_for_mean(mechanism))
        yield "mean", f"needs about {needed} devices to be within ± {MEAN_WIDTH:.0%} of the range"
        return
    needed = rounded(devices_to_detect(mechanism, DETECTED_SHARE))
    what = "bin" if spec.range else "item" if spec.type == "set" else "value"
    yield f"1% {what}", f"needs about {needed} devices to detect"
    if isinstance(mechanism, SetMechanism):
        yield "fakes", fakes_of_sets(mechanism)
    collisions = collision_variance(mechanism, metric.expected_devices)
    if collisions > 1.5 * FAMILY_TO_NOISE * mechanism.variance(0.0, metric.expected_devices):
        width = Z * math.sqrt(collisions)
        is_fitted = isinstance(mechanism, Sketch) and mechanism.is_fitted
        reporting = (
            f"if {metric.expected_devices:,} devices report"
            if is_fitted
            else "however many devices report"
        )
        yield (
            "collisions",
            f"add ± {width:.2%}, {reporting}, if popular values hold much",
        )


def fakes_of_sets(mechanism: SetMechanism) -> str:
    """What one forged report can do."""
    return f"one of them moves an item by up to {mechanism.devices_of_a_fake:.3g} devices"


def _further_reports(mechanism: Mechanism) -> str:
    """How much epsilon the reports after the first add."""
    permanent, total = mechanism.epsilon_permanent, mechanism.epsilon_total
    if permanent is None:
        return "each further report adds the same again"
    text = f"{permanent:.4f} for all reports of one unchanged value"
    if total is not None:
        text += f"; {mechanism.memoized_values} such answers are charged {total:.4f} at most"
    return text


def _changes(metric: Metric) -> str:
    """What reports of a year tell of histories that change at different times."""
    reports = most_periods(metric.spec.every, DAYS_OF_A_YEAR)
    text = "when the value changes, from whoever can link a device's reports"
    bounds = history_bounds(metric.spec.mechanism, reports)
    if bounds is None or reports == 1:
        return text
    if math.isinf(bounds.once):
        return f"{text}: no bound, as permanent answers are sent as they are"
    return (
        f"{text}: a year of them costs epsilon {upper(bounds.once)} at most after one change, "
        f"{upper(bounds.always)} if it changes in every period"
    )


def _resemblance(metric: Metric) -> str:
    """How far reports of a permanent answer can be told to be one device's, by their noise."""
    devices = metric.expected_devices
    found = matching(metric.spec.mechanism, devices)
    assert found is not None
    return f"that reports are of one device, while its value stays: {matching_text(found, devices)}"


def _attributes(spec: Spec) -> list[str]:
    """The attributes of a record; where one is sampled, each with what randomizes it."""
    if not spec.attributes:
        return []
    if not isinstance(spec.mechanism, SampledAttribute):
        names = ", ".join(attribute.name for attribute in spec.attributes)
        return [f"{names}: flags, each by itself and every two together"]
    return [
        f"{attribute.name}: {f'{attribute.size} values' if attribute.values else 'a flag'}, "
        f"by {oracle.title}"
        for attribute, oracle in zip(spec.attributes, spec.mechanism.inner, strict=True)
    ]


def _shape(mechanism: Mechanism) -> str:
    """The mechanism's title, name and sizes, such as "2 hashes, 64 cohorts"."""
    numbers = {
        name: getattr(mechanism, name)
        for name in ("steps", "levels", "rows", "buckets", "bits", "hashes", "cohorts")
        if hasattr(mechanism, name)
    }
    singular = {"hashes": "hash"}
    sizes = [
        f"{number:,} {singular.get(name, name[:-1]) if number == 1 else name}"
        for name, number in numbers.items()
    ]
    return ", ".join([f"{mechanism.title} ({mechanism.name})", *sizes])
