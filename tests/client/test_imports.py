"""What an application has to load before it can start: counted in modules, not in milliseconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.service

LATER = {
    "decimal",
    "deniable_shared.mechanisms",
    "fractions",
    "hashlib",
    "json",
    "msgpack",
    "re",
    "tomllib",
    "typing",
}
"""Loaded with the first client."""

NEVER = {
    "argparse",
    "ast",
    "asyncio",
    "dataclasses",
    "deniable._audit",
    "deniable._default_directory",
    "deniable._testing",
    "deniable._timer",
    "email",
    "http.client",
    "inspect",
    "logging",
    "numpy",
    "socket",
    "ssl",
    "subprocess",
    "urllib.request",
}
"""Not even loaded to record."""


def loaded(code):
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stdout.decode().split())


@pytest.fixture(scope="module")
def at_rest():
    return loaded("")


def test_importing_the_client_loads_little(at_rest):
    assert not (loaded("from deniable import Client") - at_rest) & (LATER | NEVER)


def test_recording_loads_nothing_that_it_does_not_need(registry, directory, at_rest):
    new = loaded(f"""
import deniable
client = deniable.Client(
    {str(registry)!r}, endpoint="http://127.0.0.1:9", key="k", directory={str(directory)!r},
    consent=True, background=False,
)
flight = {{"carrier": "AA", "late": True}}
values = {{"theme": "dark", "late": True, "emoji": "x", "flight": flight}}
for name, value in values.items():
    assert client.record(name, value) == "recorded"
""")
    assert not (new - at_rest) & NEVER
