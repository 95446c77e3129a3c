from __future__ import annotations

import pickle
import traceback

import pytest

from deniable_aggregator.asking import AskingError, HttpSource
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.asking.credentials import Token, check_server
from deniable_aggregator.asking.profiles import (
    find_access,
    load_profile,
    profile_names,
    require_token,
)
from deniable_shared.errors import DeniableError, ParameterError

SECRET = "deniable_read_hunter2"
PROFILES = """
[default]
server = "https://default.example.org/"
token = "token-of-default"

[staging]
server = "https://staging.example.org"
token_file = "staging.token"

[open]
server = "https://open.example.org"
"""


@pytest.fixture
def place(tmp_path):
    """Variables that name a folder with `PROFILES`."""
    folder = tmp_path / "deniable"
    folder.mkdir()
    for name, text in (("profiles.toml", PROFILES), ("staging.token", "token-of-staging\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def found(place, *arguments, **variables):
    access = find_access(*arguments, environment={**place, **variables})
    return access.server, access.token and access.token.reveal()


def test_without_anything_the_default_profile_is_used(place):
    assert found(place) == ("https://default.example.org", "token-of-default")


def test_a_variable_names_the_profile(place):
    staging = ("https://staging.example.org", "token-of-staging")
    assert found(place, DENIABLE_PROFILE="staging") == staging


def test_an_argument_comes_before_a_named_profile_before_variables_before_the_usual_profile(place):
    variables = {
        "DENIABLE_SERVER": "https://variable.example.org",
        "DENIABLE_TOKEN": "token-of-variable",
        "DENIABLE_PROFILE": "default",
    }
    variable = ("https://variable.example.org", "token-of-variable")
    assert found(place, **variables) == variable
    staging = ("https://staging.example.org", "token-of-staging")
    assert found(place, "staging", **variables) == staging
    assert found(place, "staging", None, "typed", **variables) == (staging[0], "typed")
    typed = found(place, "staging", "https://typed.example.org", "typed", **variables)
    assert typed == ("https://typed.example.org", "typed")


def test_a_token_in_a_file_is_read_from_it(place, tmp_path):
    file = tmp_path / "token"
    file.write_text("token-of-file\r\n")
    file.chmod(0o400)
    variables = {"DENIABLE_SERVER": "http://127.0.0.1:1", "DENIABLE_TOKEN_FILE": str(file)}
    assert found(place, **variables) == ("http://127.0.0.1:1", "token-of-file")
    assert found(place, DENIABLE_TOKEN="first", **variables)[1] == "first"


@pytest.mark.parametrize("named", [True, False])
def test_the_token_of_a_profile_is_sent_to_its_own_server_only(place, named):
    other = "https://elsewhere.example.org"
    assert found(place, "default" if named else None, other) == (other, None)
    with pytest.raises(AskingError, match=f"no token for {other}"):
        require_token(find_access(None, other, environment=place), place)
    same = "https://default.example.org/"
    assert found(place, "default" if named else None, same)[1] == "token-of-default"


def test_a_profile_without_a_token_takes_that_of_the_environment(place):
    assert found(place, "open", DENIABLE_TOKEN="mine")[1] == "mine"
    assert found(place, "open") == ("https://open.example.org", None)


def test_where_there_is_no_file_nothing_is_known(tmp_path):
    nothing = {"HOME": str(tmp_path)}
    assert profile_names(nothing) == []
    assert found(nothing) == ("http://127.0.0.1:8787", None)
    with pytest.raises(AskingError, match=r"no profile .* There is none. deniable profiles add"):
        find_access("staging", environment=nothing)
    with pytest.raises(AskingError) as told:
        require_token(find_access(environment=nothing), nothing)
    assert told.value.code == "no_token"
    assert f"{tmp_path}/.config/deniable/profiles.toml" in str(told.value)


def test_an_unknown_profile_is_told_with_those_that_there_are(place):
    with pytest.raises(AskingError, match=r"no profile 'prod' .*default, staging, open") as told:
        load_profile("prod", place)
    assert told.value.code == "unknown_profile"


def test_an_address_where_a_profile_is_expected_is_told_where_it_goes(place):
    with pytest.raises(AskingError, match=r"is an address, .* server=") as told:
        load_profile("https://telemetry.example.org", place)
    assert told.value.code == "unknown_profile"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
@pytest.mark.parametrize("name", ["profiles.toml", "staging.token"])
def test_a_file_that_others_may_read_or_write_is_refused(place, tmp_path, name, mode):
    file = tmp_path / "deniable" / name
    file.chmod(mode)
    with pytest.raises(AskingError, match=f"chmod 600 {file}") as told:
        find_access("staging", environment=place)
    assert told.value.code == "refused_profile"


@pytest.mark.parametrize(
    "text",
    [
        f'[staging]\nserver = "https://x.example.org"\ntoken = "{SECRET} {SECRET}"',
        f'[staging]\nserver = "https://user:{SECRET}@x.example.org"',
        f'[staging]\nserver = "https://x.example.org"\ntoken = "{SECRET}',
        f'[staging]\nserver = "https://x.example.org"\ntoken = ["{SECRET}"]',
        f'[staging]\nserver = "https://x.example.org"\ntokens = "{SECRET}"',
        f'[staging]\nserver = "https://x.example.org"\ntoken = "{SECRET}"\ntoken_file = "x"',
        f'staging = "{SECRET}"',
        f'[staging]\ntoken = "{SECRET}"',
        f"{SECRET}",
    ],
)
def test_a_profile_with_a_mistake_is_refused_and_its_token_is_not_quoted(place, tmp_path, text):
    (tmp_path / "deniable" / "profiles.toml").write_text(text)
    with pytest.raises(DeniableError) as told:
        find_access("staging", environment=place)
    assert "hunter2" not in "".join(traceback.format_exception(told.value))


def test_nothing_that_is_printed_shows_a_token():
    token = Token(f" {SECRET}\r\n")
    assert token.reveal() == SECRET
    shown = [token, Connection("http://x", token), HttpSource("http://x", SECRET), (token,)]
    shown.append(find_access(None, "http://x", SECRET, environment={"HOME": "/nowhere"}))
    for each in shown:
        assert "hunter2" not in f"{each} {each!r}"
    with pytest.raises((TypeError, AttributeError)):
        pickle.dumps(HttpSource("http://x", SECRET))


@pytest.mark.parametrize(
    "server",
    [
        f"http://user:{SECRET}@127.0.0.1:1",
        f"http://{SECRET}@127.0.0.1:1",
        f"http://127.0.0.1:1/?token={SECRET}",
        f"http://127.0.0.1:1/#{SECRET}",
        f"ftp://{SECRET}",
        SECRET,
        "telemetry.example.org:8787",
        "http://",
        "http://a b",
        "http://[::1",
        "http://x:port",
        "http://x\\@y",
    ],
)
def test_what_is_no_plain_address_is_refused_unquoted(server):
    with pytest.raises(ParameterError, match="must be an address such as") as told:
        check_server(server)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("server", ["127.0.0.1:8787", "localhost", "[::1]:80/base"])
def test_the_scheme_may_be_left_out_for_this_machine(server):
    assert check_server(server) == f"http://{server}"
