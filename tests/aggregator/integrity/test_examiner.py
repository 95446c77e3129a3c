"""A poisoned key from its reports to its exclusion, over HTTP, on both stores."""

from __future__ import annotations

import json
import threading
from wsgiref.simple_server import make_server

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from deniable_aggregator.answering.estimation.inputs import read_reports
from deniable_aggregator.answering.integrity.examiner import ALARM_P, Examiner
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answers import dates
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.counting.statistics.influence import (
    MEDIAN_VARIANCE_FACTOR,
    medians_of_slices,
)
from deniable_aggregator.telling.lines import below
from deniable_aggregator.telling.tell import tell
from deniable_shared import registry, wire
from tests.aggregator.cli.test_cli import Quiet
from tests.aggregator.fakes import bits_of_oue, padded_fakes
from tests.aggregator.served import codes, number, numbers
from tests.aggregator.service import TODAY, Service, bearer, problem
from tests.aggregator.stored import key_administrator
from tests.command_line import deniable

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.screen]
type = "category"
values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
complete = true
epsilon = 1.0
mechanism = { name = "oue" }
[metrics.mode]
type = "category"
values = ["one", "two", "three"]
complete = true
epsilon = 1.0
mechanism = { name = "grr" }
"""
SPECS = {name: metric.spec for name, metric in registry.parse(REGISTRY).metrics.items()}
SHARES = np.linspace(3, 1, 16) / np.linspace(3, 1, 16).sum()
PATH = "/v1/metrics/screen"


UPLOADS = 10


def send(service: Service, token: str, name: str, payload: bytes, epoch: int = TODAY) -> None:
    """Sends reports in several uploads, none of which is much of an answer."""
    width = SPECS[name].mechanism.report_bytes
    width *= -(-len(payload) // (UPLOADS * width))
    for start in range(0, len(payload), width):
        part = wire.Part(SPECS[name].digest, epoch, payload[start : start + width])
        body = wire.encode(wire.Upload(np.random.default_rng().bytes(wire.ID_BYTES), (part,)))
        assert service.send(body, key=token).status_code == 204


def key_id(service: Service, token: str) -> str:
    listed = service.http.get("/v1/keys", headers=bearer(service.admin)).get_json()["keys"]
    return next(each["id"] for each in listed if each["id"] in token)


@pytest.fixture
def fleet(service: Service):
    """Three keys: 10,000 honest devices each, of the third 900 instead are fakes."""
    assert service.register(REGISTRY).status_code == 200
    generator = np.random.default_rng(53)
    tokens = [service.key("batch") for _ in range(3)]
    for place, token in enumerate(tokens):
        fakes = 900 if place == 2 else 0
        held = generator.choice(16, 10_000 - fakes, p=SHARES)
        bits = bits_of_oue(SPECS["screen"], held, generator)
        if fakes:
            made = padded_fakes(SPECS["screen"], fakes, [15], "mean", generator)
            bits = np.vstack([bits, made])
        send(service, token, "screen", np.packbits(bits, axis=1).tobytes())
    return service, tokens


def test_a_poisoned_key_is_seen_excluded_and_included_again(fleet):
    service, tokens = fleet
    before = service.ask(f"{PATH}/estimate")
    head = before.get_json()["head"]
    assert head["health"]["verdict"] == "suspicious"
    health = service.ask(f"{PATH}/health").get_json()
    assert health["head"]["health"]["verdict"] == "suspicious"
    # The first is the verdict of the day, then come its checks and those of keys.
    day, *checks = health["checks"]
    assert (day["day"], day["verdict"], day["reports"]) == ("2024-10-04", "suspicious", 30_000)
    (poisoned,) = day["stand_out"]
    assert poisoned in tokens[2]
    verdicts = {
        each["key"]: each["verdict"] for each in checks if "key" in each and "name" not in each
    }
    assert verdicts.pop(poisoned) == "suspicious"
    assert set(verdicts.values()) == {"ok"}
    (warning,) = before.get_json()["notices"]
    assert warning["code"] == "suspicious_reports"
    assert f"Key {poisoned} stands out: ask again without it" in warning["message"]
    assert head["days"]["suspicious"] == ["2024-10-04"]

    truth = SHARES[15]
    row = number(before.get_json(), "share", value="p")
    assert row["low"] > truth + 0.02  # the interval knows nothing of fakes
    # 3% of fakes move it by three times what 1% would.
    assert row["estimate"] - truth < 4 * row["shift_if_fake"]

    key_administrator(service.store).exclude(poisoned)
    after = service.ask(f"{PATH}/estimate").get_json()
    head = after["head"]
    assert (head["reports"], head["excluded_reports"]) == (20_000, 10_000)
    assert head["health"].pop("verdict") == "ok"
    assert not any(head["health"].values())
    assert codes(after) == []
    assert head["days"]["keys_left_out"] == [
        {"key": poisoned, "label": "", "reports": 10_000, "why": "excluded"}
    ]
    row = number(after, "share", value="p")
    assert row["low"] < truth < row["high"]
    clean = service.ask(f"{PATH}/health").get_json()["head"]
    assert (clean["health"]["verdict"], clean["excluded_reports"]) == ("ok", 10_000)

    key_administrator(service.store).include(poisoned)
    assert service.ask(f"{PATH}/estimate").data == before.data


def test_a_series_and_a_change_say_what_the_days_that_they_are_about_look_like(fleet):
    service, tokens = fleet
    service.clock.epoch = TODAY + 7
    send(service, tokens[0], "screen", bytes(2) * 50, TODAY + 7)
    before, after = (dates.format_day(TODAY + ahead) for ahead in (0, 7))
    series = service.ask(f"{PATH}/series").get_json()
    estimate = service.ask(f"{PATH}/estimate").get_json()
    assert series["head"]["health"] == estimate["head"]["health"]
    assert "stands out" in series["notices"][0]["message"]
    marks = [period["marks"] for period in series["head"]["periods"] if period["reports"]]
    assert marks == [["suspicious"], ["incomplete", "suspicious"]]
    single = service.ask(f"{PATH}/series?since={after}&until={after}").get_json()
    assert before not in single["notices"][0]["message"]
    change = service.ask(f"{PATH}/change?before={before}&after={after}").get_json()
    earlier, later = change["head"]["periods"]
    assert earlier["health"]["verdict"] == "suspicious"
    assert change["notices"][0]["message"].startswith(f"Before: The reports of {before} are not")
    assert earlier["marks"] == ["suspicious"]
    assert later["health"] == single["head"]["health"]


@pytest.mark.one_store
def test_health_is_refused_like_other_questions(service):
    problem(service.ask("/v1/metrics/absent/health"), 404, "unknown_metric")
    problem(service.ask("/v1/metrics/theme/health"), 404, "no_reports")
    twisted = "/v1/metrics/theme/health?since=2026-02-01&until=2026-01-01"
    problem(service.ask(twisted), 400, "malformed_question")
    asked = service.http.get("/v1/metrics/theme/health", headers=bearer(service.write))
    problem(asked, 403, "wrong_scope")


@pytest.mark.one_store
def test_the_command_line_says_what_failed_and_for_whom(fleet):
    service, _ = fleet
    answer = msgspec.json.decode(service.ask(f"{PATH}/health").data, type=Answer)
    document = tell(answer)
    (day,) = document.tables[0].rows
    (poisoned,) = answer.checks[0].stand_out
    assert "suspicious" in day.cells
    assert day.cells[-1] == poisoned
    lines = [*document.below, *document.meaning]
    assert any(f"too many or too few ones, key {poisoned}: the oddest" in line for line in lines)
    assert document.meaning[-1] == answer.head.checks.invisible


@pytest.mark.one_store
def test_the_commands_ask_a_server_and_warn_beside_estimates(fleet):
    service, _ = fleet
    with make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            where = ["--server", f"http://127.0.0.1:{server.server_port}", "--token", service.read]
            runner = CliRunner(env={"COLUMNS": "200"})
            shown = runner.invoke(deniable, ["health", "screen", *where])
            assert shown.exit_code == 0
            assert "Some reports look forged: key " in shown.output
            asked = runner.invoke(deniable, ["health", "screen", "--json", *where])
            assert json.loads(asked.output)["head"]["health"]["verdict"] == "suspicious"
            estimated = runner.invoke(deniable, ["estimate", "screen", *where])
            series = runner.invoke(deniable, ["series", "screen", *where])
            for each in (estimated, series):
                assert "Warning: The reports of 2024-10-04 are not all those of" in each.output
            nothing = runner.invoke(deniable, ["health", "absent", *where])
            assert (nothing.exit_code, "unknown_metric" in nothing.output) == (1, True)
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.one_store
def test_beside_shares_stands_what_fakes_could_do(fleet):
    service, _ = fleet
    answer = msgspec.json.decode(service.ask(f"{PATH}/estimate").data, type=Answer)
    (line,) = (line for line in below(answer) if "fake" in line)
    assert line.startswith("Possible shift if 1% of reports are fake")
    assert "a share by up to 3.2 points" in line


def test_days_are_examined_once_until_their_reports_change(fleet, monkeypatch):
    service, tokens = fleet
    read = []
    slices = service.store.tallies.read
    monkeypatch.setattr(
        service.store.tallies, "read", lambda *where: read.append(where) or slices(*where)
    )
    first = service.ask(f"{PATH}/health").data
    assert service.ask(f"{PATH}/health").data == first
    assert len(read) == 1
    send(service, tokens[0], "screen", bytes([0b01000000, 0]))
    assert service.ask(f"{PATH}/health").get_json()["checks"][0]["reports"] == 30_001
    assert len(read) == 2


def test_the_oldest_days_are_left_out_where_the_work_would_be_too_much(fleet):
    service, tokens = fleet
    for epoch in range(TODAY - 3, TODAY):
        send(service, tokens[0], "screen", bytes([0b01000000, 0]), epoch)
    service.running.inbox_fold.fold(seconds=60)
    (entry,) = [
        each
        for each in service.running.receiver._catalogue.for_application("flightdeck")
        if each.spec.name == "screen"
    ]
    examiner = Examiner()
    reported = read_reports(
        service.store, SliceTables(service.store), [entry], DayRange(FIRST_DAY, LAST_DAY)
    )
    found = examiner.examine(reported, most_cells=4 * entry.tally.stored_cells)
    assert [day.epoch for day in found.days] == [TODAY, TODAY - 1]
    assert found.days_left_out == 2
    # What is known costs nothing, so the next question gets further.
    again = examiner.examine(reported, most_cells=4 * entry.tally.stored_cells)
    assert again.days_left_out == 0
    assert again.limit == pytest.approx(min(ALARM_P, 1e-3 / again.checks_made))


@pytest.mark.one_store
def test_the_median_of_slices_withstands_two_poisoned_keys_of_five(service):
    assert service.register(REGISTRY).status_code == 200
    generator = np.random.default_rng(59)
    truth = np.array([0.2, 0.3, 0.5])
    support = SPECS["mode"].mechanism.support
    law = truth * (support.p - support.q) + support.q
    for place in range(5):
        honest = generator.choice(3, 20_000, p=law).astype(np.uint8)
        if place < 2:
            honest[:4_000] = 0  # a fifth of the key's reports
        send(service, service.key("batch"), "mode", honest.tobytes())
    answer = service.ask("/v1/metrics/mode/estimate").get_json()
    row = number(answer, "share", value="one")
    assert row["robust_slices"] == 5
    assert row["low"] > truth[0] + 0.05
    assert abs(row["robust"] - truth[0]) < 4 * row["robust_error"]
    assert row["robust_low"] < truth[0] < row["robust_high"]
    assert "median over slices" in answer["head"]["meanings"]["robust check"]


@pytest.mark.one_store
def test_four_slices_or_small_ones_have_no_median(fleet):
    service, tokens = fleet
    send(service, tokens[0], "screen", bytes([0b01000000, 0]) * 1_000, TODAY - 1)
    send(service, tokens[0], "screen", bytes([0b01000000, 0]) * 999, TODAY - 2)
    answer = service.ask(f"{PATH}/estimate").get_json()
    assert not any("robust" in each for each in answer["numbers"])
    assert "robust check" not in answer["head"].get("meanings", {})
    send(service, tokens[0], "screen", bytes([0b01000000, 0]), TODAY - 2)
    answer = service.ask(f"{PATH}/estimate").get_json()
    assert all("robust" in each for each in numbers(answer, "share"))


@pytest.mark.statistics
@pytest.mark.parametrize("slices", [5, 20, 101])
def test_the_error_of_a_median_covers_and_is_pi_halves_of_the_variance_in_the_end(slices):
    """20,000 medians: the standard error of the coverage is 0.0015."""
    generator = np.random.default_rng(slices)
    repetitions = 20_000
    errors = np.full((slices, repetitions), 0.01)
    plain = np.full(repetitions, 0.01 / np.sqrt(slices))
    found = medians_of_slices(generator.normal(0.3, errors), errors, plain)
    covered = np.abs(found.share - 0.3) <= 1.96 * found.standard_error
    assert covered.mean() > 0.945
    ratio = found.share.var() / plain[0] ** 2
    assert 0.9 * MEDIAN_VARIANCE_FACTOR < ratio * (1 + 1 / slices) < 1.15 * MEDIAN_VARIANCE_FACTOR


def test_one_large_slice_among_small_ones_does_not_make_their_median_sure():
    """20,000 intervals: the standard error is 0.2%. Without a bound for it 92% of them cover."""
    errors = np.repeat([[1.0], [1.0], [1.0], [1.0], [0.1]], 20_000, axis=1)
    drawn = np.random.default_rng(59).normal(0.0, errors)
    plain = np.full(20_000, 1 / np.sqrt((1 / errors[:, 0] ** 2).sum()))
    found = medians_of_slices(drawn, errors, plain)
    assert np.mean(np.abs(found.share) < 1.96 * found.standard_error) > 0.95


def test_the_median_of_slices_most_of_which_know_that_nobody_has_a_value_is_zero():
    """As where most days are of a version that was complete without the value."""
    shares, errors = (np.array([[0.0], [0.0], [0.0], [0.0], [each]]) for each in (0.1, 0.02))
    found = medians_of_slices(shares, errors, np.array([0.004]))
    assert found.share == [0.0]
    assert found.standard_error == pytest.approx(0.004 * np.sqrt(MEDIAN_VARIANCE_FACTOR))
