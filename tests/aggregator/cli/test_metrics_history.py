"""``deniable metrics history``, of a server, of a store and of a file."""

import contextlib
import json

import pytest

from deniable_aggregator import Store
from deniable_shared import registry
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY

pytestmark = pytest.mark.one_store


def test_an_application_sees_whether_what_it_ships_was_registered(run, url, tmp_path):  # noqa: F811
    base, service = url
    service.register()
    server = ("--server", base, "--token", service.read)
    shown = run("metrics", "history", *server)
    assert "category by grr, epsilon 1, every day" in shown.output
    kept = tmp_path / "history.json"
    kept.write_text(run("metrics", "history", "--json", *server).output)
    head = json.loads(kept.read_text())["head"]
    assert f"3 entries, the chain of hashes is intact; head: {head}" in shown.output

    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    compared = run("metrics", "history", "--from", str(kept), "--compare", str(file))
    assert (compared.exit_code, compared.output.count("registered, the newest version")) == (0, 3)
    file.write_text(REGISTRY.replace("epsilon = 2.0", "epsilon = 3.0"))
    other = run("metrics", "history", "--compare", str(file), *server)
    assert other.exit_code == 1
    assert "NEVER REGISTERED" in other.output
    file.write_text(REGISTRY.replace(APPLICATION, "other"))
    refused = run("metrics", "history", "--compare", str(file), *server)
    assert "--compare must be a registry of flightdeck, got one of other" in refused.output

    another = run("metrics", "history", "--application", "other", *server)
    assert "must be flightdeck, whose history this is, got other" in another.output

    both = run("metrics", "history", "--from", str(kept), *server)
    assert "give --from, or a store or a server, not both" in both.output
    cut = run("metrics", "history", "--from", str(kept), "--head", "0" * 63 + "1")
    assert cut.exit_code == 1
    assert "cut off" in cut.output
    kept.write_text(kept.read_text().replace("epsilon 1", "epsilon 9"))
    broken = run("metrics", "history", "--from", str(kept))
    assert broken.exit_code == 1
    assert "entry 1, or its hash, was changed" in broken.output
    kept.write_text(json.dumps({"application": "a", "entries": [], "head": "\x1b[2J"}))
    hostile = run("metrics", "history", "--from", str(kept))
    assert "the head is <U+001B>[2J" in hostile.output
    assert "\x1b" not in hostile.output
    kept.write_text("{}")
    assert "must be what deniable metrics history --json prints" in (
        run("metrics", "history", "--from", str(kept)).output
    )


def test_a_head_is_given_whole(run):  # noqa: F811
    refused = run("metrics", "history", "--from", __file__, "--head", "cb67b170e15c")
    assert refused.exit_code == 2
    assert "--head must be the 64 hexadecimal digits that were printed, got 'cb67" in refused.output


def test_a_wrong_name_of_an_application_is_no_empty_history(run, tmp_path):  # noqa: F811
    path = str(tmp_path / "deniable.db")
    of = ("metrics", "history", "--store", path, "--application")
    with contextlib.closing(Store(path)) as store:
        nothing = run(*of, APPLICATION)
        assert (nothing.exit_code, "Nothing was ever registered" in nothing.output) == (0, True)
        only = {"theme": registry.parse(REGISTRY).metrics["theme"]}
        store.metrics.register(only.values(), TODAY)
    assert "\n1 entry, the chain" in run(*of, APPLICATION).output
    wrong = run(*of, "flightdesk")
    assert wrong.exit_code == 1
    assert (
        "the store has never had a metric of 'flightdesk'. Did you mean 'flightdeck'? "
        "It has those of flightdeck."
    ) in " ".join(wrong.output.split())
