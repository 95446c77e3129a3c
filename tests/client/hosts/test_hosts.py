"""Every kind of host program behaves with Deniable as it does without, and loses no report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

import deniable
from deniable_shared import wire
from tests.client.hosts.programs import EVENTS, HEAD, HOSTS, SMALL_MATRIX
from tests.repetitions import SMALL

pytestmark = pytest.mark.slow

HEAD_OF_REGISTRY = """
registry = 1
application = "hosted"
budget = { epsilon_per_day = 16.0, epsilon_lifetime = 400.0 }
"""
REGISTRY = HEAD_OF_REGISTRY + "".join(
    f'[metrics.event_{number}]\ntype = "boolean"\nepsilon = 1.0\n' for number in range(EVENTS)
)


@pytest.fixture
def ran(tmp_path, collector):
    """Runs a program with Deniable or without, in a folder of its own."""

    def run(host, part, head=HEAD):
        folder = tmp_path / part
        folder.mkdir(exist_ok=True)
        program, registry = folder / "program.py", folder / "metrics.toml"
        program.write_text(head + host.code, encoding="utf-8")
        registry.write_text(REGISTRY, encoding="utf-8")
        url = collector.endpoint if part == "with" else "http://127.0.0.1:9"
        words = [part, registry, folder / "device", url, folder / "scratch"]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *host.options, program, *map(str, words)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        said = [each.replace(str(folder), "FOLDER") for each in (done.stdout, done.stderr)]
        return done.returncode, *said

    return run


@pytest.mark.parametrize("name", SMALL_MATRIX if SMALL else HOSTS)
def test_a_host_behaves_as_without_deniable_and_every_report_arrives_once(
    ran, collector, tmp_path, name
):
    host = HOSTS[name]
    without, with_it = ran(host, "without"), ran(host, "with")
    assert with_it == without
    assert with_it[0] == host.status
    # What a process left stored is sent by the next one.
    with deniable.Client(
        tmp_path / "with" / "metrics.toml",
        endpoint=collector.endpoint,
        key="k",
        directory=tmp_path / "with" / "device",
        consent=True,
        background=False,
    ) as client:
        client.flush()
        assert client.status().pending == 0
        names = {each.spec.digest: name for name, each in client._registry.metrics.items()}
    uploads = {upload.id: upload for upload in map(wire.decode, collector.bodies)}
    made = Counter(names[part.digest] for upload in uploads.values() for part in upload.parts)
    assert made == {f"event_{number}": 1 for number in range(host.events)}


@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("client.close()", "left.append(os.dup(1))"),
        ("client.close()", "threading.Thread(target=time.sleep, args=(1,)).start()"),
        ("client.close()", "signal.signal(signal.SIGTERM, lambda *_: None)"),
        ("client.close()", "os.umask(0)"),
        ("client.close()", "os.environ['DENIABLE'] = '1'"),
        ("client.close()", "warnings.simplefilter('ignore')"),
        ("import deniable", "import deniable; print('hello', file=sys.stderr)"),
        ("if outcome not in", "if outcome in"),
    ],
)
def test_the_comparison_notices_a_guest_that_changes_its_host(ran, sound, faulty):
    host = HOSTS["a script"]
    assert sound in HEAD
    modules = "import signal, threading, time, warnings\nleft = []\n"
    assert ran(host, "with", modules + HEAD.replace(sound, faulty)) != ran(host, "without")
