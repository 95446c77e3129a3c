"""``deniable try``: every metric once, through the real client, and what the server says."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta

import pytest

from deniable._trial.trial import Trials
from deniable.testing import InMemoryTransport
from deniable_shared import registry as registries
from deniable_shared import wire
from deniable_shared.commands.entry import main
from deniable_shared.sealing import PrivateKey

KEY = "dw_secret"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where temporary folders are made, empty before; and an environment that names no server."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    for name in ("DENIABLE_ENDPOINT", "DENIABLE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return place


@pytest.fixture
def run(capsys, folder):
    """Runs the command; returns its status and what it prints."""

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main(["try", *map(str, words)])
        output = capsys.readouterr()
        assert list(folder.iterdir()) == []
        assert KEY not in output.out + output.err
        return ended.value.code, output.out, output.err

    return call


def words(page):
    """A page without its lines and columns."""
    return " ".join(page.split())


def write(path, metrics, day=4.0):
    head = f'registry = 1\napplication = "flightdeck"\n[budget]\nepsilon_per_day = {day}\n'
    path.write_text(f"{head}epsilon_lifetime = 40.0\n{metrics}", "utf-8")
    return registries.load(path)


def test_every_metric_is_recorded_shown_and_explained_without_a_server(run, registry):
    status, page, _ = run(registry)
    blocks = {block.partition(":")[0]: block for block in page.split("\n\n")}
    names = list(registries.load(registry).metrics)
    assert [name for name in blocks if name in names] == names
    assert '"no such value" is answered outside_domain: theme must be one of' in blocks["theme"]
    assert "upload       256 bytes, day " in blocks["city"]
    assert "would have said so with probability 0.97 if it were true" in blocks["heavy"]
    assert "outcome expired: its last day has passed" in words(blocks["bygone"])
    assert "wrong value" not in blocks["bygone"]
    assert "7 metrics, 1 of them expired: bygone." in page
    assert "Nothing was sent." in page
    assert status == 0


def test_metrics_that_exceed_a_budget_together_are_tried_on_several_devices(run, tmp_path):
    lines = [f'[metrics.m{number}]\ntype = "boolean"\nepsilon = 1\n' for number in range(12)]
    write(tmp_path / "many.toml", "".join(lines), day=5)
    status, text, _ = run(tmp_path / "many.toml", "--json")
    said = json.loads(text)["metrics"]
    assert (status, [each["outcome"] for each in said]) == (0, ["recorded"] * 12)


def test_with_an_endpoint_the_bytes_that_are_shown_are_those_that_arrive(
    run, registry, collector, monkeypatch
):
    monkeypatch.setenv("DENIABLE_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("DENIABLE_KEY", KEY)
    status, text, _ = run(registry, "--json")
    said = {each["metric"]: each for each in json.loads(text)["metrics"]}
    shown = [bytes.fromhex(each["upload"]["body"]) for each in said.values() if each["upload"]]
    assert (status, shown) == (0, collector.bodies)
    assert collector.fetched == []
    (upload,) = [wire.decode(body) for body in shown if said["theme"]["upload"]["id"] in body.hex()]
    assert upload.parts[0].payload.hex() == said["theme"]["upload"]["report"]
    status, page, _ = run(registry, "--metric", "theme", "--metric", "theme")
    assert page.count("server       has stored it") == 1
    assert "The server has stored 1 made-up report, as those of one more device." in page


def test_what_the_server_refuses_is_said_for_each_metric(run, registry, collector):
    known = registries.load(registry).metrics["late"].spec.digest
    collector.answer = lambda body: (204 if known in body else 409, {})
    status, text, _ = run(registry, "--endpoint", collector.endpoint, "--key", KEY, "--json")
    said = {each["metric"]: each["answer"] for each in json.loads(text)["metrics"]}
    assert status == 1
    assert said.pop("bygone") is None
    assert said.pop("late") == {"accepted": True, "status": 204, "problem": None}
    assert {each["status"] for each in said.values()} == {409}
    assert all(each["problem"] for each in said.values())
    assert len(collector.bodies) == 6  # none was sent again


@pytest.mark.parametrize("status", [401, 403, 404, 503])
def test_an_answer_that_holds_for_all_is_asked_for_once(run, registry, collector, status):
    collector.answer = lambda _: (status, {"Retry-After": "60"})
    code, page, _ = run(registry, "--endpoint", collector.endpoint, "--key", KEY)
    assert (code, len(collector.bodies)) == (1, 1)
    assert page.count("not sent, as the answer before would be given again") == 5
    assert "1 of 7 metrics failed: theme." in page


def test_a_server_that_nobody_reaches_is_asked_once(run, registry):
    code, page, _ = run(registry, "--endpoint", "http://127.0.0.1:9", "--key", KEY)
    assert code == 1
    assert "Nothing listens at http://127.0.0.1:9." in page
    assert page.count("not sent") == 5


@pytest.mark.parametrize(
    ("every", "now", "day", "held_until"),
    [
        ("day", "2026-11-20", "2026-11-19", None),
        ("week", "2026-11-20", "2026-11-15", None),
        ("month", "2026-11-13", "2026-10-31", None),
        ("month", "2026-11-14", "2026-11-30", "2026-12-01"),
    ],
)
def test_a_metric_that_counts_absence_is_tried_in_the_period_before(
    tmp_path, every, now, day, held_until
):
    noon = datetime.fromisoformat(f"{now}T12:00:00+00:00").timestamp()
    absent = f'values = ["startup", "editor"]\nabsent = "none"\nevery = "{every}"\n'
    kinds = [f'[metrics.m{n}]\ntype = "category"\nepsilon = 1\n{absent}' for n in range(2)]
    parsed = write(tmp_path / "absent.toml", "".join(kinds))
    transport = InMemoryTransport()
    trials = Trials(parsed, tmp_path, transport, lambda: noon)
    said = list(trials.of(parsed.metrics.values()))
    assert [each.sent.day.isoformat() for each in said] == [day] * 2
    assert [each.held_until and each.held_until.isoformat() for each in said] == [held_until] * 2
    sent = [each.sent.body for each in said]
    assert transport.bodies == (sent if held_until is None else [])
    assert not any(each.failed for each in said)


def test_the_day_of_a_metric_that_counts_absence_is_explained(run, tmp_path):
    values = 'values = ["startup", "editor"]\nabsent = "none"\n'
    write(tmp_path / "absent.toml", f'[metrics.m]\ntype = "category"\nepsilon = 1\n{values}')
    status, page, _ = run(tmp_path / "absent.toml")
    assert status == 0
    assert "it counts absence, so its report left after the end of its period" in words(page)


def test_a_picked_value_is_tried_in_the_period_before_and_its_day_is_explained(run, tmp_path):
    values = 'values = ["build", "login"]\ncomplete = true\npick = "random"\n'
    write(tmp_path / "picked.toml", f'[metrics.m]\ntype = "category"\nepsilon = 1\n{values}')
    status, page, _ = run(tmp_path / "picked.toml")
    assert status == 0
    assert "every value of a period counts, so its report left after the end of its" in words(page)
    assert "This is of one random value of all that its day had." in words(page)


def test_a_wrong_name_of_a_metric_is_answered_with_the_nearest(run, registry):
    status, page, error = run(registry, "--metric", "them")
    assert (status, page) == (1, "")
    assert "metric must be one of the file, got 'them'. Did you mean 'theme'?" in error


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--endpoint", "https://localhost"), "key must be given as well"),
        (("--key", KEY), "endpoint must be given as well"),
        (("--endpoint", "http://example.org", "--key", KEY), "endpoint must be an https:// URL"),
    ],
)
def test_half_a_server_is_refused(run, registry, words, problem):
    status, page, error = run(registry, *words)
    assert (status, page, problem in error) == (1, "", True)


def test_whoever_does_not_want_to_be_tracked_is_told_how_to_try_all_the_same(
    run, registry, monkeypatch
):
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    status, page, error = run(registry)
    assert (status, page) == (1, "")
    assert "DO_NOT_TRACK=0 deniable try" in error


def test_today_is_the_day_of_a_report(run, registry):
    before = datetime.now(UTC).date()
    _, text, _ = run(registry, "--metric", "late", "--json")
    (said,) = json.loads(text)["metrics"]
    assert before <= datetime.fromisoformat(said["upload"]["day"]).date() <= before + timedelta(1)


def test_what_a_relay_is_required_for_is_shown_and_never_sent(run, tmp_path, collector):
    path = tmp_path / "metrics.toml"
    theme = '[metrics.theme]\ntype = "boolean"\nepsilon = 1\nrelay = "required"\n'
    crash = theme.replace("theme", "crash") + "absent = false\n"
    plain = '[metrics.plain]\ntype = "boolean"\nepsilon = 1\n'
    key = PrivateKey.generate().public.text
    relay = f'[relay]\nurl = "https://relay.example.org"\nkey = "{key}"\n'
    write(path, relay + theme + crash + plain)
    status, page, _ = run(path, "--endpoint", collector.endpoint, "--key", KEY)
    assert status == 0
    assert page.count("not sent, as it is taken through the relay alone") == 2
    assert page.count("has stored it") == len(collector.bodies) == 1
