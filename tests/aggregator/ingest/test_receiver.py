from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.http.upload_route import read_body
from deniable_shared import registry, wire
from tests.aggregator.service import SPECS, TODAY, bearer, problem, serving, upload


def parts(*given_parts):
    made = tuple(
        wire.Part(SPECS[metric].digest, epoch, data) for metric, epoch, data in given_parts
    )
    return wire.encode(wire.Upload(secrets.token_bytes(16), made))


def test_an_accepted_upload_is_counted(service):
    answer = service.send(upload(b"\x00\x02\x02"))
    assert (answer.status_code, answer.data) == (204, b"")
    assert service.counts() == [1, 0, 2]


@pytest.mark.one_store
def test_a_path_with_a_stray_slash_takes_uploads_too(service):
    answer = service.http.post(
        "/v1/reports",
        data=upload(b"\x02"),
        content_type=wire.CONTENT_TYPE,
        headers=bearer(service.write),
        environ_overrides={"PATH_INFO": "//v1/reports"},
    )
    assert (answer.status_code, answer.data) == (204, b"")
    assert service.counts() == [0, 0, 1]


def test_an_upload_of_several_metrics_and_days_is_counted_by_metric_and_day(service):
    body = parts(("theme", TODAY, b"\x01"), ("theme", TODAY - 1, b"\x01"), ("late", TODAY, b"\x01"))
    assert service.send(body).status_code == 204
    assert service.counts() == [0, 2, 0]
    theme, late = tally_for(SPECS["theme"]), tally_for(SPECS["late"])
    assert service.store.tallies.total(theme, TODAY, TODAY).reports == 1
    assert service.store.tallies.reports([late]) == {late.digest: 1}


def test_a_retry_is_acknowledged_and_counted_once(service):
    body = upload(b"\x01")
    assert [service.send(body).status_code for _ in range(3)] == [204, 204, 204]
    assert service.counts() == [0, 1, 0]
    assert service.send(body).status_code == 204
    assert service.counts() == [0, 1, 0]
    assert service.status()["since_start"]["duplicate"] == 3


def test_the_same_upload_on_many_connections_at_once_is_counted_once(service):
    bodies = [upload(b"\x02") for _ in range(20)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(service.send, bodies * 10))
    assert {answer.status_code for answer in answers} == {204}
    assert service.counts() == [0, 0, 20]
    counted = service.status()["since_start"]
    assert (counted["accepted"], counted["duplicate"]) == (20, 180)


def test_a_retry_after_a_restart_is_counted_once(tmp_path):
    body = upload(b"\x01")
    for _ in range(3):
        with serving(tmp_path / "store.db") as service:
            service.register()
            assert service.send(body).status_code == 204
            assert service.counts() == [0, 1, 0]


@pytest.mark.one_store
@pytest.mark.parametrize("body", [b"", b"\x00", b"\x93" * 5_000, b"\x81" * 5_000, bytes(300)])
def test_what_is_not_an_upload_is_refused(service, body):
    problem(service.send(body), 400, "malformed_upload")


@given(body=st.binary(max_size=400))
def test_random_bytes_are_no_upload(body):
    with pytest.raises(wire.WireError):
        wire.decode(body)


@pytest.mark.one_store
@pytest.mark.parametrize("cut", [1, 17, 200])
def test_a_truncated_upload_is_refused_and_counted_as_such(service, cut):
    problem(service.send(upload(b"\x01")[:-cut]), 400, "malformed_upload")
    assert service.counts() == [0, 0, 0]
    assert service.status()["since_start"]["refused"] == {"malformed_upload": 1}


@pytest.mark.one_store
def test_deeply_nested_msgpack_is_refused(service):
    bomb = b"\x91" * 200_000 + b"\xc0"
    problem(service.send(bomb), 400, "malformed_upload")
    announced = b"\xdd\xff\xff\xff\xff"  # a list of four thousand million entries
    problem(service.send(announced), 413, "upload_too_large")


@pytest.mark.one_store
def test_an_upload_of_too_many_parts_is_refused_with_how_many_it_may_have(service):
    def relayed(many):
        return parts(*(("theme", TODAY - index % 5, b"\x01") for index in range(many)))

    refused = problem(service.send(relayed(1_025)), 413, "upload_too_large")
    assert "at most 1,024 parts" in refused["detail"]
    assert service.send(relayed(1_024)).status_code == 204
    assert service.counts() == [0, 1_024, 0]


@pytest.mark.one_store
def test_a_body_of_the_wrong_type_is_refused(service):
    body = upload(b"\x01")
    problem(service.send(body, content_type="application/json"), 415, "unsupported_media_type")
    compressed = {"Content-Encoding": "gzip"}
    problem(service.send(body, headers=compressed), 415, "unsupported_media_type")
    assert service.counts() == [0, 0, 0]


def test_a_body_above_the_limit_is_refused_and_one_at_the_limit_is_not(tmp_path):
    with serving(tmp_path / "store.db", max_body_bytes=8_192) as service:
        service.register()
        problem(service.send(upload(bytes(8_192))), 413, "upload_too_large")
        largest = upload(bytes(8_000))
        assert len(largest) == 8_192
        assert service.send(largest).status_code == 204


def test_a_report_of_any_metric_fits_into_the_smallest_limit(tmp_path):
    large = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.bits]
type = "string"
epsilon = 2.0
epsilon_permanent = 4.0
repeat = "memoize"
mechanism = { name = "rappor", bits = 4096 }
[metrics.buckets]
type = "string"
epsilon = 2.0
mechanism = { name = "sketch", inner = "sue", buckets = 4096 }
"""
    # A device has one report in an upload, and drops it when it is refused as too large.
    with serving(tmp_path / "store.db", max_body_bytes=4_096) as service:
        assert service.register(large).status_code == 200
        for metric in registry.parse(large).metrics.values():
            part = wire.Part(metric.spec.digest, TODAY, bytes(metric.spec.mechanism.report_bytes))
            body = wire.encode(wire.Upload(secrets.token_bytes(16), (part,)))
            assert service.send(body).status_code == 204


class Source:
    """A body that arrives in pieces, and counts what was read of it."""

    def __init__(self, data, piece):
        self.data, self.piece, self.taken = data, piece, 0

    def read(self, size):
        chunk = self.data[self.taken : self.taken + min(size, self.piece)]
        self.taken += len(chunk)
        return chunk


def test_a_body_of_unknown_length_is_read_up_to_the_limit_only():
    chunked = {"wsgi.input_terminated": True}
    assert read_body({**chunked, "wsgi.input": Source(b"x" * 100, 7)}, 100) == b"x" * 100
    endless = Source(b"x" * 10_000, 7)
    assert read_body({**chunked, "wsgi.input": endless}, 100) is None
    assert endless.taken == 101
    assert read_body({"wsgi.input": Source(b"x", 7)}, 100) == b""


def test_a_body_that_ends_before_its_announced_end_is_refused():
    environ = {"CONTENT_LENGTH": "100", "wsgi.input": Source(b"x" * 99, 7)}
    with pytest.raises(ProblemError, match="body_cut_off"):
        read_body(environ, 100)


@pytest.mark.one_store
def test_a_key_is_needed(service):
    body = upload(b"\x01")
    answer = service.http.post("/v1/reports", data=body, content_type=wire.CONTENT_TYPE)
    problem(answer, 401, "unknown_key")
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    problem(service.send(body, key="deniable_write_00"), 401, "unknown_key")
    problem(service.send(body, key=service.write[:-1] + "é"), 401, "unknown_key")
    assert service.status()["since_start"]["refused_without_key"] == 3


@pytest.mark.one_store
@pytest.mark.parametrize("scope", ["read", "admin"])
def test_only_a_write_key_may_send(service, scope):
    told = problem(service.send(upload(b"\x01"), key=service.key(scope)), 403, "wrong_scope")
    command = "deniable keys create --scope write --application flightdeck"
    assert told["detail"].endswith(command)
    assert service.counts() == [0, 0, 0]


@pytest.mark.one_store
def test_another_applications_key_does_not_reach_these_metrics(service):
    other = service.key("write", application="another")
    told = problem(service.send(upload(b"\x01"), key=other), 409, "unknown_digest")
    assert "application of this key, another, has no metric of this version" in told["detail"]
    assert "deniable metrics register FILE" in told["detail"]


def test_an_unknown_digest_is_refused_counted_and_accepted_once_registered(tmp_path):
    with serving(tmp_path / "store.db") as service:
        body = upload(b"\x01")
        document = problem(service.send(body), 409, "unknown_digest")
        assert document["version"] == SPECS["theme"].digest.hex()
        assert service.status()["since_start"]["refused"] == {"unknown_digest": 1}
        service.register()
        assert service.send(body).status_code == 204
        assert service.counts() == [0, 1, 0]


def test_only_open_days_are_accepted(service):
    assert service.send(upload(epoch=TODAY - 14)).status_code == 204
    assert service.send(upload(epoch=TODAY + 1)).status_code == 204
    problem(service.send(upload(epoch=TODAY - 15)), 410, "epoch_closed")
    problem(service.send(upload(epoch=TODAY + 2)), 425, "epoch_future")
    problem(
        service.send(parts(("late", TODAY, b"\x01"), ("late", 0, b"\x01"))), 410, "epoch_closed"
    )
    assert service.counts("late") == [0, 0]


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("metric", "payload"),
    [
        ("theme", b"\x03"),
        ("theme", b"\x00\xff\x00"),
        ("late", b"\x02"),
        ("emoji", b"\x00\x00\x01"),
        ("emoji", b"\x00\x04\x00\x00"),
        ("emoji", b"\x00\x00\x01\x01\x00"),
    ],
)
def test_a_report_of_the_wrong_width_or_out_of_range_is_refused(service, metric, payload):
    good = ("theme", TODAY, b"\x01")
    answer = service.send(parts(good, (metric, TODAY, payload)))
    document = problem(answer, 422, "malformed_report")
    assert document["detail"].startswith(f"{metric}: ")
    assert service.counts() == [0, 0, 0]


@pytest.mark.one_store
def test_a_refusal_never_echoes_the_body(service):
    marker = b"SECRETSECRET"
    bad_id = msgpack.packb({"v": 1, "id": marker, "reports": [], "pad": b""})
    for body in (marker, bad_id, upload(marker), upload(marker, metric="emoji")[:-1]):
        answer = service.send(body)
        assert answer.status_code in (400, 422)
        assert b"SECRET" not in answer.data
        assert marker.hex().encode() not in answer.data
