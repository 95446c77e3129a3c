"""Which paths are pages, and who makes them."""

from __future__ import annotations

from typing import Final

ANSWER_PAGES: Final = ("/", "/health", "/plan", "/privacy", "/metric/")
"""Pages that take seconds of a processor, and so are made where questions are answered: these
paths, and those below one that ends in a slash."""

SERVER_PAGES: Final = ("operations", "annotations", "keys", "lists")
"""The first parts of the paths of all other pages that need somebody who has signed in."""

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"

_BELOW: Final = tuple(each for each in ANSWER_PAGES if len(each) > 1 and each.endswith("/"))
_FOR_PROGRAMS: Final = ("v1", "static", "healthz", "readyz", "openapi.json")


def is_answer_page(path: str) -> bool:
    """Whether a path is one of `ANSWER_PAGES`."""
    return path in ANSWER_PAGES or path.startswith(_BELOW)


def needs_session(path: str) -> bool:
    """Whether a path is a page for whoever has signed in."""
    return is_answer_page(path) or _first_part(path) in SERVER_PAGES


def takes_forms(path: str) -> bool:
    """Whether forms may be sent to a path: by whoever has signed in, or is about to."""
    return needs_session(path) or path in (SIGN_IN, SIGN_OUT)


def is_page(path: str, accept: str = "") -> bool:
    """Whether people look at the answer of a path.

    Args:
        path: of the request.
        accept: its header of that name: a path that is nobody's is a page for browsers.
    """
    if takes_forms(path):
        return True
    return "text/html" in accept and _first_part(path) not in _FOR_PROGRAMS


def _first_part(path: str) -> str:
    return path[1:].partition("/")[0]
