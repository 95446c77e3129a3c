"""Which keys a question leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.telling.wording import key_in_words
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.store import StoredKey

MOST_NAMED: Final = 10
_QUOTED: Final = 100


def keys_to_leave_out(
    keys: Sequence[StoredKey], application: str, names: Sequence[str]
) -> frozenset[str]:
    """The ids of the keys that `without_key` names.

    Args:
        keys: all keys of the store.
        application: whose keys may be named.
        names: each an id, the first letters of an id, or a label.

    Raises:
        ProblemError: if a name fits no write key of the application, or several.
    """
    own = [key for key in keys if key.application == application and key.scope == "write"]
    return frozenset(_named(own, name).id for name in names)


def _named(keys: Sequence[StoredKey], name: str) -> StoredKey:
    exact = [key for key in keys if key.id == name] or [key for key in keys if key.label == name]
    found = exact or [key for key in keys if name and key.id.startswith(name)]
    if name and len(found) == 1:
        return found[0]
    quoted = repr(name[:_QUOTED])
    if name and found:
        ids = ", ".join(key.id for key in found[:MOST_NAMED])
        detail = f"without_key must name one key, got {quoted}, which names {len(found)}: {ids}."
        raise ProblemError("malformed_question", f"{detail} Use an id.")
    listed = ", ".join(key_in_words(key.id, key.label) for key in keys[:MOST_NAMED])
    meant = did_you_mean(name, filter(None, (key.label for key in keys)))
    more = f" and {len(keys) - MOST_NAMED} more" if keys[MOST_NAMED:] else ""
    raise ProblemError(
        "malformed_question",
        "without_key must be the id of a write key, the first letters of its id, or its label, "
        f"got {quoted}.{meant} There are {listed or 'none'}{more}.",
    )
