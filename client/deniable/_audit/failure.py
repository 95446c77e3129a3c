"""The error of an audit."""

from __future__ import annotations

from typing import Final

from deniable_shared.errors import DeniableError

PRIMITIVE_DRAWS: Final = "the primitive draws"
"""In the place of a metric: what all randomizers draw by has failed."""


class AuditFailure(DeniableError):  # noqa: N818  it is the audit that fails, not the program
    """An installed randomizer does not keep what its metric states, or cannot be followed.

    Attributes:
        metric: whose, or `PRIMITIVE_DRAWS`; empty where it is not known yet.
        reason: what is wrong, in one line.
    """

    def __init__(self, reason: str, metric: str = "") -> None:
        super().__init__(f"{metric}: {reason}" if metric else reason)
        self.metric = metric
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.metric)
