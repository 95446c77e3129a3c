"""``deniable relay-key``, and the file in which it keeps keys."""

from __future__ import annotations

import contextlib
import json
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from threading import Barrier, BrokenBarrierError

import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.keeping.relay_keys import RelayKeys, RelayKeysError
from deniable_aggregator.keeping.store import Relay, Sender
from deniable_aggregator.keeping.store.backup import backup
from deniable_shared.errors import SealError
from deniable_shared.sealing import X25519, Sealer, parse_public_key
from tests.aggregator.service import TODAY, upload
from tests.aggregator.stored import decoded
from tests.command_line import deniable

DAY = date(2026, 11, 27)
WRITE_KEY = f"deniable_write_{'0' * 12}_{'A' * 43}"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.db"
    Store(path).close()
    return path


@pytest.fixture
def run(store):
    runner = CliRunner(env={"COLUMNS": "200", "DENIABLE_STORE": str(store)})
    return lambda *arguments: runner.invoke(deniable, ["relay-key", *map(str, arguments)])


def listed(run):
    return json.loads(run("list", "--json").stdout)["keys"]


def sealed_to(key):
    return Sealer(parse_public_key(key), WRITE_KEY).seal(upload())


def test_a_key_goes_through_its_life(run, store):
    made = run("create")
    assert made.exit_code == 0, made.output
    relay = tomllib.loads(made.stdout)["relay"]
    assert relay["every"] == "week"
    public = parse_public_key(relay["key"])
    keys = RelayKeys.beside(store)
    assert keys.path == store.with_name("relay_keys")
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    envelope = sealed_to(relay["key"])
    assert keys.opener()[0].open(envelope).write_key == WRITE_KEY
    second = tomllib.loads(run("create").stdout)["relay"]["key"]
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600

    (first_listed, second_listed) = listed(run)
    assert (first_listed["key"], first_listed["retired"]) == (public.id.hex(), None)
    assert run("retire", public.id.hex()[:6]).exit_code == 0
    opener, known = keys.opener()
    assert public.id in known
    assert opener.open(sealed_to(second))
    with pytest.raises(SealError):
        opener.open(envelope)
    assert listed(run)[0]["retired"] is not None
    assert listed(run)[1] == second_listed
    again = run("retire", public.id.hex())
    assert again.exit_code != 0
    assert "must be that of one key which is not retired" in again.output


def test_a_hybrid_key_seals_with_both(run):
    made = run("create", "--hybrid")
    assert tomllib.loads(made.stdout)["relay"]["key"].startswith("mlkem768-x25519:")


def test_the_list_says_which_key_devices_still_use(run, store):
    run("create")
    key_id = bytes.fromhex(listed(run)[0]["key"])
    with contextlib.closing(Store(store)) as opened:
        relay = Relay(key_id, bytes(16))
        opened.inbox.append([decoded(epoch=TODAY - 1)], [Sender("flightdeck", "cafe", relay)])
    assert listed(run)[0]["last_day"] == "2024-10-03"
    assert "2024-10-03" in run("list").output


def test_neither_the_store_nor_a_backup_has_the_private_half(run, store, tmp_path):
    run("create")
    (key,) = RelayKeys.beside(store).all()
    with contextlib.closing(Store(store)) as opened:
        opened.inbox.append([decoded()], [Sender("flightdeck", "cafe")])
    folder = tmp_path / "backups"
    folder.mkdir()
    backup(store, folder / "copy.db", lambda *_: None)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "relay_keys"]
    assert len(files) >= 2
    secret = key.secret.encode()
    assert not any(secret in path.read_bytes() for path in files)
    assert key.secret.partition(":")[2] not in repr(key)


def test_a_file_that_others_may_read_is_refused_and_so_is_one_that_is_something_else(run, store):
    run("create")
    keys = RelayKeys.beside(store)
    keys.path.chmod(0o640)
    refused = run("list")
    assert refused.exit_code == 1
    assert "must be readable by its owner only" in refused.output
    keys.path.chmod(0o600)
    keys.path.write_text('[{"id": 3}]')
    with pytest.raises(RelayKeysError, match="must be a file that deniable relay-key create wrote"):
        keys.all()


def test_keys_that_are_made_at_the_same_time_are_all_kept(tmp_path, monkeypatch):
    keys, read, both = RelayKeys(tmp_path / "keys"), RelayKeys.all, Barrier(2)

    def read_together(self):
        found = read(self)
        with contextlib.suppress(BrokenBarrierError):  # if one waits for the other
            both.wait(0.2)
        return found

    with monkeypatch.context() as patched, ThreadPoolExecutor(2) as threads:
        patched.setattr(RelayKeys, "all", read_together)
        made = set(threads.map(lambda _: keys.create(X25519, DAY).public.id.hex(), range(2)))
    assert {key.id for key in keys.all()} == made


def test_a_database_server_needs_the_name_of_the_file(tmp_path):
    with pytest.raises(RelayKeysError, match="name the file"):
        RelayKeys.beside(None).create(X25519, DAY)
    keys = RelayKeys.beside(None, str(tmp_path / "keys"))
    assert keys.create(X25519, DAY).public.id in keys.opener()[1]
