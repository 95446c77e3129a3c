"""The page of saved lists, in the application itself."""

from __future__ import annotations

import io
import re

import pytest

from tests.aggregator.service import serving

ORIGIN = {"Origin": "http://localhost"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("lists") / "store.db") as made:
        made.register()
        made.sign_in()
        yield made


def token(service):
    return re.search(r'name="form_token" value="([^"]+)"', service.http.get("/lists").text)[1]


def post(service, path="/lists", **form):
    return service.http.post(path, data={"form_token": token(service), **form}, headers=ORIGIN)


def test_a_list_is_typed_looked_at_and_deleted(service):
    assert "None yet." in service.http.get("/lists").text
    saved = post(service, name="fruit", values="🍎\r\n🍌\r\n🍎")
    assert (saved.status_code, saved.location) == (303, "/lists?done=saved")
    page = service.http.get(saved.location).text
    assert "The list is saved." in page
    assert "2 values, saved on 2024-10-04" in page
    assert "<bdi>🍌</bdi>" in service.http.get("/lists/fruit").text
    file = service.http.get("/lists/fruit.txt")
    assert (file.data.decode(), file.mimetype) == ("🍎\n🍌\n", "text/plain")
    assert "attachment" in file.headers["Content-Disposition"]
    assert post(service, "/lists/fruit/delete").location == "/lists?done=deleted"
    assert service.http.get("/lists/fruit").status_code == 404


def test_a_file_of_a_megabyte_is_saved_beside_what_was_typed(service):
    content = "".join(f"value {number:,}\n" for number in range(80_000)).encode()
    assert len(content) > 1_000_000
    fields = {"form_token": token(service), "name": "many", "values": "typed"}
    parts = [
        f'--end\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    file = b'--end\r\nContent-Disposition: form-data; name="file"; filename="v.txt"\r\n\r\n'
    body = b"".join([*parts, file, b"\xef\xbb\xbf", content, b"\n\n\r\n--end--\r\n"])
    kind = "multipart/form-data; boundary=end"
    saved = service.http.post("/lists", data=body, content_type=kind, headers=ORIGIN)
    assert saved.status_code == 303
    page = service.http.get("/lists/many").text
    assert "80,001 values" in page
    assert "79,801 more values: the file has all." in page
    assert len(page) < 100_000
    post(service, "/lists/many/delete")


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": "fruit"}, "values must be at least one"),
        ({"name": "Fruit salad", "values": "a"}, "name must be 1 to 64 small letters"),
        ({"name": "fruit", "values": "a\nb\x1bc"}, "value 2 must be without control"),
        (
            {"name": "fruit", "file": (io.BytesIO("größe".encode("utf-16")), "f.txt")},
            "save the file as UTF-8, got &#39;UTF-16&#39;",
        ),
    ],
)
def test_what_cannot_be_kept_is_said_above_what_was_typed(service, form, told):
    answer = post(service, **form)
    assert answer.status_code == 400
    assert told in answer.text
    assert f'value="{form["name"]}"' in answer.text
    assert service.http.get("/lists/fruit").status_code == 404


def test_names_and_values_never_act(service):
    hostile = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=HYPERLINK(1)"]
    refused = post(service, name='"><script>alert(1)</script>', values="a")
    assert "<script>alert" not in refused.text
    post(service, name="hostile", values="\n".join(hostile))
    page = service.http.get("/lists/hostile").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    post(service, "/lists/hostile/delete")


def test_nobody_else_can_send_the_form(service):
    elsewhere = {"Origin": "https://elsewhere.example"}
    for more, headers in (({}, ORIGIN), ({"form_token": token(service)}, elsewhere)):
        form = {"name": "stolen", "values": "a", **more}
        assert service.http.post("/lists", data=form, headers=headers).status_code in (400, 403)
    assert "stolen" not in service.http.get("/lists").text


def test_what_looks_mangled_in_a_list_is_pointed_out(service):
    post(service, name="quoted", values='"a"\r\n"b"\r\nc')
    page = service.http.get("/lists/quoted").text
    assert "2 values in quotes, such as" in page
