"""Why uploads are refused, and what to do about each reason."""

from __future__ import annotations

from typing import Final, NamedTuple


class Refusal(NamedTuple):
    """A reason to refuse an upload.

    Attributes:
        meaning: what has happened.
        what_to_do: about it.
        loses: whether devices lose what was refused; others send it again.
    """

    meaning: str
    what_to_do: str
    loses: bool = False


REFUSALS: Final = {
    "storage_full": Refusal(
        "less space is free than min_free_bytes", "free space, or lower the setting for a while"
    ),
    "quota_spent": Refusal(
        "a key has brought all that it may by now of key_bytes_per_day",
        "raise it if devices did; replace the key if it is an attack",
    ),
    "unopened": Refusal(
        "a relay brought what no relay key opens",
        "nothing, if it is junk; a key may have been retired too early",
        loses=True,
    ),
    "unknown_relay_key": Refusal(
        "a relay brought what was sealed to a key that this server has not got",
        "give this server the newest file relay_keys",
    ),
    "no_relay_keys": Refusal(
        "a relay brought a part, and this server has no relay keys",
        "give this server the newest file relay_keys",
    ),
    "relay_required": Refusal(
        "a metric that requires the relay was sent directly",
        "nothing: old builds do so, and forgers",
        loses=True,
    ),
    "batch_key_needed": Refusal(
        "a write key brought more reports in an upload than devices do",
        "give importers a batch key; nothing, if it is an attack",
    ),
    "rate_limited": Refusal(
        "a key sends more than rate_limit", "revoke and exclude the key if it is an attack"
    ),
    "overloaded": Refusal(
        "more uploads come than can be stored", "a faster disk, or PostgreSQL and more servers"
    ),
    "unknown_digest": Refusal(
        "an application asks for a metric that is not registered",
        "register the metrics.toml that ships with it",
    ),
    "unknown_key": Refusal(
        "a key is missing, unknown or revoked", "give the release a key that is valid"
    ),
    "expired_key": Refusal("a key has ended", "give the release a key that is valid"),
    "wrong_scope": Refusal("a key of another scope was used", "give devices a write key"),
    "epoch_future": Refusal(
        "uploads came too early: the clocks of devices are ahead",
        "nothing, if these are few; if all are, this server's clock is behind",
    ),
    "epoch_closed": Refusal(
        "uploads came too late: devices were offline for longer than accept_days, or their clocks "
        "are behind",
        "raise accept_days if these are many",
        loses=True,
    ),
    "metric_removed": Refusal("the metric was removed", "nothing: devices drop it", loses=True),
    "malformed_report": Refusal(
        "a report is not one of its metric", "find whose client this is, or what damages it", True
    ),
    "malformed_upload": Refusal(
        "a body is not an upload", "find whose client this is, or what damages it", True
    ),
    "unsupported_media_type": Refusal(
        "a body is of an unsupported type", "find whose client this is", True
    ),
    "upload_too_large": Refusal(
        "a body is larger than max_body_bytes", "raise it for batches that are larger"
    ),
    "body_too_slow": Refusal("a body did not arrive in time", "let the proxy read bodies whole"),
    "body_cut_off": Refusal("a body did not arrive whole", "let the proxy read bodies whole"),
    "server_outdated": Refusal(
        "a later version of this server has registered the metric", "upgrade this server"
    ),
    "clock_doubted": Refusal("the clock of this server is in doubt", "set the clock right"),
    "store_unavailable": Refusal(
        "the store cannot be reached or written", "the log of the server says why"
    ),
    "internal_error": Refusal("the server failed", "the log of the server says where"),
}
"""By problem code."""

OTHER: Final = Refusal("see this code of the HTTP interface", "see this code of the HTTP interface")
"""Of a code that is not among these."""
