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


class StatusReader:
    """Reads how uploads and counting are doing.

    Args:
        store: has the inbox.
        catalogue: the registered metrics.
        ingest: knows how many uploads were accepted and refused.
        settings: for how long days stay open.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        ingest: UploadReceiver,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._ingest = ingest
        self._settings = settings
        self._clock = clock

    def status(self, application: str) -> Status:
        """How an application's uploads are doing.

        Args:
            application: its name.
        """
        entries = self._catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        backlog = self._store.inbox.backlog(digests)
        counts = dict(self._ingest.outcome_counts(application))
        return Status(
            application,
            today=day_of(epoch_at(self._clock())),
            accept_days=self._settings.accept_days,
            since_start=UploadCounts(
                accepted=counts.pop("accepted", 0),
                duplicate=counts.pop("duplicate", 0),
                refused=dict(sorted(counts.items())),
                refused_without_key=sum(self._ingest.outcome_counts(NO_APPLICATION).values()),
            ),
            inbox=Inbox(
                rows=sum(each.rows for each in backlog),
                bytes=sum(each.payload_bytes for each in backlog),
                reports=sum(waiting_by_version(self._store, entries).values()),
                rows_set_aside=self._store.inbox.count_set_aside(digests),
            ),
        )


def blueprint(reader: StatusReader, verifier: KeyVerifier) -> Blueprint:
    """The route.

    Args:
        reader: reads the status.
        verifier: verifies keys.
    """
    routes = Blueprint("status", __name__)

    def status() -> Response:
        return json_response(reader.status(require_reader(verifier).application))

    routes.add_url_rule("/v1/status", view_func=status)
    return routes
