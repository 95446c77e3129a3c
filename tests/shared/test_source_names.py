"""Names are read from Python sources, which are never run."""

from __future__ import annotations

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.source_names import SourceNames

FLASK = """
from flask import Blueprint, Flask
app = Flask(__name__)
orders = Blueprint("orders", __name__, url_prefix="/orders")

@app.route("/health")
def health(): ...

@orders.get("/<int:number>/items")
def items(number): ...

app.add_url_rule("/legacy", view_func=health)
"""
FASTAPI = """
from fastapi import APIRouter, FastAPI
api = FastAPI()
router = APIRouter(prefix="/users")

@api.post("/login")
async def login(): ...

@router.get("/{user}/cart")
async def cart(user): ...

@router.get(f"/{PREFIX}/cart")
async def built(user): ...
"""
DJANGO = """
from django.urls import include, path
urlpatterns = [path("shop/<slug:name>/", views.shop), path("admin/", include("admin.urls"))]
"""
ERRORS = """
class Order:
    def total(self):
        raise ValueError("the order has no items")

    def refund(self, amount):
        raise errors.RefundError(f"{amount} is more than was paid")

def load():
    raise KeyError
    raise
"""


def read(tmp_path, source, name="shop/orders.py"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    (path.parent / "__init__.py").touch()
    names = SourceNames()
    names.read(tmp_path)
    return names


@pytest.mark.parametrize(
    ("source", "routes"),
    [
        (FLASK, ["/health", "/orders/<int:number>/items", "/legacy"]),
        (FASTAPI, ["/login", "/users/{user}/cart"]),
        (DJANGO, ["shop/<slug:name>/", "admin/"]),
    ],
    ids=["flask", "fastapi", "django"],
)
def test_routes_are_those_that_the_framework_serves(tmp_path, source, routes):
    names = read(tmp_path, source)
    assert [*names.found["routes"]] == routes
    assert names.built == (source is FASTAPI)


def test_errors_are_named_by_where_they_are_raised_and_literal_messages_as_they_stand(tmp_path):
    names = read(tmp_path, ERRORS)
    assert [*names.found["errors"]] == [
        "ValueError at shop.orders.Order.total",
        "RefundError at shop.orders.Order.refund",
        "KeyError at shop.orders.load",
    ]
    assert [*names.found["messages"]] == ["the order has no items"]
    assert names.built == 1
    assert [*names.found["names"]] == [
        "shop.orders.Order", "shop.orders.Order.total", "shop.orders.Order.refund",
        "shop.orders.load",
    ]  # fmt: skip


def test_folders_of_tools_and_environments_are_no_sources(tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    for folder in ("venv/lib", ".tox/lib", "build/lib"):
        read(tmp_path, "def hidden(): ...", f"{folder}/mod.py")
    assert [*read(tmp_path, "def seen(): ...").found["names"]] == ["shop.orders.seen"]


def test_what_is_not_python_is_an_error_with_its_place(tmp_path):
    file = tmp_path / "orders.py"
    file.write_text("x = 1\ndef broken(:\n")
    with pytest.raises(ParameterError, match=r"orders\.py:2 must be Python source"):
        SourceNames().read(file)


def test_a_file_of_a_folder_that_is_not_python_is_left_out_and_named(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "template.py").write_text("def {{ name }}():\n")
    (tmp_path / "tests" / "deep.py").write_text("x = " + "-" * 5_000 + "1\n")
    (tmp_path / "folder.py").mkdir()
    names = read(tmp_path, "def seen(): ...")
    assert [*names.found["names"]] == ["shop.orders.seen"]
    assert sorted(place.rpartition("/")[2].partition(":")[0] for place in names.unread) == [
        "deep.py", "template.py",
    ]  # fmt: skip
