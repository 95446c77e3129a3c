"""What a registry tells of a device, in sentences for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.device_classes import CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.review.together import RecordBits, Together

MOST_NAMED: Final = 6
"""So many metrics are named in a sentence; of more, how many there are."""


def sentences(told: Together, records: Sequence[RecordBits]) -> list[str]:
    """Whether what is collected singles out a device, a paragraph for each part of the answer.

    Args:
        told: what all metrics tell together.
        records: of metrics with attributes.
    """
    lines = [_of_values(told), _of_reports(told), _of_a_year(told)]
    if told.constant_metrics:
        lines.append(_of_constants(told))
    return [*lines, *(_of_record(record, told.devices) for record in records)]


def _of_values(told: Together) -> str:
    """What would be known of a device whose values were seen."""
    text = (
        f"{told.needed:.1f} bits single out one of {told.devices:,} devices. If the values "
        f"themselves were seen, they would tell {_range(told)}"
    )
    if told.leading:
        text += f": {named(told.leading)} would be enough."
    else:
        text += "." if told.texts else ": not enough on average."
    if told.alone is None and told.rarest:
        text += f" A device with the rarest value of each would tell {told.rarest:.1f} bits."
    if told.alone is not None and (told.leading or not told.texts):
        text += (
            " If all values were equally common and none told anything of another, "
            f"{_percent(told.alone)} of the devices would be alone with "
            f"{'theirs of these metrics' if told.leading else 'theirs'}."
        )
    return text


def _range(told: Together) -> str:
    """How much all values tell together, without noise."""
    if told.total is None:
        texts = _listed(told.texts, ", ")
        return f"{told.largest:.1f} bits or more together, as {texts} may be any text"
    if told.total == told.largest:
        return f"{told.total:.1f} bits"
    return (
        f"{told.largest:.1f} to {told.total:.1f} bits together (the largest alone; the sum, if "
        "none tells anything of another)"
    )


def _of_reports(told: Together) -> str:
    """What one report of each metric tells."""
    text = (
        "But what leaves a device is randomized. One report of each metric, seen together, tells "
        f"at most {told.one_report_each:.2f} bits on average, and never more than "
        f"{told.one_report_each_most:.1f}"
    )
    if told.with_delta:
        rare = _listed(told.with_delta, ", ")
        return f"{text}; rare reports of {rare} may tell more, as these metrics have a delta."
    return f"{text}."


def _of_a_year(told: Together) -> str:
    """What all reports of a year tell, if they are linked."""
    text = (
        "All reports of a year, if somebody can link those of one device and its values stay, "
        f"tell at most {told.year:.1f} bits on average: "
    )
    if told.year < told.needed:
        return text + f"fewer than {told.needed:.1f}, so not enough on average."
    by = named(told.leading_in_a_year) or "the class of the device"
    return (
        text + f"{by} may be enough to single it out. The server stores nothing that links "
        "reports; whoever sees from which addresses they come may link them, and no shuffler "
        "stands between."
    )


def _of_constants(told: Together) -> str:
    """What is the same, without noise, in all reports of a device."""
    return (
        f"The same in all reports of a device, without noise: the row, cohort or group of bins in "
        f"{_listed(told.constant_metrics, ', ')}. All metrics together show {told.constants:.1f} "
        f"bits by them, never more than {math.log2(CLASSES):.0f}: a device shares them with 1 in "
        f"{2**told.constants:.0f} devices."
    )


def _of_record(record: RecordBits, devices: int) -> str:
    """How many devices a whole record would single out."""
    return (
        f"{record.name} is a record of {record.attributes} attributes, of {_count(record.records)} "
        f"different ones. A whole record would leave {_percent(record.alone)} of {devices:,} "
        f"devices alone (e^(-n/d): {_percent(record.alone_approximately)}) and "
        f"{_percent(record.in_pairs)} with one other, if all were equally common; a report "
        "tells of one or two attributes only."
    )


def named(names: Sequence[str]) -> str:
    """The names of metrics whose values are taken together."""
    return _listed(names, " x ")


def _listed(names: Sequence[str], sign: str) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return sign.join([*names[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])])


def _percent(share: float) -> str:
    """A share in per cent, so that one near 0 or 1 does not read as if it were."""
    if 0 < share < 0.0001:
        return "less than 0.01%"
    if 0.9999 < share < 1:
        return "more than 99.99%"
    return f"{share:.2%}"


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"2^{math.log2(number):.0f}"
