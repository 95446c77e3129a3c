"""Saved lists: over HTTP, from the command line, and what is recorded of them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from deniable_aggregator.keeping.lists_and_annotations import MOST_LISTS
from deniable_aggregator.keeping.store.transfer import export_store
from tests.aggregator.listening import listening
from tests.aggregator.served import shares
from tests.aggregator.service import bearer, problem, serving, upload
from tests.command_line import deniable

PATH = "/v1/lists"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("lists") / "store.db", max_candidates_bytes=1_000) as made:
        made.register()
        made.send(upload(b"\x00\x00\x00" * 40, metric="emoji"))
        yield made


def put(service, name, values):
    return service.ask(f"{PATH}/{name}", method="PUT", json={"values": values})


def test_a_list_is_saved_replaced_and_deleted(service):
    assert put(service, "fruit", ["🍎", "🍌"]).get_json() == {
        "name": "fruit",
        "saved": "2024-10-04",
        "values": 2,
    }
    put(service, "fruit", ["🍇"])
    assert service.ask(f"{PATH}/fruit").get_json()["values"] == ["🍇"]
    (listed,) = service.ask(PATH).get_json()["lists"]
    assert (listed["name"], listed["values"]) == ("fruit", 1)
    assert service.ask(f"{PATH}/fruit", method="DELETE").status_code == 204
    problem(service.ask(f"{PATH}/fruit"), 404, "not_found")
    problem(service.ask(f"{PATH}/fruit", method="DELETE"), 404, "not_found")


def test_lists_belong_to_the_readers_of_an_application(service):
    put(service, "ours", ["a"])
    other = bearer(service.key("read", "elsewhere"))
    assert service.http.get(PATH, headers=other).get_json()["lists"] == []
    problem(service.http.get(f"{PATH}/ours", headers=other), 404, "not_found")
    for method in ("GET", "PUT", "DELETE"):
        answer = service.http.open(f"{PATH}/ours", method=method, headers=bearer(service.write))
        problem(answer, 403, "wrong_scope")
    problem(service.http.get(PATH), 401, "unknown_key")
    service.ask(f"{PATH}/ours", method="DELETE")


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("Fruit", ["a"], "name must be 1 to 64 small letters"),
        ("..", ["a"], "name must be"),
        ("x" * 65, ["a"], "name must be"),
        ("fruit", ["🍎", "🍌", "🍎"], "values must be all different, also in Unicode's form NFC"),
        ("fruit", ["café", "cafe\u0301"], "values must be all different"),
        ("fruit", ["a\x00b"], "character 2 is U+0000"),
        ("fruit", [f"{number:4}" for number in range(300)], "at most 1,000 bytes together"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(service, name, values, told):
    answer = service.ask(f"{PATH}/{name}", method="PUT", json={"values": values})
    assert told in problem(answer, 400, "malformed_request")["detail"]
    problem(service.ask(f"{PATH}/fruit"), 404, "not_found")


def test_the_number_of_lists_is_bounded_and_any_can_be_replaced(service):
    for number in range(MOST_LISTS):
        assert put(service, f"l{number}", ["a"]).status_code == 200
    told = problem(put(service, "more", ["a"]), 400, "malformed_request")["detail"]
    assert "lists must be at most 100; delete one first" in told
    assert put(service, "l7", ["b"]).status_code == 200
    for number in range(MOST_LISTS):
        service.ask(f"{PATH}/l{number}", method="DELETE")


def test_the_audit_log_names_neither_a_list_nor_a_value(service):
    put(service, "hush", ["secret project"])
    service.ask(f"{PATH}/hush", method="DELETE")
    saved, deleted = service.store.audit.last(2)
    assert (saved.act, json.loads(saved.details)) == (
        "list.save",
        {"application": "flightdeck", "values": 1},
    )
    assert (deleted.act, json.loads(deleted.details)) == (
        "list.delete",
        {"application": "flightdeck"},
    )
    assert saved.actor in service.read


def test_an_exported_store_has_the_lists(service, tmp_path):
    put(service, "kept", ["a", "b"])
    export_store(service.store.target, tmp_path / "copy.db", lambda *_: None)
    service.ask(f"{PATH}/kept", method="DELETE")
    with serving(tmp_path / "copy.db") as copy:
        assert copy.store.saved_lists.text("flightdeck", "kept") == "a\nb"


def test_commands_save_and_ask_with_a_list(service, tmp_path):
    file = tmp_path / "fruit.txt"
    file.write_text("🍎\n🍌\n", encoding="utf-8")
    with listening(service.app) as url:

        def run(*arguments):
            access = ["--server", url, "--token", service.read]
            return CliRunner().invoke(deniable, [*map(str, arguments), *access])

        saved = run("lists", "saved:fruit", "--save", file)
        assert saved.output == "Saved 2 values as saved:fruit.\n"
        assert "saved:fruit       2  saved on" in run("lists", "--saved").output
        assert run("lists", "saved:fruit").output == "🍎\n🍌\n"
        asked = run("estimate", "emoji", "--candidates", "saved:fruit", "--json")
        assert list(shares(json.loads(asked.output))) == ["🍎", "🍌"]
        missing = run("estimate", "emoji", "--candidates", "saved:none")
        assert missing.exit_code == 2
        assert "deniable lists --saved names those" in missing.output
        assert run("lists", "saved:fruit", "--delete").output == "Deleted saved:fruit.\n"
        assert run("lists", "--delete").exit_code == 2
