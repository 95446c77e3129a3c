"""``deniable annotations``, and series that show them, against a server in this process."""

import json

import pytest

from deniable_aggregator.answers.dates import format_day
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import TODAY, upload

pytestmark = pytest.mark.one_store


def test_a_day_is_annotated_listed_shown_in_a_series_and_forgotten(run, url):  # noqa: F811
    base, service = url
    service.register()
    service.send(upload(b"\x01"))
    service.counts()

    def ask(key, *arguments):
        return run(*arguments, "--server", base, "--token", key)

    empty = ask(service.read, "annotations", "list")
    assert "deniable annotations add" in empty.output
    day = format_day(TODAY)
    assert ask(service.admin, "annotations", "add", day, "Version [3.2]").exit_code == 0
    assert "Version [3.2]" in ask(service.read, "annotations", "list").output
    listed = json.loads(ask(service.read, "annotations", "list", "--json").output)
    assert listed["annotations"] == [{"day": day, "text": "Version [3.2]"}]
    assert f"{day}: Version [3.2]\n" in ask(service.read, "series", "theme").output
    assert ask(service.read, "annotations", "remove", day).exit_code == 1
    assert ask(service.admin, "annotations", "remove", day).exit_code == 0
    assert (
        json.loads(ask(service.read, "annotations", "list", "--json").output)["annotations"] == []
    )
    refused = ask(service.admin, "annotations", "add", day, "x" * 61)
    assert refused.exit_code == 1
    assert "60" in refused.output
