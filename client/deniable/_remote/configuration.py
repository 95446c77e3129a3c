"""Remote configuration: with it, an application's owners can make devices report less, never more.

The registry contains a public key. A configuration that is signed with the private key can disable
metrics, make fewer devices report, and lengthen delays; the aggregator only hands it out. No code
here, and no field of `RemoteConfiguration`, could change anything else.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any, Final

from deniable import _import_lock
from deniable._frames import release_frames
from deniable._randomness import keyed_randomness
from deniable._storage.device import STORAGE_ERRORS, DeviceStorage
from deniable._storage.directory import write_durably
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable._event_log import EventLog
    from deniable._transport.http import Transport
    from deniable_shared.registry import Registry
    from deniable_shared.remote import RemoteConfiguration
    from deniable_shared.spec import Spec

FILE: Final = "remote.json"
FETCH_TIMEOUT_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 60.0
"""How often the file is read again, because another process may have written it."""

MAX_SLOWED_SECONDS: Final = 7 * 86_400.0
"""No delay is lengthened beyond this, because the aggregator takes reports for a limited time."""

_MAX_FILE_BYTES: Final = 16_384
_OK: Final = 200


class RemoteSettings:
    """The remote configuration of one client; does nothing if the registry contains no key.

    Args:
        registry: contains the application's name and the public key.
        storage: the storage whose directory holds the configuration, and whose lock guards it.
        transport: fetches the configuration if it has a method ``fetch``.
        events: where problems are noted.
        clock: seconds since 1970-01-01.

    Attributes:
        refused_count: how many configurations were refused in this process.
    """

    def __init__(
        self,
        registry: Registry,
        storage: DeviceStorage,
        transport: Transport,
        events: EventLog,
        clock: Callable[[], float],
    ) -> None:
        self._application = registry.application
        self._key = registry.remote_key
        self._storage = storage
        self._path: Path = storage.directory / FILE
        self._fetch: Callable[[str, float, int], tuple[int, bytes]] | None
        self._fetch = getattr(transport, "fetch", None)
        self._events = events
        self._clock = clock
        # Configurations with their documents, by serial number; the highest is in force. Threads
        # only add entries, so none undoes another one's, and no lock can be held at a fork.
        self._by_serial: dict[int, tuple[RemoteConfiguration, bytes]] = {}
        self._asked_on: int | None = None
        self._file_state: tuple[int, ...] | None = None
        self._next_look = 0.0
        self.refused_count = 0

    @property
    def serial(self) -> int | None:
        """The serial number of the configuration in force, or None."""
        configuration = None if self._key is None else self._current()
        return None if configuration is None else configuration.serial

    def disables(self, metric: str) -> bool:
        """Whether a metric is disabled, so that it records nothing."""
        if self._key is None:
            return False
        configuration = self._current()
        return configuration is not None and configuration.disables(metric)

    def thins(self, metric: str) -> bool:
        """Whether fewer devices are asked for a metric."""
        configuration = None if self._key is None else self._current()
        return configuration is not None and metric in configuration.thin

    def skips_period(self, spec: Spec, period: int, secret: bytes) -> bool:
        """Whether this device does not report in a period, because fewer devices are asked.

        Derived from the device's secret, and independent of the value. The result is the same
        however often, and in however many processes, the period is recorded; and every device that
        reports when a small share is asked also reports when a larger share is asked.

        Args:
            spec: the metric's.
            period: the number of the period.
            secret: the device's.
        """
        configuration = None if self._key is None else self._current()
        if configuration is None:
            return False
        weight = configuration.thin.get(spec.name)
        if weight is None:
            return False
        label = b"remote thin\0" + spec.digest + period.to_bytes(8, "big", signed=True)
        return keyed_randomness(secret, label, 4).word() >= weight

    def stretched(self, seconds: float) -> float:
        """A delay or back-off in seconds, lengthened as configured, but not beyond a week."""
        configuration = None if self._key is None else self._current()
        if configuration is None:
            return seconds
        return max(seconds, min(seconds * configuration.slow, MAX_SLOWED_SECONDS))

    def longest(self, seconds: float) -> float:
        """The longest delay that `stretched` returns for this one, whatever is configured."""
        return seconds if self._key is None else max(seconds, MAX_SLOWED_SECONDS)

    def fetch_if_due(self) -> None:
        """Fetches the configuration, at most once in a UTC day for all processes together.

        Called by the upload thread right after a report was acknowledged: a request at any other
        time would reveal that the device is on. Never raises.
        """
        if self._key is None or self._fetch is None:
            return
        today = epoch_at(self._clock())
        if self._asked_on != today:
            self._read_file()
        if self._asked_on == today:
            return
        self._asked_on = today
        self._fetch_document(self._fetch)
        # If the storage cannot be used, it notes why, and the configuration holds in this process.
        with contextlib.suppress(*STORAGE_ERRORS):
            self._storage.run_syncing(lambda: self._update_file(today))
        self._asked_on = today

    def prepare(self) -> None:
        """Imports what a fetch needs, if there is a key to verify documents by."""
        if self._key is not None and self._fetch is not None:
            with _import_lock.hold():
                import deniable._remote.ed25519  # noqa: F401
                import deniable_shared.remote  # noqa: F401

    def _fetch_document(self, fetch: Callable[[str, float, int], tuple[int, bytes]]) -> None:
        with _import_lock.hold():
            from deniable_shared.remote import MAX_DOCUMENT_BYTES, PATH

        try:
            status, document = fetch(PATH, FETCH_TIMEOUT_SECONDS, MAX_DOCUMENT_BYTES)
            if status == _OK:
                self._accept(document)
        except BaseException as error:  # noqa: BLE001  a transport may be cancelled, too
            detail = error.strerror if isinstance(error, OSError) else None
            self._events.problem("remote_unreachable", detail or type(error).__name__)
            release_frames(error)

    def _current(self) -> RemoteConfiguration | None:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._read_file()
        return self._in_force()[0]

    def _in_force(self) -> tuple[RemoteConfiguration | None, bytes]:
        return self._by_serial[max(self._by_serial)] if self._by_serial else (None, b"")

    def _read_file(self) -> bool:
        """Reads the file if it has changed, and verifies the signature again.

        Returns:
            Whether everything in the file is known now.
        """
        try:
            status = self._path.stat()
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            if state == self._file_state:
                return True
            self._file_state = state
            with self._path.open("rb") as file:
                content: Any = json.loads(file.read(_MAX_FILE_BYTES))
            asked, document = content["asked"], content["document"].encode()
            if type(asked) is not int:
                raise ValueError
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            self._file_state = None  # so that reading is tried again
            self._events.problem("remote_unreadable", error.strerror or type(error).__name__)
            return False
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._refuse("the file is damaged")
        else:
            self._asked_on = asked
            if document:
                self._accept(document)
        return True

    def _update_file(self, asked: int) -> None:
        # Another process may have written a newer configuration, which must not be lost.
        if self._read_file():
            self._write_file(asked)

    def _write_file(self, asked: int) -> None:
        content = {"asked": asked, "document": self._in_force()[1].decode()}
        write_durably(self._path, json.dumps(content).encode())

    def _accept(self, document: bytes) -> None:
        """Verifies a document, and adds its configuration or refuses it."""
        if self._key is None or document == self._in_force()[1]:
            return
        with _import_lock.hold():
            from deniable._remote.ed25519 import verify
            from deniable_shared.remote import CONTEXT, parse, unseal

        try:
            payload, signature = unseal(document)
            if not verify(self._key, CONTEXT + payload, signature):
                self._refuse("the signature is not valid")
                return
            configuration = parse(payload)
        except ParameterError as error:
            self._refuse(f"{error.name} must be {error.constraint}")
            return
        serial = configuration.serial
        if configuration.application != self._application:
            self._refuse("it is for another application")
        elif serial < max(self._by_serial, default=serial):
            self._refuse("its serial is older")
        elif self._by_serial.setdefault(serial, (configuration, document))[0] != configuration:
            self._refuse("its serial was used before")

    def _refuse(self, reason: str) -> None:
        self.refused_count += 1
        self._events.problem("remote_refused", f"a remote configuration was refused: {reason}")
