"""The manifest of a day: which files an archive has of a store, and what must be in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.archiving.report_file import report_file_path
from deniable_aggregator.dates import format_day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.store import ArchivedFile

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
