"""Makes what answers programs over HTTP, and its routes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deniable_aggregator.api import administration, question_routes, readiness, status
from deniable_aggregator.api.answers import Answerer
from deniable_aggregator.api.kept_answers import KeptAnswers
from deniable_aggregator.api.local_source import LocalSource
from deniable_aggregator.api.operations import OperationsReader, ServerParts

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from deniable_aggregator.api.discoveries.runs import DiscoveryRuns
    from deniable_aggregator.ingest.building import Ingest
    from deniable_aggregator.operations.building import BackgroundWork
    from deniable_aggregator.parts import Parts


@dataclass(frozen=True, eq=False)
class Monitoring:
    """What knows how the server is doing.

    Attributes:
        readiness: whether it should be given work.
        operations: how it is doing.
    """

    readiness: readiness.Readiness
    operations: OperationsReader


def add_questions(
    app: Flask, parts: Parts, runs: DiscoveryRuns | None = None
) -> Callable[[str], LocalSource]:
    """Adds the routes of questions; returns what answers those about an application here.

    Args:
        app: gets the routes.
        parts: the store, and what is made over it.
        runs: works on questions about unlisted strings; None where nobody does.
    """
    answerer = Answerer(parts, runs)
    app.register_blueprint(question_routes.blueprint(answerer))
    return partial(LocalSource, answerer, kept=KeptAnswers())


def add_administration(
    app: Flask,
    parts: Parts,
    ingest: Ingest,
    background: BackgroundWork,
    days_ahead: Callable[[], int],
) -> Monitoring:
    """Adds all other routes, which only the server's own process has.

    Args:
        app: gets the routes.
        parts: the store, and what is made over it.
        ingest: takes uploads.
        background: runs beside requests.
        days_ahead: by how many days the clock is implausibly ahead.
    """
    ready = readiness.Readiness(
        store=parts.store,
        lag_seconds=background.inbox_fold.lag_seconds,
        settings=parts.settings,
        days_ahead=days_ahead,
    )
    reader = status.StatusReader(parts, ingest.receiver)
    for routes in (
        administration.blueprint(parts),
        status.blueprint(parts, reader),
        readiness.blueprint(ready),
    ):
        app.register_blueprint(routes)
    server = ServerParts(
        status=reader,
        readiness=ready,
        inbox_fold=background.inbox_fold,
        maintenance=background.maintenance,
        writer=ingest.writer,
    )
    return Monitoring(ready, OperationsReader(parts, server))
