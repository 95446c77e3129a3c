"""Where a visitor goes after signing in: the page that was asked for, and never another site."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from deniable_aggregator.pages.paths import SIGN_IN, needs_session

HOME: Final = "/"
MAX_CHARACTERS: Final = 2_000
# A browser takes // and /\ for another host, and drops tabs and ends of lines before it looks.
_LOCAL: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)


def local_page(address: str) -> str:
    """The address if it is one of a page of this server, else that of the first page.

    Args:
        address: a path with a query, as somebody sent it.
    """
    if len(address) <= MAX_CHARACTERS and _LOCAL.fullmatch(address):
        path = address.partition("?")[0].partition("#")[0]
        if needs_session(path):
            return address
    return HOME


def sign_in_address(asked: str) -> str:
    """The address at which to sign in for a page.

    Args:
        asked: the address of the page.
    """
    if local_page(asked) == HOME:
        return SIGN_IN
    return f"{SIGN_IN}?{urlencode({'next': asked}, safe='/')}"
