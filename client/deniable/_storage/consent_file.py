"""The file in which the user's answer is remembered, if the application wants that.

One line, such as ``agreed 2026-11-23``: the answer, and the UTC day on which it was given. A third
word, ``deleting``, says that what was stored before a withdrawal has still to be deleted. There is
no file before the user has answered, and a damaged one is no consent.
"""

from __future__ import annotations

import os

from deniable._platform import files
from deniable._status import RememberedConsent
from deniable._storage.directory import make_private, write_durably
from deniable._storage.owner import claim_directory
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

CONSENT: Final = "consent"
_MAX_BYTES: Final = 64

_WORDS: Final = {"agreed": True, "refused": False}
_DELETING: Final = "deleting"


@frozen
class Answer:
    """What the file says.

    Attributes:
        consent: the user's answer, and its day.
        deletion_owed: whether the user has withdrawn consent, perhaps before agreeing again, and
            what was stored then has still to be deleted.
    """

    consent: RememberedConsent
    deletion_owed: bool = False


class ConsentFile:
    """Reads and writes the answer, without a lock, for nothing must keep a user from refusing.

    Args:
        directory: the device's.
        application: the one that owns the directory.
        own_names: see `make_private`.
    """

    def __init__(self, directory: Path, application: str, own_names: tuple[str, ...]) -> None:
        self._directory = directory
        self._application = application
        self._own_names = own_names
        self._path = directory / CONSENT
        self._path_text = str(self._path)

    def state(self) -> object:
        """Changes whenever the file is written; None without a file, or if it cannot be read."""
        try:
            status = os.stat(self._path_text)  # noqa: PTH116  faster than pathlib
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def read(self) -> Answer | None:
        """The answer; None if there is none, or it cannot be read."""
        try:
            return _parse(self._load())
        except (OSError, ValueError):
            return None

    def write(self, answer: Answer) -> None:
        """Remembers an answer, durably.

        Raises:
            StorageError, OSError: if it cannot be written. Then no earlier agreement is left,
                unless the directory cannot be changed at all.
        """
        words = [word for word, agreed in _WORDS.items() if agreed == answer.consent.agreed]
        words.append(answer.consent.since.isoformat())
        if answer.deletion_owed:
            words.append(_DELETING)
        try:
            self._save(f"{' '.join(words)}\n".encode("ascii"))
        except OSError:
            self.delete()  # a full disk can do that
            raise

    def delete(self) -> None:
        """Forgets the answer."""
        files.delete(self._path)

    def _load(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(_MAX_BYTES)

    def _save(self, content: bytes) -> None:
        make_private(self._directory, self._own_names)
        claim_directory(self._directory, self._application)
        write_durably(self._path, content, f".{os.urandom(4).hex()}.new")


def _parse(content: bytes) -> Answer:
    """What the content of a file says.

    Raises:
        ValueError: if it is no answer.
    """
    from datetime import date  # costs start-up time; only who remembers consent needs it

    word, day, *owed = content.decode("ascii").removesuffix("\n").split(" ")
    if word not in _WORDS or owed not in ([], [_DELETING]):
        raise ValueError("answer must be agreed or refused, and its day, got something else")
    consent = RememberedConsent(agreed=_WORDS[word], since=date.fromisoformat(day))
    return Answer(consent, deletion_owed=bool(owed))
