from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable_aggregator.keeping.setting_constraints import redact
from deniable_aggregator.keeping.settings import CONSTRAINTS, DEFAULTS, Settings, redacted
from deniable_aggregator.keeping.settings_files import (
    ConfigurationError,
    example_file,
    load,
    option_name,
    setting_rows,
    variable_name,
)
from deniable_shared.errors import ParameterError
from tests.command_line import deniable

DOCS = Path(__file__).parents[3] / "docs" / "reference"
URL = "postgresql://deniable:hunter2@db.example:5432/telemetry"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "deniable.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def problems(*args, **options):
    with pytest.raises(ConfigurationError) as refused:
        load(*args, **options)
    return list(refused.value.problems)


def run(*arguments, env=None):
    return CliRunner().invoke(deniable, ["config", *arguments], env=env or {})


def test_without_options_variables_and_file_every_setting_has_its_default():
    found = load({}, {})
    assert found.settings == Settings()
    assert set(found.origins.values()) == {"default"}


def test_an_option_comes_before_a_variable_and_a_variable_before_the_file(file):
    path = file("accept_days = 1\nfold_seconds = 1\nport = 1\n")
    environ = {"DENIABLE_ACCEPT_DAYS": "2", "DENIABLE_FOLD_SECONDS": "2.5"}
    found = load({"accept_days": "3"}, environ, path)
    values = {name: (value, origin) for name, value, origin in setting_rows(found)}
    assert values["accept_days"] == (3, "--accept-days")
    assert values["fold_seconds"] == (2.5, "DENIABLE_FOLD_SECONDS")
    assert values["port"] == (1, str(path))
    assert values["host"] == ("127.0.0.1", "default")


def test_all_problems_are_reported_at_once_with_their_origin(file):
    path = file('accept_days = 400\nprot = 80\nlog_format = "xml"\nqueue_seconds = true\n')
    found = problems({"port": "eighty"}, {"DENIABLE_FOLD_SECONDS": "nan"}, path, required=["store"])
    assert sorted(found) == sorted(
        [
            f"prot is not a setting: did you mean port? ({path})",
            "port must be an integer in [1, 65,535], got 'eighty' (--port)",
            f"accept_days must be an integer in [0, 365], got 400 ({path})",
            f"log_format must be one of text, json, got 'xml' ({path})",
            f"queue_seconds must be a number above 0 and at most 10,000,000, got True ({path})",
            "fold_seconds must be a number above 0 and at most 10,000,000, got nan "
            "(DENIABLE_FOLD_SECONDS)",
            "store must be set: by --store, DENIABLE_STORE or a file",
        ]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port = ", "must be a TOML file"),
        ("[server]\nport = 1", "server is not a setting"),
        ('port = "80"', "port must be an integer"),
        ("accept_days = 1.0", "accept_days must be an integer"),
        ("accept_days = 1\nretention_days = 0\n\nacept_days = 2", "did you mean accept_days?"),
    ],
)
def test_a_file_that_says_something_else_is_refused(file, text, expected):
    (problem,) = problems({}, {}, file(text))
    assert expected in problem


def test_a_missing_file_is_reported(tmp_path):
    (problem,) = problems({}, {}, tmp_path / "absent.toml")
    assert problem.endswith("absent.toml: cannot be read: No such file or directory")


def test_settings_that_contradict_each_other_are_reported():
    assert problems({"retention_days": "7", "accept_days": "14"}, {}) == [
        "retention_days must be at least accept_days, which is 14, got 7 (--retention-days)"
    ]


def test_a_misspelt_variable_is_reported_and_one_of_another_program_ignored():
    (problem,) = problems({}, {"DENIABLE_ACEPT_DAYS": "3"})
    assert problem.endswith("did you mean accept_days?")
    others = {
        "DENIABLE_SERVER": "http://x",
        "DENIABLE_TOKEN": "t",
        "DENIABLE_CONFIG": "/etc/deniable.toml",
        "DENIABLE_SERVICE_HOST": "10.0.0.1",  # Kubernetes, for a service of this name
        "DENIABLE_SERVICE_PORT": "8787",
        "DENIABLE_PORT_8787_TCP": "tcp://10.0.0.1:8787",
        "DENIABLE_ACCEPT_DAYS": "",
    }
    assert load({}, others).settings == Settings()


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        (URL, "postgresql://deniable:***@db.example:5432/telemetry"),
        ("postgresql://u:p@ss:w/rd@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u@h/d?password=pw&sslmode=require", "postgresql://u@h/d?password=***"),
        ("redis://:pw@h:6379/0", "redis://:***@h:6379/0"),
        ("/var/lib/deniable/store.db", "/var/lib/deniable/store.db"),
        (7, 7),
    ],
)
def test_a_password_is_masked_and_the_rest_is_not(secret, shown):
    assert str(redact(secret)).startswith(str(shown))
    assert "pw" not in str(redact(secret))


def test_a_webhook_is_shown_without_its_path_which_is_a_password():
    shown = redacted("digest_webhook", "https://hooks.example.org/services/T0/B1/secret")
    assert shown == "https://hooks.example.org/***"
    assert "secret" not in repr(Settings(digest_webhook="https://a.example.org/secret"))


def test_no_password_is_in_any_output(file):
    path = file(f'store = "{URL}"\nport = 0\n')
    assert "hunter2" not in repr(load({}, {"DENIABLE_PORT": "1"}, path).settings)
    outputs = [
        run("show", "--config", str(path)),
        run("show", "--config", str(path), "--port", "1"),
        run("show", "--config", str(path), "--port", "1", "--json"),
    ]
    assert [done.exit_code for done in outputs] == [1, 0, 0]
    for done in outputs:
        assert "hunter2" not in done.output
    assert json.loads(outputs[2].output)["store"] == {
        "value": "postgresql://deniable:***@db.example:5432/telemetry",
        "from": str(path),
    }
    with pytest.raises(ParameterError) as refused:
        Settings(store=f"{URL}\0")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("store", "mysql://deniable:hunter2@db.example/telemetry"),
        ("rate_limit_store", "memcached://deniable:hunter2@db.example"),
        ("rate_limit", "many"),
        ("rate_limit", "0/minute"),
    ],
)
def test_a_text_of_another_form_is_refused_before_anything_is_opened(name, value):
    (problem,) = problems({name: value}, {})
    assert problem.startswith(f"{name} must be ")
    assert "hunter2" not in problem


def test_a_text_of_the_right_form_is_taken():
    for store in ("deniable.db", "/var/lib/deniable/a b.db", URL, "postgres://h/d"):
        assert load({"store": store, "rate_limit": "9/second"}, {}).settings.store == store


def test_what_is_shown_can_be_read_by_people_and_programs():
    done = run("show", "--accept-days", "7", env={"DENIABLE_PORT": "9000"})
    assert re.search(r"accept_days\W+--accept-days\W+7\b", done.output)
    assert re.search(r"port\W+DENIABLE_PORT\W+9000\b", done.output)
    found = json.loads(run("show", "--json").output)
    assert {name: each["value"] for name, each in found.items()} == dict(DEFAULTS)


def test_problems_are_lines_without_a_traceback():
    done = run("show", "--port", "x", "--accept-days", "-1")
    assert done.exit_code == 2
    problems = done.output.partition("Error: ")[2]
    assert problems.startswith("port must be an integer")
    assert len(problems.splitlines()) == 2


def test_what_a_variable_or_a_file_says_wrongly_is_a_failure():
    done = run("show", "--port", "8000", env={"DENIABLE_ACCEPT_DAYS": "-1"})
    assert done.exit_code == 1
    assert done.output.startswith("Error: accept_days must be an integer")


def test_the_example_shows_the_defaults():
    text = run("example").output
    assert text == example_file()
    assert tomllib.loads(text) == {}
    assert tomllib.loads(re.sub(r"(?m)^#(?=[a-z])", "", text)) == dict(DEFAULTS)
    for name in CONSTRAINTS:
        assert f"# {option_name(name)}, {variable_name(name)}\n#{name} = " in text


def test_the_example_of_the_documentation_is_the_one_that_is_printed():
    assert (DOCS / "deniable.toml").read_text(encoding="utf-8") == example_file(), (
        "deniable config example > docs/reference/deniable.toml"
    )


def test_serve_has_an_option_for_every_setting():
    text = CliRunner().invoke(deniable, ["serve", "--help"]).output
    for name in CONSTRAINTS:
        assert option_name(name) in text


def test_serve_says_what_is_wrong_before_it_does_anything():
    done = CliRunner().invoke(deniable, ["serve", "--threads", "0"], env={"DENIABLE_STORE": ""})
    assert done.exit_code == 2
    assert "threads must be" in done.output
    assert "store must be set" in done.output
