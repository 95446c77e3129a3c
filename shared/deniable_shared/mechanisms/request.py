"""What a mechanism is given: a metric's fields of a registry file, and the choice among all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_shared.attributes import Attribute
    from deniable_shared.fields import TableReader
    from deniable_shared.mechanisms.oracle import Oracle
    from deniable_shared.mechanisms.sets.base import SetMechanism
    from deniable_shared.mechanisms.sketch import Sketch


AUTO: Final = "auto"
"""The name of no mechanism: the one for the metric's type is chosen."""


class MechanismChoice(Protocol):
    """What the module `mechanism_choice` offers to mechanisms.

    It imports all mechanisms, so they cannot import it and are given it here.
    """

    @property
    def BUCKETS(self) -> int:  # noqa: N802  a constant of the module
        """Buckets in a row of a sketch, unless a registry or an oracle wants others."""

    @property
    def MEMOIZED_BUCKETS(self) -> int:  # noqa: N802  a constant of the module
        """Buckets in a row of a sketch that memoises, where a registry names no mechanism."""

    def oracle_for(self, size: int, epsilon: Fraction) -> Oracle:
        """The oracle that is chosen for so many items."""

    def comparable_oracles(self, size: int, epsilon: Fraction) -> list[Oracle]:
        """All oracles that can carry so many items."""

    def memoized_candidate_oracles(
        self, size: int, epsilon: Fraction, epsilon_permanent: Fraction
    ) -> list[Oracle]:
        """All oracles that memoise and can carry so many items."""

    def sketch_for(self, epsilon: Fraction, devices: int, buckets: int | None = None) -> Sketch:
        """The sketch that is chosen for strings."""

    def set_candidates(
        self, size: int, most: int, epsilon: Fraction, devices: int
    ) -> list[SetMechanism]:
        """All mechanisms that can carry sets of so many listed items, or of texts if 0."""

    def comparable_inner_oracles(self, epsilon: Fraction) -> list[Oracle]:
        """All oracles that can stand inside a sketch."""

    def memoized_inner_candidates(
        self, epsilon: Fraction, epsilon_permanent: Fraction
    ) -> list[Oracle]:
        """All oracles that memoise and can stand inside a sketch."""

    def local_hashing_buckets(self, epsilon: Fraction) -> int:
        """The buckets of a row in local hashing."""


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
        delta: by how much an event may be more probable than epsilon allows; None unless the
            mechanism takes one.
        devices: how many devices are expected.
        levels: how many levels the codes of strings have; None unless strings are discovered.
        level_shares: how often each of them is drawn, see `Trie`; empty for the usual rule.
        most: how many items of a device a report covers; 0 unless a ``set``.
        choice: chooses where the registry leaves a mechanism open.
    """

    name: str
    options: TableReader
    size: int
    attributes: Sequence[Attribute]
    epsilon: Fraction
    epsilon_permanent: Fraction | None
    delta: Fraction | None
    devices: int
    levels: int | None
    level_shares: tuple[int, ...]
    most: int
    choice: MechanismChoice

    @property
    def permanent(self) -> Fraction:
        """`epsilon_permanent` of a metric that is memoised."""
        assert self.epsilon_permanent is not None
        return self.epsilon_permanent
