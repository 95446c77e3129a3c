"""A plan in words and figures, and as a picture of characters."""

from __future__ import annotations

import math
import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from deniable_shared import mechanism_choice
from deniable_shared.commands.example_text import example_lines
from deniable_shared.commands.metric_text import DETECTED_SHARE
from deniable_shared.commands.text import (
    byte_count,
    labelled_lines,
    metric_kind,
    rounded,
    which_value,
    wrapped,
)
from deniable_shared.commands.text_plot import MARKS, WIDTH, log_plot
from deniable_shared.mechanisms import SetMechanism, Sketch
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, MOST_DELTA_A_YEAR
from deniable_shared.planning.candidates import short_name
from deniable_shared.planning.detection import devices_to_detect
from deniable_shared.planning.disclosure_figures import NEARLY_SURE, posterior_from_even_odds
from deniable_shared.planning.upper_bounds import power, upper, upper_percent, upper_power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.accounting import HistoryBounds
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.planning.experiment import Experiment
    from deniable_shared.planning.result import Plan

HARDLY_ANYBODY: Final = "a value nobody or hardly anybody has"
_CURVES: Final = 6


def plan_text(planned: Plan, *, with_name: bool, origin: str = "") -> str:
    """A heading and labelled lines.

    Args:
        with_name: whether the heading has the metric's name.
        origin: where the number of devices comes from, if nobody gave it.
    """
    spec = planned.metric.spec
    heading = f"{spec.name}: {metric_kind(spec)}" if with_name else metric_kind(spec)
    heading += f", epsilon {planned.mechanism.epsilon:.4g}, {planned.devices:,} devices{origin}"
    lines = [*wrapped([heading]), *labelled_lines(plan_rows(planned))]
    if planned.examples:
        lines += ["", *example_lines(planned)]
    return "\n".join(lines)


def plan_rows(planned: Plan) -> Iterator[tuple[str, str]]:
    """What a plan says: a label and a sentence each."""
    mechanism, refusal = planned.mechanism, planned.refusal
    if refusal is not None:
        ways = [f"{refusal.devices:,} devices"]
        if refusal.epsilon is not None:
            ways.append(f"epsilon {refusal.epsilon:g}")
        yield "refused", f"{refusal.reason}; nearest: {' or '.join(ways)}"
    title = f"{mechanism.title} ({short_name(mechanism)})"
    yield "mechanism", f"{title}; reports of {byte_count(mechanism.report_bytes)}"
    if planned.metric.spec.picks:
        yield "which value", which_value(planned.metric.spec)
    if not planned.examples:
        yield "compared", _comparison(planned)
    yield "interval", _mean_intervals(planned) if planned.is_mean else _share_intervals(planned)
    if not planned.is_mean:
        yield "detects", _detected(planned)
    if planned.share is not None:
        yield f"{100 * planned.share:.4g}% value", _devices_for_share(planned)
    if isinstance(mechanism, SetMechanism):
        yield "sets", _sets(planned, mechanism)
    if planned.experiment is not None:
        yield "experiment", _experiment(planned.experiment)
    if planned.width is not None:
        assert planned.devices_for_width is not None
        width = f"{planned.width:.4g}" if planned.is_mean else f"{planned.width:.4%}"
        needed = f"needs about {rounded(planned.devices_for_width)} devices"
        yield f"± {width}", f"for {'the mean' if planned.is_mean else HARDLY_ANYBODY} {needed}"
    if planned.has_many_collisions:
        yield (
            "note",
            f"hash collisions add {planned.collision_error:.0%} of the noise if popular values "
            f"hold much{_collisions_stay(mechanism)}",
        )
    every = planned.metric.spec.every
    if mechanism.delta * most_periods(every, DAYS_OF_A_YEAR) > MOST_DELTA_A_YEAR:
        limit = f"more delta than {power(MOST_DELTA_A_YEAR)} a year"
        yield "warning", f"{limit}: report less often, or take a mechanism without"
    yield ("a year" if planned.collection.days == DAYS_OF_A_YEAR else "in time"), _cost(planned)


def _sets(planned: Plan, mechanism: SetMechanism) -> str:
    """What it costs that a report covers so many items, and what fewer would save."""
    text = (
        f"a report covers {mechanism.most} items of a device; one forged report moves an item by "
        f"up to {mechanism.devices_of_a_fake:.3g} devices"
    )
    fewer = mechanism.most // 2
    if not fewer or planned.refusal is not None:
        return text
    share = planned.share or DETECTED_SHARE
    other = mechanism_choice.set_mechanism_for(
        mechanism.size, fewer, Fraction(mechanism.epsilon), planned.devices
    )
    needed, less = (rounded(devices_to_detect(each, share)) for each in (mechanism, other))
    return (
        f"{text}. An item of {100 * share:.4g}% asked for by itself needs about {needed} devices; "
        f"with most = {fewer} about {less}"
    )


def _experiment(found: Experiment) -> str:
    """How many devices tell a difference between two arms."""
    return (
        f"needs about {rounded(found.by_segment)} devices in both arms together to tell a "
        f"difference of {100 * found.difference:g} points, in 8 of 10 cases, of a value that half "
        f"have, if the arm is the metric's segment ({found.cells} cells are randomized); about "
        f"{rounded(found.by_key)} if each arm has a key of its own, which says who is in it"
    )


def _collisions_stay(mechanism: Mechanism) -> str:
    """What more devices do to the collisions of a sketch, and what would have fewer of them."""
    if isinstance(mechanism, Sketch) and mechanism.is_fitted:
        return "; with more buckets there are fewer, but a device's reports are linked more easily"
    return (
        ", and more devices do not average them out: the sketch has too few rows for so many "
        "devices"
    )


def _devices_for_share(planned: Plan) -> str:
    """How many devices tell a value of the share that was asked about from zero."""
    if planned.is_mean:
        return "a number has a mean and no values: --width says how exact it will be"

    if planned.devices_for_share is None or planned.devices_for_share_of_all is None:
        return (
            "can't be told from zero, however many report: the sketch has too few rows. Expect "
            "more devices, or give a larger epsilon"
        )
    alone, of_all = map(rounded, (planned.devices_for_share, planned.devices_for_share_of_all))
    if planned.examples:
        return (
            f"needs about {alone} devices to be found, in nine of ten cases, if it is short; "
            f"{of_all} if it is as long as can be"
        )
    text = f"needs about {alone} devices to detect it in 8 of 10 cases"
    if planned.values_asked == 1:
        return text
    asked = f"all {planned.values_asked:,} (the others share the rest by 1/rank)"
    if of_all == alone:
        return f"{text}, whether you ask for this value alone or for {asked}"
    return f"{text} if you ask for this value alone; {of_all} if you ask for {asked}"


def _comparison(planned: Plan) -> str:
    """Why this mechanism: the error and the report size of every one that could stand for it."""
    if len(planned.candidates) == 1:
        return "no other mechanism can carry this metric"
    parts = [
        f"{short_name(candidate.mechanism)} {candidate.excess:.2f} "
        f"({byte_count(candidate.mechanism.report_bytes)})"
        for candidate in planned.candidates
    ]
    against = (
        "the theoretical best"
        if planned.metric.spec.type in ("category", "string")
        else "the best of these"
    )
    return f"squared error relative to {against} (1.00): {', '.join(parts)}"


def _share_intervals(planned: Plan) -> str:
    parts = [
        f"± {width:.2%} for {HARDLY_ANYBODY if share == 0 else f'a value of {share:.0%}'}"
        for share, width in planned.half_widths.items()
    ]
    if planned.metric.spec.type == "boolean":
        parts = parts[1:]
    widest = "; these are strings that end in the last level, others have less" * bool(
        planned.examples
    )
    return ", ".join(parts) + f" (95%){widest}"


def _mean_intervals(planned: Plan) -> str:
    """The intervals of a mean, in the metric's own unit."""
    spec = planned.metric.spec
    low, high = (float(end) for end in spec.range or (0, 1))
    parts = [
        f"± {width:.4g} for a mean of {low + place * (high - low):.4g}"
        for place, width in planned.half_widths.items()
    ]
    remainder = "; bins and quantiles get theirs by bootstrap, from the reports"
    return ", ".join(parts) + f" (95%){remainder if spec.type != 'number' else ''}"


def _detected(planned: Plan) -> str:
    def share(value: float | None) -> str:
        return "none at all" if value is None else f"from {value:.2%} up"

    single = f"a value asked for by itself: {share(planned.detectable_share)}"
    if planned.values_asked == 1:
        return single
    return f"{single}; {planned.values_asked:,} at once: {share(planned.detectable_share_of_all)}"


def _cost(planned: Plan) -> str:
    collection = planned.collection
    count = "1 report" if collection.reports == 1 else f"{collection.reports:,} reports"
    days = f"{count} in {collection.days:,} days"
    if (histories := collection.histories) is None:
        text = f"{days}: epsilon {upper(collection.epsilon)} in all"
    else:
        text = f"{days}: epsilon {upper(histories.never)} while the value stays the same"
    sure = posterior_from_even_odds(collection.epsilon_unchanged)
    text += (
        f" (even odds become at most {upper_percent(sure)} sure)"
        if sure < NEARLY_SURE
        else " (a bound this large is no protection against whoever links all reports)"
    )
    if collection.delta:
        text += f"; plus a delta of {upper_power(collection.delta)} on the probability of any event"
    if collection.histories is not None:
        text += f"; if it changes at any time, {_changing(collection.histories)}"
    if collection.budget_days is not None and collection.budget_days < collection.days:
        text += f"; the lifetime budget ends it after {collection.budget_days:,} days"
    return text


def _changing(histories: HistoryBounds) -> str:
    """What the reports cost for two histories that change at different times."""
    if math.isinf(histories.always):
        return "no bound, as permanent answers are sent as they are"
    return f"{upper(histories.once)} after one change, {upper(histories.always)} at most"


def plan_plot(planned: Plan) -> str:
    """The width of intervals over the number of devices, for the metric's mechanism and rivals."""
    curves = sorted(planned.candidates, key=lambda candidate: not candidate.chosen)[:_CURVES]
    picture = log_plot(
        [candidate.half_width for candidate in curves],
        *planned.devices_shown,
        x_label=_power_of_ten,
        y_label=lambda value: f"±{value:.4g}" if planned.is_mean else f"±{100 * value:g}%",
    )
    legend = ", ".join(
        f"{mark} {short_name(candidate.mechanism)}"
        for mark, candidate in zip(MARKS, curves, strict=False)
    )
    subject = "the mean" if planned.is_mean else HARDLY_ANYBODY
    caption = f"95% interval of {subject}, over the number of devices: {legend}"
    indent = " " * 10
    wrapped = textwrap.fill(caption, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"{picture}\n{wrapped}"


def _power_of_ten(value: float) -> str:
    """A power of ten in a few characters, such as 100k."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.0f}{name}"
    return f"{value:g}"
