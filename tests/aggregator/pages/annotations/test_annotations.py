"""The page of annotations, in the application itself."""

from __future__ import annotations

import re

import pytest

from tests.aggregator.service import serving

ORIGIN = {"Origin": "http://localhost"}


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db") as made:
        yield made


def post(service, path="/annotations", **form):
    shown = service.http.get("/annotations").text
    token = re.search(r'name="form_token" value="([^"]+)"', shown)[1]
    return service.http.post(path, data={"form_token": token, **form}, headers=ORIGIN)


def test_an_administrator_says_what_happened_and_takes_it_back(service):
    service.sign_in(service.admin)
    said = post(service, day="2024-10-01", text="<b>Version 3.2</b>")
    assert (said.status_code, said.location) == (303, "/annotations?done=added")
    page = service.http.get(said.location).text
    assert "All series show it now." in page
    assert "<bdi>&lt;b&gt;Version 3.2&lt;/b&gt;</bdi>" in page
    assert post(service, "/annotations/2024-10-01/remove").status_code == 303
    assert "Nothing yet." in service.http.get("/annotations").text


def test_what_cannot_be_kept_is_shown_again_with_the_reason(service):
    service.sign_in(service.admin)
    refused = post(service, day="2024-10-01", text="x" * 61)
    assert refused.status_code == 400
    assert "text must be 1 to 60 characters long" in refused.text
    assert f'value="{"x" * 61}"' in refused.text
    assert "day must be a day" in post(service, day="soon", text="x").text


def test_a_reader_sees_it_and_changes_nothing(service):
    service.http.put(
        "/v1/annotations/2024-10-01",
        json={"text": "Version 3.2"},
        headers={"Authorization": f"Bearer {service.admin}"},
    )
    service.sign_in()
    page = service.http.get("/annotations").text
    assert "Version 3.2" in page
    assert 'name="day"' not in page
    for path in ("/annotations", "/annotations/2024-10-01/remove"):
        assert post(service, path, day="2024-10-02", text="x").status_code == 403
    assert "Version 3.2" in service.http.get("/annotations").text
