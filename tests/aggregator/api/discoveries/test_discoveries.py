"""Strings that nobody listed, asked for over HTTP: found, kept, compared, and hidden."""

from __future__ import annotations

import pytest

from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
from deniable_aggregator.answers.measured import STRONG_SCORE
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
    missing,
    send,
    strings,
    texts,
)
from tests.aggregator.service import bearer, problem, serving


def test_strings_are_found_kept_compared_with_the_last_window_and_hidden(tmp_path):
    denied = tmp_path / "deny.txt"
    denied.write_text("# nothing yet\n")
    with discovering(tmp_path / "store.db", deny_list=str(denied)) as service:
        first = found(service, FIRST)
        assert texts(strings(first))[0] == "1234"
        assert set(texts(strings(first))) == set(SHARES[FIRST_WINDOW])
        for row in strings(first):
            assert row["low"] < SHARES[FIRST_WINDOW][row["value"]] < row["high"]
            assert row["score"] > STRONG_SCORE
            assert (row.get("seen"), row["hinted"]) == (None, False)
        assert (strings(first, whole=False), missing(first)) == ([], [])
        head, note = first["head"], first["head"]["found"]
        assert (head["kind"], head["reports"], note["earlier"]) == ("strings", 800, None)
        assert note["hidden"] == {"minimum_devices": 20, "below_minimum": 0, "denied": 0}
        assert [each["length"] for each in note["smallest"]] == ["short"]
        assert (head["health"]["verdict"], head["fakes"]["share"]) == ("ok", 0.01)

        # The finds of the last window are hints, and say what is new and what is gone.
        second = found(service, SECOND)
        assert {row["value"]: row["seen"] for row in strings(second)} == dict.fromkeys(
            ("1234", "42"), "before"
        )
        assert [row["hinted"] for row in strings(second)] == [True, True]
        (prefix,) = strings(second, whole=False)
        assert "90210".startswith(prefix["value"])
        assert prefix["seen"] == "new"
        assert second["head"]["found"]["earlier"]["id"] == 1
        (gone,) = missing(second)
        assert (gone["value"], gone["seen"]) == ("77", "gone")
        assert gone["high"] < gone["before"]

        # Asking again is free: the same reports may be counted meanwhile, and keys created.
        service.running.inbox_fold.fold(seconds=60)
        service.key("batch")
        again = ask(service, SECOND)
        assert (again.status_code, again.get_json()["current"]) == (200, True)
        listed = service.ask(PATH).get_json()["discoveries"]
        assert [(each["id"], each["state"]) for each in listed] == [(2, "done"), (1, "done")]
        assert "result" not in listed[0]

        # What the operator denies since is not shown any more, and nothing is without the list.
        denied.write_text("4?\n77\n")
        old = service.ask(f"{PATH}/2").get_json()
        assert old["current"] is False
        assert texts(strings(old["result"])) == ["1234"]
        assert old["result"]["head"]["found"]["hidden"]["denied"] == 1
        assert missing(old["result"]) == []
        denied.unlink()
        for answer in (service.ask(f"{PATH}/2"), ask(service, SECOND)):
            assert "deny_list" in problem(answer, 503, "question_unanswered")["detail"]
        denied.write_text("4?\n")
        shown = found(service, FIRST, deny=["77"], hints=["42", "5"])
        assert texts(strings(shown)) == ["1234"]
        note = shown["head"]["found"]
        assert (note["hidden"]["denied"], note["hints"]) == (2, 2)
        assert b'"42"' not in service.store.discoveries.result(3)

        # If strings need more devices than they did, this holds for what is stored.
        assert service.register(REGISTRY.replace("= 20", "= 300")).status_code == 200
        fewer = service.ask(f"{PATH}/1").get_json()["result"]
        assert texts(strings(fewer)) == ["1234"]
        assert fewer["head"]["found"]["hidden"]["minimum_devices"] == 300
        assert missing(found(service, SECOND)) == []


def test_a_result_is_not_current_once_a_key_is_excluded(tmp_path):
    with discovering(tmp_path / "store.db") as service:
        forger = service.key("batch")
        send(service, FIRST_WINDOW, {"666": 1.0}, devices=400, key=forger)
        assert "666" in texts(strings(found(service, FIRST)))
        (key,) = (each for each in service.store.keys.all() if each.id in forger)
        excluded = service.http.post(f"/v1/keys/{key.id}/exclude", headers=bearer(service.admin))
        assert excluded.status_code == 200
        assert service.ask(f"{PATH}/1").get_json()["current"] is False
        again = found(service, FIRST)
        assert "666" not in texts(strings(again))
        assert again["head"]["excluded_reports"] == 400
        # A newer result of the same question takes the place of the older one.
        problem(service.ask(f"{PATH}/1"), 404, "not_found")


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
        for lists in ({"hints": ["café", "cafe\u0301"]}, {"deny": ["a", "a"]}):
            told = problem(ask(service, **lists), 400, "malformed_question")["detail"]
            assert "must be all different, also in Unicode's form NFC" in told
        long = problem(ask(service, hints=["x" * 257]), 400, "malformed_question")
        assert "length <= 256" in long["detail"]
        problem(ask(service, "top=3"), 400, "malformed_question")
        for number in (7, 10**40):
            problem(service.ask(f"{PATH}/{number}"), 404, "not_found")
        problem(service.http.post(PATH), 401, "unknown_key")
        written = service.http.post(PATH, headers=bearer(service.write))
        problem(written, 403, "wrong_scope")


@pytest.mark.one_store
def test_only_so_many_questions_of_an_application_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(DiscoveryRuns, "wake", lambda _: None)
    with discovering(tmp_path / "store.db") as service:
        answers = [ask(service, hints=[str(number)]) for number in range(9)]
        assert {answer.status_code for answer in answers[:8]} == {202}
        refused = problem(answers[8], 429, "overloaded")
        assert "8 questions about unlisted strings wait already" in refused["detail"]
        assert ask(service, hints=["0"]).status_code == 202  # it waits already
        needed = problem(service.ask("/v1/metrics/code/estimate"), 422, "candidates_needed")
        assert "deniable discover code" in needed["detail"]
