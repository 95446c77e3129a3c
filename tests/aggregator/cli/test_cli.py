from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from importlib import import_module
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.asking.profiles import PROFILE, SERVER, TOKEN, TOKEN_FILE
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_shared.commands.table import COMMANDS
from deniable_shared.letters.writing import model_file
from deniable_shared.registry import load
from tests.aggregator.service import REGISTRY, SPECS, serving, upload
from tests.command_line import deniable


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture
def run(tmp_path):
    environment = {
        "COLUMNS": "200",
        "DENIABLE_STORE": str(tmp_path / "store.db"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),  # no profiles of whoever runs the tests
        **dict.fromkeys((SERVER, TOKEN, TOKEN_FILE, PROFILE)),
    }
    runner = CliRunner(env=environment)
    return lambda *arguments, **options: runner.invoke(deniable, arguments, **options)


@pytest.fixture
def url(tmp_path):
    with (
        serving(tmp_path / "served.db") as service,
        make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server,
    ):
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", service
        server.shutdown()
        thread.join()


def every_command():
    """The names of all commands of the script, those within groups too."""
    for name, command in COMMANDS.items():
        module, _, attribute = command.target.partition(":")
        yield from names_within(name, getattr(import_module(module), attribute or "run"))


def names_within(name, command):
    yield name
    for inner in getattr(command, "commands", {}).values():
        yield from names_within(f"{name} {inner.name}", inner)


@pytest.mark.parametrize("command", ["", "metrics", *every_command()])
def test_every_command_explains_itself(run, command):
    done = run(*command.split(), "--help")
    assert done.exit_code == 0
    assert "Usage: " in done.output
    assert len(done.output.splitlines()) > 5
    assert "\n  --help " not in done.output, "it is -h, --help everywhere"


@pytest.mark.parametrize(
    "group", ["log", "config", "keys", "metrics", "remote", "store", "store set-aside"]
)
def test_what_a_command_is_for_is_said_in_one_line(group):
    done = CliRunner(env={"COLUMNS": "80"}).invoke(deniable, [*group.split(), "--help"])
    listed = done.output.partition("Commands:")[2].splitlines()
    assert len(listed) > 2
    assert not [line for line in listed if line.endswith("...")]


def test_an_error_is_text_beside_the_output_for_programs_too(run):
    for command, status in (
        (("keys", "list", "--json"), 1),
        (("series", "theme", "--json", "--server", "http://127.0.0.1:1", "--token", "x"), 1),
        (("keys", "list", "--json", "--nothing"), 2),
    ):
        done = run(*command)
        assert (done.exit_code, done.stdout) == (status, "")
        assert "Error: " in done.stderr


def test_a_key_is_made_listed_and_revoked(run, tmp_path):
    options = ("--scope", "write", "--application", "flightdeck", "--label", "phones")
    made = run("keys", "create", *options)
    token = made.stdout.strip()
    assert "shown once" in made.stderr
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        key = KeyVerifier(store).verify(token)
    assert key.scope == "write"
    listed = run("keys", "list")
    for word in (key.id, "write", "flightdeck", "phones"):
        assert word in listed.stdout
    assert token not in listed.stdout
    assert run("keys", "revoke", key.id).exit_code == 0
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        assert KeyVerifier(store).verify(token) is None
    again = run("keys", "revoke", key.id)
    assert again.exit_code == 1
    assert "revoked already" in again.stderr


def test_whoever_makes_a_key_for_devices_is_told_that_one_person_must_not_have_it_alone(run):
    def told(scope):
        return run("keys", "create", "--scope", scope, "--application", "flightdeck").stderr

    assert "identifies that person" in told("write")
    assert not any("identifies" in told(scope) for scope in ("batch", "read", "admin"))
    help_text = " ".join(run("keys", "--help").stdout.split())
    assert "a key which one person uses identifies that person" in help_text


def test_a_label_is_shown_as_it_is(run):
    label = "[/b] [red]:smile:"
    assert run("keys", "create", "--scope", "read", "--application", "a", "--label", label)
    assert label in run("keys", "list").output


def test_listing_a_store_that_is_not_there_makes_none(run, tmp_path):
    done = run("keys", "list")
    assert (done.exit_code, "there is no store" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_field_or_store_is_one_line(run, tmp_path):
    done = run("keys", "create", "--scope", "read", "--application", "Not A Name")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: application must be")
    (tmp_path / "store.db").write_bytes(b"notes" * 1_000)
    done = run("keys", "list")
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_registry_is_registered_over_http(run, url, tmp_path):
    server, service = url
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    environment = {"DENIABLE_SERVER": server, "DENIABLE_TOKEN": service.admin}
    done = run("metrics", "register", str(file), env=environment)
    assert done.exit_code == 0, done.output
    assert done.output.count("new") == 3
    again = run("metrics", "register", str(file), "--server", server, "--token", service.admin)
    assert again.output.count("registered before") == 3
    assert len(service.store.metrics.all().readable) == 3


def test_a_registry_brings_its_model_to_a_server_and_to_a_store(run, url, tmp_path):
    server, service = url
    body = model_file([0], {}, [bytes([8] * 255 + [9, 9])])
    (tmp_path / "search.model").write_bytes(body)
    file = tmp_path / "metrics.toml"
    file.write_text(
        f'{REGISTRY}[metrics.query]\ntype = "string"\nepsilon = 4.0\ndiscover = true\n'
        f'model = "search.model"\nmodel_digest = "{hashlib.sha256(body).hexdigest()}"\n'
    )
    digest = load(file).metrics["query"].spec.digest.hex()
    to_server = ("--server", server, "--token", service.admin)
    to_store = ("--store", str(tmp_path / "new.db"))
    for where in (to_server, to_store):
        done = run("metrics", "register", str(file), *where, "--json")
        assert done.exit_code == 0, done.output
        versions = {each["name"]: each["version"] for each in json.loads(done.stdout)["metrics"]}
        assert versions["query"] == digest
    found = {each.spec.name: each for each in service.store.metrics.all().readable}["query"]
    assert found.spec.letters.model.body == body
    assert found.minimum_devices == 100
    (tmp_path / "search.model").unlink()
    refused = run("metrics", "register", str(file), *to_server)
    assert refused.exit_code == 1
    assert "model must be a file beside the registry" in refused.stderr


def test_a_registry_without_its_model_is_refused_with_what_to_do(url):
    text = (
        f'{REGISTRY}[metrics.query]\ntype = "string"\nepsilon = 4.0\ndiscover = true\n'
        f'model = "search.model"\nmodel_digest = "{"0" * 64}"\n'
    )
    answer = url[1].register(text)
    assert answer.status_code == 422
    assert "deniable metrics register FILE" in answer.get_json()["problems"][0]


def test_a_registry_is_registered_in_a_store_without_a_server(run, tmp_path):
    file, store = tmp_path / "metrics.toml", tmp_path / "new.db"
    file.write_text(REGISTRY)
    done = run("metrics", "register", str(file), "--store", str(store), "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["application"] == "flightdeck"
    assert {metric["name"]: metric["new"] for metric in said["metrics"]} == {
        "theme": True,
        "late": True,
        "emoji": True,
    }
    again = run("metrics", "register", str(file), env={"DENIABLE_STORE": str(store)})
    assert again.output.count("registered before") == 3
    with contextlib.closing(Store(store)) as opened:
        assert {each.spec.name for each in opened.metrics.all().readable} == SPECS.keys()
        (entry,) = opened.audit.entries()
        assert (entry.act, entry.actor) == ("metrics.register", "command line")
    file.write_text(REGISTRY.replace("epsilon = 1.0", "epsilon = nan"))
    refused = run("metrics", "register", str(file), "--store", str(store))
    assert refused.exit_code == 1
    assert refused.stderr.count("epsilon must be") == 2


def test_a_running_server_takes_reports_of_what_was_registered_in_its_store(run, url, tmp_path):
    _, service = url
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    run("metrics", "register", str(file), "--store", str(service.target))
    service.running.receiver._catalogue._read_at -= 1.0  # a second passes
    assert service.send(upload()).status_code == 204


def test_a_metric_is_removed_once_somebody_has_said_yes(run, url):
    server, service = url
    service.register()
    service.send(upload())
    environment = {"DENIABLE_SERVER": server, "DENIABLE_TOKEN": service.admin}
    refused = run("metrics", "remove", "theme", env=environment, input="n\n")
    assert (refused.exit_code, "1 version, 1 report?" in refused.stderr) == (1, True)
    assert service.send(upload()).status_code == 204
    done = run("metrics", "remove", "theme", env=environment, input="y\n")
    assert (done.exit_code, "removed theme of flightdeck" in done.stdout) == (0, True)
    assert service.send(upload()).status_code == 410
    again = run("metrics", "remove", "late", "--yes", "--json", env=environment)
    assert json.loads(again.stdout)["versions"] == [SPECS["late"].digest.hex()]
    for options in ([], ["--yes"]):
        missing = run("metrics", "remove", "late", *options, env=environment)
        assert (missing.exit_code, "metric" in missing.stderr) == (1, True)


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (["--store", "a.db", "--token", "t"], {}, "not both"),
        (["--store", "a.db", "--server", "http://127.0.0.1:1"], {}, "not both"),
        ([], {"DENIABLE_STORE": ""}, "there is no token"),
        (["--server", "http://127.0.0.1:1"], {}, "there is no token"),
        (["--server", "http://127.0.0.1:1"], {"DENIABLE_TOKEN": "t"}, "cannot be reached"),
        (["--token", "t"], {"DENIABLE_SERVER": "http://127.0.0.1:1"}, "cannot be reached"),
    ],
)
def test_a_store_or_a_server_is_named_and_not_both(
    run, tmp_path, monkeypatch, options, environment, said
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    done = run(
        "metrics", "register", str(file), *options, env={"DENIABLE_STORE": "a.db", **environment}
    )
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert not (tmp_path / "a.db").exists()


def test_a_refused_registry_is_reported_with_all_its_problems(run, url, tmp_path):
    server, service = url
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY.replace("epsilon = 1.0", "epsilon = nan"))
    done = run("metrics", "register", str(file), "--server", server, "--token", service.admin)
    assert done.exit_code == 1
    assert "registry_refused" in done.stderr
    assert done.stderr.count("epsilon must be") == 2
    assert service.store.metrics.all().readable == []


def test_a_picture_that_cannot_be_written_is_one_line(run, url, tmp_path):
    address, service = url
    service.register()
    service.send(upload())
    options = ("--server", address, "--token", service.read)
    done = run("estimate", "theme", *options, "--picture", str(tmp_path / f"{'x' * 300}.svg"))
    assert done.exit_code == 1
    assert done.stderr.endswith("x.svg: File name too long\n")


def test_a_wrong_token_and_a_missing_server_are_reported(run, url, tmp_path):
    server, _ = url
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    done = run("metrics", "register", str(file), "--server", server, "--token", "nonsense")
    assert (done.exit_code, "unknown_key" in done.stderr) == (1, True)
    nowhere = ("--server", "http://127.0.0.1:1", "--token", "nonsense")
    done = run("metrics", "register", str(file), *nowhere)
    assert (done.exit_code, "Is deniable serve running" in done.stderr) == (1, True)


SECRET = "deniable_read_4f2a_hunter2"


@pytest.mark.parametrize("space", ["\r", "\r\n", " ", "\t"])
def test_white_space_around_a_token_is_not_part_of_it(run, url, space):
    server, service = url
    service.register()
    service.send(upload())
    environment = {"DENIABLE_SERVER": f"{server}/{space}", "DENIABLE_TOKEN": service.read + space}
    done = run("estimate", "theme", env=environment)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "token", [f"{SECRET}é", f"{SECRET} 2", f"{SECRET}\x7f", f"a\r\n{SECRET}", " "]
)
def test_a_token_that_cannot_be_one_is_refused_unquoted(run, token):
    done = run("estimate", "theme", env={"DENIABLE_TOKEN": token})
    assert (done.exit_code, "must be a token" in done.stderr) == (2, True)
    assert "hunter2" not in done.output


@pytest.mark.parametrize(
    "server",
    [
        "http://user:hunter2@127.0.0.1:1",
        "http://hunter2@127.0.0.1:1",
        "http://user:hunter2",
        "user:hunter2@127.0.0.1:1",
        "http://user:hun\nter2@127.0.0.1:1",
        "http://127.0.0.1:1/?token=hunter2",
        "hunter2",
        "http://",
    ],
)
def test_a_server_with_secrets_is_refused_unquoted(run, server):
    """A user and password would be sent in place of the token."""
    done = run("health", "theme", "--server", server, "--token", SECRET)
    assert (done.exit_code, "must be an address such as" in done.stderr) == (2, True)
    assert "ter2" not in done.output


def test_no_error_quotes_the_headers_of_a_request(run, monkeypatch):
    def fail(*_, headers, **__):
        raise httpx.LocalProtocolError(f"Illegal header value {headers}")

    monkeypatch.setattr(httpx.Client, "request", fail)
    done = run("health", "theme", "--token", SECRET)
    assert (done.exit_code, "LocalProtocolError" in done.stderr) == (1, True)
    assert "hunter2" not in done.output


def test_every_option_of_estimate_reaches_the_server(run, url):
    server, service = url
    service.register()
    service.send(upload(b"\x02" * 150 + b"\x00" * 90 + b"\x01" * 60))
    environment = {"DENIABLE_SERVER": server, "DENIABLE_TOKEN": service.read}
    options = (
        "--combined",
        "light,dark",
        "--margin",
        "noise-and-sampling",
        "--interval",
        "all",
        "--explain",
    )
    done = run("estimate", "theme", *options, "--false-finds", "none", env=environment)
    assert done.exit_code == 0, done.output
    for words in (
        "light + dark  ",
        "adjusted to add up to 100%",
        "at once (Bonferroni)",
        "random sample",
    ):
        assert words in done.output
    options = ("--top", "2", "--postprocess", "power", "--detected", "--json")
    data = json.loads(run("estimate", "theme", *options, env=environment).stdout)
    assert data["head"]["interval"]["kind"] == "picked"
    assert data["head"]["postprocess"] == "power"
    ranged = run("estimate", "theme", "--range", "light", "dark", "--json", env=environment)
    assert json.loads(ranged.stdout)["numbers"][0]["values"] == ["light", "dark"]
    refused = run("estimate", "theme", "--combined", "purple", env=environment)
    assert (refused.exit_code, "estimate_refused" in refused.stderr) == (1, True)


def test_help_teaches_which_interval_is_which(run):
    text = run("estimate", "--help").output
    for word in ("one  ", "all  ", "picked", "Bonferroni", "false coverage rate", "exact"):
        assert word in text
