"""Answers are worked out again if days became one meanwhile, and refused where that is too late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from deniable_aggregator.http.problems import ProblemError, store_unavailable
from deniable_aggregator.slices.rolled import ChangedError, DaysRolledUpError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_READS: Final = 3
"""Days become one seldom, never so often while one question is answered."""

Answer = TypeVar("Answer")


def read_steadily(stamp: Callable[[], object], answer: Callable[[], Answer]) -> Answer:
    """An answer about the days as they are at one moment: apart or as one, never both.

    Args:
        stamp: returns what changes whenever days of the metric become one.
        answer: works out the answer.

    Raises:
        ProblemError: if the answer has one, or days become one again and again meanwhile.
    """
    for _ in range(MOST_READS):
        before = stamp()
        problem: ProblemError | None = None
        try:
            found = answer()
        except ChangedError:
            continue
        except DaysRolledUpError as error:
            problem = days_rolled_up(error)
        except ProblemError as error:
            problem = error
        if stamp() == before:
            if problem is not None:
                raise problem
            return found
    raise store_unavailable()


def days_rolled_up(error: DaysRolledUpError) -> ProblemError:
    """The problem of a question about a part of what is kept as one only."""
    (since, until), *more = error.periods
    days = f"{since} to {until}" + (f" and {len(more)} more such periods" if more else "")
    if error.why == "keys":
        return ProblemError(
            "days_rolled_up",
            f"The reports of {days} were added up over all keys, so none can be left out there. "
            "Ask about other days, or without without_key.",
        )
    length = "week" if (until - since).days < 7 else "month"
    return ProblemError(
        "days_rolled_up",
        f"The days of {days} are kept as one. Ask about all of them, "
        f"since={since}&until={until}, or by={length}.",
    )
