"""A forger with honest noise and a key of its own: seen in every answer, and left out on demand."""

from __future__ import annotations

import re
import threading
from wsgiref.simple_server import make_server

import numpy as np
import pytest
from click.testing import CliRunner

from deniable_shared import registry, wire
from tests.aggregator.cli.test_cli import Quiet
from tests.aggregator.served import codes, number, shares
from tests.aggregator.service import TODAY, Service, problem
from tests.aggregator.stored import key_administrator
from tests.command_line import deniable

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.look]
type = "category"
values = ["light", "dark", "system", "contrast"]
complete = true
epsilon = 1.0
mechanism = { name = "grr" }
"""
SPEC = registry.parse(REGISTRY).metrics["look"].spec
PATH = "/v1/metrics/look"
UPLOADS = 50
"""So many bring the reports of a key, so that none is much of an answer."""
HONEST, FORGED = (0.5, 0.3, 0.2, 0.0), (0.0, 0.0, 0.0, 1.0)


def send(service: Service, token: str, held, reports: int, epoch: int = TODAY) -> None:
    """Reports of devices that hold values with these shares, from the law of the randomizer."""
    support = SPEC.mechanism.support
    law = np.array(held) * (support.p - support.q) + support.q
    drawn = np.random.default_rng(reports).choice(4, reports, p=law / law.sum()).astype(np.uint8)
    for some in np.array_split(drawn, UPLOADS):
        body = wire.Upload(
            np.random.default_rng().bytes(wire.ID_BYTES),
            (wire.Part(SPEC.digest, epoch, some.tobytes()),),
        )
        assert service.send(wire.encode(body), key=token).status_code == 204


@pytest.fixture
def forged(service: Service):
    """12,000 honest reports of two keys, and 2,500 of a partner's, all of one value."""
    assert service.register(REGISTRY).status_code == 200
    for label, held, reports in (
        ("ios", HONEST, 5_000),
        ("android", HONEST, 7_000),
        ("partner", FORGED, 2_500),
    ):
        made = key_administrator(service.store).create(
            scope="batch", application="flightdeck", label=label
        )
        send(service, made.token, held, reports)
    return service


def test_an_estimate_does_not_read_ok_where_one_key_answers_unlike_the_others(forged):
    answer = forged.ask(f"{PATH}/estimate").get_json()
    assert shares(answer)["contrast"] > 0.14  # though nobody holds it
    head = answer["head"]
    assert head["health"]["verdict"] == "uneven"
    (key,) = head["health"]["uneven_keys"]
    assert key["label"] == "partner"
    first = answer["notices"][0]
    assert (first["code"], first["severity"]) == ("uneven_key", "warning")
    assert f"Key partner ({key['key'][:4]}..), with 17% of the reports" in first["message"]
    assert "contrast against 0%" in first["message"]
    assert "ask again without it, and compare" in first["message"]
    health = forged.ask(f"{PATH}/health").get_json()
    assert health["head"]["health"]["verdict"] == "uneven"
    contrast = health["numbers"][0]
    assert (contrast["measure"], contrast["value"]) == ("contrast in share", "contrast")
    assert (contrast["label"], contrast["told"]) == ("partner", True)
    assert head["days"]["uneven"] == ["2024-10-04"]


@pytest.mark.one_store
@pytest.mark.parametrize("name", ["label", "id", "first letters"])
def test_a_question_leaves_out_a_key_by_its_label_its_id_or_the_first_letters(forged, name):
    (key,) = forged.ask(f"{PATH}/estimate").get_json()["head"]["health"]["uneven_keys"]
    named = {"label": "partner", "id": key["key"], "first letters": key["key"][:8]}[name]
    answer = forged.ask(f"{PATH}/estimate", query_string={"without_key": named}).get_json()
    row, head = number(answer, "share", value="contrast"), answer["head"]
    assert row["low"] < 0 < row["high"]
    assert (head["reports"], head.get("excluded_reports", 0)) == (12_000, 0)
    assert (head["health"]["verdict"], codes(answer)) == ("ok", [])
    assert head["days"]["keys_left_out"] == [{**key, "reports": 2_500, "why": "without_key"}]
    health = forged.ask(f"{PATH}/health", query_string={"without_key": named}).get_json()
    assert health["head"]["health"]["verdict"] == "ok"
    # Nobody else's answers change, and nothing of the question is kept.
    assert forged.ask(f"{PATH}/estimate").get_json()["head"]["reports"] == 14_500


def test_a_series_and_a_change_leave_keys_out_too(forged):
    for token in (forged.batch, forged.key("batch")):
        send(forged, token, HONEST, 4_000, TODAY - 7)
    without = {"without_key": ["partner", "ios"]}
    series = forged.ask(f"{PATH}/series", query_string=without).get_json()
    reports = [period["reports"] for period in series["head"]["periods"]]
    assert reports == [8_000, *[0] * 6, 7_000]
    days = {"before": "2024-09-27", "after": "2024-10-04"}
    change = forged.ask(f"{PATH}/change", query_string={**days, **without}).get_json()
    after = change["head"]["periods"][1]
    assert after["reports"] == 7_000
    left_out = after["days"]["keys_left_out"]
    assert sorted(each["label"] for each in left_out) == ["ios", "partner"]
    with_all = forged.ask(f"{PATH}/change", query_string=days).get_json()
    assert with_all["head"]["periods"][1]["marks"] == ["incomplete", "uneven"]
    assert with_all["notices"][0]["message"].startswith("After: Key partner")


@pytest.mark.one_store
def test_what_names_no_key_or_several_is_refused_with_what_there_is(forged):
    asked = forged.ask(f"{PATH}/estimate", query_string={"without_key": "nobody"})
    detail = problem(asked, 400, "malformed_question")["detail"]
    assert "got 'nobody'" in detail
    assert "partner (" in detail
    problem(forged.ask(f"{PATH}/estimate?without_key="), 400, "malformed_question")
    key_administrator(forged.store).create(scope="batch", application="flightdeck", label="partner")
    asked = forged.ask(f"{PATH}/estimate", query_string={"without_key": "partner"})
    assert "names 2: " in problem(asked, 400, "malformed_question")["detail"]
    estimate = forged.ask(f"{PATH}/estimate").get_json()
    (uneven,) = estimate["head"]["health"]["uneven_keys"]
    everything = {"without_key": ["ios", "android", uneven["key"]]}
    asked = forged.ask(f"{PATH}/estimate", query_string=everything)
    assert "14,500 reports are left out" in problem(asked, 404, "no_reports")["detail"]


@pytest.mark.one_store
def test_the_command_line_warns_first_and_leaves_a_key_out(forged):
    with make_server("127.0.0.1", 0, forged.app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            where = ["--server", f"http://127.0.0.1:{server.server_port}", "--token", forged.read]
            runner = CliRunner(env={"COLUMNS": "400"})
            shown = runner.invoke(deniable, ["estimate", "look", "--sort", *where]).output
            without = ["--without-key", "partner"]
            clean = runner.invoke(deniable, ["estimate", "look", *without, *where]).output
            health = runner.invoke(deniable, ["health", "look", *where]).output
        finally:
            server.shutdown()
            thread.join()
    lines = shown.splitlines()
    assert lines[0].startswith("Warning: Key partner (")
    assert any(line.startswith("Days: 2024-10-04; 10-04 is incomplete") for line in lines)
    rows = [line.split()[0] for line in lines if "│" in line]
    assert rows == ["light", "dark", "contrast", "system"]  # the registry has system before
    assert "after picking" not in shown  # sorting does not widen
    assert "without 2,500 reports of key partner (" in clean
    assert "Warning: Key" not in clean
    assert "Each key against all others" in health
    measured = {
        line.split()[0]: re.search(r"differs by ([\d.]+) points; flagged from ([\d.]+)", line)
        for line in health.splitlines()
        if "(" in line[:10]
    }
    flagged = {key: float(found[1]) >= float(found[2]) for key, found in measured.items()}
    assert flagged == {"partner": True, "android": False, "ios": False}


@pytest.mark.one_store
def test_keys_of_other_applications_cannot_be_named(forged):
    other = key_administrator(forged.store).create(
        scope="batch", application="another", label="secret partner"
    )
    asked = forged.ask(f"{PATH}/estimate", query_string={"without_key": other.key.id})
    assert "secret" not in problem(asked, 400, "malformed_question")["detail"]
