"""Answers of a server about keys that differ by design, and about one that began to."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import convert

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.telling.tell import tell
from tests.aggregator.service import SPECS, TODAY
from tests.aggregator.stored import append, decoded

FIRST, BEGAN = TODAY - 49, TODAY - 14
OTHERS, BETA = [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]
REPORTS, UPLOADS = 1_500, 30


def payloads(shares, generator):
    """What devices send that hold values with these shares."""
    support = SPECS["theme"].mechanism.support
    law = np.array(shares) * (support.p - support.q) + support.q
    drawn = generator.choice(3, REPORTS, p=law / law.sum()).astype(np.uint8)
    return [decoded(each.tobytes()) for each in np.split(drawn, UPLOADS)]


def fill(service, shares_of_beta, first=FIRST, end=TODAY):
    generator = np.random.default_rng(12 + first - FIRST)
    for epoch in range(first, end):
        for key, shares in (("a", OTHERS), ("b", OTHERS), ("beta", shares_of_beta(epoch))):
            uploads = payloads(shares, generator)
            moved = [
                each._replace(parts=(each.parts[0]._replace(epoch=epoch),)) for each in uploads
            ]
            append(service.store, moved, key=key)
    service.running.inbox_fold.fold(seconds=60)


def health(service, days=""):
    return convert(service.ask(f"/v1/metrics/theme/health{days}").get_json(), Answer)


@pytest.mark.one_store
def test_a_beta_build_that_always_differed_is_quiet_in_every_answer(service):
    fill(service, lambda _: BETA)
    answer = health(service, f"?since={day_of(TODAY - 7)}")
    assert (answer.head.verdict, answer.notices) == ("ok", [])
    (beta,) = (each for each in answer.numbers if each.key == "beta")
    assert beta.past == pytest.approx(0.6, abs=0.1)
    words = " ".join(
        cell for table in tell(answer).tables for row in table.rows for cell in row.cells
    )
    assert "from its past, in which it differed by 6" in words
    assert "alike" not in words


@pytest.mark.one_store
def test_a_patient_forger_is_named_with_the_days_since_it_began(service):
    """Seventeen of a hundred reports of a key, drawn as devices draw them."""
    forged = list(0.83 * np.array(OTHERS) + 0.17 * np.array([0.0, 0.0, 1.0]))
    fill(service, lambda epoch: OTHERS if epoch < BEGAN else forged)
    answer = health(service)
    assert [each.key for each in answer.head.health.uneven_keys] == ["beta"]
    (notice,) = answer.notices
    assert "answers differently from the others, unlike in its first weeks" in notice.message


@pytest.mark.one_store
def test_without_two_weeks_of_past_a_key_is_judged_alone_and_says_so(service):
    fill(service, lambda _: BETA)
    answer = health(service, f"?since={day_of(FIRST)}&until={day_of(FIRST + 12)}")
    (notice,) = answer.notices
    assert "it has no past to compare with" in notice.message
    assert [each.past for each in answer.numbers if each.told] == [None]
