"""``deniable acknowledge``, against a server in this process."""

import json

import pytest

from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import TODAY, upload

pytestmark = pytest.mark.one_store


def test_a_difference_is_acknowledged_told_with_the_health_and_withdrawn(run, url):  # noqa: F811
    base, service = url
    service.register()
    other = service.key("batch")
    for epoch in range(TODAY - 5, TODAY):
        service.send(upload(b"\x01" * 60, epoch=epoch))
        service.send(upload(b"\x02" * 60, epoch=epoch), key=other)
    service.counts()
    key = other.split("_")[2]

    def ask(token, *arguments):
        return run(*arguments, "--server", base, "--token", token)

    assert "answers differently from the others" in ask(service.read, "health", "theme").output
    note = "Testers like it dark"
    assert ask(service.read, "acknowledge", "theme", key, note).exit_code == 1
    done = ask(service.admin, "acknowledge", "theme", key, note, "--json")
    assert json.loads(done.output)["note"] == note
    told = " ".join(ask(service.read, "health", "theme").output.split())
    assert note in told
    assert "answers differently from the others" not in told
    assert ask(service.admin, "acknowledge", "theme", key, "--withdraw").exit_code == 0
    assert "answers differently from the others" in ask(service.read, "health", "theme").output
    assert ask(service.admin, "acknowledge", "theme", key).exit_code == 2
