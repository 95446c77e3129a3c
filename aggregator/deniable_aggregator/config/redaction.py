"""Removes passwords from what people are shown."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER: Final = re.compile(r"[^:/?#]*")
_SECRET_FIELDS: Final = re.compile(r"([?&;](?:password|passwd|sslpassword|token)=)[^&;#]*", re.I)


def redact(value: object) -> object:
    """A value without the password that it may hold.

    A URL keeps scheme, user, host, port and path. All from the first colon after the user to the
    last @ is hidden, so that a password with signs that should have been written as %XX is, too.

    Args:
        value: the value of a setting, of any type.
    """
    if not isinstance(value, str) or (scheme := _SCHEME.match(value)) is None:
        return value
    remainder = value[scheme.end() :]
    before, at, after = remainder.rpartition("@")
    if at:
        user = _USER.match(before)
        assert user is not None
        name = user[0]
        remainder = f"{name}{f':{HIDDEN}' if name != before else ''}@{after}"
    return scheme[0] + _SECRET_FIELDS.sub(rf"\1{HIDDEN}", remainder)
