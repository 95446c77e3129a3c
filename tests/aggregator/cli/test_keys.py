"""``deniable keys`` and ``deniable log``, as people at a terminal and programs use them."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_shared.periods import epoch_at
from tests.aggregator.stored import execute
from tests.command_line import deniable

KEY = ("--scope", "write", "--application", "flightdeck")


@pytest.fixture
def run(target):
    runner = CliRunner(env={"COLUMNS": "200", "DENIABLE_STORE": str(target)})
    return lambda *arguments: runner.invoke(deniable, [str(each) for each in arguments])


@pytest.fixture
def done(run):
    """A command that must succeed; what it printed as JSON."""

    def invoke(*arguments):
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return invoke


def test_the_store_may_be_named_in_the_settings_file_of_the_server(tmp_path):
    file, path = tmp_path / "deniable.toml", tmp_path / "store.db"
    file.write_text(f'store = "{path}"')
    runner = CliRunner(env={"DENIABLE_CONFIG": str(file)})
    assert runner.invoke(deniable, ["keys", "create", *KEY]).exit_code == 0
    assert path.exists()
    file.write_text("stor = 1")
    refused = runner.invoke(deniable, ["keys", "list"])
    assert refused.exit_code == 1
    assert "did you mean store?" in refused.output.lower()


def in_days(days):
    return format_day(epoch_at(time.time()) + days)


COMMANDS = ["create", "list", "rotate", "revoke", "exclude", "include"]


def test_a_key_goes_through_its_life(run, done):
    made = done("keys", "create", *KEY, "--label", "phones", "--expires", in_days(40))
    key_id = made["key"]["id"]
    rotated = done("keys", "rotate", key_id, "--overlap-days", 5, "--expires", in_days(80))
    assert rotated["old"] == {**made["key"], "expires": in_days(5)}
    assert rotated["key"]["label"] == "phones"
    assert done("keys", "exclude", key_id)["key"]["excluded"] == in_days(0)
    assert done("keys", "include", key_id)["key"]["excluded"] is None
    assert done("keys", "revoke", key_id)["key"]["valid"] is False
    keys = {key["id"]: key for key in done("keys", "list")["keys"]}
    assert [keys[name]["valid"] for name in (key_id, rotated["key"]["id"])] == [False, True]
    assert done("keys", "list", "--application", "another") == {"keys": []}
    shown = run("keys", "list").stdout
    for words in (f"revoked {in_days(0)}", f"valid until {in_days(80)}", "phones"):
        assert words in shown


@pytest.mark.one_store
@pytest.mark.parametrize("width", [60, 80])
def test_ids_and_days_are_whole_in_a_narrow_terminal(target, width):
    """They are what the other commands take."""
    runner = CliRunner(env={"COLUMNS": str(width), "DENIABLE_STORE": str(target)})
    label, end = "build 2 " * 20, in_days(40)
    options = (*KEY, "--label", label, "--expires", end, "--json")
    made = runner.invoke(deniable, ["keys", "create", *options])
    key = json.loads(made.stdout)["key"]["id"]
    assert runner.invoke(deniable, ["keys", "revoke", key]).exit_code == 0
    assert runner.invoke(deniable, ["keys", "exclude", key]).exit_code == 0
    listed = runner.invoke(deniable, ["keys", "list"]).stdout
    assert (key in listed, listed.count(in_days(0))) == (True, 2)  # revoked, excluded
    shown = runner.invoke(deniable, ["log", "show"]).stdout
    assert shown.count(in_days(0)) == shown.count(f'"{key}"') == 3
    assert f'"{end}"' in shown
    for text in (listed, shown):
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.one_store
def test_without_a_terminal_a_row_is_a_line(target):
    runner = CliRunner(env={"COLUMNS": None, "DENIABLE_STORE": str(target)})
    label = ("build 2 " * 25).strip()
    made = runner.invoke(deniable, ["keys", "create", *KEY, "--label", label, "--json"])
    key = json.loads(made.stdout)["key"]["id"]
    for command, whole in ((("keys", "list"), label), (("log", "show"), '"scope": "write"}')):
        lines = runner.invoke(deniable, command).stdout.splitlines()
        (line,) = (line for line in lines if key in line)
        assert whole in line
        assert len(lines) == 3


@pytest.mark.one_store
def test_a_token_is_alone_on_the_output(run, target):
    """So that it can be piped; what else is to be said goes to the other one."""
    made = run("keys", "create", *KEY)
    assert "shown once" in made.stderr
    with contextlib.closing(Store(target)) as store:
        key = KeyVerifier(store).verify(made.stdout.strip())
    rotated = run("keys", "rotate", key.id)
    assert f"key {key.id} is valid until {in_days(30)}" in rotated.stderr
    with contextlib.closing(Store(target)) as store:
        assert KeyVerifier(store).verify(rotated.stdout.strip()).id != key.id


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("revoke", "0" * 12), "there is no key"),
        (("exclude", "0" * 12), "there is no key"),
        (("include", "{id}"), "is not excluded"),
        (("rotate", "{id}", "--overlap-days", "366"), "must be an integer in [0, 365], got '366'"),
        (
            ("rotate", "{id}", "--expires", "tomorrow"),
            "must be a day such as 2026-01-31, got 'tomorrow'",
        ),
        (("rotate", "{id}", "--expires", "2020-01-31"), "expires must be between"),
        (("create", *KEY, "--expires", "2020-01-31"), "expires must be between"),
        (("create", *KEY, "--label", "a\nb"), "label must be"),
    ],
)
def test_an_act_that_is_refused_says_why_and_changes_nothing(run, done, arguments, said):
    made = done("keys", "create", *KEY)["key"]
    refused = run("keys", *(each.format(id=made["id"]) for each in arguments))
    assert refused.exit_code in (1, 2)
    assert said in refused.stderr
    assert "Traceback" not in refused.output
    assert done("keys", "list")["keys"] == [made]


@pytest.mark.parametrize(
    "command",
    [
        *(("keys", command, "0" * 12) for command in COMMANDS[2:]),
        ("keys", "list"),
        ("log", "show"),
        ("log", "verify"),
    ],
)
def test_no_store_is_made_by_looking_for_one(tmp_path, command):
    target = tmp_path / "store.db"
    result = CliRunner(env={"DENIABLE_STORE": str(target)}).invoke(deniable, command)
    assert (result.exit_code, str(target) in result.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_the_log_says_what_was_done_and_by_whom(run, done):
    key_id = done("keys", "create", *KEY, "--label", "[red]")["key"]["id"]
    done("keys", "revoke", key_id)
    entries = done("log", "show")["entries"]
    assert [(each["sequence"], each["day"], each["actor"], each["act"]) for each in entries] == [
        (1, in_days(0), "command line", "key.create"),
        (2, in_days(0), "command line", "key.revoke"),
    ]
    assert entries[1]["details"] == {"key": key_id, "application": "flightdeck"}
    assert done("log", "show", "--last", 1)["entries"] == entries[1:]
    shown = run("log", "show").stdout
    for word in (key_id, "key.revoke", "command line", in_days(0)):
        assert word in shown


def test_a_whole_log_is_verified_and_its_head_is_printed(run, done):
    done("keys", "create", *KEY)
    verdict = done("log", "verify")
    assert (verdict["whole"], verdict["entries"], verdict["broken_at"]) == (True, 1, None)
    head = verdict["head"]
    assert done("log", "show")["entries"][-1]["hash"] == head
    done("keys", "create", *KEY)
    again = run("log", "verify", "--head", head)
    assert again.exit_code == 0
    assert "2 entries, the chain of hashes is intact" in again.stdout
    assert "that of entry 1" in again.stdout


def test_verify_names_the_entry_that_somebody_changed(run, done, target):
    for _ in range(3):
        done("keys", "create", *KEY)
    head = done("log", "verify")["head"]
    with contextlib.closing(Store(target)) as store:
        execute(store, "UPDATE audit SET actor = 'somebody' WHERE sequence = 2")
    told = run("log", "verify")
    assert told.exit_code == 1
    assert "entry 2, or its hash, was changed" in told.stderr
    told = run("log", "verify", "--json")
    assert told.exit_code == 1
    verdict = json.loads(told.stdout)
    assert (verdict["whole"], verdict["broken_at"], verdict["entries"]) == (False, 2, 1)
    with contextlib.closing(Store(target)) as store:
        execute(store, "DELETE FROM audit WHERE sequence > 1")
    assert run("log", "verify").exit_code == 0
    told = run("log", "verify", "--head", head)
    assert (told.exit_code, "cut off" in told.stderr) == (1, True)


def test_a_log_that_somebody_changed_can_still_be_shown(tmp_path):
    target = tmp_path / "store.db"
    runner = CliRunner(env={"COLUMNS": "200", "DENIABLE_STORE": str(target)})
    runner.invoke(deniable, ["keys", "create", *KEY])
    with contextlib.closing(Store(target)) as store:
        execute(store, "UPDATE audit SET details = 'no JSON', day = 'never', hash = 'none'")
    for options in ([], ["--json"]):
        shown = runner.invoke(deniable, ["log", "show", *options])
        assert (shown.exit_code, "no JSON" in shown.stdout) == (0, True)


@pytest.mark.one_store
@pytest.mark.parametrize("head", ["", "zz", "ab" * 31, "ab" * 33])
def test_a_head_is_64_digits(run, done, head):
    done("keys", "create", *KEY)
    refused = run("log", "verify", "--head", head)
    assert (refused.exit_code, "64 hexadecimal digits" in refused.stderr) == (2, True)


@pytest.mark.parametrize("scope", SCOPES)
def test_help_says_who_each_scope_is_for(scope):
    shown = " ".join(CliRunner().invoke(deniable, ["keys", "--help"]).stdout.split())
    assert f"{scope} (" in shown
