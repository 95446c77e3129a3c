"""``deniable relay``: what it says of its file, and what it refuses before it listens."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.aggregator.relay.relayed import KEY, envelopes
from tests.command_line import deniable

GOOD = ("--to", "https://telemetry.example.org", "--key", KEY.text)


def run(*words, token="deniable_relay_x"):
    return CliRunner().invoke(deniable, ["relay", *words], env={"DENIABLE_RELAY_TOKEN": token})


@pytest.fixture
def used(relay):
    """A relay that has closed twice, and still has its file open."""
    made = relay()
    made.store.add(envelopes(1_250))
    made.gateway.verdicts = dict.fromkeys(sorted(envelopes(1_250))[:2], "unopened")
    made.pass_days(7)
    made.store.add(envelopes(3, seed=1))
    made.pass_days(7)
    return made


def test_show_says_what_became_of_envelopes_while_the_relay_runs(used):
    shown = run("--show", "--store", str(used.settings.path))
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.output.splitlines()]
    assert ["acknowledged", "1,253"] in lines
    assert ["wait", "for", "a", "close", "3"] in lines
    assert ["forwarded:", "stored", "1,248"] in lines
    assert ["dropped:", "unopened", "2"] in lines
    assert ["2024-10-14", "1,250", "0"] in lines


def test_the_same_as_json(used):
    shown = json.loads(run("--show", "--json", "--store", str(used.settings.path)).output)
    assert shown == {
        "accepted": 1_253,
        "waiting": 3,
        "forwarding": 0,
        "forwarded": {"stored": 1_248, "duplicate": 0},
        "dropped": {"unopened": 2},
        "batches": [
            {"day": "2024-10-21", "size": 0, "dropped": 0},
            {"day": "2024-10-14", "size": 1_250, "dropped": 0},
        ],
    }


def test_show_of_another_file_is_refused_and_makes_none(tmp_path):
    shown = run("--show", "--store", str(tmp_path / "none.db"))
    assert shown.exit_code == 1
    assert "cannot be read as the file of a relay" in shown.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "token", "said"),
    [
        (GOOD[2:], "x", "--to must be given"),
        (GOOD[:2], "x", "--key must be given"),
        (GOOD, "", "DENIABLE_RELAY_TOKEN must be a key of deniable keys create --scope relay"),
        ((*GOOD[:3], "x25519:AAAA"), "x", "key must be x25519:<base64> or mlkem768-x25519"),
        (("--to", "ftp://example.org", *GOOD[2:]), "x", "server must be an address"),
        (("--to", "http://example.org", *GOOD[2:]), "x", "--to must be https://, or http:// to"),
        ((*GOOD, "--rate-limit", "many"), "x", "rate_limit must be a number, /"),
        ((*GOOD, "--batch", "0"), "x", "--batch must be an integer in [1, 2,147,483,647]"),
        ((*GOOD, "--json"), "x", "--json is for --show"),
    ],
)
def test_what_is_wrong_is_said_before_anything_listens(words, token, said, tmp_path):
    refused = run(*words, "--store", str(tmp_path / "relay.db"), token=token)
    assert refused.exit_code == 2
    assert said in refused.output
    assert not list(tmp_path.iterdir())
