"""Files of tallies into a store, so that every command works on them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from deniable_aggregator.answering.engines.counters import TALLIES, SliceSum, sums
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import Loaded, NewPart, Store, StoreRefusedError, TallyKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_shared.spec import Spec


def load_tallies(store: Store, files: Sequence[str | Path], *, replace: bool = False) -> Loaded:
    """Loads files of tallies, all of them or none. Loading them again changes nothing.

    Args:
        store: has the metrics registered.
        files: Parquet files of `TALLIES`, which add up.
        replace: whether slices of which the store has another sum are replaced, not refused.

    Raises:
        StoreRefusedError: if a file is no such file or comes twice, a metric is not registered, or
            the store has another sum of a slice; nothing was loaded.
        StoreUnavailableError: if the store failed; nothing was loaded.
    """
    specs = {
        registration.spec.digest.hex(): registration.spec
        for registration in store.metrics.all().readable
    }
    parts: defaultdict[TallyKey, list[NewPart]] = defaultdict(list)
    keys: dict[str, str] = {}
    try:
        for total in sums(_tables(files), lambda version: _lengths(specs, version)):
            spec = specs[total.where.version]
            where = TallyKey(spec.digest, epoch_of(total.where.day), total.where.key)
            parts[where].append(_part(spec, total))
            if keys.setdefault(where.key, spec.application) != spec.application:
                raise StoreRefusedError(f"key {where.key} must be of one application")
    except (ValueError, pa.ArrowException) as error:
        raise StoreRefusedError(f"the files must be sums of reports: {error}") from None
    counters = {spec.digest: tally_for(spec) for spec in specs.values()}
    return store.tallies.load(parts, counters, keys, replace=replace)


def _tables(files: Sequence[str | Path]) -> list[pa.Table]:
    seen_files: dict[bytes, str | Path] = {}
    for file in files:
        content = hashlib.sha256(Path(file).read_bytes()).digest()
        if content in seen_files:
            raise StoreRefusedError(
                f"{file}: would count twice, as {seen_files[content]} is the same"
            )
        seen_files[content] = file
    return [pq.read_table(file, schema=TALLIES) for file in files]


def _lengths(specs: Mapping[str, Spec], version: str) -> range:
    """How many counters a version may have.

    Raises:
        StoreRefusedError: if it is not registered.
    """
    if version not in specs:
        raise StoreRefusedError(
            f"version {version} is not a registered metric of the store: "
            "deniable metrics register --store STORE metrics.toml"
        )
    tally = tally_for(specs[version])
    return range(tally.cells, tally.stored_cells + 1)


def _part(spec: Spec, total: SliceSum) -> NewPart:
    """A sum as the store keeps it.

    Raises:
        StoreRefusedError: if it is not one of this metric.
    """
    tally = tally_for(spec)
    counters = total.counters
    array = None if tally.is_sparse else counters.array()[: tally.cells]
    counted = counters.count() if array is None else tally.reports(array)
    if not (counters.least() >= 0 and counted == total.reports > 0):
        raise StoreRefusedError(
            f"the counters of {spec.name} on {total.where.day} must be those of {total.reports} "
            f"reports, got {counted}"
        )
    return NewPart(total.reports, counters.encode(tally.cells))
