"""The law of a value: with which probability an installed randomizer sends which report.

A law is a table of reports; or, of reports with rows of random bits, a few components, each with
the law of every place of the report. Next to it stands what all reports of the value tell together:
how probable it is that a device sends, for good, reports by this or that table.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable._audit.failure import AuditFailure, code_under_audit
from deniable._audit.laws.components import Clear, Component, OnePath, components_of, on_path
from deniable._audit.laws.secret import SECRET
from deniable._audit.walk import Negligible, over_one_denominator, paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._audit.laws.bit_rows import Report
    from deniable._audit.laws.draws import Draw, Draws, KeptOutcomes


class Table(NamedTuple):
    """Weights of outcomes, over a common denominator.

    Attributes:
        weights: by outcome.
        of: the denominator.
    """

    weights: dict[Any, int]
    of: int


class Law(NamedTuple):
    """The law of a value; either `reports` or `components`.

    Attributes:
        reports: of all reports.
        kept: of the tables by which a device reports the value for good; None if it keeps nothing.
        components: by what is shown in the clear.
    """

    reports: Table | None
    kept: Table | None
    components: dict[Clear, Component] | None


class _Lasting(NamedTuple):
    """What a device with certain kept choices does for good.

    Attributes:
        chance: how probable these choices are.
        drawn: the draws of the noise among them.
        shown: how probable each report of it is; of one with rows of bits, each law of its places.
    """

    chance: Fraction
    drawn: tuple[Draw, ...]
    shown: dict[Any, Fraction]


def report_law(draws: Draws, randomizer: Any, item: Any, width: int) -> Law:
    """The law of the reports of an item.

    Args:
        draws: what randomizers draw from.
        randomizer: made once, and used for all paths; or, of one that keeps choices, what makes it:
            a new one for each path, as it may remember them.
        item: what `Spec.encode` makes of a value.
        width: the stated width of a report, in bytes.

    Raises:
        AuditFailure: if the reports are not of this width, or their law cannot be followed.
    """

    def report() -> bytes | Report:
        device = randomizer() if callable(randomizer) else randomizer
        made: bytes | Report = device.report(item, SECRET)
        return made

    with code_under_audit():
        return _law_of(draws, report, width)


def check_second_report(draws: Draws, make: Callable[[], Any], item: Any) -> None:
    """Checks that a device's second report takes as many fresh draws as its first.

    Args:
        draws: what the randomizer draws from.
        make: makes the randomizer.
        item: is reported twice.

    Raises:
        AuditFailure: if something that the first report drew is used again.
    """
    draws.start(())
    with code_under_audit():
        device = make()
        device.report(item, SECRET)
        first = draws.fresh
        draws.start(())
        device.report(item, SECRET)
    if draws.fresh < first:
        raise AuditFailure("a second report takes up fresh draws of the first one")


def _law_of(draws: Draws, report: Callable[[], bytes | Report], width: int) -> Law:
    """Walks through all choices behind a report."""
    sums: dict[tuple[Any, int], int] = {}
    symbolic: list[OnePath] = []
    kept: dict[KeptOutcomes, _Lasting] = {}
    for made in paths(lambda _: report(), draws):
        if isinstance(made, Negligible):
            raise AuditFailure("a report takes draws without end")
        if type(made) is bytes and not symbolic:
            if len(made) != width:
                raise AuditFailure(f"a report has {len(made)} bytes instead of {width}")
            key = (made, draws.denominator)
            sums[key] = sums.get(key, 0) + draws.numerator
            _add_kept(kept, draws, made)
            continue
        if sums:
            raise AuditFailure("some reports have rows of random bits, and others do not")
        symbolic.append(on_path(draws, made, width))
        if not symbolic[-1].inner:  # the randomizer inside is audited by itself
            _add_kept(kept, draws, frozenset(symbolic[-1].places.items()))
    if symbolic:
        components = components_of(symbolic)
        total = sum(component.weight for component in components.values())
        law = Law(None, None, components)
    else:
        reports = Table(*over_one_denominator(sums))
        total = Fraction(sum(reports.weights.values()), reports.of)
        law = Law(reports, _kept_table(kept), None)
    if total != draws.followed:
        raise AuditFailure("the probabilities of a value's reports do not add up to 1")
    _check_shared(draws, kept)
    return law


def _add_kept(kept: dict[KeptOutcomes, _Lasting], draws: Draws, shown: Any) -> None:
    """Adds what is shown on a path to what a device with its kept choices shows for good."""
    outcomes = draws.kept_outcomes
    if outcomes:
        chance = Fraction(draws.kept_numerator, draws.kept_denominator)
        lasting = kept.setdefault(outcomes, _Lasting(chance, draws.last_kept_draws, {}))
        fresh = Fraction(draws.numerator, draws.denominator) / chance
        lasting.shown[shown] = lasting.shown.get(shown, Fraction(0)) + fresh


def _check_shared(draws: Draws, kept: dict[KeptOutcomes, _Lasting]) -> None:
    """Checks that two values rest on the same kept choices only if their reports are the same.

    Were the noise of one value used for another, reports of both together would take it away.
    """
    for outcomes, lasting in kept.items():
        look = hash((lasting.drawn, frozenset(lasting.shown.items())))
        if draws.shown.setdefault(outcomes, look) != look:
            raise AuditFailure(
                "two values share kept noise, so that reports of both reveal more than of each"
            )


def _kept_table(kept: dict[KeptOutcomes, _Lasting]) -> Table | None:
    """How probable it is that a device has each table of reports for good."""
    if not kept:
        return None
    sums: dict[Any, Fraction] = {}
    for each in kept.values():
        if sum(each.shown.values()) != 1:
            raise AuditFailure("what a device keeps is drawn after a fresh draw, and depends on it")
        table = frozenset(each.shown.items())
        sums[table] = sums.get(table, Fraction(0)) + each.chance
    if sum(sums.values()) != 1:
        raise AuditFailure("the kept choices of a device do not add up to certainty")
    common = math.lcm(*{weight.denominator for weight in sums.values()})
    return Table({key: int(weight * common) for key, weight in sums.items()}, common)
