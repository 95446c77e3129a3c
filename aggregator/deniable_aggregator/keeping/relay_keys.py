"""The keys that uploads are sealed to behind a relay: one file, outside of the store.

Whoever has the store or a backup of it, and not this file, opens no envelope. Of a retired key the
file keeps the id alone, so that what was sealed to it is told from what another server could open.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from datetime import date  # noqa: TC003  msgspec reads it
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.replaced_file import replaced_file
from deniable_shared.sealing import Opener, PrivateKey, Suite, parse_private_key

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAME: Final = "relay_keys"
_MODE: Final = 0o600


class RelayKeysError(DeniableError):
    """The file cannot be used. No message quotes anything in it but ids."""


class RelayKey(Struct, frozen=True, omit_defaults=True):
    """One key.

    Attributes:
        id: in hexadecimal digits, as devices send it.
        created: the day.
        suite: how uploads are sealed to it.
        secret: the private half; empty once it is retired.
        retired: the day; None while it opens envelopes.
    """

    id: str
    created: date
    suite: str
    secret: str = ""
    retired: date | None = None

    def __repr__(self) -> str:
        return f"RelayKey({self.id!r})"


class RelayKeys:
    """The keys of a file. Other processes may change it at any time.

    Args:
        path: of the file; None where none is named, which is the same as a file that is not there.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._state: tuple[int, ...] | None = None
        self._opener = Opener(())
        self._known: frozenset[bytes] = frozenset()

    @classmethod
    def beside(cls, store: Path | None, named: str = "") -> RelayKeys:
        """The keys of a store.

        Args:
            store: its file; None for a database server.
            named: the path of the keys; empty for `FILE_NAME` in the directory of the store.
        """
        if named:
            return cls(Path(named))
        return cls(None if store is None else store.with_name(FILE_NAME))

    def opener(self) -> tuple[Opener, frozenset[bytes]]:
        """What opens envelopes, and the ids of all keys that there are or were.

        The file is read again when it has changed.

        Raises:
            RelayKeysError: if it cannot be read, or holds something else.
        """
        state = self._look()
        if state != self._state:
            keys = self.all()
            private = [parse_private_key(key.secret) for key in keys if key.secret]
            self._opener = Opener(private)
            self._known = frozenset(bytes.fromhex(key.id) for key in keys)
            self._state = state
        return self._opener, self._known

    def all(self) -> list[RelayKey]:
        """All keys, in the order in which they were made.

        Raises:
            RelayKeysError: if the file cannot be read, or holds something else.
        """
        if self._look() is None or self.path is None:
            return []
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=list[RelayKey])
        except OSError as error:
            raise RelayKeysError(f"{self.path}: cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise RelayKeysError(
                f"{self.path}: must be a file that deniable relay-key create wrote"
            ) from None

    def create(self, suite: Suite, today: date) -> PrivateKey:
        """Makes a key, beside those that there are.

        Raises:
            RelayKeysError: if the file cannot be read or written, or cryptography was built without
                the suite.
        """
        from cryptography.exceptions import UnsupportedAlgorithm

        try:
            private = PrivateKey.generate(suite)
        except UnsupportedAlgorithm:
            raise RelayKeysError(
                f"this build of cryptography has no {suite.name}; pip installs one that has"
            ) from None
        with self._changing() as keys:
            keys.append(RelayKey(private.public.id.hex(), today, suite.name, private.secret_text))
        return private

    def retire(self, key_id: str, today: date) -> RelayKey:
        """Erases the private half of a key: what is sealed to it cannot be opened any more.

        Args:
            key_id: the first digits of its id.

        Raises:
            ParameterError: if not exactly one key begins so, or it is retired already.
            RelayKeysError: if the file cannot be read or written.
        """
        with self._changing() as keys:
            found = [key for key in keys if key_id and key.id.startswith(key_id)]
            if len(found) != 1 or not found[0].secret:
                raise ParameterError("ID", "that of one key which is not retired", key_id)
            (old,) = found
            retired = RelayKey(old.id, old.created, old.suite, retired=today)
            keys[keys.index(old)] = retired
        return retired

    @contextmanager
    def _changing(self) -> Iterator[list[RelayKey]]:
        """The keys, which are written when the block ends; other commands wait until then."""
        if self.path is None:
            raise RelayKeysError("name the file of the keys: a database server has no directory")
        directory = -1
        try:
            # Not the file, whose place another takes.
            directory = os.open(self.path.parent, os.O_RDONLY)
            fcntl.flock(directory, fcntl.LOCK_EX)
            keys = self.all()
            yield keys
            if not self.path.exists():
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))
            with replaced_file(self.path) as file:
                file.write(msgspec.json.format(msgspec.json.encode(keys)) + b"\n")
        except OSError as error:
            raise RelayKeysError(f"{self.path}: cannot be written: {error.strerror}") from None
        finally:
            if directory >= 0:
                os.close(directory)

    def _look(self) -> tuple[int, ...] | None:
        """What tells whether the file has changed; None if it is not there.

        Raises:
            RelayKeysError: if it cannot be looked at, or others may read it.
        """
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RelayKeysError(f"{self.path}: cannot be read: {error.strerror}") from None
        if os.name == "posix" and status.st_mode & 0o077:
            raise RelayKeysError(
                f"{self.path}: must be readable by its owner only; chmod 600 does that"
            )
        return status.st_ino, status.st_size, status.st_mtime_ns
