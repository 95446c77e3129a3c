"""Answers of pages are kept as long as they are right."""

from __future__ import annotations

import pytest

from deniable_aggregator.answering.responses import MOST_KEPT, MOST_VALUES, KeptAnswers, Validity
from deniable_aggregator.answers.questions import ValueLists
from tests.aggregator.service import TODAY, upload

NO_LISTS = ValueLists()


def test_an_answer_is_worked_out_once_for_its_tag():
    kept, worked = KeptAnswers(), []

    def ask(tag, lists=NO_LISTS):
        return kept.answer(lambda: Validity(tag, True), lists, lambda: worked.append(tag) or tag)

    assert [ask("a"), ask("a"), ask("b"), ask("a")] == ["a", "a", "b", "a"]
    assert worked == ["a", "b"]
    long = ValueLists(candidates=tuple(map(str, range(MOST_VALUES + 1))))
    assert [ask("c", long), ask("c", long)] == ["c", "c"]
    assert worked == ["a", "b", "c", "c"]


def test_only_the_answers_that_were_asked_for_last_are_kept():
    kept, worked = KeptAnswers(), []
    for number in [*range(MOST_KEPT), 0, MOST_KEPT, 0, 1]:
        kept.answer(
            lambda n=number: Validity(str(n), True), NO_LISTS, lambda n=number: worked.append(n)
        )
    assert worked == [*range(MOST_KEPT), MOST_KEPT, 1]


def test_an_answer_that_is_overtaken_while_it_is_worked_out_is_not_kept():
    kept, tags = KeptAnswers(), iter(["before", "after", "before", "before"])

    def ask(answer):
        return kept.answer(lambda: Validity(next(tags), True), NO_LISTS, lambda: answer)

    assert [ask("of both"), ask("of before")] == ["of both", "of before"]


@pytest.mark.one_store
def test_a_page_shows_new_reports_and_leaves_out_those_of_a_key_that_is_excluded(service):
    service.sign_in()
    path = "/metric/theme?since=2024-10-04&until=2024-10-04&compare=none"

    def reports():
        text = service.http.get(path).text
        return text[text.index("Based on ") :].split()[2]

    for already in (300, 600):
        service.send(upload(bytes(range(3)) * 100, epoch=TODAY))
        service.running.inbox_fold.fold(seconds=60)
        assert [reports(), reports()] == [f"{already:,}"] * 2
    (key,) = [each for each in service.store.keys.all() if each.scope == "batch"]
    service.http.post(
        f"/v1/keys/{key.id}/exclude", headers={"Authorization": f"Bearer {service.admin}"}
    )
    assert "All reports are excluded" in service.http.get(path).text
