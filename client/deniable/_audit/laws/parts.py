"""Mechanisms that hand a part of their report to another randomizer, which is audited by itself.

A sketch draws a row and reports a bucket through the oracle inside. While the outer randomizer is
walked through, the one inside is replaced by a stand-in that only notes which item it was given. So
what the outer one adds is seen apart: whether all that it shows is independent of the value.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.bit_rows import Bits, InnerReport, Report
from deniable._audit.laws.secret import SECRET, Secret
from deniable.randomizers.base import RANDOMIZERS, RandomSources
from deniable_shared.mechanisms import Oracle, SampledAttribute, Sketch, Trie

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable._audit.laws.draws import Draws
    from deniable_shared.mechanisms.base import Mechanism


def parts_of(mechanism: Mechanism) -> tuple[Oracle, ...]:
    """The different randomizers inside a mechanism; none if it makes the whole report itself."""
    inner: tuple[Oracle, ...] = ()
    if isinstance(mechanism, Sketch):
        inner = (mechanism.inner,)
    if isinstance(mechanism, SampledAttribute):
        inner = mechanism.inner
    if isinstance(mechanism, Trie):
        inner = (mechanism.first, mechanism.deeper)
    return tuple(dict.fromkeys(inner))


class StandIn:
    """Notes the item that an inner randomizer is given, in the place of its report."""

    def __init__(self, part: int, mechanism: Oracle) -> None:
        self._part = part
        self._mechanism = mechanism

    def report(self, item: object, secret: Secret) -> Report:
        """As of a randomizer."""
        if secret is not SECRET:
            raise AuditFailure(f"the {self._mechanism.name} inside is given another secret")
        if type(item) is not int or not 0 <= item < self._mechanism.size:
            raise AuditFailure(
                f"the {self._mechanism.name} inside is given {item!r}, no item of it"
            )
        length = self._mechanism.report_bytes
        inner = InnerReport(0, length, self._part, item)
        return Report(length, Bits.constant(0, 8 * length), (inner,))


@contextmanager
def stand_ins(parts: tuple[Oracle, ...], draws: Draws) -> Iterator[None]:
    """Replaces the randomizers of these mechanisms while it lasts."""
    kinds = {type(part) for part in parts}
    before: dict[Any, Any] = {kind: RANDOMIZERS[kind] for kind in kinds if kind in RANDOMIZERS}

    def make(mechanism: Any, sources: RandomSources) -> StandIn:
        if sources.randomness is not cast("Any", draws) or mechanism not in parts:
            raise AuditFailure("a randomizer inside is not made as the metric says")
        return StandIn(parts.index(mechanism), mechanism)

    for kind in kinds:
        RANDOMIZERS[kind] = cast("Any", make)
    try:
        yield
    finally:
        for kind in kinds:
            RANDOMIZERS.pop(kind)
        RANDOMIZERS.update(before)
