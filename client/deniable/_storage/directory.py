"""The private directory of a device, and files that are never half written."""

from __future__ import annotations

import contextlib
import errno
import os

from deniable._platform import files, permissions

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

_ZEROS: Final = 1 << 20
_NEW_FILE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | files.BINARY


class StorageError(Exception):
    """The directory cannot be used now; the message says why and contains no recorded value."""


class DamageError(StorageError):
    """The files are not as they were written last: what was spent is not known."""


class TornDraftError(DamageError):
    """The same of a device that has sent nothing, which may begin anew."""


class BusyError(StorageError):
    """Another thread or process is using the directory; nothing else is known to be wrong."""


def make_private(directory: Path, own_names: tuple[str, ...]) -> None:
    """Makes the directory with mode 0700, or checks an existing one and gives it that mode.

    Args:
        directory: its missing parents are made, too.
        own_names: prefixes of the names of this client's own files.

    Raises:
        StorageError: if the directory belongs to another user; or if other users can read it and it
            holds files besides this client's own, or files that another user owns or can change.
        OSError: if it cannot be made.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=permissions.PRIVATE_DIRECTORY)
        return
    status = directory.stat()
    if permissions.owned_by_another(status):
        # The owner could read the secret, or choose it.
        raise StorageError(
            "the directory belongs to another user: give this user one of its own, or the ownership"
        )
    if permissions.open_to_others(status):
        for path in directory.iterdir():
            if not path.name.startswith(own_names):
                raise StorageError("the directory is open to other users and holds other files")
            if permissions.changeable_by_others(path.lstat()):
                raise StorageError(
                    "the directory is open to other users, who may have written its files: "
                    "delete it to begin anew"
                )
        directory.chmod(permissions.PRIVATE_DIRECTORY)


def write_new(path: Path, content: bytes) -> None:
    """Writes a private file in place of an earlier one, without waiting for the disk."""
    files.delete(path)
    descriptor = os.open(path, _NEW_FILE, permissions.PRIVATE_FILE)
    identity = files.identify(descriptor)
    try:
        write_all(descriptor, content)
    finally:
        files.close_own(descriptor, identity)


def describe_error(error: BaseException) -> str:
    """An error in a few words, without the path, which may hold a user's name."""
    detail = error.strerror if isinstance(error, OSError) else ""
    return f"{type(error).__name__} {detail or ''}".strip()


def write_durably(path: Path, content: bytes, draft_suffix: str = ".new") -> None:
    """Writes a private file so that after a power failure it is there in full or not at all.

    Args:
        path: where to.
        content: all of it.
        draft_suffix: what the file is called besides its name until it is complete; another one for
            each writer, if there can be several at a time.
    """
    draft = path.with_name(path.name + draft_suffix)
    try:
        write_new(draft, content)
        files.sync_file(draft)
        files.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            files.delete(draft)
        raise
    files.sync_directory(path.parent)


def sync_names_above(directory: Path) -> None:
    """Waits until the directory itself, and those above it, survive a power failure.

    Those that this user may not open were not made by this user.
    """
    for above in directory.parents:
        with contextlib.suppress(OSError):
            files.sync_directory(above)


def erase(path: Path) -> None:
    """Overwrites the bytes of a file, waits for the disk, and deletes it; does nothing without it.

    Raises:
        OSError: if the disk refuses; then the file is still there.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | files.BINARY)
    except FileNotFoundError:
        return
    identity = files.identify(descriptor)
    try:
        left = os.fstat(descriptor).st_size
        while left > 0 and files.identify(descriptor) == identity:
            left -= os.write(descriptor, bytes(min(left, _ZEROS)))
        files.sync(descriptor)
    finally:
        files.close_own(descriptor, identity)
    files.delete(path)


def write_all(descriptor: int, content: bytes) -> None:
    """Writes all bytes, of which a disk that is nearly full may take a part.

    Raises:
        OSError: if there is no room.
    """
    if os.write(descriptor, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
