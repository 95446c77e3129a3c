"""Says of a metric that passed whether that is proved, or what it was shown for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable._audit.sections import Followed, Section


def coverage(section: Section) -> str:
    """What follows "passed": a proof for all values, or evidence by those that were looked at."""
    looked_at = _only(section)
    if not looked_at:
        return "proved for all values"
    return f"for {looked_at} (evidence, no proof for the others)"


def _only(section: Section) -> str:
    """What was looked at, if that is not all; mechanisms inside count, too."""
    if section.note:
        return "all values with some of their draws"
    if not any(walk.wholly for walk in section.walks):
        return _looked_at(section.walks[-1])
    for part in section.parts:
        if only := _only(part):
            return f"{only} of the {part.mechanism.name} inside"
    return ""


def _looked_at(walk: Followed) -> str:
    if walk.of_values is None:
        values = f"{walk.values:,} of endlessly many {walk.noun}"
    elif walk.values < walk.of_values:
        values = f"{walk.values:,} of {walk.of_values:,} {walk.noun}"
    else:
        values = f"all {walk.values:,} {walk.noun}"
    if walk.first == walk.of_first:
        return values
    return f"{values} with {walk.first:,} of {walk.of_first:,} outcomes of the first draw"
