"""The cookie of a session: where it may go, and who can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from werkzeug.http import parse_cookie

from deniable_aggregator.security.sessions import SESSION_SECONDS
from deniable_shared.addresses import is_this_machine

if TYPE_CHECKING:
    from flask import Response

SECURE_NAME: Final = "__Host-deniable"
"""By this name browsers know that only this host, over TLS, may have set the cookie."""


class SessionCookie:
    """Reads and sets the cookie.

    At this machine itself there is no TLS, and not all browsers keep a secure cookie without it. So
    there the cookie has another name, which is believed of no other host. Servers on other ports of
    a machine share cookies, hence the port in that name.

    Args:
        port: that the server listens on.
    """

    def __init__(self, port: int) -> None:
        self._local_name = f"deniable-{port}"

    def read(self, cookies: str, host: str) -> str:
        """The session's cookie, or nothing.

        Args:
            cookies: the request's header Cookie.
            host: the request's header Host.
        """
        sent = parse_cookie(cookies)
        local = sent.get(self._local_name, "") if is_this_machine(host) else ""
        return sent.get(SECURE_NAME, "") or local

    def set_on(self, response: Response, cookie: str, *, host: str, origin: str) -> None:
        """Has a browser keep a session.

        Args:
            response: the answer.
            cookie: of the session.
            host: the request's header Host.
            origin: the request's header Origin: a proxy may have changed Host.
        """
        local = is_this_machine(host) and not origin.startswith("https://")
        response.set_cookie(
            self._local_name if local else SECURE_NAME,
            cookie,
            max_age=SESSION_SECONDS,
            path="/",
            secure=not local,
            httponly=True,
            samesite="Strict",
        )

    def delete_from(self, response: Response) -> None:
        """Has a browser forget the session."""
        for name, secure in ((SECURE_NAME, True), (self._local_name, False)):
            response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="Strict")
