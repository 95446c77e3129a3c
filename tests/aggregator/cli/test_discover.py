"""``deniable discover``: tables for people, JSON for programs, and errors that teach."""

from __future__ import annotations

import json
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

import msgspec
import pytest
from click.testing import CliRunner

from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.cli import discover as discover_module
from deniable_aggregator.cli.render.discovery_table import discovery_notes, discovery_tables
from deniable_aggregator.cli.render.output import literal_console
from deniable_aggregator.cli.support.http_client import ServerAnswer
from tests.aggregator.discovered import FIRST, SECOND, discovering
from tests.command_line import deniable

pytestmark = pytest.mark.service


class Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a command against a server with two windows of reports."""
    store = tmp_path_factory.mktemp("discover") / "store.db"
    with (
        discovering(store) as service,
        make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server,
    ):
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        environment = {
            "COLUMNS": "120",
            "DENIABLE_SERVER": f"http://127.0.0.1:{server.server_port}",
            "DENIABLE_TOKEN": service.read,
        }
        runner = CliRunner(env=environment)
        yield lambda *arguments: runner.invoke(deniable, ["discover", *arguments])
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def later(run):
    """What the second window says, as JSON, and as a table."""
    assert run("code", "--until", FIRST.partition("=")[2]).exit_code == 0
    days = ("code", "--since", SECOND.partition("=")[2])
    return json.loads(run(*days, "--json").stdout)["result"], run(*days, "--top", "1").stdout


def test_a_table_shows_whole_strings_and_prefixes_apart(later):
    found, table = later
    lines = table.splitlines()
    (row,) = (line for line in lines if "1234" in line)
    assert "●" in row
    assert found["strings"][0]["evidence"] in row
    begins = next(place for place, line in enumerate(lines) if "begins with" in line)
    shown = found["prefixes"][0]["shown"]
    (prefix,) = (place for place, line in enumerate(lines) if shown in line)
    assert begins < prefix
    assert "new" in lines[prefix]
    assert "1 more strings were found; leave out --top to see them." in table
    assert "Gone since 2024-09-24 to 2024-09-29: 77 (" in table
    assert "Could not be seen: strings that few devices hold." in table
    assert "If 1% of reports are forged" in table


def test_what_was_found_cannot_act_on_a_terminal(later):
    found, _ = later
    hostile = "\x1b[2J\u202e<b>[red]"
    row = {**found["strings"][0], "text": hostile, "shown": hostile}
    answer = msgspec.convert({**found, "strings": [row], "prefixes": [row]}, FoundStrings)
    console = literal_console()
    with console.capture() as captured:
        for part in (*discovery_tables(answer), *discovery_notes(answer)):
            console.print(part)
    shown = captured.get()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<U+001B>[2J<U+202E><b>[red]" in shown


def test_an_empty_result_says_what_would_be_needed(later):
    found, _ = later
    answer = msgspec.convert({**found, "strings": [], "prefixes": []}, FoundStrings)
    notes = "\n".join(discovery_notes(answer))
    assert notes.startswith("No string stands out from the noise of 800 reports.")
    assert "More devices or days or a larger epsilon" in notes
    assert list(discovery_tables(answer)) == []


def test_errors_say_what_to_do(run, monkeypatch):
    other = run("search")
    assert other.exit_code == 1
    assert "discover = true" in other.stderr
    assert "unknown_metric" in run("absent").stderr
    failed = b'{"id":1,"metric":"code","application":"a","asked":"2026-01-01","since":"2026-01-01",'
    failed += b'"until":"2026-01-01","state":"failed","stage":"","progress":0,"current":true,'
    failed += b'"failure":"It needs more memory."}'
    answer = ServerAnswer(failed)
    monkeypatch.setattr(discover_module, "call", lambda *_args, **_more: answer)
    done = run("code")
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: the run has failed. It needs more memory.\n",
    )
