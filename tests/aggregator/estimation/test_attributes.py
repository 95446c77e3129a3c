"""Records of several attributes, from the registry file to the answer."""

from __future__ import annotations

import json
import secrets

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.media.terminal import drawn_table
from deniable_aggregator.telling.tables import tables_of
from deniable_shared import registry, wire
from deniable_shared.errors import ParameterError
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.printed import printed
from tests.aggregator.served import shares
from tests.aggregator.service import TODAY, problem
from tests.command_line import deniable
from tests.privacy.conformance import secret_of, seeded

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.flight]
type = "attributes"
epsilon = 2.0
[metrics.flight.attributes]
late = "boolean"
full = "boolean"
carrier = { values = ["AA", "DL"], other = "another" }
[metrics.flags]
type = "attributes"
epsilon = 2.0
mechanism = "pairs"
[metrics.flags.attributes]
late = "boolean"
full = "boolean"
paid = "boolean"
"""
SPECS = {name: metric.spec for name, metric in registry.parse(TEXT).metrics.items()}
FLIGHT = [{"late": index % 4 == 0, "full": False, "carrier": "AA"} for index in range(6_000)]
FLAGS = [{"late": index % 4 == 0, "full": index % 2 == 0, "paid": False} for index in range(6_000)]


def payload(spec, records, seed="attributes"):
    randomizer = randomizer_for(spec, seeded(seed))
    return b"".join(randomizer.report(spec.encode(record), secret_of(0)) for record in records)


def counted(spec, records, seed="attributes"):
    return spec, tally_for(spec).count(payload(spec, records, seed))


@pytest.fixture(scope="module")
def flight():
    return estimate_shares([counted(SPECS["flight"], FLIGHT)])


@pytest.fixture(scope="module")
def flags():
    return estimate_shares([counted(SPECS["flags"], FLAGS)])


def assert_close(result, truth):
    """Every share within 5 standard errors."""
    assert result.items == tuple(truth)
    assert (np.abs(result.share - list(truth.values())) < 5 * result.standard_error).all()


def test_every_item_of_every_attribute_is_estimated_in_the_attributes_order(flight):
    truth = {"late=true": 0.25, "full=true": 0.0}
    truth |= {"carrier=AA": 1.0, "carrier=DL": 0.0, "carrier=another": 0.0}
    assert_close(flight, truth)
    assert flight.reports == 6_000


def test_flags_are_estimated_by_themselves_and_two_at_a_time(flags):
    assert_close(
        flags,
        {
            "late=true": 0.25,
            "full=true": 0.5,
            "paid=true": 0.0,
            "late=true & full=true": 0.25,
            "late=true & full=false": 0.0,
            "late=false & full=true": 0.25,
            "late=false & full=false": 0.5,
            "late=true & paid=true": 0.0,
            "late=true & paid=false": 0.25,
            "late=false & paid=true": 0.0,
            "late=false & paid=false": 0.75,
            "full=true & paid=true": 0.0,
            "full=true & paid=false": 0.5,
            "full=false & paid=true": 0.0,
            "full=false & paid=false": 0.5,
        },
    )


def test_the_cells_of_two_flags_add_up_to_one_and_to_the_single_flags(flags):
    share = dict(zip(flags.items, flags.share, strict=True))
    cells = [share[item] for item in flags.items[3:7]]
    assert sum(cells) == pytest.approx(1.0)
    assert cells[0] + cells[1] == pytest.approx(share["late=true"])


def test_the_error_is_about_the_population_where_that_is_asked(flight):
    tally = counted(SPECS["flight"], FLIGHT)
    drawn = estimate_shares([tally], options=EstimateOptions(margin="noise-and-sampling"))
    added = drawn.standard_error[0] ** 2 - flight.standard_error[0] ** 2
    share = flight.share[0]
    assert added == pytest.approx(share * (1 - share) / 6_000)
    oracle, asked = SPECS["flight"].mechanism.inner[0], tally[1][:2].sum()
    expected = (oracle.variance(share, 1) + share * (1 - share)) / asked
    assert drawn.standard_error[0] ** 2 == pytest.approx(expected, rel=1e-3)


@pytest.mark.statistics
def test_intervals_from_few_reports_are_exact_and_cover():
    """About 20 reports on each attribute; 3 standard deviations above the 5% that may miss."""
    spec, devices = SPECS["flight"], [*FLIGHT[:3], {**FLIGHT[0], "carrier": "DL"}] * 15
    truth = {"late=true": 0.5, "full=true": 0.0, "carrier=AA": 0.75, "carrier=DL": 0.25}
    truth["carrier=another"] = 0.0
    missed = np.zeros(len(truth))
    for repetition in range(400):
        result = estimate_shares([counted(spec, devices, f"few{repetition}")])
        assert result.items == tuple(truth)
        assert result.exact.all()
        shares = np.array(list(truth.values()))
        missed += (shares < result.low) | (result.high < shares)
    assert missed.max() / 400 < 0.05 + 3 * 0.011


def test_an_attribute_that_no_device_reported_yet_is_left_out_and_said_where_asked_for():
    spec = SPECS["flight"]
    tally = tally_for(spec)
    counts = tally.count(b"\x00\x01" * 30)  # 30 reports on whether flights were late
    result = estimate_shares([(spec, counts)])
    assert result.items == ("late=true",)
    with pytest.raises(ParameterError, match="value must be a value of flight that some report"):
        estimate_shares([(spec, counts)], ["carrier=AA"])


def test_a_new_form_of_a_record_is_combined_with_the_old_one():
    old = SPECS["flags"]
    text = TEXT.replace('mechanism = "pairs"\n', "").replace("epsilon = 2.0", "epsilon = 2.5")
    new = registry.parse(text).metrics["flags"].spec
    first, second = counted(old, FLAGS), counted(new, FLAGS, "new")
    both = estimate_shares([first, second])
    assert both.items == old.items
    single = estimate_shares([first])
    assert (both.standard_error[:3] < single.standard_error[:3]).all()
    assert np.allclose(both.share[3:], single.share[3:])


@pytest.mark.parametrize(
    "item", ["late", "late=false", "carrier=UA", "AA", "late=true & full=true", ""]
)
def test_an_item_that_no_attribute_has_is_refused(item):
    with pytest.raises(ParameterError, match="value must be one of"):
        estimate_shares([counted(SPECS["flight"], FLIGHT[:100])], [item])


def test_devices_reports_become_answers_over_http(service):
    assert service.register(TEXT).status_code == 200
    body = payload(SPECS["flight"], FLIGHT)
    part = wire.Part(SPECS["flight"].digest, TODAY, body)
    identifier = secrets.token_bytes(wire.ID_BYTES)
    assert service.send(wire.encode(wire.Upload(identifier, (part,)))).status_code == 204
    answer = service.ask("/v1/metrics/flight/estimate").get_json()
    assert list(shares(answer)) == list(SPECS["flight"].items)
    assert answer["head"]["reports"] == 6_000
    asked = service.ask(
        "/v1/metrics/flight/estimate", method="POST", json={"candidates": ["carrier=DL"]}
    ).get_json()
    assert shares(asked) == pytest.approx({"carrier=DL": shares(answer)["carrier=DL"]})


def test_a_report_on_no_attribute_is_refused_over_http(service):
    assert service.register(TEXT).status_code == 200
    part = wire.Part(SPECS["flight"].digest, TODAY, b"\x03\x00")
    body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
    document = problem(service.send(body), 422, "malformed_report")
    assert "the attribute of a report of flight must be below 3" in document["detail"]


def test_lines_separate_the_attributes_of_a_table_unless_it_is_sorted(flight):
    def lines(answer):
        (table,) = tables_of(answer_of(answer))
        text = printed(drawn_table(table, 100), 100).rstrip()
        return sum(not line.strip() for line in text.splitlines())

    assert lines(flight) == 1  # two flags, then the carriers
    tally = counted(SPECS["flight"], FLIGHT)
    for count in (1, 3, 5):
        assert lines(estimate_shares([tally], options=EstimateOptions(top=count))) == 0


def command(tmp_path, *arguments):
    file = tmp_path / "metrics.toml"
    file.write_text(TEXT)
    arguments = [str(file) if each == "FILE" else each for each in arguments]
    return CliRunner(env={"COLUMNS": "200"}).invoke(deniable, arguments)


def test_a_reviewer_reads_the_attributes_and_what_randomizes_them(tmp_path):
    result = command(tmp_path, "check", "FILE")
    assert result.exit_code == 0
    for expected in (
        "flight: 3 attributes",
        "late: a flag, by binary randomized response",
        "carrier: 3 values, by generalized randomized response",
        "one sampled attribute (smp); reports of 2 bytes",
        "late, full, paid: flags, each by itself and every two together",
        "2.0000 for one report",
    ):
        assert expected in result.output, result.output
    data = json.loads(command(tmp_path, "check", "FILE", "--json").output)
    assert [each["name"] for each in data["metrics"][0]["attributes"]] == [
        "late",
        "full",
        "carrier",
    ]


def test_a_plan_weighs_single_flags_against_pairs(tmp_path):
    result = command(tmp_path, "plan", "FILE", "--json")
    assert result.exit_code == 0, result.output
    flight, flags = json.loads(result.output)["plans"]
    assert [each["name"] for each in flight["candidates"]] == ["smp"]
    assert [each["name"] for each in flags["candidates"]] == ["smp", "pairs"]
    assert flags["candidates"][1]["variance_over_optimum"] == pytest.approx(2.0)
    assert (flight["values_asked"], flags["values_asked"]) == (5, 15)


def test_a_record_that_would_show_nothing_is_refused_with_an_epsilon_that_does(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(TEXT.replace("epsilon = 2.0", "epsilon = 0.05"))
    result = CliRunner().invoke(deniable, ["plan", str(file), "--json"])
    assert result.exit_code == 1
    for each in json.loads(result.output)["plans"]:
        assert 0.05 < each["refused"]["enough_epsilon"] < 1


@pytest.mark.parametrize("name", ["flight", "flags"])
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
def test_an_old_form_that_says_nothing_of_an_attribute_leaves_it_to_the_new_one(name, margin):
    old = registry.parse(TEXT).metrics[name].spec
    new = registry.parse(TEXT.replace("epsilon = 2.0", "epsilon = 1.0")).metrics[name].spec
    few, many = ((spec, np.zeros(tally_for(spec).cells, np.int64)) for spec in (old, new))
    few[1][:2] = 1
    many[1][:] = 50
    answer = estimate_shares([few, many], None, EstimateOptions(margin=margin))
    json.dumps(as_json(answer_of(answer)), allow_nan=False)
    assert answer.items == old.items
    assert (answer.low < answer.share).all()
    assert (answer.share < answer.high).all()
