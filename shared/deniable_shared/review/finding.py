"""What a review finds, with a code by which it can be ignored."""

from __future__ import annotations

from deniable_shared.frozen import frozen


@frozen
class Finding:
    """Something that a reviewer should know before the application ships.

    Attributes:
        code: a word for it, which ``ignore`` of the registry takes.
        metric: whose it is; None for all metrics together.
        reason: what is so, and why it matters, in a sentence or two.
        remedy: what to do about it, in a sentence.
        ignored: whether the registry says that it is known and meant.
    """

    code: str
    metric: str | None
    reason: str
    remedy: str
    ignored: bool = False
