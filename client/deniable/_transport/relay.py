"""Sealed uploads over a relay, and nothing else: without the relay nothing is sent."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from deniable import _import_lock
from deniable._transport.http import HttpServer, Response, SealingError, check_key
from deniable_shared.errors import ParameterError
from deniable_shared.sealing import CONTENT_TYPE, SEALED_PATH, Sealer

if TYPE_CHECKING:
    import os

    from deniable_shared.registry import Relay

OLDEST_CRYPTOGRAPHY: Final = 50
INSTALL: Final = "pip install 'deniable[relay]'"


class RelayTransport(HttpServer):
    """Seals each upload, anew at every attempt, and POSTs it to the relay of a registry.

    The write key is inside the seal. The relay learns the time, the length, and a tag by which it
    recognises a further attempt; the aggregator never sees the device's address.

    Args:
        relay: of the registry.
        key: the application's write key, as ``deniable keys create`` prints it.
        proxy: see `HttpServer`.
        ca_file: see there.

    Raises:
        ParameterError: if an argument cannot be used, or cryptography is not installed.
    """

    parallel_uploads = 20
    """How many uploads may be under way at the same time."""

    sealed = True

    def __init__(
        self,
        relay: Relay,
        key: str,
        *,
        proxy: str | None = "environment",
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        _check_extra()
        check_key(key)
        Sealer(relay.key, key)  # raises if the key cannot travel inside a seal
        super().__init__(relay.url, {}, proxy, ca_file)
        self._relay_key = relay.key
        self._write_key = key

    def __hash__(self) -> int:
        return hash((super().__hash__(), self._relay_key, self._write_key))

    def prepare(self) -> None:
        """Imports what uploads need."""
        super().prepare()
        # What fails here is told of the first upload.
        with _import_lock.hold(), suppress(Exception):
            self._relay_key.seal(b"", b"")

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Seals one upload and delivers it to the relay; see `HttpServer.post` for other errors.

        Raises:
            SealingError: if nothing can be sealed to the relay's key here.
        """
        try:
            envelope = Sealer(self._relay_key, self._write_key).seal(body)
        except Exception as error:
            raise SealingError(type(error).__name__) from error
        return self.post(SEALED_PATH, envelope, CONTENT_TYPE, timeout_seconds)


def _check_extra() -> None:
    """Raises unless a package that can seal is installed; imports next to nothing of it."""
    with _import_lock.hold():
        try:
            import cryptography
        except ImportError:
            version = "none"
        else:
            version = cryptography.__version__
    major = version.partition(".")[0]
    if not (major.isdigit() and int(major) >= OLDEST_CRYPTOGRAPHY):
        constraint = f"at least {OLDEST_CRYPTOGRAPHY}, as the registry has a relay: {INSTALL}"
        raise ParameterError("cryptography", constraint, version)
