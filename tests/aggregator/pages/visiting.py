"""A browser without pictures: what tests of pages do with one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from tests.aggregator.service import Service

HOME = "http://localhost"
"""What the test client calls the server."""

FROM_OUR_PAGE = {"Origin": HOME}


def form_token(service: Service) -> str:
    """The token that forms of the session carry."""
    found = re.search(r'name="form_token" value="([^"]+)"', service.http.get("/sign-in").text)
    assert found
    return found[1]


def cookies_of(answer: TestResponse) -> list[str]:
    """The headers by which an answer sets cookies."""
    return answer.headers.getlist("Set-Cookie")
