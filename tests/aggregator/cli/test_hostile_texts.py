"""What commands print of a store or a server that holds characters which no registry may have."""

from __future__ import annotations

import threading
from wsgiref.simple_server import make_server

import pytest
from click.testing import CliRunner

from deniable_aggregator.answering.responses import msgspec
from deniable_aggregator.answers.service import Problem
from deniable_aggregator.doors.cli import value_completion
from deniable_shared import registry, wire
from deniable_shared.characters import visible_constraint
from deniable_shared.registry.loading import Metric
from deniable_shared.spec import Spec
from tests.aggregator.cli.test_cli import Quiet
from tests.aggregator.service import REGISTRY, TODAY, Service, serving
from tests.command_line import deniable

HOSTILE = "a\x1b[2Jb\u202ec\x07\x9bd\u200be"
SHOWN = "a<U+001B>[2Jb<U+202E>c<U+0007><U+009B>d<U+200B>e"


def hostile_metric() -> Metric:
    theme = registry.parse(REGISTRY).metrics["theme"]
    canonical = {**theme.spec.canonical(), "values": [HOSTILE, "light", "dark"]}
    return Metric(Spec.from_canonical(canonical), HOSTILE, (HOSTILE,), None, 1_000)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A function that runs a command beside a server over a store with such texts."""
    with serving(tmp_path_factory.mktemp("hostile") / "store.db") as service:
        fill(service)
        with make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            variables = {
                "COLUMNS": "200",
                "DENIABLE_STORE": str(service.target),
                "DENIABLE_SERVER": f"http://127.0.0.1:{server.server_port}",
                "DENIABLE_TOKEN": service.read,
            }
            runner = CliRunner(env=variables)
            yield lambda *arguments: runner.invoke(deniable, arguments)
            server.shutdown()
            thread.join()


def fill(service: Service) -> None:
    metric = hostile_metric()
    service.store.metrics.register([metric], TODAY)
    assert service.ask("/v1/metrics").status_code == 200  # reads what is registered
    for number, epoch in enumerate((TODAY - 7, TODAY)):
        part = wire.Part(metric.spec.digest, epoch, b"\x00" * 2_000)
        upload = wire.encode(wire.Upload(bytes([number] * wire.ID_BYTES), (part,)))
        assert service.send(upload).status_code == 204, service.send(upload).text
    service.running.inbox_fold.fold(seconds=60)


DAYS = ("2024-09-27", "2024-10-04")
COMMANDS = {
    "estimate": ("estimate", "theme"),
    "estimate of one": ("estimate", "theme", "--combined", f"{HOSTILE},light"),
    "series": ("series", "theme", "--by", "day"),
    "change": ("change", "theme", "--before", DAYS[0], "--after", DAYS[1]),
    "health": ("health", "theme"),
    "health of all": ("health",),
    "metrics list": ("metrics", "list"),
    "metrics show": ("metrics", "show", "theme"),
}


def harmless(text: str) -> bool:
    return not any(map(visible_constraint, text.split("\n")))


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_prints_what_acts_on_a_terminal(asked, command, form):
    done = asked(*command, *form)
    assert done.exit_code == 0, done.output
    assert harmless(done.output)
    if command[0] != "health":
        assert ("\\u202e" if form else SHOWN) in done.output


def test_no_word_is_completed_that_a_shell_would_not_show_as_it_is(asked, monkeypatch):
    monkeypatch.setattr(value_completion, "SECONDS", 60.0)  # however busy the machine is
    monkeypatch.setenv("_DENIABLE_COMPLETE", "words")
    words = asked("series", "theme", "--value", "").output
    assert words.split() == ["light", "dark"]
    assert asked("estimate", "").output == f"theme\t{SHOWN}\n"


def test_a_question_about_such_a_value_is_refused_in_visible_words(asked):
    done = asked("series", "theme", "--by", "day", "--value", f"{HOSTILE}?")
    assert done.exit_code == 1
    assert harmless(done.output)


@pytest.mark.parametrize("answer", [b"no JSON\x1b[2J", b'{"metric": "\\u001b"}', None])
def test_nothing_that_a_hostile_server_answers_acts_on_a_terminal(answer):
    problem = Problem(
        type="x", title=HOSTILE, status=400, detail=HOSTILE, code=HOSTILE, problems=[HOSTILE]
    )

    def app(_environ, start_response):
        start_response("400 Bad" if answer is None else "200 OK", [])
        return [msgspec.json.encode(problem) if answer is None else answer]

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = CliRunner().invoke(
            deniable, ["estimate", "theme", "--server", url, "--token", "deniable_read_x"]
        )
        thread.join()
    assert done.exit_code == 1
    assert harmless(done.output)
    assert answer is not None or SHOWN in done.output
