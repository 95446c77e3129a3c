"""Nothing in an archive puts the reports of an upload together again."""

from __future__ import annotations

import secrets

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable_aggregator.keeping import archive as writing
from deniable_aggregator.keeping.archive import Archiver
from deniable_shared import wire
from tests.aggregator.archiving.closed import archiving, close_days
from tests.aggregator.service import SPECS, TODAY

UPLOADS = 300
CHANCE = 12
"""So many pairs are found by chance with probability 1e-10 at most, as one is expected: the number
of fixed points of a random permutation is nearly Poisson with mean 1."""

DAYS = (TODAY, TODAY - 1)


@pytest.fixture(scope="module")
def uploads():
    """For each upload, two reports of one day and one of another. All bytes are different."""
    generator = np.random.default_rng(1)
    values = generator.choice(4 << 16, 3 * UPLOADS, replace=False)
    reports = [bytes([0, value >> 16]) + (value & 0xFFFF).to_bytes(2) for value in values.tolist()]
    return np.array(reports, "V4").reshape(UPLOADS, 3)


def rejoined(files, uploads):
    """How many uploads an attacker puts together who knows the two files, and only their order.

    Reports of two days: those in the same place, counted from the beginning or from the end.
    Reports of one day: neighbours, and those in the same place of its two halves.
    """
    one, other = (pq.read_table(file)["report"].combine_chunks() for file in files)
    place = [{report: at for at, report in enumerate(each.to_pylist())} for each in (one, other)]
    first, second, third = (
        np.array([place[file][report.tobytes()] for report in uploads[:, column]])
        for column, file in ((0, 0), (1, 0), (2, 1))
    )
    attacks = {
        "place": first // 2 == third,
        "place from the end": first // 2 == UPLOADS - 1 - third,
        "neighbours": (np.abs(first - second) == 1) & (np.minimum(first, second) % 2 == 0),
        "halves": np.abs(first - second) == UPLOADS,
    }
    return {name: int(found.sum()) for name, found in attacks.items()}


@pytest.mark.one_store
def test_reports_of_an_upload_are_not_found_by_order(target, tmp_path, uploads):
    digest = SPECS["emoji"].digest
    with archiving(target) as service:
        for one, another, other_day in uploads:
            parts = (
                wire.Part(digest, DAYS[0], one.tobytes() + another.tobytes()),
                wire.Part(digest, DAYS[1], other_day.tobytes()),
            )
            body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), parts))
            assert service.send(body).status_code == 204
        close_days(service)
        Archiver(service.store, str(tmp_path)).run()
    files = sorted(tmp_path.rglob("*.parquet"), reverse=True)
    assert max(rejoined(files, uploads).values()) < CHANCE


def test_the_attack_succeeds_where_the_order_of_arrival_is_kept(tmp_path, monkeypatch, uploads):
    monkeypatch.setattr(writing, "random_order", np.arange)
    files = []
    for name, columns in (("one", slice(2)), ("other", slice(2, 3))):
        payload = np.ascontiguousarray(uploads[:, columns]).tobytes()
        files.append(tmp_path / name)
        files[-1].write_bytes(writing.report_file([("cafe", payload)], 4))
    found = rejoined(files, uploads)
    assert found["place"] == found["neighbours"] == UPLOADS


@pytest.mark.one_store
def test_a_file_holds_reports_and_ids_of_keys_and_nothing_else(target, tmp_path):
    with archiving(target) as service:
        upload_id = secrets.token_bytes(wire.ID_BYTES)
        part = wire.Part(SPECS["theme"].digest, TODAY, b"\0\1")
        key = service.key("batch")
        assert (
            service.send(wire.encode(wire.Upload(upload_id, (part,))), key=key).status_code == 204
        )
        close_days(service)
        Archiver(service.store, str(tmp_path)).run()
        (label,) = {each.label for each in service.store.keys.all()}
    (file,) = tmp_path.rglob("*.parquet")
    table = pq.read_table(file, partitioning=None)
    _, _, key_id, secret = key.split("_", 3)
    assert table.schema.remove_metadata() == pa.schema(
        [("key", pa.string()), ("report", pa.binary(1))]
    )
    assert table["key"].to_pylist() == [key_id] * 2
    assert pq.read_metadata(file).metadata is None
    everything = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    for hidden in (upload_id, upload_id.hex().encode(), secret.encode()):
        assert hidden not in everything
    assert label == ""
