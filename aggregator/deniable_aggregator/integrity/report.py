"""What is said about the health of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator import dates as dates_module
from deniable_aggregator.integrity.examiner import FAMILY_P, smallest_p
from deniable_aggregator.statistics.checks import MEANINGS

if TYPE_CHECKING:
    from deniable_aggregator.integrity.examiner import DayChecks, Examination, KeyChecks
    from deniable_aggregator.statistics.checks import Check

OK: Final = "ok"
SUSPICIOUS: Final = "suspicious"
UNKNOWN: Final = "unknown"
VERDICTS: Final = (OK, SUSPICIOUS, UNKNOWN)

INVISIBLE: Final = (
    "A report that follows the mechanism is valid whatever value it was made from: devices that "
    "lie about what they hold, and fakes whose noise is drawn as a device draws it, pass every "
    "check. "
    "What they can do at most is the poisoning radius beside each estimate."
)


def verdict(examination: Examination) -> str:
    """One word for all of it."""
    if examination.failing_days:
        return SUSPICIOUS
    return OK if examination.checks_made else UNKNOWN


def as_dict(examination: Examination) -> dict[str, Any]:
    """JSON data: the verdict, what it means, and every check."""
    limit = examination.limit
    return {
        **summary(examination),
        "checks_made": examination.checks_made,
        "alarm": {
            "p_below": limit,
            "meaning": (
                "a check fails where honest reports would look so odd with a smaller probability "
                "than p_below: 4.2 standard deviations, or less where so many checks were made "
                f"that honest reports would else fail any of them more often than {FAMILY_P:g}"
            ),
        },
        "invisible": INVISIBLE,
        "days": [_day(day, limit) for day in examination.days],
    }


def summary(examination: Examination) -> dict[str, Any]:
    """What stands beside an estimate: JSON data."""
    return {
        "verdict": verdict(examination),
        "warning": warning(examination),
        "days_left_out": examination.days_left_out,
    }


def warning(examination: Examination) -> str | None:
    """What to say beside an estimate from these days, or None."""
    failing = examination.failing_days
    if not failing:
        return None
    dates = ", ".join(dict.fromkeys(dates_module.format_day(day.epoch) for day in failing[:3]))
    more = "" if len(failing) <= 3 else f" and {len(failing) - 3} more"
    keys = sorted({key for day in failing for key in day.suspicious_keys(examination.limit)})
    named = ""
    if any(keys):
        named = f" Keys {', '.join(keys)} stand out." if keys[1:] else f" Key {keys[0]} stands out."
    return (
        f"The reports of {dates}{more} are not all those of honest devices: see the metric's "
        f"health.{named}"
    )


def _day(day: DayChecks, limit: float) -> dict[str, Any]:
    return {
        "day": dates_module.format_day(day.epoch),
        "digest": day.spec.digest.hex(),
        "title": day.spec.mechanism.title,
        "reports": day.reports,
        "verdict": _verdict(
            smallest_p(day.all_checks()),
            limit,
            known=any(c.p is not None for c in day.all_checks()),
        ),
        "stand_out": day.suspicious_keys(limit),
        "checks": [_check(check, limit) for check in day.checks],
        "keys": [_key(each, limit) for each in day.keys],
    }


def _key(each: KeyChecks, limit: float) -> dict[str, Any]:
    p = smallest_p(each.checks)
    return {
        "key": each.key,
        "reports": each.reports,
        "verdict": _verdict(p, limit, known=any(check.p is not None for check in each.checks)),
        "checks": [_check(check, limit) for check in each.checks],
    }


def _check(check: Check, limit: float) -> dict[str, Any]:
    known = check.p is not None
    return {
        "check": check.name,
        "asks": MEANINGS[check.name],
        "verdict": _verdict(1.0 if check.p is None else check.p, limit, known=known),
        "p": check.p,
        "found": check.finding,
    }


def _verdict(p: float, limit: float, *, known: bool) -> str:
    if not known:
        return UNKNOWN
    return SUSPICIOUS if p < limit else OK
