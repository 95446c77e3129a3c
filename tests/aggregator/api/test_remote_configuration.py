from __future__ import annotations

import json
import re
import stat
import threading
from base64 import b64decode
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from deniable_shared import registry
from deniable_shared.remote import CONTEXT, MAX_DOCUMENT_BYTES, parse, seal, unseal
from tests.aggregator.service import REGISTRY, bearer, problem, serving
from tests.command_line import deniable


def document(serial=1, *, application="flightdeck", signature=bytes(64), **fields):
    payload = {"remote": 1, "application": application, "serial": serial, **fields}
    return seal(json.dumps(payload).encode(), signature)


def put(service, body, key=None):
    return service.http.put("/v1/remote", data=body, headers=bearer(key or service.admin))


def get(service, key=None):
    return service.http.get("/v1/remote", headers=bearer(key or service.write))


def test_before_anything_is_published_there_is_nothing(service):
    problem(get(service), 404, "not_found")


def test_what_an_administrator_publishes_is_handed_out_byte_for_byte(service):
    body = document(3, disable=["theme"])
    assert put(service, body).get_json() == {"application": "flightdeck", "serial": 3}
    for key in (service.write, service.read, service.admin):
        answer = get(service, key)
        assert (answer.status_code, answer.data) == (200, body)
        assert answer.content_type == "application/json"


def test_each_application_has_its_own(service):
    put(service, document(3))
    problem(get(service, service.key("write", "another")), 404, "not_found")
    other = document(1, application="another")
    problem(put(service, other), 403, "wrong_scope")
    assert put(service, other, service.key("admin", "another")).status_code == 200
    assert get(service).data == document(3)


@pytest.mark.one_store
@pytest.mark.parametrize("scope", ["write", "read"])
def test_only_an_administrator_publishes(service, scope):
    problem(put(service, document(), service.key(scope)), 403, "wrong_scope")
    problem(put(service, document(), "nonsense"), 401, "unknown_key")
    problem(get(service, "nonsense"), 401, "unknown_key")
    problem(get(service), 404, "not_found")


def test_a_serial_goes_up_only(service):
    put(service, document(3))
    assert "above 3" in problem(put(service, document(2)), 422, "remote_refused")["detail"]
    problem(put(service, document(3, slow=2)), 422, "remote_refused")
    assert put(service, document(3)).status_code == 200
    assert put(service, document(4, slow=2)).status_code == 200
    assert get(service).data == document(4, slow=2)


@pytest.mark.one_store
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"\xff",
        b"[" * 4_000,
        document(0),
        document(1, epsilon=9),
        document(1, thin={"theme": 0}),
        document(1) + b" trailing",
    ],
)
def test_what_is_no_document_is_refused(service, body):
    problem(put(service, body), 422, "remote_refused")
    problem(get(service), 404, "not_found")


@pytest.mark.one_store
def test_a_document_that_devices_would_not_read_is_refused(service):
    many = [f"metric_{number}" for number in range(400)]
    problem(put(service, document(1, disable=many)), 413, "upload_too_large")


def test_it_survives_a_restart(tmp_path):
    with serving(tmp_path / "store.db") as first:
        put(first, document(5))
    with serving(tmp_path / "store.db") as second:
        assert get(second).data == document(5)


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture
def url(service):
    with make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def run(*arguments):
    return CliRunner().invoke(deniable, ["remote", *map(str, arguments)])


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "remote.pem"
    made = run("keygen", "--out", path)
    assert made.exit_code == 0, made.output
    (table,) = re.findall(r"\[remote\]\nkey = .*\n", made.output)
    return path, registry.parse(REGISTRY + table).remote_key


@pytest.mark.parametrize("command", [(), ("keygen",), ("sign",), ("publish",)])
def test_every_command_explains_itself(command):
    done = run(*command, "--help")
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 5


def test_keygen_prints_a_table_for_the_registry_and_guards_the_private_key(key):
    path, public = key
    assert len(public) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    again = run("keygen", "--out", path)
    assert (again.exit_code, path.read_bytes()) == (1, before)
    assert "exists, and nothing is overwritten" in again.output


def sign(key, out, *options, serial=1):
    named = ("--application", "flightdeck", "--serial", serial, "--out", out)
    return run("sign", "--key", key, *named, *options)


def test_a_signed_document_says_what_it_was_told_to_and_verifies(key, tmp_path):
    path, public = key
    out = tmp_path / "signed.json"
    options = ("--disable", "late", "--thin", "theme=0.25", "--thin", "emoji=1", "--slow", 4)
    assert sign(path, out, *options, serial=7).exit_code == 0
    payload, signature = unseal(out.read_bytes())
    Ed25519PublicKey.from_public_bytes(public).verify(signature, CONTEXT + payload)
    configuration = parse(payload)
    assert (configuration.application, configuration.serial) == ("flightdeck", 7)
    assert configuration.disable == frozenset({"late"})
    assert configuration.thin == {"theme": 1 << 30, "emoji": 1 << 32}
    assert configuration.slow == 4.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--slow", 0.5], "slow must be a number in [1, 1000], got 0.5"),
        (["--slow", "nan"], "slow must be"),
        (["--thin", "theme=0"], "thin must be"),
        (["--thin", "theme"], "thin must be METRIC=SHARE, got 'theme'"),
        (["--disable", "Theme"], "disable must be"),
        (["--disable", "late", "--disable-all"], "exclude each other"),
        ([word for n in range(400) for word in ("--disable", f"metric_{n}")], "at most 4096 bytes"),
    ],
)
def test_what_devices_would_refuse_is_not_signed(key, tmp_path, options, said):
    out = tmp_path / "signed.json"
    signed = sign(key[0], out, *options)
    assert signed.exit_code != 0
    assert said in signed.output
    assert not out.exists()


def test_a_file_that_is_no_key_is_refused_in_one_line(tmp_path):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    signed = sign(wrong, tmp_path / "out")
    assert signed.exit_code == 1
    assert "is no private key of deniable remote keygen" in signed.output


def test_a_document_is_published_over_http(key, tmp_path, url, service):
    out = tmp_path / "signed.json"
    assert sign(key[0], out, "--disable-all", serial=2).exit_code == 0
    published = run("publish", out, "--server", url, "--token", service.admin)
    assert published.output == "published serial 2 of flightdeck\n"
    assert get(service).data == out.read_bytes()
    assert len(out.read_bytes()) < MAX_DOCUMENT_BYTES
    assert json.loads(b64decode(json.loads(out.read_bytes())["payload"]))["disable"] == "all"
    older = tmp_path / "older.json"
    sign(key[0], older, serial=1)
    refused = run("publish", older, "--server", url, "--token", service.admin)
    assert refused.exit_code == 1
    assert "above 2" in refused.output
