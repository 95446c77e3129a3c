"""Questions about time: how a metric goes on, and whether it has changed."""

from __future__ import annotations

import itertools
from datetime import date
from typing import TYPE_CHECKING, Any, Final, cast

from flask import Blueprint, request

from deniable_aggregator.api import parameters
from deniable_aggregator.api.parameters import FIRST_DAY, estimate_refused
from deniable_aggregator.api.query_service import LAST_DAY
from deniable_aggregator.estimation.combination import ABOUT
from deniable_aggregator.estimation.options import ItemSelection
from deniable_aggregator.estimation.shares import items_between
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.statistics.intervals import CORRECTIONS, INTERVALS
from deniable_aggregator.trends.change import change
from deniable_aggregator.trends.series import BY, MAX_PERIODS, DayRange, calendar_periods, series
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.api.query_service import QueryService
    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.estimation.combination import About
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.statistics.intervals import Correction, IntervalKind
    from deniable_aggregator.trends.series import PeriodLength

_ITEM: Final = "item"
_WANTED: Final = 'Send JSON: {"candidates": ["...", ...]}, and no item in the query.'


def blueprint(reading: QueryService, verifier: KeyVerifier, settings: Settings) -> Blueprint:
    """The routes."""
    routes = Blueprint("trends", __name__)

    def series_of(name: str) -> dict[str, Any]:
        key = require_reader(verifier)
        parameters.reject_unknown_parameters(
            "by", "since", "until", "about", "interval", "top", several=_ITEM
        )
        asked, top = _asked(settings), parameters.top()
        since, until = parameters.day("since"), parameters.day("until")
        if since is not None and until is not None and since > until:
            raise ProblemError("malformed_question", f"since must not be after until, got {since}")
        by, about = cast("PeriodLength", _choice("by", BY)), cast("About", _choice("about", ABOUT))
        interval = _interval()
        entries = reading.entries_after_fold(key.application, name)
        _refuse_without_items(entries, asked)
        periods = _periods(reading, entries, name, by, since, until)
        try:
            found = series(
                lambda span: reading.collect(entries, span.since, span.until),
                periods,
                asked.candidates,
                by=by,
                about=about,
                interval=interval,
                top=top,
                add=_added(entries, asked),
            ).as_dict()
        except ParameterError as error:
            raise estimate_refused(error) from None
        return {
            "application": key.application,
            "since": periods[0].since.isoformat(),
            "until": periods[-1].until.isoformat(),
            "pending_reports": reading.pending(entries),
            "excluded_reports": reading.excluded(entries, periods[0].since, periods[-1].until),
            "health": reading.integrity_summary(entries, periods[0].since, periods[-1].until),
            **found,
        }

    def change_between(name: str) -> dict[str, Any]:
        key = require_reader(verifier)
        parameters.reject_unknown_parameters(
            "before", "after", "about", "interval", "correction", "top", several=_ITEM
        )
        asked, top = _asked(settings), parameters.top()
        before, after = _span("before"), _span("after")
        if not (before.until < after.since or after.until < before.since):
            raise ProblemError("malformed_question", "before and after must not overlap.")
        about = cast("About", _choice("about", ABOUT))
        correction = cast("Correction", _choice("correction", CORRECTIONS))
        interval = _interval()
        entries = reading.entries_after_fold(key.application, name)
        _refuse_without_items(entries, asked)
        gathered = [reading.collect(entries, span.since, span.until) for span in (before, after)]
        for each in gathered:
            reading.require_reports(name, each)
        try:
            found = change(
                gathered[0],
                gathered[1],
                asked.candidates,
                about=about,
                interval=interval,
                correction=correction,
                top=top,
                add=_added(entries, asked),
            ).as_dict(before, after)
        except ParameterError as error:
            raise estimate_refused(error) from None
        return {
            "application": key.application,
            "pending_reports": reading.pending(entries),
            "excluded_reports": sum(each.excluded for each in gathered),
            "health": {
                when: reading.integrity_summary(entries, span.since, span.until)
                for when, span in (("before", before), ("after", after))
            },
            **found,
        }

    for path, view in (("series", series_of), ("change", change_between)):
        rule = f"/v1/metrics/<name>/{path}"
        routes.add_url_rule(rule, path, view, methods=["GET", "POST"])
    return routes


def _periods(
    reading: QueryService,
    entries: Sequence[CatalogEntry],
    name: str,
    by: PeriodLength,
    since: date | None,
    until: date | None,
) -> list[DayRange]:
    """The periods from the first day to the last; where one is left out, of what was counted."""
    if since is None or until is None:
        days = reading.days(entries, since or FIRST_DAY, until or LAST_DAY)
        if not days:
            gathered = reading.collect(entries, since or FIRST_DAY, until or LAST_DAY)
            reading.require_reports(name, gathered)
        since, until = since or days[0], until or days[-1]
    found = list(itertools.islice(calendar_periods(by, since, until), MAX_PERIODS + 1))
    if len(found) > MAX_PERIODS:
        raise ProblemError(
            "malformed_question",
            f"A series has at most {MAX_PERIODS} periods: narrow since and until, or choose a "
            "longer period with by.",
        )
    return found


def _refuse_without_items(entries: Sequence[CatalogEntry], asked: ItemSelection) -> None:
    if (
        asked.candidates is None
        and asked.sum is None
        and any(entry.spec.type == "string" for entry in entries)
    ):
        raise ProblemError(
            "candidates_needed",
            f"{entries[0].spec.name} counts strings of an open domain: say which with item=..., "
            'once for each, or POST {"candidates": ["...", ...]}.',
        )


def _asked(settings: Settings) -> ItemSelection:
    """What is asked for, from the query or the body."""
    named = request.args.getlist(_ITEM)
    if request.method != "POST":
        return ItemSelection(named or None)
    if named:
        raise ProblemError("malformed_question", _WANTED)
    return parameters.parse_item_selection(settings)


def _added(entries: Sequence[CatalogEntry], asked: ItemSelection) -> Sequence[str] | None:
    """The items whose share together is asked for."""
    if asked.range is None:
        return asked.sum
    return items_between([entry.spec for entry in entries], *asked.range)


def _interval() -> IntervalKind | None:
    """What intervals are to cover; None where that is left to what is asked."""
    if "interval" not in request.args:
        return None
    return cast("IntervalKind", _choice("interval", INTERVALS))


def _choice(name: str, allowed: Sequence[str]) -> str:
    value = request.args.get(name, allowed[0])
    if value not in allowed:
        raise ProblemError("malformed_question", f"{name} must be one of {', '.join(allowed)}.")
    return value


def _span(name: str) -> DayRange:
    """Days such as 2026-01-01..2026-01-31, or a single one."""
    first, dots, last = request.args.get(name, "").partition("..")
    try:
        span = DayRange(date.fromisoformat(first), date.fromisoformat(last if dots else first))
    except ValueError:
        span = None
    if span is None or not FIRST_DAY <= span.since <= span.until:
        wanted = f"{name} must be two days such as 2026-01-01..2026-01-31."
        raise ProblemError("malformed_question", wanted)
    return span
