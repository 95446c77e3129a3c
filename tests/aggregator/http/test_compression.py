"""Answers are small on the wire, and their sizes tell nothing that is secret."""

from __future__ import annotations

import gzip

import pytest

from tests.aggregator.pages.visiting import FROM_OUR_PAGE, form_token
from tests.aggregator.service import serving

GZIP = {"Accept-Encoding": "gzip, br"}


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db") as made:
        made.register()
        made.sign_in()
        yield made


@pytest.mark.parametrize("path", ["/", "/lists", "/health", "/openapi.json"])
def test_an_answer_is_compressed_for_whoever_takes_it(service, path):
    plain, small = service.http.get(path), service.http.get(path, headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert small.headers["Content-Encoding"] == "gzip"
    assert int(small.headers["Content-Length"]) == len(small.data) < len(plain.data) / 2
    hidden = gzip.decompress(small.data)
    assert len(hidden) == len(plain.data)  # form tokens are other bytes, and as many
    for answer in (plain, small):
        assert "Accept-Encoding" in answer.vary


def test_answers_that_are_short_or_refused_or_to_a_form_are_as_they_were(service):
    for answer in (
        service.http.get("/healthz", headers=GZIP),
        service.http.get("/nothing", headers={**GZIP, "Accept": "text/html"}),
        service.http.get("/lists", headers={"Accept-Encoding": "gzip;q=0"}),
        service.http.post("/lists", data={}, headers={**GZIP, **FROM_OUR_PAGE}),
    ):
        assert "Content-Encoding" not in answer.headers


def test_search_engines_are_asked_to_leave_the_server_alone(service):
    answer = service.app.test_client().get("/robots.txt")
    assert (answer.status_code, answer.text) == (200, "User-agent: *\nDisallow: /\n")
    assert "noindex" in service.http.get("/").headers["X-Robots-Tag"]


def test_a_form_token_is_another_text_on_every_page_and_each_is_taken(service):
    tokens = {form_token(service) for _ in range(8)}
    assert len(tokens) == 8
    assert not set.intersection(*({each[k : k + 4] for k in range(0, 128, 4)} for each in tokens))
    for token in tokens:
        sent = {"form_token": token, "name": "mine", "values": "a\nb"}
        answer = service.http.post("/lists", data=sent, headers=FROM_OUR_PAGE)
        assert answer.status_code != 403
    changed = f"{int(token[0], 16) ^ 1:x}" + token[1:]
    sent = {"form_token": changed, "name": "mine", "values": "a"}
    assert service.http.post("/lists", data=sent, headers=FROM_OUR_PAGE).status_code == 403
