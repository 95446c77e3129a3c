"""What a registry file allows: its numbers, read from its text, and compared with what was found.

The audit does not ask the registry's reader for them. That derives the mechanism, and a fault in it
would change the mechanism and the epsilon that the mechanism states alike.
"""

from __future__ import annotations

import tomllib
import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable._audit.failure import AuditFailure
from deniable._audit.verdict import ROUNDED, Verdict
from deniable_shared.exact_bounds import exp_lower, float_upper

if TYPE_CHECKING:
    from deniable._audit.laws.worst import Worst
    from deniable_shared.spec import Spec


class Declared(NamedTuple):
    """What the file says of a metric, exactly as it is written there.

    Attributes:
        epsilon: privacy loss of one report, in nats.
        epsilon_permanent: of all reports of a value together, in nats; None if it is not given.
        delta: by how much an event may be more probable; None if it is not given.
        every: the period in which a device reports once at most. Unless it is given it is a day,
            or a week if answers are kept and the file does not choose the mechanism.
        absent: what is reported where nothing was recorded, as it is written; None without.
        pick: which value of a period is reported, as it is written; None if the file does not say.
    """

    epsilon: Fraction
    epsilon_permanent: Fraction | None = None
    delta: Fraction | None = None
    every: str = "day"
    absent: object = None
    pick: str | None = None


def declared_in(text: str) -> dict[str, Declared]:
    """What a file says of each of its metrics; one without an epsilon is left out.

    Args:
        text: TOML that is a registry.
    """
    tables = tomllib.loads(text, parse_float=Decimal).get("metrics", {})
    return {
        name: Declared(
            epsilon,
            _number(table, "epsilon_permanent"),
            _number(table, "delta"),
            table.get("every", _usual_period(table)),
            table.get("absent"),
            table.get("pick"),
        )
        for name, table in tables.items()
        if (epsilon := _number(table, "epsilon")) is not None
    }


def _usual_period(table: dict[str, Any]) -> str:
    choice = table.get("mechanism", "auto")
    name = choice.get("name", "auto") if isinstance(choice, dict) else choice
    return "week" if table.get("repeat") == "memoize" and name == "auto" else "day"


def _number(table: dict[str, Any], name: str) -> Fraction | None:
    value: Any = table.get(name)
    if type(value) not in (int, Decimal) or not Decimal(value).is_finite():
        return None
    return Fraction(value)


def check_declared(spec: Spec, verdict: Verdict, declared: Declared | None) -> None:
    """Compares what was found of a metric with what its file says.

    Raises:
        AuditFailure: if a report, or all reports of a value, reveal more than the file allows, or
            the metric reports in another period, or another value where nothing was recorded.
    """
    if declared is None:
        raise AuditFailure("the file states no epsilon for it")
    if spec.every != declared.every:
        raise AuditFailure(f"it has every = {spec.every!r}, and the file {declared.every!r}")
    absent = declared.absent
    if isinstance(absent, str):
        absent = unicodedata.normalize("NFC", absent)
    elif isinstance(absent, int | Decimal) and not isinstance(absent, bool):
        absent = Fraction(absent)
    if (type(spec.absent), spec.absent) != (type(absent), absent):
        said = "nothing" if declared.absent is None else declared.absent
        raise AuditFailure(f"it has absent = {spec.absent_text}, and the file {said}")
    pick = declared.pick or "first"
    if spec.pick != pick:
        raise AuditFailure(f"it has pick = {spec.pick!r}, and the file {pick!r}")
    section, mechanism, tolerance = verdict.section, spec.mechanism, verdict.tolerance
    if verdict.delta is None:
        _check("one report reveals", section.report, mechanism.epsilon, tolerance, declared.epsilon)
    else:
        _check_delta(mechanism.epsilon, verdict.delta, declared)
    permanent = declared.epsilon_permanent
    if section.kept is None and permanent is not None:
        raise AuditFailure("no answer is kept, and the file states an epsilon_permanent")
    if section.kept is not None:
        if permanent is None:
            raise AuditFailure("answers are kept, and the file states no epsilon_permanent")
        assert mechanism.epsilon_permanent is not None
        what = "all reports of a value together reveal"
        _check(what, section.kept, mechanism.epsilon_permanent, tolerance, permanent)


def _check(what: str, worst: Worst, stated: float, tolerance: Fraction, allowed: Fraction) -> None:
    """Both numbers must be allowed: what was found may be less, as some values were left out.

    What is stated is the logarithm of a ratio, and a few units of its last digit too high.
    """
    found = worst.ratio * (1 - tolerance) <= exp_lower(allowed)
    if not (found and Fraction(stated) * (1 - ROUNDED) <= allowed):
        raise AuditFailure(_more(f"{what} {stated if found else worst.nats} nats", allowed))


def _check_delta(epsilon: float, delta: Fraction, declared: Declared) -> None:
    if declared.delta is None:
        raise AuditFailure("its noise has a delta, and the file states none")
    if not epsilon <= float_upper(declared.epsilon):
        raise AuditFailure(_more(f"delta is that at an epsilon of {epsilon}", declared.epsilon))
    if not delta <= declared.delta:
        raise AuditFailure(_more(f"delta is {float(delta)}", declared.delta))


def _more(what: str, allowed: Fraction) -> str:
    return f"{what}, and the file allows {float(allowed)}"
