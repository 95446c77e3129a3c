"""Where simulated reports go: a new store whose clock is moved, or a server in development.

Both are marked, so that all answers and pages say "simulated"; nothing else takes such reports.
"""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.answers.administration import Simulation
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.http_source import HttpSource
from deniable_aggregator.keeping.audit import COMMAND_LINE, AuditAction, AuditRecord
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.key_administration import KeyAdministrator
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import Outcome, Sender, Store
from deniable_shared import wire
from deniable_shared.errors import ParameterError
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from deniable_aggregator.asking.credentials import Token
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.randomizing import Upload

READER: Final = "simulation"
FOLD_SECONDS: Final = 3_600.0
_NOON: Final = 0.5


class NewStore:
    """Takes the uploads of a deployment, as a server would on each of its days.

    Args:
        store: without any metric or key.
        deployment: the calendar.

    Attributes:
        store: as given.
        read_token: the token of a key that may read, to sign in to pages with.
        tokens: of the keys that devices send with, by name.
    """

    def __init__(self, store: Store, deployment: Deployment) -> None:
        self.store, self._deployment = store, deployment
        self._catalogue = MetricCatalog(store)
        self._fold = InboxFold(store, self._catalogue)
        self._day = 0
        first = deployment.epoch(0)
        details = {"application": deployment.application}
        act = AuditAction.STORE_SIMULATE
        store.audit.record_if_changed(AuditRecord(first, COMMAND_LINE, act, details))
        keys = KeyAdministrator(store, actor=COMMAND_LINE, today=first)
        application = deployment.application
        # A relay brings what single devices send, whose keys are of this scope.
        scope = "batch" if deployment.relay is None else "write"
        made = {
            label: keys.create(scope=scope, application=application, label=label)
            for label in deployment.keys
        }
        self.tokens = {label: key.token for label, key in made.items()}
        self._senders = {label: Sender(application, key.key.id) for label, key in made.items()}
        issued = keys.create(scope="read", application=application, label=READER)
        self.read_token = issued.token

    def set_day(self, day: int) -> None:
        """Counts what has come so far, and makes it noon of a day."""
        self._fold.fold(seconds=FOLD_SECONDS)
        self._day = day

    def register(self, version: int) -> None:
        """Registers what a version of the application ships."""
        metrics = self._deployment.registry(version).metrics
        today = self._deployment.epoch(self._day)
        self.store.metrics.register(metrics.values(), today, COMMAND_LINE)
        self._catalogue.reload()

    def send(self, upload: Upload) -> None:
        """Stores an upload."""
        (outcome,) = self.store.inbox.append(
            [wire.decode(upload.body)], [self._senders[upload.key]]
        )
        assert outcome is Outcome.STORED, "an upload is new, and its day is open"

    def source(self) -> LocalSource:
        """Answers questions, when the last day is over and everything is counted."""
        self._fold.fold(seconds=FOLD_SECONDS)
        parts = Parts(self.store, Settings(batch_reports=1), self._clock)
        return LocalSource(Answerer(parts), self._deployment.application)

    def settle(self) -> None:
        """Closes days and gives them their final form, as a server does in the background."""
        settings = Settings()
        clock = GuardedClock(self.store, self._clock, self._clock)
        maintenance = Maintenance(
            self.store,
            accept_days=settings.accept_days,
            clock=clock,
            catalogue=self._catalogue,
        )
        maintenance.run()

    def _clock(self) -> float:
        """Noon of the day after the last one that has passed."""
        day = max(self._deployment.last, self._day) + 1
        return (self._deployment.epoch(day) + _NOON) * SECONDS_PER_EPOCH


@contextmanager
def new_store(path: Path, deployment: Deployment) -> Iterator[NewStore]:
    """A store that is written for the first time.

    Args:
        path: of an SQLite file that is not there; it is deleted again if the simulation fails.
        deployment: the calendar.

    Raises:
        ParameterError: if there is something under this name.
    """
    if path.exists():
        constraint = "the path of a new file, as a simulation is never mixed with other reports"
        raise ParameterError("store", constraint, str(path))
    try:
        with closing(Store(path)) as store:
            yield NewStore(store, deployment)
    except BaseException:
        for suffix in ("", "-wal", "-shm", ".lock"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        raise


KEY: Final = "development"
ATTEMPTS: Final = 100
PAUSE_SECONDS: Final = 0.2
COUNTING_SECONDS: Final = 300.0
_PATIENCE: Final = ("overloaded", "rate_limited", "store_unavailable")


class DevelopmentServer:
    """Sends uploads to a server that was started with ``--development``.

    Args:
        server: its address.
        key: a batch key of the application.
        token: a read key of it.

    Attributes:
        simulation: what the server says of its days.

    Raises:
        AskingError: if it cannot be reached, or takes no simulated reports.
    """

    def __init__(self, server: str, key: str | Token, token: str | Token) -> None:
        self._source = HttpSource(server, token)
        self._connection = Connection(server, key)
        self.simulation = self._begin()

    def check_days(self, first: date, last: date) -> None:
        """Checks that the server takes reports of some days.

        Raises:
            ParameterError: if not of all of them.
        """
        today, most = self.simulation.today, self.simulation.accept_days
        if not last <= today or not (today - first).days <= most:
            raise ParameterError(
                "days",
                f"between {today.fromordinal(today.toordinal() - most)} and {today}: the server "
                "accepts no others, unless it is started with a larger --accept-days",
                f"{first} to {last}",
            )

    def set_day(self, day: int) -> None:
        """Does nothing: the server has its own clock."""

    def register(self, version: int) -> None:
        """Does nothing: the server has registered its file."""

    def send(self, upload: Upload) -> None:
        """Sends an upload until it is accepted; a retry has the same bytes and counts once.

        Raises:
            AskingError: if it is refused.
        """
        for attempt in range(ATTEMPTS):
            try:
                self._connection.request(
                    "POST",
                    "/v1/reports",
                    content=upload.body,
                    content_type=wire.CONTENT_TYPE,
                )
            except AskingError as error:
                if error.code not in _PATIENCE or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def source(self) -> HttpSource:
        """Asks the server, once it has counted everything.

        Raises:
            AskingError: if it cannot be reached, or takes too long.
        """
        deadline = time.monotonic() + COUNTING_SECONDS
        while not self._begin().counted:
            if time.monotonic() > deadline:
                raise AskingError(
                    f"{self._source.server} has not counted all reports in time", "unreachable"
                )
            time.sleep(PAUSE_SECONDS)
        return self._source

    def _begin(self) -> Simulation:
        return self._connection.request("POST", "/v1/simulation").decode(Simulation)

    def close(self) -> None:
        """Closes both connections."""
        self._connection.close()
        self._source.close()
