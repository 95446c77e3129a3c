"""The chain of registered versions: what registering adds to it, and that no change goes unseen."""

import contextlib
import hashlib
import json

import msgspec
import pytest

from deniable_aggregator import Store
from deniable_aggregator.answers.registry_history import (
    BrokenHistoryError,
    RegistryHistory,
    check_history,
    compare,
)
from deniable_shared import registry
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY, bearer

DEEPER = REGISTRY.replace("epsilon = 1.0\n[metrics.late]", "epsilon = 2.0\n[metrics.late]")
SOON = REGISTRY.replace("2027-12-31", "2026-12-31")


def metrics(text):
    return registry.parse(text).metrics.values()


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        yield opened


@pytest.fixture
def history(store):
    """Three metrics, then a new version, other limits of the first one, and a removal."""
    store.metrics.register(metrics(REGISTRY), TODAY)
    store.metrics.register(metrics(REGISTRY), TODAY + 1)
    store.metrics.register(metrics(DEEPER), TODAY + 2)
    store.metrics.register(metrics(DEEPER.replace("active", "shown")), TODAY + 3)
    store.metrics.register(metrics(SOON), TODAY + 4)
    store.metrics.remove(APPLICATION, "late", TODAY + 5)
    return store.metrics.history(APPLICATION)


def test_each_act_is_an_entry_and_what_changes_nothing_is_none(history, store):
    acts = [(each.sequence, each.metric, each.act) for each in history.entries]
    assert acts == [
        (1, "theme", "registered"),
        (2, "late", "registered"),
        (3, "emoji", "registered"),
        (4, "theme", "registered"),
        (5, "theme", "limits changed"),
        (6, "late", "removed"),
    ]
    theme = history.entries[0]
    assert theme.summary == "category by grr, epsilon 1, every day"
    assert (str(theme.expires), str(theme.day)) == ("2027-12-31", "2024-10-04")
    assert history.entries[4].version == theme.version != history.entries[3].version
    assert history.entries[5].version is None
    check_history(history)
    store.metrics.register(metrics(REGISTRY), TODAY + 6)
    again = store.metrics.history(APPLICATION)
    assert [each.metric for each in again.entries[6:]] == ["theme", "late"]
    check_history(again, history.head)


def test_the_hash_is_what_the_document_says(history):
    """As somebody else would write it, from the JSON alone."""
    data = json.loads(msgspec.json.encode(history))
    names = "sequence day act metric version summary expires retention_days minimum_devices"
    names += " renamed"
    before = "0" * 64
    for entry in data["entries"]:
        content = json.dumps(
            [data["application"], *(entry[name] for name in names.split())], separators=(",", ":")
        )
        before = hashlib.sha256((before + content).encode()).hexdigest()
        assert entry["hash"] == before
    assert data["head"] == before


def changed(history, position, **fields):
    entries = list(history.entries)
    entries[position] = msgspec.structs.replace(entries[position], **fields)
    return msgspec.structs.replace(history, entries=entries)


def without(history, position):
    kept = [each for place, each in enumerate(history.entries) if place != position]
    return msgspec.structs.replace(history, entries=kept)


@pytest.mark.one_store
def test_no_change_goes_unseen(history):
    other = {
        "sequence": 9,
        "day": history.entries[5].day,
        "act": "removed",
        "metric": "other",
        "version": "0" * 64,
        "summary": "category by grr, epsilon 0.5, every day",
        "expires": None,
        "retention_days": 7,
        "minimum_devices": 7,
        "renamed": {"system": "auto"},
        "hash": "0" * 64,
    }
    assert {*other} == {*history.entries[0].__struct_fields__}
    for field, value in other.items():
        with pytest.raises(BrokenHistoryError, match="entry"):
            check_history(changed(history, 0, **{field: value}))
    for position in range(len(history.entries)):
        with pytest.raises(BrokenHistoryError, match="missing"):
            check_history(without(history, position))
    with pytest.raises(BrokenHistoryError, match="changed"):
        check_history(msgspec.structs.replace(history, application="other"))
    shorter = msgspec.structs.replace(without(history, 5), head=history.entries[4].hash)
    check_history(shorter)
    with pytest.raises(BrokenHistoryError, match="cut off"):
        check_history(shorter, history.head)


@pytest.mark.one_store
def test_a_registry_file_is_compared_with_it(history):
    newer = REGISTRY.replace("rows = 4", "rows = 8")
    expected = {
        REGISTRY: ["earlier", "removed", "newest"],
        DEEPER: ["newest", "removed", "newest"],
        newer: ["earlier", "removed", "unknown"],
    }
    for text, standings in expected.items():
        compared = compare(history, registry.parse(text))
        assert [each.standing for each in compared] == standings


@pytest.mark.one_store
def test_whoever_may_read_sees_the_history_of_their_application(service):
    service.register()
    path = "/v1/registry-history"
    answer = service.http.get(path, headers=bearer(service.read))
    found = msgspec.json.decode(answer.data, type=RegistryHistory)
    assert len(found.entries) == 3
    check_history(found)
    other = service.http.get(path, headers=bearer(service.key("read", "another")))
    assert other.get_json() == {"application": "another", "entries": [], "head": "0" * 64}
    assert service.http.get(path, headers=bearer(service.key("write"))).status_code == 403
