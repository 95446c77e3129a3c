"""A relay between simulated devices and an aggregator: its file and its rounds, without a server.

Devices seal to a key that is made for the simulation, as the private half of the one in the
registry is its operator's.
"""

from __future__ import annotations

import logging
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answering.requests import ProblemError, authenticate
from deniable_aggregator.asking.connection import ServerAnswer
from deniable_aggregator.asking.credentials import AskingError, Token
from deniable_aggregator.doors.http import uploads
from deniable_aggregator.doors.http.relayed import RelayedReceiver
from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
from deniable_aggregator.doors.relay.rounds import Rounds
from deniable_aggregator.doors.relay.settings import RelaySettings, first_day
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.relay_keys import FILE_NAME, RelayKeys
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store_watch import StoreWatch
from deniable_shared.errors import DeniableError
from deniable_shared.periods import SECONDS_PER_EPOCH, calendar_day
from deniable_shared.sealing import X25519, Sealer, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answering.local_source import LocalSource
    from deniable_aggregator.doors.relay.rounds import Aggregator
    from deniable_aggregator.simulating.destinations import NewStore
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.randomizing import Upload
    from deniable_shared.sealing import Closes

FILE: Final = "relay.db"
LABEL: Final = "relay"
COMMITTED: Final = 1_000
"""So many envelopes are kept in one commit."""

MOST_BYTES: Final = 1 << 40
ACCEPT_DAYS: Final = 60
"""As long as a month's reports may wait for its last day, and for the relay's close."""


logging.getLogger(OURS).addHandler(logging.NullHandler())  # nobody operates this relay


class SimulatedRelay:
    """A relay whose calendar is moved. It forwards however few there are.

    Args:
        folder: for its file.
        aggregator: where it forwards to.
        every: how often it closes.
        day: the first day, since 1970-01-01.
    """

    def __init__(self, folder: Path, aggregator: Aggregator, every: Closes, day: int) -> None:
        self._every, self._day = every, day
        self._store = EnvelopeStore(folder / FILE, first_day(every, day))
        settings = RelaySettings(
            folder / FILE, "", Token("none"), (), every, 1, MOST_BYTES, Settings()
        )
        self._rounds = Rounds(
            self._store, aggregator, settings, clock=self._seconds, monotonic=lambda: 0.0
        )
        self._envelopes: dict[bytes, bytes] = {}

    def add(self, envelope: bytes) -> None:
        """Takes an envelope on the current day."""
        self._envelopes[read_header(envelope).tag] = envelope
        if len(self._envelopes) >= COMMITTED:
            self._keep()

    def set_day(self, day: int) -> None:
        """Makes it another day, on which what is due is closed and forwarded.

        Args:
            day: since 1970-01-01.

        Raises:
            DeniableError: if the aggregator does not store each upload.
        """
        self._keep()
        self._day = day
        while self._rounds.look():
            pass
        totals = self._store.totals()
        stored = totals.forwarded["stored"]
        has_closed = day == first_day(self._every, day)
        if stored + totals.waiting < totals.accepted or (has_closed and totals.waiting):
            raise DeniableError(f"the aggregator did not store what the relay brought: {totals}")

    def close(self) -> None:
        """Closes its file."""
        self._store.close()

    def _keep(self) -> None:
        self._store.add(self._envelopes)
        self._envelopes = {}

    def _seconds(self) -> float:
        return float(self._day * SECONDS_PER_EPOCH)


class RelayedStore:
    """A new store that uploads of devices with a relay reach sealed, after its close.

    Args:
        inner: the store, which takes all other uploads.
        deployment: the calendar, whose newest version has a relay.
        folder: for the files of the relay and of the keys that open envelopes.

    Attributes:
        read_token: as of the store.
    """

    def __init__(self, inner: NewStore, deployment: Deployment, folder: Path) -> None:
        assert deployment.relay is not None, "the newest version has one"
        self._inner, self._every = inner, deployment.relay.every
        self.read_token = inner.read_token
        self._first = self._today = deployment.epoch(0)
        keys = RelayKeys(folder / FILE_NAME)
        public = keys.create(X25519, calendar_day(self._first)).public
        self._sealers = {label: Sealer(public, token) for label, token in inner.tokens.items()}
        application = deployment.application
        token = create_key(
            inner.store, scope="relay", application=application, label=LABEL, today=self._first
        )
        settings = Settings(key_bytes_per_day=0, accept_days=ACCEPT_DAYS, min_free_bytes=0)
        self._parts = Parts(inner.store, settings, self._seconds)
        self._gateway = _Gateway(self._parts, keys, token)
        self._relay = SimulatedRelay(folder, self._gateway, self._every, self._first)

    def set_day(self, day: int) -> None:
        """Makes it noon of a day, at whose begin the relay has forwarded what was due."""
        self._inner.set_day(day)
        self._today = self._first + day
        self._relay.set_day(self._today)

    def register(self, version: int) -> None:
        """Registers what a version of the application ships."""
        self._inner.register(version)
        self._parts.catalogue.reload()

    def send(self, upload: Upload) -> None:
        """Brings an upload to the relay, sealed, or to the store."""
        if upload.relayed:
            self._relay.add(self._sealers[upload.key].seal(upload.body))
        else:
            self._inner.send(upload)

    def source(self) -> LocalSource:
        """Answers questions, when the relay has closed once more and everything is counted."""
        closing = self._today + 1
        while first_day(self._every, closing) <= self._today:
            closing += 1
        self.set_day(closing - self._first)
        return self._inner.source()

    def close(self) -> None:
        """Closes the files."""
        self._relay.close()
        self._gateway.close()

    def _seconds(self) -> float:
        return float(self._today * SECONDS_PER_EPOCH)


@contextmanager
def behind_relay(inner: NewStore, deployment: Deployment) -> Iterator[RelayedStore]:
    """A new store with a relay before it, whose files are deleted at the end.

    Args:
        inner: the store.
        deployment: the calendar, whose newest version has a relay.
    """
    with (
        tempfile.TemporaryDirectory(prefix="deniable-relay-") as folder,
        closing(RelayedStore(inner, deployment, Path(folder))) as relayed,
    ):
        yield relayed


class _Gateway:
    """What opens envelopes over a store, as a relay in the same process asks it.

    Args:
        parts: the store, and the clock.
        keys: open envelopes.
        token: the relay's.
    """

    def __init__(self, parts: Parts, keys: RelayKeys, token: str) -> None:
        takes = uploads.build(parts, lambda: 0, StoreWatch(parts.store, parts.catalogue.tally))
        self._receiver = RelayedReceiver(takes.receiver, parts.verifier, parts.store, keys)
        self._key = authenticate(parts.verifier, f"Bearer {token}", "relay")
        self._writer = takes.writer

    def request(
        self, method: str, path: str, *, content: bytes | None = None, content_type: str = ""
    ) -> ServerAnswer:
        """Takes a part; of a remote configuration, which is asked for too, there is none."""
        del path, content_type
        if method != "POST" or content is None:
            raise AskingError("there is no remote configuration", "not_found")
        try:
            return ServerAnswer(msgspec.json.encode(self._receiver.take(self._key, content)))
        except ProblemError as problem:
            raise AskingError(str(problem), problem.code) from None

    def close(self) -> None:
        """Ends the thread that commits, which has nothing to do."""
        self._writer.close()
