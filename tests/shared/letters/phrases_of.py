"""Models of phrases for tests."""

from __future__ import annotations

from functools import cache

from deniable_shared.letters import PhraseModel
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.phrase_training import trained_on_phrases

PLACES = ("home", "search", "cart", "orders", "account", "settings", "help", "größe", "天気")
EXAMPLES = tuple(
    f"https://shop.example/{one}/{other}-{number}"
    for number, one in enumerate(PLACES)
    for other in PLACES
    if one != other
)
"""Routes, of which every phrase comes several times; one is left out of each pair."""


@cache
def model_of(texts: tuple[str, ...] = EXAMPLES) -> PhraseModel:
    """A model that was trained on some texts."""
    measured = LeftOutBits(30, 60, 90)
    return PhraseModel(trained_on_phrases({text.encode(): 1.0 for text in texts}, measured))
