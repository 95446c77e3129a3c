"""Addresses of servers as people type them."""

from __future__ import annotations

import re
from typing import Final

DEFAULT_SERVER: Final = "http://127.0.0.1:8787"
"""Where a server listens if nothing says another address."""

SERVER_CONSTRAINT: Final = (
    f"an address such as {DEFAULT_SERVER} or https://telemetry.example.org, beginning with "
    "http:// or https://"
)
"""What the address of a server must be."""

_HOST: Final = r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?"
_THIS_MACHINE: Final = re.compile(rf"{_HOST}(/[\w./-]*)?")
_HOST_HERE: Final = re.compile(_HOST, re.ASCII | re.IGNORECASE)


class Hidden:
    """Stands in an error for a value that may be secret."""

    def __repr__(self) -> str:
        return "***"


def with_scheme(address: str) -> str:
    """Adds http:// to an address of this machine that has no scheme.

    For other machines nobody can guess whether http:// is meant, which sends the token in the
    clear.

    Args:
        address: such as ``127.0.0.1:8787``; anything else is returned as it is.
    """
    return f"http://{address}" if _THIS_MACHINE.fullmatch(address) else address


def is_this_machine(host: str) -> bool:
    """Whether a host is surely the machine of whoever names it, which no network lies before.

    Args:
        host: with or without a port, as in addresses: IPv6 in brackets.
    """
    return _HOST_HERE.fullmatch(host) is not None
