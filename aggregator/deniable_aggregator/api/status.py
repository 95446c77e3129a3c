"""``GET /v1/status``: how many uploads the server has taken and refused, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.service import Inbox, Status, UploadCounts
from deniable_aggregator.api.metric_list import waiting_by_version
from deniable_aggregator.dates import day_of
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.operation import READ, Operations, operation
from deniable_aggregator.ingest.receiver import NO_APPLICATION

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.ingest.receiver import UploadReceiver
    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import Key


class StatusReader:
    """Reads how uploads and counting are doing.

    Args:
        parts: the store, and what is made over it.
        ingest: knows how many uploads were accepted and refused.
    """

    def __init__(self, parts: Parts, ingest: UploadReceiver) -> None:
        self._parts = parts
        self._ingest = ingest

    def status(self, application: str) -> Status:
        """How an application's uploads are doing.

        Args:
            application: its name.
        """
        entries = self._parts.catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        backlog = self._parts.store.inbox.backlog(digests)
        counts = dict(self._ingest.outcome_counts(application))
        return Status(
            application,
            today=day_of(self._parts.today),
            accept_days=self._parts.settings.accept_days,
            since_start=UploadCounts(
                accepted=counts.pop("accepted", 0),
                duplicate=counts.pop("duplicate", 0),
                refused=dict(sorted(counts.items())),
                refused_without_key=sum(self._ingest.outcome_counts(NO_APPLICATION).values()),
            ),
            inbox=Inbox(
                rows=sum(each.rows for each in backlog),
                bytes=sum(each.payload_bytes for each in backlog),
                reports=sum(waiting_by_version(self._parts.store, entries).values()),
                rows_set_aside=self._parts.store.inbox.count_set_aside(digests),
            ),
        )


@operation("GET", "/v1/status", Status, scopes=READ)
def status(reader: StatusReader, key: Key) -> Response:
    """How many uploads came, and how many reports wait to be counted."""
    return json_response(reader.status(key.application))


def blueprint(parts: Parts, reader: StatusReader) -> Operations:
    """The route."""
    routes = Operations("status", parts.verifier)
    routes.add(status, reader)
    return routes
