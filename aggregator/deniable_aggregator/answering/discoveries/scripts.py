"""Finds in another script than nearly all others: a sign that no device holds them.

A string that noise alone makes stand out is a random code, and of a text's code words many are
letters of scripts that the devices' texts never use.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.measured import Measured

_FEWEST: Final = 10
"""Of fewer strings it is not said which script is theirs."""
_NEARLY_ALL: Final = 0.8


def other_scripts(strings: Sequence[Measured]) -> list[Notice]:
    """A note of weak finds in other scripts, and what keeps such strings out.

    Args:
        strings: whole strings and beginnings that are shown, of a metric of any text.
    """
    scripts = {found.value or "": _scripts(found.value or "") for found in strings}
    counts = Counter(script for some in scripts.values() for script in some)
    if len(scripts) < _FEWEST or not counts:
        return []
    ((usual, having),) = counts.most_common(1)
    if having < _NEARLY_ALL * sum(map(bool, scripts.values())):
        return []
    weak = [scripts[found.value or ""] for found in strings if found.evidence == "enough"]
    odd = sum(bool(some) and usual not in some for some in weak)
    if not odd:
        return []
    # They are not named: a deny list may hide them later.
    return [
        Notice(
            "other_scripts",
            "note",
            f"{odd:,} of {len(strings):,} strings are in another script than nearly all others, "
            "and have the weakest evidence: they may be chance. If the metric's texts have few "
            "characters, an alphabet in metrics.toml makes texts of all others rare",
        )
    ]


def _scripts(text: str) -> set[str]:
    """The scripts of the letters of a text, by the first word of their names in Unicode."""
    names = (unicodedata.name(letter, "") for letter in text if letter.isalpha())
    return {name.partition(" ")[0] for name in names if name}
