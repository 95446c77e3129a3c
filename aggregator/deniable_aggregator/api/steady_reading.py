"""Answers are worked out again if days became one meanwhile, and refused where that is too late."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from deniable_aggregator.http.problems import ProblemError, store_unavailable
from deniable_aggregator.slices.rolled import ChangedError, DaysRolledUpError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_READS: Final = 3
"""Days become one seldom, never so often while one question is answered."""

Rest = ParamSpec("Rest")
Answer = TypeVar("Answer")


class RolledUp(Protocol):
    """What answers questions about metrics."""

    def rolled_stamp(self, application: str, name: str) -> object:
        """What changes whenever days of a metric become one."""


Service = TypeVar("Service", bound=RolledUp)


def reads_steadily(
    answer: Callable[Concatenate[Service, str, str, Rest], Answer],
) -> Callable[Concatenate[Service, str, str, Rest], Answer]:
    """Makes an answer one about the days as they are at one moment: apart or as one, never both.

    Args:
        answer: works out the answer; called with an application and the name of a metric first.
    """

    @wraps(answer)
    def steady(
        service: Service, application: str, name: str, /, *rest: Rest.args, **more: Rest.kwargs
    ) -> Answer:
        for _ in range(MOST_READS):
            before = service.rolled_stamp(application, name)
            found: Any = None
            problem: ProblemError | None = None
            try:
                found = answer(service, application, name, *rest, **more)
            except ChangedError:
                continue
            except DaysRolledUpError as error:
                problem = days_rolled_up(error)
            except ProblemError as error:
                problem = error
            if service.rolled_stamp(application, name) == before:
                if problem is not None:
                    raise problem
                return found  # type: ignore[no-any-return]
        raise store_unavailable()

    return steady


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
