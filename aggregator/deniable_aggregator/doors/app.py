"""The composition root: makes all parts of the aggregator and the Flask application over them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Flask

from deniable_aggregator.answering import maintenance as operations
from deniable_aggregator.answering import requests
from deniable_aggregator.answering.digests.runs import DigestRuns
from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
from deniable_aggregator.answering.estimate_table.runs import EstimateTableRuns
from deniable_aggregator.doors.http import openapi, relayed
from deniable_aggregator.doors.http import question_routes as api
from deniable_aggregator.doors.http import uploads as ingest
from deniable_aggregator.doors.http.browsers import UploadOrigins, forbid_sniffing
from deniable_aggregator.doors.http.compression import compress_answers
from deniable_aggregator.doors.http.upload_route import add_upload_route
from deniable_aggregator.doors.pages import routes as pages
from deniable_aggregator.doors.pages.errors import install_error_pages
from deniable_aggregator.doors.pages.rendering import place_answers
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Store
from deniable_aggregator.keeping.store_watch import StoreWatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable_aggregator.answering.maintenance import BackgroundWorker, Maintenance
    from deniable_aggregator.doors.http.status import OperationsReader, Readiness
    from deniable_aggregator.doors.http.uploads import UploadReceiver
    from deniable_aggregator.doors.pages.visit import PageParts
    from deniable_aggregator.keeping.fold import InboxFold
    from deniable_aggregator.keeping.group_commit import GroupCommitWriter
    from deniable_aggregator.keeping.key_quotas import KeyQuotas
    from deniable_aggregator.keeping.key_verifier import KeyVerifier

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
        receiver: checks and counts uploads.
        quotas: how much each key may bring.
        readiness: whether the server should be given work.
        operations: how it is doing.
        discovery_runs: looks for strings that nobody listed.
        estimate_runs: keeps the SQL table of estimates as the reports are.
        digest_runs: sends people what is popular and what has changed.
        owns_store: whether `close` closes the store.
    """

    store: Store
    inbox_fold: InboxFold
    maintenance: Maintenance
    background: BackgroundWorker
    writer: GroupCommitWriter
    key_verifier: KeyVerifier
    pages: PageParts | None
    receiver: UploadReceiver
    quotas: KeyQuotas
    readiness: Readiness
    operations: OperationsReader
    discovery_runs: DiscoveryRuns
    estimate_runs: EstimateTableRuns
    digest_runs: DigestRuns
    owns_store: bool

    def close(self) -> None:
        """Commits queued uploads, ends the threads, and closes the store if it was opened here."""
        self.writer.close()
        self.background.close()
        self.discovery_runs.close()
        self.estimate_runs.close()
        self.digest_runs.close()
        if self.owns_store:
            self.store.close()


def create_app(
    *,
    store: Store | str | Path,
    settings: Settings | None = None,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    development: bool = False,
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
        development: whether reports of simulated devices are taken, which mark the store.

    Raises:
        StoreRefusedError: if this version cannot work with what the path holds.
    """
    opened = store if isinstance(store, Store) else Store(store)
    parts = Parts(
        opened, Settings() if settings is None else settings, clock, development=development
    )
    guarded_clock = GuardedClock(opened, clock, monotonic)
    watch = StoreWatch(opened, parts.catalogue.tally)
    takes = ingest.build(parts, guarded_clock.days_ahead, watch)
    estimate_runs = EstimateTableRuns(opened, parts.settings)
    digest_runs = DigestRuns(opened, parts.settings, clock)
    background = operations.build(
        parts, guarded_clock, takes.quotas, estimate_runs.look, digest_runs.look, watch.look
    )
    discovery_runs = DiscoveryRuns(opened, parts.settings, clock)
    discovery_runs.resume()

    app = _flask(parts.settings)
    add_upload_route(
        app,
        takes.receiver,
        origins=UploadOrigins(parts.settings.browser_origins),
        max_body_bytes=parts.settings.max_body_bytes,
    )
    keys = RelayKeys.beside(opened.path, parts.settings.relay_keys)
    opening = relayed.RelayedReceiver(takes.receiver, parts.verifier, opened, keys)
    app.register_blueprint(relayed.blueprint(opening, parts.verifier))
    made_with = _add_questions(app, parts, discovery_runs)
    monitoring = api.add_administration(
        app, parts, takes, background, guarded_clock.days_ahead, watch
    )
    if made_with is not None:
        app.register_blueprint(pages.server_pages(made_with, monitoring.operations.operations))
        app.register_blueprint(pages.open_pages(made_with))
    openapi.install(app)
    app.extensions[EXTENSION] = Aggregator(
        store=opened,
        inbox_fold=background.inbox_fold,
        maintenance=background.maintenance,
        background=background.thread,
        writer=takes.writer,
        key_verifier=parts.verifier,
        pages=made_with,
        receiver=takes.receiver,
        quotas=takes.quotas,
        readiness=monitoring.readiness,
        operations=monitoring.operations,
        discovery_runs=discovery_runs,
        estimate_runs=estimate_runs,
        digest_runs=digest_runs,
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
    app = _flask(settings)
    _add_questions(app, Parts(store, settings, clock))
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
        requests.register_error_handlers(app)
    forbid_sniffing(app)
    compress_answers(app)
    place_answers(app)  # before they are compressed: what is added last comes first
    return app


def _add_questions(app: Flask, parts: Parts, runs: DiscoveryRuns | None = None) -> PageParts | None:
    """Adds what answers questions; returns what pages are made with, if they are served."""
    source_of = api.add_questions(app, parts, runs)
    if not parts.settings.serves_pages:
        return None
    made_with = pages.page_parts(parts, source_of)
    app.register_blueprint(pages.answer_pages(made_with))
    app.register_blueprint(pages.shared_pages(made_with))
    return made_with
