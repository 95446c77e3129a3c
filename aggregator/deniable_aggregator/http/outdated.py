"""The problem of a metric that only a newer server can decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.catalog import OUTDATED
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from deniable_aggregator.store import UnreadableMetric


RETRY_SECONDS: Final = 60


def server_outdated(metric: UnreadableMetric) -> ProblemError:
    """The problem of a metric that only a newer server can decode.

    Args:
        metric: as the catalog read it.
    """
    return ProblemError(
        "server_outdated",
        f"{metric.name} was {OUTDATED}. Send this again; the operator upgrades this server.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )
