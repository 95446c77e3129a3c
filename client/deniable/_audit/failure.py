"""The error of an audit."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIMITIVE_DRAWS: Final = "the primitive draws"
"""The metric's name in a failure if the random draws that all randomizers share have failed."""


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


@contextmanager
def code_under_audit() -> Iterator[None]:
    """While it lasts, whatever is raised is an `AuditFailure`."""
    try:
        yield
    except AuditFailure:
        raise
    except Exception as error:
        raise AuditFailure(f"the randomizer cannot be followed: {error!r}") from error
