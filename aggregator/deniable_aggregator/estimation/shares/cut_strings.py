"""Listed strings of which devices report the beginning only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Notice
from deniable_shared.hashing import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_shared.letters import LetterCode
    from deniable_shared.spec import Spec

_NAMED: Final = 5
"""A notice names so many strings at most."""


def reported_beginning(code: LetterCode, text: str) -> str | None:
    """What a report tells of a string that is longer than its code holds.

    Returns:
        Its beginning; None if reports tell the whole string.
    """
    bits, length = code.encode(canonical(text))
    if length < code.bits:
        return None
    beginning, whole = code.decode(bits, length)
    return None if whole else beginning.decode()


def cut_strings(specs: Sequence[Spec], items: Sequence[str]) -> Iterator[Notice]:
    """A notice if some strings are reported as the same beginning as others."""
    beginnings = {
        item: beginning
        for spec in specs
        if spec.letters is not None
        for item in items
        if (beginning := reported_beginning(spec.letters, item)) is not None
    }
    if not beginnings:
        return
    examples = [
        f"{item} (as {beginning}…)" for item, beginning in list(beginnings.items())[:_NAMED]
    ]
    more = f" and {len(beginnings) - _NAMED} more" if len(beginnings) > _NAMED else ""
    yield Notice(
        "cut_strings",
        "warning",
        "some strings are longer than devices report, and are counted with all others that "
        f"begin alike: {', '.join(examples)}{more}. With a larger longest in the registry, devices "
        "tell more from then on",
    )
