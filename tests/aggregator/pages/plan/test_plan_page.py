"""The page that plans: the same figures as the command, and what it does with what people type."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner

from deniable_aggregator.doors.pages.plan import PlanView, command_of, plan_view, read_form
from deniable_shared import registry
from deniable_shared.planning.one_metric import plan_one_metric
from tests.command_line import deniable

BUDGET = "[budget]\nepsilon_per_day = 16\nepsilon_lifetime = 400\n"
FORMS = {
    "category": {"values": "12", "percent": "0.5"},
    "boolean": {"type": "boolean", "epsilon": "0.5"},
    "set": {"type": "set", "values": "30", "most": "5", "percent": "2"},
    "small set": {"type": "set", "values": "4"},
    "set of texts": {"type": "set", "values": "", "most": "3"},
    "string": {"type": "string", "epsilon": "2", "candidates": "300"},
    "discovered": {"type": "string", "discover": "yes", "epsilon": "4", "longest": "6"},
    "number": {"type": "number", "low": "-5", "high": "30", "width": "0.4"},
    "distribution": {"type": "distribution", "every": "week"},
}


def viewed(given):
    view = plan_view(read_form(given))
    assert isinstance(view, PlanView), view
    return view


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_the_page_and_the_command_that_it_shows_have_the_same_figures(given):
    filled = read_form(given)
    assert filled.asked is not None
    _, *options = shlex.split(command_of(filled.asked))
    printed = CliRunner().invoke(deniable, [*options, "--json"]).output
    (plan,) = json.loads(printed)["plans"]
    assert plan == json.loads(json.dumps(plan_one_metric(filled.asked).plan.as_dict()))


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_the_table_to_copy_is_a_metric_of_a_registry(given):
    text = f'registry = 1\napplication = "flightdeck"\n{BUDGET}{viewed(given).table}'
    (metric,) = registry.parse(text).metrics.values()
    assert metric.spec.mechanism.epsilon == pytest.approx(
        float(given.get("epsilon", "1")), rel=0.01
    )


def test_how_many_devices_it_takes_is_said_first():
    first, *_ = viewed({}).answers
    assert first.headline == "about 176,000"
    assert first.says == "to see a value that 1% of them have, in eight of ten cases."
    many, *_ = viewed({"type": "string", "candidates": "300"}).answers
    assert "For 300 values at once" in many.says


def test_what_cannot_work_is_refused_with_the_nearest_that_can():
    view = viewed({"devices": "500", "epsilon": "0.1"})
    assert "nearest:" in view.refused
    assert not any(label == "refused" for label, _ in view.rows)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"epsilon": "nan"}, "epsilon"),
        ({"epsilon": "9"}, "epsilon"),
        ({"values": "1"}, "values"),
        ({"values": "9" * 5000}, "values"),
        ({"values": "5".zfill(20) + "9" * 30}, "values"),
        ({"devices": "ten"}, "devices"),
        ({"type": "set", "most": "33"}, "most"),
        ({"percent": "0"}, "percent"),
        ({"type": "number", "low": "5", "high": "5"}, "high"),
        ({"type": "number", "width": "-1"}, "width"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(given, field):
    filled = read_form(given)
    assert filled.asked is None
    assert list(filled.errors) == [field]
    assert plan_view(filled) == "Correct the marked fields."


def test_a_share_that_no_number_of_devices_shows_is_said_in_words():
    assert "share must be" in str(
        plan_view(read_form({"devices": "", "percent": "0.0001", "epsilon": "0.01"}))
    )


def test_without_a_number_of_devices_the_plan_is_for_as_many_as_the_share_needs():
    assert any("175,685 devices" in each.asks for each in viewed({"devices": ""}).answers)
