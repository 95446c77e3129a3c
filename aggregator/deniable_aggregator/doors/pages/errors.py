"""Errors as pages, in plain words, and where a visitor goes after signing in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from flask import Flask, Response, g, request

from deniable_aggregator.answering.requests import CODES, ProblemError, problem_of
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.doors.pages.rendering import (
    HEADERS,
    SHARED_HEADERS,
    SIGN_IN,
    go_to,
    is_page,
    is_shared,
    needs_session,
    page,
)
from deniable_aggregator.keeping.share_links import NoSuchLinkError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.doors.pages.visit import Visit


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


class SignedOutError(Exception):
    """Somebody without a session asks for a page, or sends a form."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The request that failed, as far as its error page depends on it.

    Attributes:
        method: such as GET.
        path: decoded.
        query: as it was sent.
        fetch_site: the header Sec-Fetch-Site, by which a browser says where the link stood.
    """

    method: str
    path: str
    query: str
    fetch_site: str

    @property
    def address(self) -> str:
        """The address that was asked for, on this server: two slashes would begin another host."""
        return "/" + quote(self.path.lstrip("/")) + (f"?{self.query}" if self.query else "")

    @property
    def reads(self) -> bool:
        """Whether the request may be sent again by a link."""
        return self.method in ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True)
class ErrorView:
    """What an error page shows.

    Attributes:
        status: of HTTP.
        title: in a few words.
        text: what was wrong and what to do next.
        link: the address of what to do next.
        link_text: what it does.
    """

    status: int
    title: str
    text: str
    link: str
    link_text: str


def install_error_pages(app: Flask) -> None:
    """Makes an application answer errors with pages where people ask, else with problem documents.

    Args:
        app: the application.
    """

    def answer(error: Exception) -> Response:
        if not is_page(request.path, request.headers.get("Accept", "")):
            return problem_of(error).response()
        asked = Asked(
            method=request.method,
            path=request.path,
            query=request.query_string.decode("ascii", "replace"),
            fetch_site=request.headers.get("Sec-Fetch-Site", ""),
        )
        return error_page(error, asked, g.get("visit"))

    app.register_error_handler(Exception, answer)


def error_page(error: Exception, asked: Asked, visit: Visit | None = None) -> Response:
    """The page of any error.

    Args:
        error: what was raised.
        asked: the request.
        visit: whose request it was; None if that is not known.
    """
    if isinstance(error, SignedOutError) and asked.reads:
        address = asked.address
        # Browsers keep a strict cookie back from a link of another site, such as one in a message.
        # From a page of our own the same link brings it, if there is one.
        if asked.fetch_site == "cross-site" and local_page(address) == address:
            return page("sign_in/come_in.html.jinja", asked=address)
        return go_to(sign_in_address(address))
    shown, headers = _view(error, asked)
    text = _drawn(shown) if visit is None else _draw(shown)
    kept = {name: headers[name] for name in _KEPT_HEADERS & headers.keys()}
    always = SHARED_HEADERS if is_shared(asked.path) else HEADERS
    return Response(text, shown.status, always | kept, content_type="text/html; charset=utf-8")


_KEPT_HEADERS: Final = {"Allow", "Connection", "Retry-After"}


def _draw(shown: ErrorView) -> bytes:
    return page("error.html.jinja", error=shown).get_data()


_drawn: Final = lru_cache(64)(_draw)
"""Without a visit, what is shown decides everything; and a busy server refuses often."""


def _view(error: Exception, asked: Asked) -> tuple[ErrorView, Mapping[str, str]]:
    if isinstance(error, SignedOutError):
        view = ErrorView(
            status=401,
            title="You are signed out",
            text="Nothing was changed. Sign in, go back, and send the form again.",
            link=SIGN_IN,
            link_text="Sign in",
        )
        return view, {}
    if isinstance(error, NoSuchLinkError):
        return _NO_LINK, {}
    problem = _problem(error)
    code = problem.code
    title, text = _WORDS.get(code, (problem.document.title, ""))
    link, link_text = "/", "To the overview"
    if code == "wrong_scope":
        link, link_text = sign_in_address(asked.address), "Sign in"
    elif asked.reads and code in _PASSING:
        link, link_text = asked.address, "Try again"
    view = ErrorView(
        status=problem.status,
        title=title,
        text=text or problem.document.detail,
        link=link,
        link_text=link_text,
    )
    return view, problem.headers


_NO_LINK: Final = ErrorView(
    status=404,
    title="This link does not work",
    text="It has ended or was revoked, or its address is not whole. Ask whoever sent it for "
    "another.",
    link=HOME,
    link_text="Sign in instead",
)


def _problem(error: Exception) -> ProblemError:
    if isinstance(error, AskingError) and error.code in CODES:
        # Its message begins as problems do at the command line.
        return ProblemError(error.code, str(error).removeprefix(_beginning(error.code)))
    return problem_of(error)


def _beginning(code: str) -> str:
    return f"{CODES[code][1]} ({code}). "


_PASSING: Final = (
    "overloaded",
    "rate_limited",
    "question_unanswered",
    "store_unavailable",
    "internal_error",
)

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "wrong_scope": ("This needs another key", ""),
    "upload_too_large": ("This form is too long", ""),
    "question_unanswered": ("This page was not finished", ""),
    "not_found": (
        "There is no such page",
        "Check the address, or begin at the overview.",
    ),
    "unknown_metric": (
        "There is no such metric",
        "No metric of this name is registered for this application. It may have been removed, or "
        "have another name: the overview has all of them.",
    ),
    "no_reports": (
        "There are no reports in these days",
        "Choose other days. The page Health shows when reports came.",
    ),
    "method_not_allowed": (
        "This address only takes a form",
        "It cannot be opened by itself. Begin at the overview.",
    ),
    "overloaded": (
        "The server is busy",
        "It has no room for another page at this moment. Try again in a few seconds.",
    ),
    "rate_limited": (
        "So many pages were asked for that the next one has to wait",
        "All who use the same key are counted together. Try again in a minute.",
    ),
    "store_unavailable": (
        "The numbers cannot be read at this moment",
        "The server does not reach its store. Nothing was changed. Try again in a minute; whoever "
        "runs the server finds the reason in its log.",
    ),
    "internal_error": (
        "The server failed",
        "This is a fault of the program. Try again; if it stays so, please report it. Whoever runs "
        "the server finds the place in its log.",
    ),
}
"""Title and text of codes whose problem documents speak to programs; without a text, theirs."""
