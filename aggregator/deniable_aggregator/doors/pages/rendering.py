"""From what a page shows to the response: addresses, templates, style, and headers."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from flask import Response, g, has_request_context, request

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.review import SIMULATED
from deniable_aggregator.media.html import environment, stylesheet

if TYPE_CHECKING:
    from flask import Flask
    from jinja2 import Environment

    from deniable_aggregator.doors.pages.visit import Visit


ANSWER_PAGES: Final = ("/", "/health", "/plan", "/privacy", "/metric/")
"""Pages that take seconds of a processor, and so are made where questions are answered: these
paths, and those below one that ends in a slash."""

SERVER_PAGES: Final = ("operations", "annotations", "keys", "lists", "views")
"""The first parts of the paths of all other pages that need somebody who has signed in."""

SHARED: Final = "/shared/"
"""Where the pages of share links are, each named by the link's secret; also made where questions
are answered."""

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"

_BELOW: Final = tuple(each for each in ANSWER_PAGES if len(each) > 1 and each.endswith("/"))
_FOR_PROGRAMS: Final = ("v1", "static", "healthz", "readyz", "openapi.json", "robots.txt")


def is_answer_page(path: str) -> bool:
    """Whether a path is one of `ANSWER_PAGES`."""
    return path in ANSWER_PAGES or path.startswith(_BELOW)


def is_shared(path: str) -> bool:
    """Whether a path is the page of a share link, even if it is written with more slashes."""
    return path.lstrip("/").startswith(SHARED[1:])


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
    if takes_forms(path) or is_shared(path):
        return True
    return "text/html" in accept and _first_part(path) not in _FOR_PROGRAMS


def _first_part(path: str) -> str:
    return path[1:].partition("/")[0]


Parameter = str | int | float | list[str] | tuple[str, ...] | None
"""Of an address: None and an empty text are left out, each of several is given by itself."""


def address(*path: str, **query: Parameter) -> str:
    """The address of a page: ``address("metric", "theme", since="-28d")``.

    Args:
        *path: its parts, without slashes; none for the overview.
        **query: its parameters.
    """
    plain = "/" + "/".join(quote(part, safe="") for part in path)
    return changed(plain, **query)


def changed(place: str, **query: Parameter) -> str:
    """An address with other parameters, and those of its own that are not named.

    Args:
        place: a path with or without parameters.
        **query: parameters; those that are None or empty are taken away.
    """
    parts = urlsplit(place)
    pairs = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name not in query
    ]
    for name, value in query.items():
        several = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, str(each)) for each in several if each is not None and each != ""]
    said = f"?{urlencode(pairs)}" if pairs else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.path}{said}{fragment}"


PATH: Final = "/static"
STYLE: Final = "page.css"
"""What pages have beside the style that they share with reports; both are served as one."""

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def _load() -> dict[str, tuple[str, bytes]]:
    """Address and content by name."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        stem, _, suffix = file.name.rpartition(".")
        if suffix in _TYPES:
            content = file.read_bytes()
            if file.name == STYLE:
                content = stylesheet("style.css").encode() + content
            digest = sha256(content).hexdigest()[:12]
            found[file.name] = (f"{PATH}/{stem}-{digest}.{suffix}", content)
    return found


_FILES: Final = _load()
_BY_ADDRESS: Final = dict(_FILES.values())


def address_of(name: str) -> str:
    """Where a file of ``static/`` is served.

    Args:
        name: of the file.
    """
    return _FILES[name][0]


def static_file(name: str) -> Response:
    """One of the files.

    Raises:
        ProblemError: ``not_found``.
    """
    content = _BY_ADDRESS.get(f"{PATH}/{name}")
    if content is None:
        raise ProblemError("not_found", "Reload the page: its style and script have changed.")
    return Response(
        content,
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
        content_type=_TYPES[name.rpartition(".")[2]],
    )


POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser may do with a page: load our own style and script, and send forms to us."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "Cookie",
    "X-Robots-Tag": "noindex, nofollow",
}

SHARED_HEADERS: Final = {
    **HEADERS,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
"""Of pages whose address is a secret."""

PAGES: Final = (
    ("", "Overview"),
    ("health", "Health"),
    ("plan", "Plan"),
    ("privacy", "Privacy"),
    ("views", "Views"),
    ("annotations", "Annotations"),
    ("lists", "Lists"),
    ("operations", "Operations"),
)
"""Paths and titles of the pages that every page leads to."""


def page(template: str, *, status: int = 200, **shown: Any) -> Response:
    """A page.

    Args:
        template: its name, such as "overview/overview.html.jinja".
        status: the HTTP status.
        **shown: what the template shows, beside ``visit``, which is None before signing in, and
            ``path``.
    """
    text = _ENVIRONMENT.get_template(f"pages/{template}").render(
        visit=_visit(), path=_path(), **shown
    )
    return Response(text, status, HEADERS, content_type="text/html; charset=utf-8")


def go_to(place: str) -> Response:
    """Sends a visitor to another page of this server.

    Args:
        place: a path with a query.
    """
    return Response(status=303, headers={**HEADERS, "Location": place})


PREFIX_HEADER: Final = "X-Forwarded-Prefix"
"""The path below which a proxy serves all of this, and which it takes away from requests."""

_PREFIX: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._~-]*){1,8}")
_PLACE: Final = re.compile(rb'( (?:href|action|src)=")(?=/[^/])|( (?:href|action)=")(?=/")')


def checked_prefix(named: str) -> str:
    """The path below which a proxy serves this, such as ``/telemetry``; empty if it is none.

    Args:
        named: by `PREFIX_HEADER`.
    """
    return named if _PREFIX.fullmatch(named) else ""


def placed_below(answer: Response, prefix: str) -> Response:
    """An answer whose links lead to this server below a path.

    Args:
        answer: with links such as ``/health``; changed in place.
        prefix: the path, such as ``/telemetry``; anything else changes nothing.
    """
    if not checked_prefix(prefix):
        return answer
    if answer.location is not None and answer.location.startswith("/"):
        answer.location = prefix + answer.location
    if answer.mimetype == "text/html":
        start = prefix.encode()
        text = _PLACE.sub(lambda found: found[0] + start, answer.get_data())
        answer.set_data(text)
    return answer


def place_answers(app: Flask) -> None:
    """Makes an application's links lead to where a proxy serves it.

    Args:
        app: the application.
    """

    def place(answer: Response) -> Response:
        return placed_below(answer, request.headers.get(PREFIX_HEADER, ""))

    app.after_request(place)


def _visit() -> Visit | None:
    visit: Visit | None = g.get("visit") if has_request_context() else None
    return visit


def _path() -> str:
    return request.path if has_request_context() else ""


def here(place: str) -> str:
    """An address with the application that is shown, where there are several.

    Args:
        place: made by `addresses`.
    """
    visit = _visit()
    if visit is None or len(visit.applications) == 1:
        return place
    return changed(place, application=visit.application)


def _carried(method: str) -> list[tuple[str, str]]:
    """What a form carries unseen, by name."""
    visit = _visit()
    if visit is None:
        return []
    carried = [("application", visit.application)] if len(visit.applications) > 1 else []
    if method == "post":
        carried.append(("form_token", visit.form_token))
    return carried


def _environment() -> Environment:
    templates = environment()
    templates.globals.update(
        static=address_of,
        address=address,
        carried=_carried,
        PAGES=PAGES,
        SIMULATED=SIMULATED.message,
    )
    templates.filters.update(here=here, changed=changed)
    return templates


_ENVIRONMENT: Final = _environment()
