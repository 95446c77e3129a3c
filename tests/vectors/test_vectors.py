from __future__ import annotations

import json

import pytest

from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import wire
from deniable_shared.errors import WireError
from deniable_shared.spec import Spec
from tests.vectors import make

NAMES = ("classes.json", "hashing.json", "reports.json", "uploads.json")


def stored(name):
    return json.loads((make.FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_the_code_still_produces_the_stored_vectors(name):
    assert json.loads(json.dumps(make.vectors()[name])) == stored(name)


@pytest.mark.parametrize("vector", stored("reports.json"), ids=lambda vector: vector["name"])
def test_stored_reports_are_counted_as_stored(vector):
    spec = Spec.from_canonical(vector["spec"])
    assert spec.digest.hex() == vector["digest"]
    payload = b"".join(bytes.fromhex(case["report"]) for case in vector["cases"])
    counts = tally_for(spec).count(payload)
    assert {str(index): int(counts[index]) for index in counts.nonzero()[0]} == vector["tally"]


@pytest.mark.parametrize("name", stored("uploads.json")["good"])
def test_a_good_upload_decodes_and_encodes_to_the_same_bytes(name):
    body = bytes.fromhex(stored("uploads.json")["good"][name])
    assert wire.encode(wire.decode(body)) == body


@pytest.mark.parametrize("name", stored("uploads.json")["bad"])
def test_a_bad_upload_is_refused(name):
    with pytest.raises(WireError):
        wire.decode(bytes.fromhex(stored("uploads.json")["bad"][name]))
