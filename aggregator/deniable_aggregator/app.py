"""The aggregator as a Flask application."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from flask import Flask
from flask.json.provider import DefaultJSONProvider

from deniable_aggregator.api import (
    admin_routes,
    estimate_routes,
    openapi,
    query_service,
    readiness,
    remote_configuration,
    trend_routes,
)
from deniable_aggregator.api import integrity_routes as poisoning
from deniable_aggregator.catalog import MetricCatalog
from deniable_aggregator.config.settings import Settings
from deniable_aggregator.http import problems
from deniable_aggregator.ingest import receiver
from deniable_aggregator.ingest.flask_route import add_upload_route
from deniable_aggregator.ingest.group_commit import GroupCommitWriter
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_aggregator.operations.background import BackgroundWorker
from deniable_aggregator.operations.clock import GuardedClock
from deniable_aggregator.operations.fold import InboxFold
from deniable_aggregator.operations.maintenance import Maintenance
from deniable_aggregator.security.key_verifier import KeyVerifier
from deniable_aggregator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXTENSION: Final = "deniable"


class Aggregator:
    """What a running application consists of; found in ``app.extensions["deniable"]``.

    Attributes:
        store: the store.
        inbox_fold: counts what is pending: ``inbox_fold.fold(seconds=...)``.
        maintenance: closes days, and whatever else a store needs.
        writer: makes uploads durable.
        verifier: verifies tokens.
        rate_limiter: how often a key may send.
        ingest: checks and counts uploads.
        health: whether the server should be given work.
    """

    def __init__(
        self,
        *,
        store: Store,
        inbox_fold: InboxFold,
        maintenance: Maintenance,
        writer: GroupCommitWriter,
        background: BackgroundWorker,
        verifier: KeyVerifier,
        rate_limiter: RateLimiter,
        ingest: receiver.UploadReceiver,
        health: readiness.Readiness,
        owned: bool,
    ) -> None:
        self.store = store
        self.inbox_fold = inbox_fold
        self.maintenance = maintenance
        self.writer = writer
        self.key_verifier = verifier
        self.rate_limiter = rate_limiter
        self.receiver = ingest
        self.readiness = health
        self._background = background
        self._owned = owned

    def close(self) -> None:
        """Commits what is waiting, ends the threads, and closes the store if it was opened here."""
        self.writer.close()
        self._background.close()
        if self._owned:
            self.store.close()


def create_app(
    *,
    store: Store | str | Path,
    settings: Settings | None = None,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
) -> Flask:
    """The aggregator: ingest, reading and administration over one store.

    Two threads belong to it, one that commits and one that folds. They are daemons: what is
    acknowledged is durable, so a process may end at any time. ``app.extensions["deniable"]`` has a
    method `close` for an orderly end.

    Args:
        store: an open store, or the path of one; created if absent.
        settings: limits; `Settings` has the defaults.
        clock: seconds since 1970; only its day is used.
        monotonic: seconds that pass, by which a clock that jumps is known.

    Raises:
        StoreRefusedError: if the path does not hold a store that this version can work with.
    """
    settings = Settings() if settings is None else settings
    owned = not isinstance(store, Store)
    opened = store if isinstance(store, Store) else Store(store)
    verifier = KeyVerifier(opened, clock=clock)
    checked = GuardedClock(opened, clock, monotonic)
    catalogue = MetricCatalog(opened)
    inbox_fold = InboxFold(opened, catalogue)
    writer = GroupCommitWriter(
        opened,
        queue_uploads=settings.queue_uploads,
        queue_bytes=settings.queue_bytes,
        queue_seconds=settings.queue_seconds,
    )
    rate_limiter = RateLimiter(settings.rate_limit, settings.rate_limit_store)
    receiving = receiver.UploadReceiver(
        verifier=verifier,
        catalogue=catalogue,
        writer=writer,
        rate_limiter=rate_limiter,
        settings=settings,
        clock=clock,
        days_ahead=checked.days_ahead,
    )
    answering = query_service.QueryService(
        store=opened,
        catalogue=catalogue,
        inbox_fold=inbox_fold,
        ingest=receiving,
        settings=settings,
        clock=clock,
    )
    maintenance = Maintenance(
        opened,
        accept_days=settings.accept_days,
        retain_days=settings.retention_days or None,
        clock=checked,
        verifier=verifier,
    )
    background = BackgroundWorker(inbox_fold, maintenance, fold_seconds=settings.fold_seconds)

    watching = readiness.Readiness(
        store=opened,
        lag_seconds=inbox_fold.lag_seconds,
        settings=settings,
        days_ahead=checked.days_ahead,
    )

    app = Flask("deniable_aggregator", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    provider = DefaultJSONProvider(app)
    provider.sort_keys = False  # an answer reads in its own order
    app.json = provider
    problems.register_error_handlers(app)
    add_upload_route(app, receiving, max_body_bytes=settings.max_body_bytes)
    app.register_blueprint(estimate_routes.blueprint(answering, verifier, settings))
    app.register_blueprint(trend_routes.blueprint(answering, verifier, settings))
    app.register_blueprint(poisoning.blueprint(answering, verifier))
    app.register_blueprint(admin_routes.blueprint(opened, catalogue, verifier, clock))
    app.register_blueprint(remote_configuration.blueprint(opened, verifier, clock))
    app.register_blueprint(readiness.blueprint(watching))
    openapi.install(app)
    app.extensions[EXTENSION] = Aggregator(
        store=opened,
        inbox_fold=inbox_fold,
        maintenance=maintenance,
        writer=writer,
        background=background,
        verifier=verifier,
        rate_limiter=rate_limiter,
        ingest=receiving,
        health=watching,
        owned=owned,
    )
    return app
