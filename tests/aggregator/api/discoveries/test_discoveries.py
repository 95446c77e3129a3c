"""Strings that nobody listed, asked for over HTTP: found, kept, compared, and hidden."""

from __future__ import annotations

import pytest

from tests.aggregator.discovered import (
    FIRST,
    FIRST_WINDOW,
    PATH,
    REGISTRY,
    SECOND,
    SHARES,
    ask,
    discovering,
    found,
    send,
    texts,
)
from tests.aggregator.service import bearer, problem, serving

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A service that has been asked about both windows."""
    folder = tmp_path_factory.mktemp("discoveries")
    with discovering(folder / "store.db") as service:
        yield service, found(service, FIRST), found(service, SECOND)


def test_strings_are_found_with_shares_intervals_and_evidence(asked):
    _, first, _ = asked
    assert texts(first["strings"])[0] == "1234"
    assert set(texts(first["strings"])) == set(SHARES[FIRST_WINDOW])
    assert first["prefixes"] == []
    for row in first["strings"]:
        assert row["low"] < SHARES[FIRST_WINDOW][row["text"]] < row["high"]
        assert row["devices"] == pytest.approx(800 * row["share"], abs=1)
        assert row["evidence"] in ("overwhelming", "strong")
        assert (row["shown"], row["seen"], row["hinted"]) == (row["text"], None, False)
    assert (first["reports"], first["earlier"]) == (800, None)
    assert first["hidden"] == {"minimum_devices": 20, "below_minimum": 0, "denied": 0}
    assert first["days"]["reported"] == 1
    assert first["fakes"]["share"] == 0.01
    assert [each["length"] for each in first["smallest"]] == ["short"]


def test_a_later_window_says_what_is_new_and_what_is_gone(asked):
    _, first, second = asked
    assert {row["text"]: row["seen"] for row in second["strings"]} == dict.fromkeys(
        ("1234", "42"), "before"
    )
    (prefix,) = second["prefixes"]
    assert "90210".startswith(prefix["text"])
    assert prefix["shown"] == prefix["text"] + "…"
    assert prefix["seen"] == "new"
    assert second["hints"] == len(first["strings"])
    (missing,) = second["earlier"]["missing"]
    assert (missing["text"], missing["verdict"]) == ("77", "gone")
    assert missing["high"] < missing["share_before"]


def test_asking_again_is_free_until_reports_come_and_their_number_decides(asked):
    service, _, _ = asked
    answer = ask(service, SECOND)
    assert (answer.status_code, answer.get_json()["current"]) == (200, True)
    service.running.inbox_fold.fold(seconds=60)  # the same reports, in other rows of the store
    assert ask(service, SECOND).status_code == 200
    listed = service.ask(PATH).get_json()["discoveries"]
    assert [each["state"] for each in listed] == ["done", "done"]
    assert [each["id"] for each in listed] == [2, 1]
    assert "result" not in listed[0]


def test_denied_strings_are_neither_shown_nor_stored_but_counted(asked):
    service, _, _ = asked
    answer = found(service, FIRST, deny=["4?", "77"], hints=["42", "5"])
    assert texts(answer["strings"]) == ["1234"]
    assert answer["hidden"]["denied"] == 2
    assert answer["hints"] == 1  # a denied one is none
    number = service.ask(PATH).get_json()["discoveries"][0]["id"]
    assert b'"77"' not in service.store.discoveries.result(number)


def test_a_result_is_not_current_once_a_key_is_excluded(tmp_path):
    with discovering(tmp_path / "store.db") as service:
        forger = service.key("write")
        send(service, FIRST_WINDOW, {"666": 1.0}, devices=400, key=forger)
        assert "666" in texts(found(service, FIRST)["strings"])
        (key,) = (each for each in service.store.keys.all() if each.id in forger)
        excluded = service.http.post(f"/v1/keys/{key.id}/exclude", headers=bearer(service.admin))
        assert excluded.status_code == 200
        assert service.ask(f"{PATH}/1").get_json()["current"] is False
        again = found(service, FIRST)
        assert "666" not in texts(again["strings"])
        assert again["excluded_reports"] == 400
        # The earlier result of the same question is gone, and no longer a window to compare with.
        problem(service.ask(f"{PATH}/1"), 404, "not_found")


@pytest.mark.one_store
def test_a_server_without_its_deny_list_shows_nothing(tmp_path):
    with discovering(tmp_path / "store.db", deny_list=str(tmp_path / "absent.txt")) as service:
        refused = problem(ask(service), 503, "question_unanswered")
        assert "deny_list" in refused["detail"]


@pytest.mark.one_store
def test_questions_that_cannot_be_answered_say_why(tmp_path):
    with serving(tmp_path / "store.db") as service:
        service.register(REGISTRY)
        problem(ask(service), 404, "no_reports")
        other = service.ask("/v1/metrics/search/discoveries", method="POST")
        assert "discover = true" in problem(other, 422, "estimate_refused")["detail"]
        absent = service.ask("/v1/metrics/absent/discoveries", method="POST")
        problem(absent, 404, "unknown_metric")
        problem(ask(service, hints=[1]), 400, "malformed_question")
        problem(ask(service, deny=[" "]), 400, "malformed_question")
        problem(ask(service, "top=3"), 400, "malformed_question")
        problem(service.ask(f"{PATH}/7"), 404, "not_found")
        problem(service.http.post(PATH), 401, "unknown_key")
        written = service.http.post(PATH, headers=bearer(service.write))
        problem(written, 403, "wrong_scope")


def test_a_question_without_candidates_points_to_discovery(asked):
    service, _, _ = asked
    needed = problem(service.ask("/v1/metrics/code/estimate"), 422, "candidates_needed")
    assert "deniable discover code" in needed["detail"]
