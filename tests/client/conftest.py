from __future__ import annotations

import time

import pytest

from tests.client.collector import collecting
from tests.client.programs import command, plenty, run  # noqa: F401  fixtures

REGISTRY = """
registry = 1
application = "flightdeck"

[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0

[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0

[metrics.late]
type = "boolean"
epsilon = 1.0
every = "week"

[metrics.emoji]
type = "string"
epsilon = 1.0

[metrics.city]
type = "string"
epsilon = 1.0
repeat = "memoize"
epsilon_permanent = 2.0
mechanism = "rappor"

[metrics.heavy]
type = "boolean"
epsilon = 3.5

[metrics.flight]
type = "attributes"
epsilon = 1.0
[metrics.flight.attributes]
carrier = { values = ["AA", "DL"], other = "another" }
late = "boolean"

[metrics.bygone]
type = "boolean"
epsilon = 0.5
expires = 2026-01-31
"""

PATIENCE_SECONDS = 60.0
"""The timeout, on a busy machine, of what the client waits for a second or five."""

DAY = 86_400
NOON = 20_800 * DAY + DAY // 2


class Clock:
    """A clock that a test sets."""

    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        return self.now

    def forward(self, days):
        self.now += days * DAY


def pending_reports(client):
    """The stored reports of a client, as they are now."""
    device = client._storage
    return device.run_locked(lambda: device.spool.reports())


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch):
    """Removes what the environment of these tests may say to clients."""
    ci = ("CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "DENIABLE_IN_CI")
    own = ("DO_NOT_TRACK", "DENIABLE_DEVELOPMENT", "DENIABLE_ENDPOINT", "DENIABLE_KEY")
    for variable in own + ci:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(autouse=True)
def _patience():
    """Long timeouts, so that no test fails on a busy machine; tests of timeouts set their own."""
    from deniable import Client
    from deniable._disclosure import read_only
    from deniable._storage import device
    from deniable._upload import uploader

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(Client.flush.__kwdefaults__, "timeout_seconds", PATIENCE_SECONDS)
        patch.setattr(device, "_LOCK_WAIT_SECONDS", PATIENCE_SECONDS)
        patch.setattr(device, "RECORD_WAIT_SECONDS", PATIENCE_SECONDS)
        patch.setattr(read_only, "_LOCK_WAIT_SECONDS", PATIENCE_SECONDS)
        patch.setattr(uploader, "_COUNT_SECONDS", PATIENCE_SECONDS / 2)
        yield


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(tmp_path):
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY, encoding="utf-8")
    return path


@pytest.fixture
def collector():
    with collecting() as server:
        yield server


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "device"


@pytest.fixture
def make_client(registry, directory, clock):
    """Makes clients that are closed at the end; by default nobody listens at their endpoint.

    Their clock stands still and they upload when they are flushed, and not before, so that nothing
    becomes due, and no day begins, while a test is at work. With ``background=True`` the thread
    uploads too, and time passes as it does.

    Clients of one directory share an engine. With ``another_process=True`` the client shares none
    with those that were made before, as if they belonged to other processes; and none of those that
    are made later share theirs.
    """
    import deniable
    from deniable import _lifecycle

    made = []

    def make(*, another_process=False, **options):
        if another_process:
            for engine in _lifecycle.live_engines():
                engine.place = ""
            _lifecycle._histories.clear()
        options = {"directory": directory, "consent": True, "background": False, **options}
        options.setdefault("clock", time.time if options["background"] else clock)
        if "transport" not in options:
            options = {"endpoint": "http://127.0.0.1:9", "key": "write-key", **options}
        made.append(deniable.Client(options.pop("registry", registry), **options))
        return made[-1]

    yield make
    for client in made:
        client.close()
