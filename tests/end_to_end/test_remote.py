"""A remote configuration on its whole way: signed, published, fetched, obeyed."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from click.testing import CliRunner

import deniable
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry
from deniable_shared.periods import epoch_at
from tests.command_line import deniable as command
from tests.end_to_end.asking import PATIENCE_SECONDS
from tests.end_to_end.serving import running

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 1.0
"""


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "private.pem"
    table = re.search(r"\[remote\]\nkey = .*", run("remote", "keygen", "--out", path))[0]
    (tmp_path / "metrics.toml").write_text(f"{REGISTRY}\n{table}\n", encoding="utf-8")
    return path


def test_a_metric_is_switched_off_from_afar(tmp_path, key):
    parsed = registry.load(tmp_path / "metrics.toml")
    today = epoch_at(time.time())
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        store.metrics.register(parsed.metrics.values(), today)
        write, admin = (
            create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "admin")
        )
    document = tmp_path / "remote.json"
    with running(tmp_path / "store.db") as server:
        named = ("--key", key, "--application", "flightdeck", "--out", document)
        run("remote", "sign", *named, "--serial", 1, "--disable", "theme")
        run("remote", "publish", document, "--server", server.url, "--token", admin)
        options = {
            "endpoint": server.url,
            "key": write,
            "directory": tmp_path / "device",
            "consent": True,
            "background": False,
        }
        with deniable.Client(parsed, **options) as client:
            assert client.record("late", value=True) == "recorded"
            assert client.flush(timeout_seconds=PATIENCE_SECONDS).sent == 1
            assert client.status().remote_serial == 1
            assert client.record("theme", "dark") == "disabled"
