"""What all metrics of a registry tell together, beside the bits that single a device out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.device_classes import shown_bits
from deniable_shared.frozen import frozen
from deniable_shared.review.entropy import (
    share_alone,
    share_alone_approximately,
    share_in_pairs,
)
from deniable_shared.review.metric_bits import MetricBits, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deniable_shared.spec import Spec

FEWEST_DEVICES: Final = 2
"""One device alone cannot be hidden."""


@frozen
class Together:
    """What all metrics tell together, in bits.

    Attributes:
        devices: among how many a device is to be hidden, n.
        needed: the bits that single out one of them, log2 n.
        largest: the value that tells most, without noise: all values together tell no less.
        total: all values, without noise, if none tells anything of another: together they tell no
            more. None if one of the values is a text, which may be any.
        rarest: what a device tells that has the rarest value of every metric, without noise;
            texts without shares are left out.
        texts: the metrics whose values may be any text.
        leading: the fewest metrics whose values would be enough to single out a device, those that
            tell most first; empty if not even all of them are.
        alone: the share of devices that nobody else is like in the values of `leading`, or of all
            metrics where that is empty; None where values have shares of their own or are texts.
        one_report_each: what one report of every metric tells on average, at most.
        one_report_each_most: what it can tell at most, but for rare reports of `with_delta`.
        with_delta: the metrics whose reports have a delta.
        year: what all reports of a year tell on average and at most, if somebody can link those of
            a device and its values stay; with `constants`.
        leading_in_a_year: the fewest metrics whose reports are enough; empty if all are not.
        constants: what is the same in all reports of a device, without noise.
        constant_metrics: the metrics whose reports show it.
    """

    metrics: int
    devices: int
    needed: float
    largest: float
    total: float | None
    rarest: float
    texts: tuple[str, ...]
    leading: tuple[str, ...]
    alone: float | None
    one_report_each: float
    one_report_each_most: float
    with_delta: tuple[str, ...]
    year: float
    leading_in_a_year: tuple[str, ...]
    constants: float
    constant_metrics: tuple[str, ...]


@frozen
class RecordBits:
    """How many devices a record of several attributes would single out, if it were seen whole.

    Attributes:
        name: of the metric.
        records: how many different records there are.
        alone: the share of devices that are alone with theirs, exactly, if all records are equally
            common.
        alone_approximately: the same as e^(-n/d).
        in_pairs: the share of devices that exactly one other is like.
    """

    name: str
    attributes: int
    records: int
    alone: float
    alone_approximately: float
    in_pairs: float


def together(
    metrics: Sequence[MetricBits],
    specs: Sequence[Spec],
    devices: int,
    *,
    equally_common: bool = True,
) -> Together:
    """What metrics tell together.

    Args:
        specs: theirs, which say what is the same in all reports of a device, and deltas.
        devices: among how many a device is to be hidden, at least `FEWEST_DEVICES`.
        equally_common: whether the bits are those of equally common values.
    """
    needed = math.log2(devices)
    values = [metric.value for metric in metrics if metric.value is not None]
    texts = tuple(metric.name for metric in metrics if metric.value is None)
    total = math.fsum(values)
    leading = _fewest(metrics, needed, lambda metric: metric.value or 0.0)
    lasting = [spec for spec in specs if spec.mechanism.permanent_groups > 1]
    constants = shown_bits((spec.digest, spec.mechanism.permanent_groups) for spec in lasting)
    bits = {metric.name: metric.value or 0.0 for metric in metrics}
    leading_bits = math.fsum(bits[name] for name in leading) if leading else total
    return Together(
        metrics=len(metrics),
        devices=devices,
        needed=needed,
        largest=max(values, default=0.0),
        total=None if texts else total,
        rarest=math.fsum(metric.rarest for metric in metrics if metric.rarest is not None),
        texts=texts,
        leading=leading,
        alone=share_alone(devices, leading_bits) if equally_common and values else None,
        one_report_each=math.fsum(metric.average for metric in metrics),
        one_report_each_most=math.fsum(metric.one_report for metric in metrics),
        with_delta=tuple(spec.name for spec in specs if spec.mechanism.delta),
        year=math.fsum(metric.year for metric in metrics) + constants,
        leading_in_a_year=_fewest(metrics, needed - constants, lambda metric: metric.year),
        constants=constants,
        constant_metrics=tuple(spec.name for spec in lasting),
    )


def _fewest(
    metrics: Sequence[MetricBits], needed: float, bits: Callable[[MetricBits], float]
) -> tuple[str, ...]:
    """The fewest metrics that reach so many bits, largest first; none if all do not."""
    names: list[str] = []
    reached = 0.0
    for metric in sorted(metrics, key=bits, reverse=True):
        if reached >= needed:
            break
        names.append(metric.name)
        reached += bits(metric)
    return tuple(names) if reached >= needed else ()


def records_of(specs: Iterable[Spec], devices: int) -> tuple[RecordBits, ...]:
    """How many devices a record would single out, of each metric with attributes.

    Args:
        devices: among how many.
    """
    return tuple(_record(spec, devices) for spec in specs if spec.attributes)


def _record(spec: Spec, devices: int) -> RecordBits:
    records = math.prod(sizes_of(spec))
    bits = math.log2(records)
    return RecordBits(
        name=spec.name,
        attributes=len(spec.attributes),
        records=records,
        alone=share_alone(devices, bits),
        alone_approximately=share_alone_approximately(devices, bits),
        in_pairs=share_in_pairs(devices, bits),
    )
