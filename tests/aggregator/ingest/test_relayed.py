"""What a relay brings is opened, checked as if its device had sent it, and stored once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import date

import pytest

from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared import wire
from deniable_shared.sealing import (
    HEADER_BYTES,
    MAX_ENVELOPES,
    MAX_PART_BYTES,
    PART_CONTENT_TYPE,
    RELAYED_PATH,
    X25519,
    Answer,
    Part,
    PrivateKey,
    Sealer,
)
from tests.aggregator.service import (
    REGISTRY,
    SPECS,
    TODAY,
    Service,
    bearer,
    problem,
    serving,
    upload,
)

DAY = date(2024, 10, 4)


@dataclass
class Relayed:
    """A service behind a relay of the test's own."""

    service: Service
    keys: RelayKeys
    private: PrivateKey
    batch: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def seal(self, body=None, *, write=None, private=None):
        sealer = Sealer((private or self.private).public, write or self.service.write)
        return sealer.seal(upload(b"\x01") if body is None else body)

    def post(self, body, *, key=None, **options):
        return self.service.http.post(
            RELAYED_PATH,
            data=body,
            headers=bearer(self.service.relay if key is None else key),
            content_type=options.pop("content_type", PART_CONTENT_TYPE),
            **options,
        )

    def bring(self, envelopes, *, offered=(), batch=None, size=10**6, **options):
        part = Part(batch or self.batch, size, "week", 1, tuple(envelopes), tuple(offered))
        answer = self.post(part.encode(), **options)
        assert answer.status_code == 200, answer.get_json()
        return Answer.decode(answer.data, len(part.envelopes))

    def groups(self):
        found = self.service.store.relayed.of_days([SPECS["theme"].digest], 0, 10**6)
        return sorted((each.epoch, each.least) for each in found)


def relayed_by(service, path):
    keys = RelayKeys(path)
    return Relayed(service, keys, keys.create(X25519, DAY))


@pytest.fixture
def relayed(target, tmp_path):
    with serving(target, relay_keys=str(tmp_path / "relay_keys")) as service:
        service.register()
        yield relayed_by(service, tmp_path / "relay_keys")


@pytest.fixture
def one_relayed(tmp_path):
    with serving(tmp_path / "store.db") as service:
        service.register()
        yield relayed_by(service, tmp_path / "relay_keys")


def test_sealed_uploads_are_counted_with_the_key_inside_and_in_one_group(relayed):
    answer = relayed.bring([relayed.seal(upload(bytes([value]))) for value in (0, 1, 1, 2)])
    assert answer == Answer(4, 0, {})
    assert relayed.service.counts() == [1, 2, 1]
    assert relayed.groups() == [(TODAY, 4)]
    assert relayed.service.status()["since_start"]["accepted"] == 4


def test_a_part_that_is_brought_again_counts_once_also_sealed_anew_or_sent_directly(relayed):
    bodies = [upload(b"\x01") for _ in range(5)]
    first = [relayed.seal(body) for body in bodies]
    relayed.bring(first[:3])
    assert relayed.bring(first[:3]) == Answer(0, 3, {})
    assert relayed.bring(relayed.seal(body) for body in bodies) == Answer(2, 3, {})
    assert relayed.service.send(bodies[0], key=relayed.service.write).status_code == 204
    later = relayed.bring([relayed.seal(bodies[4])], batch=bytes(16))
    assert later == Answer(0, 1, {})
    assert relayed.service.counts() == [0, 5, 0]
    assert relayed.groups() == [(TODAY, 5)]


def test_an_envelope_that_is_twice_in_a_part_counts_once(relayed):
    envelope = relayed.seal()
    assert relayed.bring([envelope, relayed.seal(), envelope]) == Answer(2, 1, {})
    assert relayed.groups() == [(TODAY, 2)]


@pytest.mark.one_store
def test_a_part_that_was_cut_off_is_refused_whole_and_may_be_brought_again(one_relayed):
    part = Part(bytes(16), 3, "week", 1, tuple(one_relayed.seal() for _ in range(3))).encode()
    for cut in (1, 400, len(part) - 1):
        problem(one_relayed.post(part[:-cut]), 400, "malformed_upload")
    headers = {"CONTENT_LENGTH": str(len(part))}
    cut_off = one_relayed.post(part[:-9], environ_overrides=headers)
    problem(cut_off, 408, "body_cut_off")
    assert one_relayed.service.counts() == [0, 0, 0]
    assert one_relayed.post(part).get_json()["stored"] == 3


def test_nothing_of_a_part_is_stored_if_the_commit_fails(relayed, monkeypatch):
    envelopes = [relayed.seal() for _ in range(3)]

    def fail(*_):
        raise StoreUnavailableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(relayed.service.store.inbox._database, "ingest", fail)
        part = Part(relayed.batch, 3, "week", 1, tuple(envelopes))
        problem(relayed.post(part.encode()), 503, "store_unavailable")
    assert relayed.groups() == []
    assert all(use.used == 0 for use in relayed.service.running.quotas.uses())
    assert relayed.bring(envelopes) == Answer(3, 0, {})
    assert relayed.service.counts() == [0, 3, 0]


@pytest.mark.one_store
def test_what_was_altered_swapped_or_sealed_by_nobody_is_dropped_as_unopened(one_relayed):
    good, other = one_relayed.seal(), one_relayed.seal()
    altered = [bytes([*good[:place], good[place] ^ 1, *good[place + 1 :]]) for place in (0, 9, -1)]
    swapped = other[: HEADER_BYTES - 16] + good[HEADER_BYTES - 16 : HEADER_BYTES]
    swapped += other[HEADER_BYTES:]
    junk = good[:HEADER_BYTES] + secrets.token_bytes(len(good) - HEADER_BYTES)
    answer = one_relayed.bring([good, *altered, swapped, junk, b"", good[:20]])
    assert answer == Answer(1, 0, {"unopened": 7})
    assert one_relayed.groups() == [(TODAY, 1)]
    assert one_relayed.service.status()["since_start"]["refused"] == {"unopened": 7}


@pytest.mark.one_store
def test_the_tag_of_another_upload_is_refused_though_the_seal_holds(one_relayed, monkeypatch):
    monkeypatch.setattr("deniable_shared.sealing.envelope.tag_of", lambda _: bytes(16))
    forged = one_relayed.seal()
    monkeypatch.undo()
    assert one_relayed.bring([forged]) == Answer(0, 0, {"unopened": 1})


@pytest.mark.one_store
def test_each_upload_meets_the_checks_of_a_direct_one(one_relayed):
    seal, service = one_relayed.seal, one_relayed.service
    foreign = service.key("write", "another")
    unregistered = wire.encode(wire.Upload(bytes(16), (wire.Part(bytes(32), TODAY, b"\x01"),)))
    envelopes = [
        seal(),
        seal(upload(b"\x09")),  # theme has three values
        seal(upload(b"\x01", epoch=TODAY - 400)),
        seal(upload(b"\x01", epoch=TODAY + 3)),
        seal(unregistered),
        seal(write=f"deniable_write_{'0' * 12}_{'A' * 43}"),
        seal(write=foreign),
    ]
    answer = one_relayed.bring(envelopes)
    assert answer == Answer(1, 0, {"epoch_closed": 1, "malformed_report": 1}, (3, 4, 5, 6))
    codes = "epoch_closed epoch_future malformed_report unknown_digest unknown_key wrong_scope"
    assert service.status()["since_start"]["refused"] == dict.fromkeys(codes.split(), 1)


@pytest.mark.one_store
def test_a_day_that_was_closed_meanwhile_is_dropped(one_relayed):
    envelope = one_relayed.seal()
    one_relayed.bring([one_relayed.seal()])
    one_relayed.service.store.inbox.close_epochs(TODAY + 1)
    assert one_relayed.bring([envelope]) == Answer(0, 0, {"epoch_closed": 1})


@pytest.mark.one_store
def test_what_was_offered_before_is_counted_and_hides_among_nobody(one_relayed):
    envelopes = [one_relayed.seal() for _ in range(5)]
    assert one_relayed.bring(envelopes, offered=(1, 3)) == Answer(5, 0, {})
    assert one_relayed.groups() == [(TODAY, 3)]
    assert one_relayed.service.counts() == [0, 5, 0]


@pytest.mark.one_store
def test_a_batch_id_that_is_given_twice_makes_no_crowd_larger(one_relayed):
    one_relayed.bring([one_relayed.seal() for _ in range(3)], size=5)
    one_relayed.bring([one_relayed.seal() for _ in range(4)], size=4)
    one_relayed.bring([one_relayed.seal() for _ in range(2)], size=5)
    assert one_relayed.groups() == [(TODAY, 4), (TODAY, 5)]


@pytest.mark.one_store
def test_a_part_whose_second_commit_fails_is_brought_again_and_counts_once(
    one_relayed, monkeypatch
):
    monkeypatch.setattr("deniable_aggregator.doors.http.relayed.COMMIT_ENVELOPES", 2)
    database, commits = one_relayed.service.store.inbox._database, []
    ingest = database.ingest

    def fail_once(work):
        commits.append(work)
        if len(commits) == 2:
            raise StoreUnavailableError("the disk is full")
        return ingest(work)

    monkeypatch.setattr(database, "ingest", fail_once)
    envelopes = [one_relayed.seal() for _ in range(5)]
    problem(
        one_relayed.post(Part(one_relayed.batch, 5, "week", 1, tuple(envelopes)).encode()),
        503,
        "store_unavailable",
    )
    assert one_relayed.bring(envelopes, size=5) == Answer(3, 2, {})
    assert one_relayed.groups() == [(TODAY, 5)]
    assert one_relayed.service.counts() == [0, 5, 0]
    refused = one_relayed.service.status()["since_start"]
    assert (refused["accepted"], refused["duplicate"]) == (5, 2)


@pytest.mark.one_store
def test_a_batch_smaller_than_what_its_relay_waits_for_is_refused(one_relayed):
    part = Part(bytes(16), 3, "week", 4, (one_relayed.seal(),)).encode()
    problem(one_relayed.post(part), 400, "malformed_upload")
    assert one_relayed.service.counts() == [0, 0, 0]


@pytest.mark.one_store
def test_the_quota_of_the_write_key_inside_holds_and_what_is_beyond_is_chance(tmp_path):
    with serving(tmp_path / "store.db", key_bytes_per_day=2_000) as service:
        service.register()
        relayed = relayed_by(service, tmp_path / "relay_keys")
        envelopes = [relayed.seal() for _ in range(40)]
        answer = relayed.bring(envelopes)
        assert answer.stored + len(answer.again) == 40
        assert 0 < answer.stored < 40
        by_tag = sorted(range(40), key=lambda place: envelopes[place][9:HEADER_BYTES])
        assert sorted(answer.again) == sorted(by_tag[answer.stored :])
        refused = service.status()["since_start"]["refused"]
        assert refused == {"quota_spent": len(answer.again)}
        # Another key has its own.
        assert relayed.bring([relayed.seal(write=service.key("write"))]).stored == 1


@pytest.mark.one_store
def test_a_retired_key_opens_nothing_and_one_of_another_server_is_waited_for(one_relayed, tmp_path):
    other = RelayKeys(tmp_path / "of_another").create(X25519, DAY)
    second = one_relayed.keys.create(X25519, DAY)
    envelopes = [one_relayed.seal(), one_relayed.seal(private=other)]
    one_relayed.keys.retire(one_relayed.private.public.id.hex(), DAY)
    answer = one_relayed.bring([*envelopes, one_relayed.seal(private=second)])
    assert answer == Answer(1, 0, {"unopened": 1}, (1,))


@pytest.mark.one_store
def test_a_server_without_keys_takes_no_part(tmp_path):
    with serving(tmp_path / "store.db") as service:
        service.register()
        private = RelayKeys(tmp_path / "elsewhere").create(X25519, DAY)
        relayed = Relayed(service, RelayKeys(None), private)
        part = Part(bytes(16), 1, "day", 1, (relayed.seal(),)).encode()
        answer = relayed.post(part)
        problem(answer, 503, "no_relay_keys")
        assert int(answer.headers["Retry-After"]) > 0
        assert service.status()["since_start"]["refused"] == {"no_relay_keys": 1}


@pytest.mark.one_store
def test_a_metric_that_requires_the_relay_is_refused_directly_for_good(one_relayed):
    service = one_relayed.service
    public = one_relayed.private.public.text
    relay = f'[relay]\nurl = "https://relay.example.org"\nkey = "{public}"\n[metrics.theme]\n'
    required = REGISTRY.replace("[metrics.theme]\n", f'{relay}relay = "required"\n')
    body = upload(b"\x01")
    assert service.register(required).status_code == 200  # of a version that there was before
    for key in (service.write, service.batch):
        problem(service.send(body, key=key), 422, "relay_required")
    assert service.send(upload(b"\x01", metric="late")).status_code == 204
    assert one_relayed.bring([one_relayed.seal(body)]) == Answer(1, 0, {})
    assert service.register().status_code == 200
    assert service.send(upload(b"\x01")).status_code == 204
    assert service.counts() == [0, 2, 0]


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("every", "accept_days", "warns"), [("week", 20, True), ("week", 21, False), ("day", 14, False)]
)
def test_registering_warns_if_days_close_before_a_weekly_relay_does(
    tmp_path, every, accept_days, warns
):
    with serving(tmp_path / "store.db", accept_days=accept_days) as service:
        public = RelayKeys(tmp_path / "relay_keys").create(X25519, DAY).public.text
        relay = f'[relay]\nurl = "https://relay.example.org"\nkey = "{public}"\nevery = "{every}"\n'
        warnings = service.register(f"{REGISTRY}{relay}").get_json()["warnings"]
    assert [
        f"at least 21 for a relay that closes weekly, got {accept_days}" in each
        for each in warnings
    ] == [True] * warns


@pytest.mark.one_store
def test_only_a_relay_key_brings_parts_and_it_does_nothing_else(one_relayed):
    service = one_relayed.service
    part = Part(bytes(16), 1, "day", 1, (one_relayed.seal(),)).encode()
    for scope in ("write", "batch", "read", "admin"):
        problem(one_relayed.post(part, key=service.key(scope)), 403, "wrong_scope")
    problem(service.send(upload(b"\x01"), key=service.relay), 403, "wrong_scope")
    headers = bearer(service.relay)
    for path in ("/v1/metrics", "/v1/keys", "/v1/status"):
        problem(service.http.get(path, headers=headers), 403, "wrong_scope")
    problem(service.http.get("/v1/remote", headers=headers), 404, "not_found")
    assert service.counts() == [0, 0, 0]


@pytest.mark.one_store
def test_a_part_has_a_type_and_bounds(one_relayed):
    envelope = one_relayed.seal()
    part = Part(bytes(16), 1, "day", 1, (envelope,)).encode()
    wrong = one_relayed.post(part, content_type="application/json")
    problem(wrong, 415, "unsupported_media_type")
    many = Part(bytes(16), 10**4, "day", 1, (envelope,) * (MAX_ENVELOPES + 1)).encode()
    problem(one_relayed.post(many), 400, "malformed_upload")
    problem(one_relayed.post(bytes(MAX_PART_BYTES + 1)), 413, "upload_too_large")
    whole = one_relayed.bring([envelope] * MAX_ENVELOPES)
    assert whole == Answer(1, MAX_ENVELOPES - 1, {})
