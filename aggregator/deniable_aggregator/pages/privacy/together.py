"""What all registered metrics tell of a device together, as ``deniable check`` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from deniable_aggregator.dates import epoch_of
from deniable_aggregator.telling.document import Column, text_table
from deniable_aggregator.telling.wording import counted
from deniable_shared.periods import period
from deniable_shared.registry import DEFAULT_DEVICES
from deniable_shared.review import FEWEST_DEVICES, bits_of, records_of, together
from deniable_shared.review.bits_text import bits_text
from deniable_shared.review.sentences import sentences
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.metrics import MetricDetails, VersionDetails
    from deniable_aggregator.telling.document import Table
    from deniable_shared.periods import Every
    from deniable_shared.review import MetricBits


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherView:
    """Whether what is collected singles out a device.

    Attributes:
        bits: of each metric, as a table.
        answer: in sentences, a paragraph each.
        devices: where the number of devices comes from, in a sentence.
    """

    bits: Table
    answer: Sequence[str]
    devices: str


def together_view(metrics: Sequence[MetricDetails]) -> TogetherView:
    """What the page shows of all metrics together.

    Args:
        metrics: those that devices still report, at least one.
    """
    newest = [metric.versions[0] for metric in metrics]
    specs = [Spec.from_canonical_text(version.canonical) for version in newest]
    bits = [bits_of(spec) for spec in specs]
    seen = _devices_seen(metrics)
    devices = max(seen[1], FEWEST_DEVICES) if seen else DEFAULT_DEVICES
    return TogetherView(
        bits=_table(bits),
        answer=sentences(together(bits, specs, devices), records_of(specs, devices)),
        devices=_where_from(seen),
    )


def _devices_seen(metrics: Sequence[MetricDetails]) -> tuple[str, int] | None:
    """The metric with the most reports in an average period, and how many; None without reports."""
    found = [
        (round(version.reports / _periods(version)), metric.name)
        for metric in metrics
        for version in metric.versions
        if version.reports
    ]
    if not found:
        return None
    most, name = max(found)
    return name, max(most, 1)


def _periods(version: VersionDetails) -> int:
    """How many periods lie between the first report and the last."""
    if version.first_day is None or version.last_day is None:
        return 1
    every = cast("Every", version.every)
    first, last = (period(every, epoch_of(day)) for day in (version.first_day, version.last_day))
    return last - first + 1


def _where_from(seen: tuple[str, int] | None) -> str:
    if seen is None:
        return (
            f"There are no reports yet, so {DEFAULT_DEVICES:,} devices are assumed, as in a "
            "registry that does not say how many are expected."
        )
    name, devices = seen
    return (
        f"Devices are not counted: {name} has {counted(devices, 'report')} in an average period, "
        "of which a device sends one at most. There may be more devices, and fewer if reports were "
        "forged."
    )


def _table(metrics: Sequence[MetricBits]) -> Table:
    return text_table(
        name="bits",
        caption="Bits that are told of a device: by the value itself, which never leaves it; by "
        "one report; and by all reports of a year, linked, of a value that stays",
        columns=(
            Column(heading="metric", words=True),
            Column(heading="the value"),
            Column(heading="one report, at most", minor=True),
            Column(heading="on average"),
            Column(heading="a year, at most"),
        ),
        rows=[
            (each.name, text.value, text.one_report, text.average, text.year)
            for each, text in zip(metrics, map(bits_text, metrics), strict=True)
        ],
    )
