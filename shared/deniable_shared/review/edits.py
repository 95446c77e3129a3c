"""What an edit of a registry costs: permanent answers drawn anew, a crowd that is split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.review.finding import Finding
from deniable_shared.review.relay_rules import key_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.registry import Registry

CODE: Final = "permanent-anew"


def edit_findings(registry: Registry, before: Registry) -> Iterator[Finding]:
    """The memoised metrics of which a file has another version than before; another relay key.

    Args:
        registry: as it is now.
        before: as it was.
    """
    yield from key_findings(registry, before)
    for name, metric in registry.metrics.items():
        old = before.metrics.get(name)
        if old is None or old.spec.digest == metric.spec.digest:
            continue
        permanent = old.spec.mechanism.epsilon_permanent
        if permanent is None:
            continue
        mechanism = metric.spec.mechanism
        again = mechanism.epsilon_permanent
        further = f"{again:.4g}" if again is not None else f"{mechanism.epsilon:.4g} a report"
        yield Finding(
            CODE,
            name,
            "it is another version than before, and permanent answers are drawn for each version: "
            f"what all reports of a value tell, {permanent:.4g} so far, is told again, with "
            f"{further} on top, and is charged again",
            "leave the metric as it was, or ignore this if the change is worth it",
        )
