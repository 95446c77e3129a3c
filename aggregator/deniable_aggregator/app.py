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
from deniable_aggregator.catalog import Catalogue
from deniable_aggregator.config.settings import Settings
from deniable_aggregator.http import problems
from deniable_aggregator.ingest import receiver, wsgi
from deniable_aggregator.ingest.group_commit import Writer
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_aggregator.operations.background import Background
from deniable_aggregator.operations.clock import CheckedClock
from deniable_aggregator.operations.fold import Folder
from deniable_aggregator.operations.maintenance import Upkeep
from deniable_aggregator.security.keys import Keyring
from deniable_aggregator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXTENSION: Final = "deniable"


class Running:
    """What a running application consists of; found in ``app.extensions["deniable"]``.

    Attributes:
        store: the store.
        folder: counts what is pending: ``folder.fold(seconds=...)``.
        upkeep: closes days, and whatever else a store needs.
        writer: makes uploads durable.
        keyring: verifies tokens.
        limiter: how often a key may send.
        ingest: checks and counts uploads.
        health: whether the server should be given work.
    """

    def __init__(
        self,
        *,
        store: Store,
        folder: Folder,
        upkeep: Upkeep,
        writer: Writer,
        background: Background,
        keyring: Keyring,
        limiter: RateLimiter,
        ingest: receiver.Ingest,
        health: readiness.Health,
        owned: bool,
    ) -> None:
        self.store = store
        self.folder = folder
        self.upkeep = upkeep
        self.writer = writer
        self.keyring = keyring
        self.limiter = limiter
        self.ingest = ingest
        self.health = health
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
    keyring = Keyring(opened, clock=clock)
    checked = CheckedClock(opened, clock, monotonic)
    catalogue = Catalogue(opened)
    folder = Folder(opened, catalogue)
    writer = Writer(
        opened,
        queue_uploads=settings.queue_uploads,
        queue_bytes=settings.queue_bytes,
        queue_seconds=settings.queue_seconds,
    )
    limiter = RateLimiter(settings.rate_limit, settings.rate_limit_store)
    receiving = receiver.Ingest(
        keyring=keyring,
        catalogue=catalogue,
        writer=writer,
        limiter=limiter,
        settings=settings,
        clock=clock,
        days_ahead=checked.days_ahead,
    )
    answering = query_service.Reading(
        store=opened,
        catalogue=catalogue,
        folder=folder,
        ingest=receiving,
        settings=settings,
        clock=clock,
    )
    upkeep = Upkeep(
        opened,
        accept_days=settings.accept_days,
        retain_days=settings.retention_days or None,
        clock=checked,
        keyring=keyring,
    )
    background = Background(folder, upkeep, fold_seconds=settings.fold_seconds)

    watching = readiness.Health(
        store=opened,
        lag_seconds=folder.lag_seconds,
        settings=settings,
        days_ahead=checked.days_ahead,
    )

    app = Flask("deniable_aggregator", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    provider = DefaultJSONProvider(app)
    provider.sort_keys = False  # an answer reads in its own order
    app.json = provider
    problems.install(app)
    wsgi.install(app, wsgi.Uploads(receiving, max_body_bytes=settings.max_body_bytes))
    app.register_blueprint(estimate_routes.blueprint(answering, keyring, settings))
    app.register_blueprint(trend_routes.blueprint(answering, keyring, settings))
    app.register_blueprint(poisoning.blueprint(answering, keyring))
    app.register_blueprint(admin_routes.blueprint(opened, catalogue, keyring, clock))
    app.register_blueprint(remote_configuration.blueprint(opened, keyring, clock))
    app.register_blueprint(readiness.blueprint(watching))
    openapi.install(app)
    app.extensions[EXTENSION] = Running(
        store=opened,
        folder=folder,
        upkeep=upkeep,
        writer=writer,
        background=background,
        keyring=keyring,
        limiter=limiter,
        ingest=receiving,
        health=watching,
        owned=owned,
    )
    return app
