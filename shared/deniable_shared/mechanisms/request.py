"""What a registry file says of one metric, as a mechanism reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_shared.attributes import Attribute
    from deniable_shared.fields import TableReader


@frozen
class MechanismRequest:
    """One metric's fields that decide its mechanism.

    Attributes:
        name: what the registry calls the mechanism, or ``auto``.
        options: the mechanism's own options; what is left unread is refused afterwards.
        size: how many items or bins there are; 0 for types without.
        attributes: the parts of a record; none unless ``attributes``.
        epsilon: the declared privacy loss of one report, in nats; never exceeded.
        epsilon_permanent: the declared privacy loss of all reports of one value, in nats; None
            unless reports are memoised.
        delta: the declared probability that a report reveals more; None unless the mechanism
            takes one.
        devices: how many devices are expected.
    """

    name: str
    options: TableReader
    size: int
    attributes: Sequence[Attribute]
    epsilon: Fraction
    epsilon_permanent: Fraction | None
    delta: Fraction | None
    devices: int

    @property
    def permanent(self) -> Fraction:
        """`epsilon_permanent` of a metric that is memoised."""
        assert self.epsilon_permanent is not None
        return self.epsilon_permanent
