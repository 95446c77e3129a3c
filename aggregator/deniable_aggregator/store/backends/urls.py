"""URLs of PostgreSQL databases, whose passwords must not reach messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from deniable_aggregator.store.errors import StoreRefusedError

if TYPE_CHECKING:
    from sqlalchemy import URL

SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
DRIVER: Final = "postgresql+psycopg"
SECRETS: Final = ("password", "sslpassword")


def is_url(target: object) -> bool:
    """Whether a store's name is the URL of a PostgreSQL database."""
    return isinstance(target, str) and target.startswith(SCHEMES)


def parse_url(url: str) -> URL:
    """Splits a URL into its parts.

    Raises:
        StoreRefusedError: if it is malformed; the message does not quote it.
    """
    try:
        parsed = make_url(url).set(drivername=DRIVER)
    except (ArgumentError, ValueError):
        raise StoreRefusedError(_FORM) from None
    if "@" in (parsed.host or ""):
        raise StoreRefusedError(_FORM)
    return parsed


_FORM: Final = (
    "the URL of a store must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and "
    "%2F for / in a password"
)


def without_password(url: URL) -> str:
    """A URL without its passwords, for messages."""
    hidden = {name: "***" for name in SECRETS if name in url.query}
    printable = url.set(drivername="postgresql").update_query_dict(hidden)
    return printable.render_as_string(hide_password=True)
