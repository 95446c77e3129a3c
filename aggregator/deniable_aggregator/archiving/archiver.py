"""Writes the reports of closed days into an archive, each exactly once, whatever is killed when.

A file has all reports of a version and day that no archive has. Its name says which one it is, so a
run that was killed is repeated by writing the same file again, with whatever has come since. Then
one transaction writes that the file is complete and that its reports are archived: the next file
of that day gets the next name. Last the day's manifest is written, from what the store knows.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from fsspec.core import url_to_fs

from deniable_aggregator.archiving.manifest import listed_files, manifest, manifest_path
from deniable_aggregator.archiving.put import put
from deniable_aggregator.archiving.report_file import report_file, report_file_path
from deniable_aggregator.dates import format_day
from deniable_aggregator.store import ArchivedFile, StoreRefusedError
from deniable_aggregator.tallies import tally_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from deniable_aggregator.store import Store
    from deniable_aggregator.store.tables.parts import StoredPart
    from deniable_shared.spec import Spec

FILE_BYTES: Final = 128 << 20
"""A day with more bytes of stored reports than this is written as several files."""


class Written(NamedTuple):
    """What a run wrote: numbers of files, of reports in them, and of days."""

    files: int
    reports: int
    days: int


class Archiver:
    """Writes files for one store. One process at a time does.

    Args:
        address: a folder's path, or its address of fsspec such as s3://bucket/reports.
    """

    def __init__(self, store: Store, address: str) -> None:
        self._store = store
        self._archive = store.archive
        self._files, self._root = url_to_fs(address)
        self._specs: dict[bytes, Spec] = {}
        self._store_id = ""

    def run(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Written:
        """Writes the reports of all closed days that no archive has.

        Args:
            progress: called with the number of days that are done and of all days.

        Raises:
            StoreUnavailableError: if the store failed, or another process is archiving it.
            StoreRefusedError: if the archive has files that the store knows nothing of, as after a
                backup was restored.
        """
        with self._archive.alone():
            self._store_id = self._archive.store_id()
            self._specs = {
                registration.spec.digest: registration.spec
                for registration in self._store.metrics.all().readable
            }
            unlisted = set(self._archive.unlisted_days())
            days = sorted({*self._archive.closed_days(), *unlisted})
            files = reports = changed = 0
            for finished, epoch in enumerate(days):
                progress(finished, len(days))
                files_of_day = self._archive_day(epoch)
                if files_of_day or epoch in unlisted:
                    self._write_manifest(epoch)
                files += len(files_of_day)
                reports += sum(file.reports for file in files_of_day)
                changed += bool(files_of_day)
            progress(len(days), len(days))
        return Written(files, reports, changed)

    def _archive_day(self, epoch: int) -> list[ArchivedFile]:
        waiting = self._archive.waiting(epoch)
        if waiting:
            self._refuse_unknown_files(epoch, waiting)
        files = []
        for digest, parts in sorted(waiting.items()):
            spec = self._specs.get(digest)
            if spec is None:
                continue  # only a later version of this program can read it
            for portion in _portions(parts):
                file = self._write_file(spec, epoch, portion)
                if file is not None:
                    files.append(file)
        return files

    def _refuse_unknown_files(self, epoch: int, digests: Collection[bytes]) -> None:
        """Refuses to write over complete files of a later state of the store."""
        path = f"{self._root}/{manifest_path(epoch, self._store_id)}"
        if not self._files.exists(path):
            return
        names = {report_file_path(file, self._store_id) for file in self._archive.files(epoch)}
        versions = {digest.hex() for digest in digests}
        listed = listed_files(self._files.cat_file(path))
        unknown = [
            name for name, version in listed.items() if version in versions and name not in names
        ]
        if unknown:
            raise StoreRefusedError(
                f"the archive has {len(unknown)} files of {format_day(epoch)} that this store "
                f"knows nothing of, such as {min(unknown)}: was it restored from a backup? Move "
                "them and the manifest away to write what the store has."
            )

    def _write_file(
        self, spec: Spec, epoch: int, parts: Sequence[StoredPart]
    ) -> ArchivedFile | None:
        """Writes a file; None if another process has changed the parts, for the next run."""
        tally = tally_for(spec)
        reports, bodies = self._archive.read(parts)
        if len(bodies) < len(parts):
            return None
        file = ArchivedFile(
            spec.application,
            spec.name,
            spec.digest,
            epoch,
            self._archive.next_number(spec.digest, epoch),
            sum(part.reports for part in parts),
            0,
            b"",
        )
        content = report_file(reports, tally.report_bytes)
        put(self._files, f"{self._root}/{report_file_path(file, self._store_id)}", content)
        file = file._replace(size=len(content), sha256=hashlib.sha256(content).digest())
        return file if self._archive.add(tally, file, parts, bodies) else None

    def _write_manifest(self, epoch: int) -> None:
        content = manifest(epoch, self._store_id, self._archive.files(epoch))
        put(self._files, f"{self._root}/{manifest_path(epoch, self._store_id)}", content)
        self._archive.mark_listed(epoch)


def _portions(parts: Sequence[StoredPart]) -> Iterator[list[StoredPart]]:
    """Parts that go into one file together: up to `FILE_BYTES`, or one that is larger."""
    portion: list[StoredPart] = []
    size = 0
    for part in parts:
        if portion and size + part.size > FILE_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(part)
        size += part.size
    yield portion
