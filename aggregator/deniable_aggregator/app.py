"""The composition root: makes all parts of the aggregator and the Flask application over them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from flask import Flask

from deniable_aggregator.annotations import AnnotationKeeper
from deniable_aggregator.api import (
    admin_routes,
    annotation_routes,
    estimate_routes,
    openapi,
    query_service,
    registry_history,
    remote_configuration,
    status,
    trend_routes,
)
from deniable_aggregator.api.discoveries.asking import DiscoveryAsker
from deniable_aggregator.api.discoveries.reader import DiscoveryReader
from deniable_aggregator.api.discoveries.routes import blueprint as discovery_routes
from deniable_aggregator.api.discoveries.runs import DiscoveryRuns
from deniable_aggregator.api.discoveries.service import DiscoveryService
from deniable_aggregator.api.estimate_table.routes import blueprint as estimate_table_routes
from deniable_aggregator.api.estimate_table.runs import EstimateTableRuns, period_lengths
from deniable_aggregator.api.kept_answers import KeptAnswers
from deniable_aggregator.api.operations import OperationsReader, ServerParts
from deniable_aggregator.api.readiness import Readiness
from deniable_aggregator.api.readiness import blueprint as health_routes
from deniable_aggregator.api.saved_lists import blueprint as saved_list_routes
from deniable_aggregator.api.service_source import ServiceSource
from deniable_aggregator.catalog import MetricCatalog
from deniable_aggregator.config.settings import Settings
from deniable_aggregator.http import problems
from deniable_aggregator.http.browsers import UploadOrigins, forbid_sniffing
from deniable_aggregator.ingest.disk_reserve import DiskReserve
from deniable_aggregator.ingest.flask_route import add_upload_route
from deniable_aggregator.ingest.group_commit import GroupCommitWriter
from deniable_aggregator.ingest.rate_limit import RateLimiter
from deniable_aggregator.ingest.receiver import UploadReceiver
from deniable_aggregator.operations.background import LOOK_SECONDS, BackgroundWorker
from deniable_aggregator.operations.clock import GuardedClock
from deniable_aggregator.operations.fold import InboxFold
from deniable_aggregator.operations.maintenance import Maintenance
from deniable_aggregator.operations.roll_up import RollUp
from deniable_aggregator.pages.errors import install_error_pages
from deniable_aggregator.pages.keys.acts import KeyActs
from deniable_aggregator.pages.page_parts import PageParts
from deniable_aggregator.pages.routes import answer_pages, open_pages, server_pages
from deniable_aggregator.pages.session_cookie import SessionCookie
from deniable_aggregator.saved_lists import SavedListKeeper
from deniable_aggregator.security.key_intake import KeyIntake
from deniable_aggregator.security.key_verifier import KeyVerifier
from deniable_aggregator.security.sessions import SessionKeeper
from deniable_aggregator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable_aggregator.answers.words import LongPeriod

EXTENSION: Final = "deniable"


@dataclass(frozen=True, eq=False)
class Aggregator:
    """The parts of a running aggregator, found in ``app.extensions["deniable"]``.

    Attributes:
        store: the store.
        inbox_fold: counts the reports that wait.
        maintenance: closes days, merges tallies and deletes expired ones.
        background: the thread that runs the two.
        writer: commits uploads.
        key_verifier: verifies tokens.
        pages: what pages are made with; None if they are not served.
        rate_limiter: limits the uploads of each key.
        receiver: checks and counts uploads.
        readiness: whether the server should be given work.
        operations: how it is doing.
        discovery_runs: looks for strings that nobody listed.
        estimate_runs: keeps the SQL table of estimates as the reports are.
        owns_store: whether `close` closes the store.
    """

    store: Store
    inbox_fold: InboxFold
    maintenance: Maintenance
    background: BackgroundWorker
    writer: GroupCommitWriter
    key_verifier: KeyVerifier
    pages: PageParts | None
    rate_limiter: RateLimiter
    receiver: UploadReceiver
    readiness: Readiness
    operations: OperationsReader
    discovery_runs: DiscoveryRuns
    estimate_runs: EstimateTableRuns
    owns_store: bool

    def close(self) -> None:
        """Commits queued uploads, ends the threads, and closes the store if it was opened here."""
        self.writer.close()
        self.background.close()
        self.discovery_runs.close()
        self.estimate_runs.close()
        if self.owns_store:
            self.store.close()


def create_app(
    *,
    store: Store | str | Path,
    settings: Settings | None = None,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
) -> Flask:
    """Makes the aggregator over one store: ingest, questions and administration.

    It starts two threads, one that commits and one that folds. They are daemons: acknowledged
    uploads are durable, so the process may end at any time. For an orderly end call
    ``app.extensions["deniable"].close()``.

    Args:
        store: an open store, or the path of one; created if absent.
        settings: limits; `Settings` has the defaults.
        clock: seconds since 1970; only its day is used.
        monotonic: seconds by a clock that cannot be set, which shows that the other has jumped.

    Raises:
        StoreRefusedError: if this version cannot work with what the path holds.
    """
    settings = Settings() if settings is None else settings
    opened = store if isinstance(store, Store) else Store(store)
    verifier = KeyVerifier(opened, clock=clock)
    guarded_clock = GuardedClock(opened, clock, monotonic)
    catalogue = MetricCatalog(opened)
    inbox_fold = InboxFold(
        opened,
        catalogue,
        patience_seconds=settings.fold_seconds,
        keep_reports=settings.archive_days > 0,
    )
    intake = KeyIntake(opened, most_bytes=settings.key_bytes_per_day, clock=clock)
    writer = GroupCommitWriter(
        opened,
        queue_uploads=settings.queue_uploads,
        queue_bytes=settings.queue_bytes,
        queue_seconds=settings.queue_seconds,
        on_stored=lambda upload: intake.add(upload.sender.key_id, upload.stored_bytes),
    )
    rate_limiter = RateLimiter(settings.rate_limit, settings.rate_limit_store)
    receiver = UploadReceiver(
        verifier=verifier,
        catalogue=catalogue,
        writer=writer,
        rate_limiter=rate_limiter,
        disk_reserve=DiskReserve(opened.free_bytes, settings.min_free_bytes),
        intake=intake,
        settings=settings,
        clock=clock,
        days_ahead=guarded_clock.days_ahead,
    )
    estimate_runs = EstimateTableRuns(opened, settings)
    maintenance = Maintenance(
        opened,
        accept_days=settings.accept_days,
        retain_days=settings.retention_days or None,
        archive_days=settings.archive_days,
        clock=guarded_clock,
        catalogue=catalogue,
        verifier=verifier,
        intake=intake,
        roll_up=RollUp(opened, catalogue, cast("LongPeriod", settings.roll_up_by)),
        roll_up_days=settings.roll_up_days or None,
        write_estimates=estimate_runs.look,
    )
    background = BackgroundWorker(
        inbox_fold, maintenance, look_seconds=min(settings.fold_seconds, LOOK_SECONDS)
    )

    readiness = Readiness(
        store=opened,
        lag_seconds=inbox_fold.lag_seconds,
        settings=settings,
        days_ahead=guarded_clock.days_ahead,
    )

    discovery_runs = DiscoveryRuns(opened, settings, clock)
    discovery_runs.resume()
    asker = DiscoveryAsker(opened, catalogue, settings, clock)
    reader = DiscoveryReader(opened, asker)
    discoveries = DiscoveryService(opened, asker, reader, discovery_runs)
    lists = SavedListKeeper(opened, settings)
    annotator = AnnotationKeeper(opened)
    status_reader = status.StatusReader(opened, catalogue, receiver, settings, clock)
    operations = OperationsReader(
        ServerParts(
            store=opened,
            status=status_reader,
            readiness=readiness,
            inbox_fold=inbox_fold,
            maintenance=maintenance,
            writer=writer,
        ),
        settings,
        clock,
    )

    app = _flask(settings)
    add_upload_route(
        app,
        receiver,
        origins=UploadOrigins(settings.browser_origins),
        max_body_bytes=settings.max_body_bytes,
    )
    pages = _add_questions(app, opened, catalogue, verifier, settings, clock)
    if pages is not None:
        app.register_blueprint(
            server_pages(
                pages,
                keeper=lists,
                annotator=annotator,
                discover=discoveries.ask,
                operations=operations.operations,
                key_acts=KeyActs(opened, catalogue, clock),
            )
        )
        app.register_blueprint(open_pages(pages))
    app.register_blueprint(discovery_routes(discoveries, verifier, settings))
    app.register_blueprint(annotation_routes.blueprint(annotator, verifier, clock))
    app.register_blueprint(registry_history.blueprint(opened, verifier))
    app.register_blueprint(saved_list_routes(lists, verifier, settings, clock))
    app.register_blueprint(status.blueprint(status_reader, verifier))
    app.register_blueprint(admin_routes.blueprint(opened, catalogue, verifier, clock))
    app.register_blueprint(remote_configuration.blueprint(opened, verifier, clock))
    app.register_blueprint(health_routes(readiness))
    openapi.install(app)
    app.extensions[EXTENSION] = Aggregator(
        store=opened,
        inbox_fold=inbox_fold,
        maintenance=maintenance,
        background=background,
        writer=writer,
        key_verifier=verifier,
        pages=pages,
        rate_limiter=rate_limiter,
        receiver=receiver,
        readiness=readiness,
        operations=operations,
        discovery_runs=discovery_runs,
        estimate_runs=estimate_runs,
        owns_store=opened is not store,
    )
    return app


def create_question_app(
    *, store: Store, settings: Settings, clock: Callable[[], float] = time.time
) -> Flask:
    """Makes the part of the aggregator that answers questions about metrics.

    It starts no threads, and neither takes uploads nor maintains the store: another process does.

    Args:
        store: what is asked about; closed by the caller.
        settings: limits.
        clock: seconds since 1970; only its day is used.
    """
    catalogue = MetricCatalog(store)
    app = _flask(settings)
    verifier = KeyVerifier(store, clock=clock)
    _add_questions(app, store, catalogue, verifier, settings, clock)
    return app


def _flask(settings: Settings) -> Flask:
    app = Flask("deniable_aggregator", static_folder=None)
    # A redirect to the path without double slashes would name whatever host a request names.
    app.url_map.merge_slashes = False
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    app.config["MAX_FORM_MEMORY_SIZE"] = settings.max_body_bytes
    if settings.serves_pages:
        install_error_pages(app)
    else:
        problems.register_error_handlers(app)
    forbid_sniffing(app)
    return app


def _add_questions(
    app: Flask,
    store: Store,
    catalogue: MetricCatalog,
    verifier: KeyVerifier,
    settings: Settings,
    clock: Callable[[], float],
) -> PageParts | None:
    """Adds what answers questions; returns what pages are made with, if they are served."""
    queries = query_service.QueryService(
        store=store,
        catalogue=catalogue,
        settings=settings,
        clock=clock,
    )
    app.register_blueprint(estimate_routes.blueprint(queries, verifier, settings))
    app.register_blueprint(trend_routes.blueprint(queries, verifier, settings))
    app.register_blueprint(estimate_table_routes(store, catalogue, verifier))
    if not settings.serves_pages:
        return None
    kept = KeptAnswers()
    pages = PageParts(
        source_of=lambda application: ServiceSource(
            queries, store, catalogue, settings, clock, application, kept
        ),
        verifier=verifier,
        sessions=SessionKeeper(store, verifier, clock),
        cookie=SessionCookie(settings.port),
        clock=clock,
        longest_form=settings.max_body_bytes,
        weekly="week" in period_lengths(settings.estimate_periods),
    )
    app.register_blueprint(
        answer_pages(
            pages, settings=settings, last_entry=lambda: next(iter(store.audit.last(1)), None)
        )
    )
    return pages
