from __future__ import annotations

import subprocess
import sys

import pytest

from deniable_shared import registry
from deniable_shared.errors import RegistryError
from deniable_shared.sealing import PrivateKey

KEY = PrivateKey.generate().public
HEAD = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 400
"""
THEME = """
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 4
"""
REQUIRED = THEME + 'relay = "required"\n'
RELAY = f'[relay]\nurl = "https://relay.example.org/tests"\nkey = "{KEY.text}"\n'


def problems(text):
    with pytest.raises(RegistryError) as raised:
        registry.parse(text)
    return raised.value.problems


def test_a_relay_closes_each_week_unless_it_says_each_day():
    read = registry.parse(HEAD + RELAY + THEME).relay
    assert read == registry.Relay("https://relay.example.org/tests", KEY, "week")
    assert registry.parse(HEAD + RELAY + 'every = "day"' + THEME).relay.every == "day"
    assert registry.parse(HEAD + THEME).relay is None


def test_no_version_says_anything_about_the_relay():
    plain, relayed, required = (
        registry.parse(HEAD + text).metrics["theme"]
        for text in (THEME, RELAY + THEME, RELAY + REQUIRED)
    )
    assert plain.spec.canonical() == relayed.spec.canonical() == required.spec.canonical()
    assert [plain.relay_required, relayed.relay_required, required.relay_required] == [
        False,
        False,
        True,
    ]


def test_a_relay_can_only_be_required_where_there_is_one():
    (problem,) = problems(HEAD + REQUIRED)
    assert problem == (
        "metrics.toml: metrics.theme.relay must be left out in a file without a table [relay], "
        "got 'required'"
    )
    (problem,) = problems(HEAD + RELAY + THEME + 'relay = "yes"')
    assert "metrics.theme.relay must be one of required, got 'yes'" in problem


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://relay.example.org", True),
        ("https://relay.example.org:8443/flightdeck", True),
        ("http://127.0.0.1:8788", True),
        ("http://localhost:8788/x", True),
        ("http://[::1]:8788", True),
        ("http://relay.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("https://user@relay.example.org", False),
        ("https://relay.example.org/?application=x", False),
        ("https://relay.example.org/#x", False),
        ("https://relay.example.org:0", False),
        ("https://relay.example.org:x", False),
        ("https://relay example.org", False),
        ("https://", False),
        ("relay.example.org", False),
        ("https://relay.example.org/" + "x" * 200, False),
    ],
)
def test_the_url_is_one_of_https_or_of_this_machine(url, is_one):
    text = HEAD + RELAY.replace("https://relay.example.org/tests", url) + THEME
    if is_one:
        assert registry.parse(text).relay.url == url
    else:
        (problem,) = problems(text)
        assert "relay.url must be an https:// URL" in problem


@pytest.mark.parametrize(
    ("relay", "problem"),
    [
        (RELAY.replace(KEY.text, "x25519:AAAA"), "relay.key must be x25519:<base64> or mlkem768-"),
        (RELAY.replace(KEY.text, f"x25519:{43 * 'A'}="), "relay.key must be x25519:<base64>"),
        (RELAY.replace(f'"{KEY.text}"', "3"), "relay.key must be x25519:<base64>"),
        (RELAY + 'every = "month"', "relay.every must be one of day, week, got 'month'"),
        (RELAY + "batch = 3", "relay.batch must be left out: no such field"),
    ],
)
def test_each_problem_of_the_table_is_said(relay, problem):
    (said,) = problems(HEAD + relay + THEME)
    assert problem in said


def test_a_relay_is_a_table():
    (problem,) = problems("relay = 3\n" + HEAD + THEME)
    assert "relay must be a table [relay] with url and key" in problem


@pytest.mark.service
def test_a_registry_is_read_without_cryptography_and_one_without_a_relay_without_sealing():
    program = (
        "import sys\nfrom deniable_shared import registry\n"
        "registry.parse({!r})\n"
        "print(*(each for each in sys.modules if 'sealing' in each or 'cryptography' in each))"
    )
    for text, expected in ((HEAD + THEME, False), (HEAD + RELAY + REQUIRED, True)):
        done = subprocess.run(
            [sys.executable, "-c", program.format(text)], capture_output=True, text=True, check=True
        )
        assert ("deniable_shared.sealing" in done.stdout) is expected
        assert "cryptography" not in done.stdout
