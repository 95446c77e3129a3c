"""The table ``[relay]`` of a registry: whom devices give their sealed uploads to.

It is part of no version of a metric. Who can open the seals, and which devices stand in one crowd,
follows from it, so a whole application has one, and each build carries it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.addresses import is_this_machine
from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from deniable_shared.fields import TableReader
    from deniable_shared.sealing import Closes, PublicKey

REQUIRED: Final = "required"
CLOSES: Final = ("day", "week")

MAX_URL: Final = 200
_URL: Final = re.compile(r"https?://[!-~]+")
_URL_CONSTRAINT: Final = (
    "an https:// URL without user, query or fragment (http:// only to this machine)"
)


@frozen
class Relay:
    """Where all uploads of an application go.

    Attributes:
        url: the relay's base URL.
        key: the aggregator's, to which uploads are sealed; the relay cannot open them.
        every: how often the relay closes a batch and forwards it: at the end of each UTC day, or at
            that of each week, on Monday.
    """

    url: str
    key: PublicKey
    every: Closes


def parse_relay(top: TableReader) -> Relay | None:
    """Reads the table; None if it has a problem, which is noted."""
    # Imported here, as programs whose registry has no relay start sooner without.
    from deniable_shared.sealing import KEY_CONSTRAINT, is_public_key, parse_public_key

    table = top.table("relay", "url and key")
    url = table.read("url", _URL_CONSTRAINT, _is_url)
    text = table.read("key", KEY_CONSTRAINT, is_public_key)
    every = table.choice("every", CLOSES, default="week")
    table.report_unknown()
    if url is None or text is None or every is None:
        return None
    return Relay(url, parse_public_key(text), every)  # type: ignore[arg-type]


def parse_requirement(table: TableReader, *, has_relay: bool) -> bool:
    """Reads the field ``relay`` of a metric: whether its reports are taken through a relay alone.

    Args:
        table: of the metric.
        has_relay: whether the file has a table ``[relay]``.
    """
    required = table.choice("relay", (REQUIRED,), default=None) == REQUIRED
    if required and not has_relay:
        table.add_problem("relay", "left out in a file without a table [relay]", REQUIRED)
    return required


def _is_url(value: object) -> bool:
    if not isinstance(value, str) or len(value) > MAX_URL or _URL.fullmatch(value) is None:
        return False
    from urllib.parse import urlsplit

    try:
        url = urlsplit(value)
        has_host = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    allowed = url.scheme == "https" or is_this_machine(url.netloc)
    return has_host and allowed and "@" not in url.netloc and not (url.query or url.fragment)
