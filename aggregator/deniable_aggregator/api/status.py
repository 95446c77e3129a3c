"""``GET /v1/status``: how many uploads the server has taken and refused, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint

from deniable_aggregator.answers.service import Inbox, Status, UploadCounts
from deniable_aggregator.api.metric_list import waiting_by_version
from deniable_aggregator.dates import day_of
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import json_response
from deniable_aggregator.ingest.receiver import NO_APPLICATION
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Response

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.ingest.receiver import UploadReceiver
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.store import Store


def blueprint(
    store: Store,
    catalogue: MetricCatalog,
    ingest: UploadReceiver,
    verifier: KeyVerifier,
    settings: Settings,
    clock: Callable[[], float],
) -> Blueprint:
    """The route.

    Args:
        store: has the inbox.
        catalogue: the registered metrics.
        ingest: knows how many uploads were accepted and refused.
        verifier: verifies keys.
        settings: for how long days stay open.
        clock: seconds since 1970.
    """
    routes = Blueprint("status", __name__)

    def status() -> Response:
        application = require_reader(verifier).application
        entries = catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        backlog = store.inbox.backlog(digests)
        counts = dict(ingest.outcome_counts(application))
        answer = Status(
            application,
            today=day_of(epoch_at(clock())),
            accept_days=settings.accept_days,
            since_start=UploadCounts(
                accepted=counts.pop("accepted", 0),
                duplicate=counts.pop("duplicate", 0),
                refused=dict(sorted(counts.items())),
                refused_without_key=sum(ingest.outcome_counts(NO_APPLICATION).values()),
            ),
            inbox=Inbox(
                rows=sum(each.rows for each in backlog),
                bytes=sum(each.payload_bytes for each in backlog),
                reports=sum(waiting_by_version(store, entries).values()),
                rows_set_aside=store.inbox.count_set_aside(digests),
            ),
        )
        return json_response(answer)

    routes.add_url_rule("/v1/status", view_func=status)
    return routes
