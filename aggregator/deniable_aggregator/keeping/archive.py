"""The archive: reports of closed days in Parquet files, each report in one file.

Writes the reports of closed days into an archive, each exactly once, whatever is killed when.

A file has all reports of a version and day that no archive has. Its name says which one it is, so a
run that was killed is repeated by writing the same file again, with whatever has come since. Then
one transaction writes that the file is complete and that its reports are archived: the next file
of that day gets the next name. Last the day's manifest is written, from what the store knows.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import ArchivedFile, Store, StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from fsspec import AbstractFileSystem
    from numpy.typing import NDArray

    from deniable_aggregator.keeping.store.parts import StoredPart
    from deniable_shared.spec import Spec


def put(files: AbstractFileSystem, path: str, content: bytes) -> None:
    """Writes a file, in the place of one that has this name. Nobody ever sees a part of it.

    Args:
        files: a file system of fsspec. On the local one the file is durable when this returns;
            object stores make a file visible when all of it has arrived.
    """
    if isinstance(files, LocalFileSystem):
        _put_here(Path(path), content)
        return
    with files.transaction, files.open(path, "wb") as stream:
        stream.write(content)


def _put_here(file: Path, content: bytes) -> None:
    missing = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    with part.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)
    for folder in (file.parent, *(folder.parent for folder in missing)):
        _sync(folder)


def _sync(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


ROW_GROUP_ROWS: Final = 1 << 20
SEED_BITS: Final = 128


def report_file_path(file: ArchivedFile, store_id: str) -> str:
    """The name of a file below the archive's address: the same whenever it is written.

    Args:
        file: the file; its size and content do not matter.
        store_id: the store's name in archives.
    """
    keys = {
        "application": quote(file.application, safe=""),
        "metric": quote(file.metric, safe=""),
        "version": file.digest.hex(),
        "day": format_day(file.epoch),
    }
    folders = "/".join(f"{name}={value}" for name, value in keys.items())
    return f"{folders}/reports-{store_id}-{file.number}.parquet"


def report_file(reports: Sequence[tuple[str, bytes]], width: int) -> bytes:
    """A Parquet file with the columns ``key`` and ``report``, its rows in random order.

    Nothing else about a row may say which upload it came with, so there is no other column.

    Args:
        reports: pairs of the id of a key and its reports, one after the other.
        width: the bytes of a report.
    """
    names = sorted({key for key, _ in reports})
    places = {name: place for place, name in enumerate(names)}
    rows = np.frombuffer(b"".join(payload for _, payload in reports), f"V{width}")
    counts = [len(payload) // width for _, payload in reports]
    keys = np.repeat(np.array([places[key] for key, _ in reports], np.int32), counts)
    order = random_order(rows.size)
    table = pa.table(
        {
            "key": pa.DictionaryArray.from_arrays(keys[order], names),
            "report": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(width), rows.size, [None, pa.py_buffer(rows[order].tobytes())]
            ),
        }
    )
    file = BytesIO()
    # Reports of one or two bytes repeat, so a dictionary pays; one of longer reports would be as
    # long as the reports.
    repeating = ["key", "report"] if width <= 2 else ["key"]
    pq.write_table(
        table,
        file,
        compression="zstd",
        row_group_size=ROW_GROUP_ROWS,
        use_dictionary=repeating,
        store_schema=False,
    )
    return file.getvalue()


def random_order(rows: int) -> NDArray[np.int64]:
    """An order of rows that says nothing: int64, (rows,)."""
    return np.random.default_rng(secrets.randbits(SEED_BITS)).permutation(rows)


FORM: Final = 1


def manifest_path(epoch: int, store_id: str) -> str:
    """The name of a day's manifest below the archive's address.

    Programs that read all Parquet files below an address leave out what begins with an underscore.
    """
    return f"_manifests/day={format_day(epoch)}/{store_id}.json"


def manifest(epoch: int, store_id: str, files: Sequence[ArchivedFile]) -> bytes:
    """The manifest of a day, as JSON.

    Args:
        store_id: the store's name in archives.
    """
    document = {
        "archive": FORM,
        "store": store_id,
        "day": format_day(epoch),
        "files": [_file_entry(file, store_id) for file in files],
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def listed_files(content: bytes) -> dict[str, str]:
    """The names of the files in a manifest, each with the version of its reports.

    Raises:
        ValueError: if it is no manifest.
    """
    document = json.loads(content)
    if not isinstance(document, dict) or document.get("archive") != FORM:
        raise ValueError("no manifest of this version")
    return {str(entry["path"]): str(entry["version"]) for entry in document["files"]}


def _file_entry(file: ArchivedFile, store_id: str) -> dict[str, Any]:
    return {
        "path": report_file_path(file, store_id),
        "application": file.application,
        "metric": file.metric,
        "version": file.digest.hex(),
        "number": file.number,
        "rows": file.reports,
        "bytes": file.size,
        "sha256": file.sha256.hex(),
    }


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
