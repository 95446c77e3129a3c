"""Saved views: over HTTP, from the command line, and what is recorded of them."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.answers.views import PARAMETERS, read_place
from deniable_aggregator.doors.pages.metric.choices import FIELDS, PASSED
from deniable_aggregator.doors.pages.metric.strings import LIST, TYPED
from deniable_aggregator.keeping.views import MOST_VIEWS
from deniable_shared.errors import ParameterError
from tests.aggregator.listening import listening
from tests.aggregator.service import bearer, problem, serving
from tests.command_line import deniable

PATH = "/v1/views"
PLACE = "/metric/theme?period=4-weeks&by=week"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("views") / "store.db") as made:
        made.register()
        yield made


def put(service, name, place=PLACE):
    return service.ask(f"{PATH}/{name}", method="PUT", json={"place": place})


def test_a_view_is_saved_replaced_and_deleted(service):
    assert put(service, "Themes by week").get_json() == {
        "name": "Themes by week",
        "place": PLACE,
        "saved": "2024-10-04",
    }
    put(service, "Themes by week", "/metric/theme")
    (listed,) = service.ask(PATH).get_json()["views"]
    assert listed["place"] == "/metric/theme"
    assert service.ask(f"{PATH}/Themes by week", method="DELETE").status_code == 204
    problem(service.ask(f"{PATH}/Themes by week", method="DELETE"), 404, "not_found")


def test_views_belong_to_the_readers_of_an_application(service):
    put(service, "ours")
    other = bearer(service.key("read", "elsewhere"))
    assert service.http.get(PATH, headers=other).get_json()["views"] == []
    problem(service.http.delete(f"{PATH}/ours", headers=other), 404, "not_found")
    foreign = service.http.put(f"{PATH}/theirs", json={"place": PLACE}, headers=other)
    detail = problem(foreign, 400, "malformed_request")["detail"]
    assert "place must be the page of a metric of elsewhere, got 'theme'" in detail
    for method in ("GET", "PUT", "DELETE"):
        path = PATH if method == "GET" else f"{PATH}/ours"
        answer = service.http.open(path, method=method, headers=bearer(service.write))
        problem(answer, 403, "wrong_scope")
    service.ask(f"{PATH}/ours", method="DELETE")


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example/metric/theme",
        "//evil.example/metric/theme",
        "/\\evil.example/metric/theme",
        "javascript:alert(1)",
        "/metric/theme/../../sign-out",
        "/metric/theme/export.csv",
        "/metric/..%2f..%2fsign-out",
        "/metric/theme#<script>",
        "/metric/theme?next=/sign-out",
        "/metric/theme?question=estimate",
        "/metric/unheard",
        "/keys/x/exclude",
        "/metric/theme?values=" + "x" * 8_000,
        "",
    ],
)
def test_only_pages_of_metrics_with_parameters_that_they_know_are_kept(service, place):
    problem(put(service, "x", place), 400, "malformed_request")
    assert service.ask(PATH).get_json()["views"] == []


@given(st.text(), st.text(), st.sampled_from(PARAMETERS), st.text())
def test_an_address_that_is_read_leads_to_a_page_of_a_metric_and_nowhere_else(
    metric, before, name, value
):
    written = f"/metric/{metric}?{before}&{urlencode({name: value}, errors='replace')}"
    try:
        address = read_place(written).address
    except ParameterError:
        return
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("", "", "")
    assert parts.path.startswith("/metric/")
    assert parts.path.count("/") == 2
    assert {each for each, _ in parse_qsl(parts.query)} <= set(PARAMETERS)
    assert read_place(address).address == address


def test_a_view_knows_all_that_the_page_of_a_metric_reads():
    read = {*FIELDS, *(each.name for each in PASSED), "follow", LIST, TYPED}
    assert set(PARAMETERS) == read


@pytest.mark.parametrize("name", ["x" * 61, "-x", "%20", "a%00b", "a%0ab", "‮x"])
def test_a_name_that_people_could_not_read_is_refused(service, name):
    told = problem(put(service, name), 400, "malformed_request")["detail"]
    assert told.startswith("name must be")


def test_the_number_of_views_is_bounded_and_any_can_be_replaced(service):
    for number in range(MOST_VIEWS):
        assert put(service, f"v{number}").status_code == 200
    told = problem(put(service, "more"), 400, "malformed_request")["detail"]
    assert "views must be at most 100; delete one first" in told
    assert put(service, "v7", "/metric/late").status_code == 200
    for number in range(MOST_VIEWS):
        service.ask(f"{PATH}/v{number}", method="DELETE")


def test_the_audit_log_names_the_metric_and_no_words_of_people(service):
    put(service, "hush", "/metric/emoji?values=secret")
    service.ask(f"{PATH}/hush", method="DELETE")
    saved, deleted = service.store.audit.last(2)
    assert (saved.act, json.loads(saved.details)) == (
        "view.save",
        {"application": "flightdeck", "metric": "emoji"},
    )
    assert (deleted.act, json.loads(deleted.details)) == (
        "view.delete",
        {"application": "flightdeck"},
    )
    assert saved.actor in service.read


def test_commands_save_list_and_delete(service):
    with listening(service.app) as url:

        def run(*arguments):
            access = ["--server", url, "--token", service.read]
            return CliRunner().invoke(deniable, ["views", *arguments, *access])

        assert "No view is saved" in run("list").output
        pasted = f"https://pages.example.org/telemetry{PLACE}&application=flightdeck"
        assert run("save", "Themes / week", pasted).exit_code != 0
        saved = run("save", "Themes?", pasted)
        assert saved.output == f"Saved Themes? as {PLACE}.\n"
        assert PLACE in run("list").output
        (view,) = json.loads(run("list", "--json").output)["views"]
        assert view["name"] == "Themes?"
        assert run("delete", "Themes?").output == "Deleted Themes?.\n"
        assert "There is no saved view 'Themes?'" in run("delete", "Themes?").output
