"""How values of a record go together."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from deniable_aggregator.answers.words import Association, Count


class Lift(Struct, kw_only=True):
    """Whether two values occur together more, or less, often than if they were independent.

    Attributes:
        values: the two values.
        share: of the devices that hold both; unbiased, may lie outside [0, 1].
        expected: what it would be if they were independent: the product of the values' shares.
        lift: `share` over `expected`; 1 if they are independent. Null where `expected` cannot be
            told from zero.
        standard_error: of the lift; null likewise.
        low: the lower end of the lift's interval; null likewise.
        high: the upper end.
        p_value: of the two-sided test that they are independent.
        adjusted_p_value: the same, corrected for the number of pairs asked about.
        association: whether it is clear that they go together (a lift above 1) or exclude each
            other (below 1).
        shift_if_fake: how far fake reports could move the lift; null for no bound.
        reports: how many reports the shares are of: those of the versions that ask for both.
        reason: why there is no lift.
    """

    values: tuple[str, str]
    share: float
    expected: float
    lift: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float
    adjusted_p_value: float
    association: Association
    shift_if_fake: float | None
    reports: Count
    reason: str | UnsetType = UNSET


class LiftNote(Struct):
    """What the lifts are.

    Attributes:
        pairs_asked: how many pairs were asked about; those shown may be a selection.
        meaning: what a lift, its interval and its test are.
    """

    pairs_asked: Count
    meaning: str
