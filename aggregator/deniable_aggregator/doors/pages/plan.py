"""What a metric will show, before anything ships."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, request

from deniable_aggregator.doors.pages.rendering import page
from deniable_aggregator.telling.curves import plan_figure
from deniable_aggregator.telling.document import Table, text_table
from deniable_shared.commands.example_text import example_sentences, example_table
from deniable_shared.commands.plan_text import HARDLY_ANYBODY, plan_rows
from deniable_shared.commands.text import rounded
from deniable_shared.errors import DeniableError
from deniable_shared.fields import MAX_VALUES
from deniable_shared.mechanisms import MAX_EPSILON
from deniable_shared.mechanisms.sets.base import MAX_MOST
from deniable_shared.periods import EVERY
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.planning.one_metric import AskedMetric, plan_one_metric
from deniable_shared.registry import MAX_DEVICES
from deniable_shared.registry.discovery import MAX_LONGEST
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.telling.figure import Figure
    from deniable_shared.planning.result import Plan


TYPES: Final = (
    ("category", "one of some values"),
    ("boolean", "yes or no"),
    ("set", "several of some items"),
    ("string", "a text"),
    ("number", "a number, for its mean"),
    ("distribution", "a number, for its distribution"),
)
"""Types that can be planned by a few fields, and what a device then reports."""

HOW_OFTEN: Final = {
    "day": "once a day",
    "week": "once a week",
    "month": "once a month",
    "once": "once ever",
}
MAX_CANDIDATES: Final = 10**12
MOST_DIGITS: Final = 20
"""Of a number that is read at all: larger ones are none of a plan's."""

LEAST_EPSILON: Final = 0.01
PERCENT: Final = 100

DEFAULTS: Final = {
    "type": "category",
    "values": "10",
    "most": "8",
    "low": "0",
    "high": "100",
    "epsilon": "1",
    "percent": "1",
    "width": "",
    "devices": "100000",
    "candidates": "1000",
    "longest": "16",
    "every": "day",
}
"""What the fields say at first."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What somebody has filled in.

    Attributes:
        texts: by the field's name, as they were typed.
        errors: what is wrong with a field, by its name.
        asked: the metric to plan; None if something is wrong.
    """

    texts: Mapping[str, str]
    errors: Mapping[str, str]
    asked: AskedMetric | None

    @property
    def kind(self) -> str:
        """The metric's type."""
        return self.texts["type"]

    @property
    def discovers(self) -> bool:
        """Whether strings are to be found although nobody listed them."""
        return self.kind == "string" and self.texts["discover"] == "yes"

    def shows(self, field: str) -> bool:
        """Whether a field belongs to this type of metric.

        Args:
            field: its name.
        """
        if field == "values":
            return self.kind in ("category", "set")
        if field == "most":
            return self.kind == "set"
        if field in ("low", "high"):
            return self.kind in TYPES_WITH_RANGE
        if field == "width":
            return self.kind in TYPES_WITH_RANGE
        if field == "percent":
            return self.kind not in TYPES_WITH_RANGE
        if field == "candidates":
            return self.kind == "string" and not self.discovers
        if field == "longest":
            return self.discovers
        return True


def read_form(given: Mapping[str, str]) -> Filled:
    """Reads what somebody has filled in; what is not given is as at first.

    Args:
        given: texts by the names of fields, such as those of an address.
    """
    texts = {name: given.get(name, first).strip() for name, first in DEFAULTS.items()}
    texts["discover"] = "yes" if given.get("discover") == "yes" else ""
    for name, known in (("type", dict(TYPES)), ("every", dict.fromkeys(EVERY))):
        if texts[name] not in known:
            texts[name] = DEFAULTS[name]
    filled = Filled(texts, {}, None)
    reader = _Reader(filled)
    asked: dict[str, Any] = {
        "epsilon": reader.number("epsilon", LEAST_EPSILON, MAX_EPSILON),
        "values": reader.whole("values", 2, MAX_VALUES, optional=filled.kind == "set"),
        "most": reader.whole("most", 1, MAX_MOST),
        "ends": reader.ends(),
        "devices": reader.whole("devices", 1, MAX_DEVICES, optional=True),
        "share": reader.share(),
        "width": reader.number("width", 0, math.inf, optional=True),
        "candidates": reader.whole("candidates", 1, MAX_CANDIDATES),
        "longest": reader.whole("longest", 1, MAX_LONGEST),
    }
    if reader.errors:
        return Filled(texts, reader.errors, None)
    if asked["most"] is not None and asked["values"] is not None:
        asked["most"] = min(asked["most"], asked["values"])  # as many as there are, without asking
    found: dict[str, Any] = {
        **asked,
        "kind": filled.kind,
        "every": texts["every"],
        "discover": filled.discovers,
    }
    if found["ends"] is not None and found["width"] is None:
        found["width"] = (found["ends"][1] - found["ends"][0]) / PERCENT
    return Filled(texts, {}, AskedMetric(**found))


def command_of(asked: AskedMetric) -> str:
    """The same question in a terminal.

    Args:
        asked: the metric.
    """
    options: dict[str, object] = {
        "type": asked.kind,
        "values": asked.values,
        "most": asked.most,
        "range": None if asked.ends is None else f"{asked.ends[0]:g} {asked.ends[1]:g}",
        "epsilon": f"{asked.epsilon:g}",
        "every": None if asked.every == "day" else asked.every,
        "longest": asked.longest,
        "share": None if asked.share is None else f"{asked.share:g}",
        "width": None if asked.width is None else f"{asked.width:g}",
        "candidates": asked.candidates,
        "devices": asked.devices,
    }
    said = [f"--{name} {value}" for name, value in options.items() if value is not None]
    return " ".join(["deniable plan", *said, *(["--discover"] if asked.discover else [])])


class _Reader:
    """Reads fields, and notes what is wrong with them.

    Args:
        filled: the texts; fields that do not belong to the type of metric are None.

    Attributes:
        errors: what is wrong with a field, by its name.
    """

    def __init__(self, filled: Filled) -> None:
        self._filled = filled
        self.errors: dict[str, str] = {}

    def number(self, name: str, low: float, high: float, *, optional: bool = False) -> float | None:
        """A number in [low, high]; None if it is left out."""
        text = self._filled.texts[name]
        if not self._filled.shows(name) or (optional and not text):
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low <= value <= high and math.isfinite(value)):
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
            self.errors[name] = f"Give a number {bounds}."
            return None
        return value

    def whole(self, name: str, low: int, high: int, *, optional: bool = False) -> int | None:
        """A whole number in [low, high]; None if it is left out."""
        text = self._filled.texts[name].replace(",", "").replace("_", "")
        if not self._filled.shows(name) or (optional and not text):
            return None
        short = len(text) <= MOST_DIGITS
        if not (short and text.isascii() and text.isdecimal() and low <= int(text) <= high):
            self.errors[name] = f"Give a whole number from {low:,} to {high:,}."
            return None
        return int(text)

    def share(self) -> float | None:
        """The share to tell from zero, which is given in percent."""
        percent = self.number("percent", 0.0001, PERCENT)
        return None if percent is None else percent / PERCENT

    def ends(self) -> tuple[float, float] | None:
        """The range of a number."""
        low, high = (self.number(name, -1e12, 1e12) for name in ("low", "high"))
        if low is None or high is None:
            return None
        if not low < high:
            self.errors["high"] = "Give a number above the lowest."
            return None
        return low, high


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """An answer to one question.

    Attributes:
        asks: the question, in a few words.
        headline: the number.
        says: what the number is of.
    """

    asks: str
    headline: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """What a metric will show.

    Attributes:
        refused: why it cannot work and what is nearest; empty if it can.
        answers: the most important numbers.
        figure: how wide intervals are, by the number of devices.
        rows: what the command says, a label and a sentence each.
        examples: of strings to discover, what becomes of some; else None.
        remarks: what the table of examples means.
        table: the metric for a registry file.
        command: the same question in a terminal.
    """

    refused: str
    answers: Sequence[PlanAnswer]
    figure: Figure
    rows: Sequence[tuple[str, str]]
    examples: Table | None
    remarks: Sequence[str]
    table: str
    command: str


def plan_view(filled: Filled) -> PlanView | str:
    """What a metric will show; or what is wrong with it, in a sentence.

    Args:
        filled: the form.
    """
    if filled.asked is None:
        return "Correct the marked fields."
    try:
        planned = plan_one_metric(filled.asked)
    except DeniableError as error:
        return f"{error}."
    found, rows = planned.plan, list(plan_rows(planned.plan))
    return PlanView(
        refused=next((text for label, text in rows if label == "refused"), ""),
        answers=list(_answers(found, filled.asked)),
        figure=plan_figure(found),
        rows=[row for row in rows if row[0] != "refused"],
        examples=_examples(found) if found.examples else None,
        remarks=list(example_sentences(found)) if found.examples else [],
        table=planned.table,
        command=command_of(filled.asked),
    )


def _examples(found: Plan) -> Table:
    columns, *rows = example_table(found)
    return text_table("texts", "What becomes of some texts", columns, rows)


def _answers(found: Plan, asked: AskedMetric) -> Iterator[PlanAnswer]:
    yield from _of_mean(found) if found.is_mean else _of_shares(found, asked)
    epsilon = found.mechanism.epsilon
    yield PlanAnswer(
        "What one report gives away",
        f"{most_certain(epsilon)} sure, at most",
        f"is how sure of a value it makes whoever was 50% sure before. Epsilon {epsilon:g}.",
    )


def _of_mean(found: Plan) -> Iterator[PlanAnswer]:
    assert found.devices_for_width is not None
    assert found.width is not None
    yield PlanAnswer(
        "How many devices it takes",
        f"about {rounded(found.devices_for_width)}",
        f"for the mean to be known to ± {found.width:.4g}, wherever in its range it lies.",
    )
    widest = max(found.half_widths.values())
    yield PlanAnswer(
        f"How exact it is with {found.devices:,} devices",
        f"± {widest:.4g}, at most",
        "around the mean: 19 of 20 such ranges hold the true one.",
    )


def _of_shares(found: Plan, asked: AskedMetric) -> Iterator[PlanAnswer]:
    assert asked.share is not None
    percent = f"{PERCENT * asked.share:g}%"
    alone, of_all = found.devices_for_share, found.devices_for_share_of_all
    if alone is None or of_all is None:
        needed, says = "never enough", "The sketch has too few rows: expect more devices."
    elif found.examples:
        needed = f"about {rounded(alone)}"
        says = (
            f"to find a short text that {percent} hold, in nine of ten cases; "
            f"{rounded(of_all)} if it is as long as can be."
        )
    else:
        needed = f"about {rounded(alone)}"
        says = f"to see a value that {percent} of them have, in eight of ten cases."
        if of_all != alone:
            says += (
                f" For {found.values_asked:,} values at once {rounded(of_all)}, if the second most "
                "common of the others is half as common as the first, the third a third, and so on."
            )
    yield PlanAnswer("How many devices it takes", needed, says)
    seen = found.detectable_share
    yield PlanAnswer(
        f"What {found.devices:,} devices show",
        "nothing at all" if seen is None else f"values of {seen:.2%} or more",
        "Not even a value that all of them have would be told from zero."
        if seen is None
        else _least_of_several(found, seen),
    )
    # A flag has no value that nobody holds: half of the devices is its worst place.
    width, *_ = (each for at, each in found.half_widths.items())
    if width >= 1:
        return  # nothing is seen
    yield PlanAnswer(
        f"How exact shares are with {found.devices:,} devices",
        f"± {PERCENT * width:.2f} points",
        f"for {HARDLY_ANYBODY}, "
        f"± {PERCENT * max(found.half_widths.values()):.2f} for a value of 10%. "
        "19 of 20 such ranges hold the true share.",
    )


def _least_of_several(found: Plan, alone: float) -> str:
    """What becomes of rarer values, and how that is if several are asked for at once."""
    rarer = "Rarer ones can't be told from zero."
    of_all = found.detectable_share_of_all
    if found.values_asked == 1 or of_all == alone:
        return rarer
    least = "none" if of_all is None else f"those of {of_all:.2%} or more"
    return f"{rarer} Of {found.values_asked:,} asked for at once {least} can."


def add_plan(routes: Blueprint) -> None:
    """Adds ``/plan``."""
    routes.add_url_rule("/plan", "plan", plan_page)


def plan_page() -> Response:
    """What a metric will show, before anything ships."""
    filled = read_form(request.args)
    found = plan_view(filled)
    problem = found if isinstance(found, str) else ""
    return page(
        "plan/plan.html.jinja",
        filled=filled,
        plan=None if problem else found,
        problem=problem,
        types=TYPES,
        how_often=list(HOW_OFTEN.items()),
    )
