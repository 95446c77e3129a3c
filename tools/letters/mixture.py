"""How much each kind of string counts in training."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from deniable_shared.hashing import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.letters.language_words import Counts

Strings = dict[str, float]

SHARES: Final = {
    "words": 0.58, "capitalised": 0.05, "names": 0.04, "code": 0.05, "hyphenated": 0.08,
    "domain": 0.06, "mail": 0.02, "digits": 0.02, "version": 0.015, "date": 0.005,
    "hexadecimal": 0.01, "class_name": 0.015, "dotted": 0.01, "path": 0.01, "product": 0.01,
    "types": 0.01, "emoji": 0.015,
}  # fmt: skip
"""The shares of the kinds in the whole."""

RUNNING: Final = 0.5
LISTED: Final = 0.25
TERMS: Final = 0.25
"""The shares of running text, lists of function words, and names of things in a language."""

FLATTENED: Final = 0.75
"""A word that comes f times weighs f to this power: popular strings differ between applications."""
SCRIPT: Final = 0.6
"""All n languages of a script together weigh n to this power: rare scripts count for more."""
MINOR: Final = 0.1
"""What a language weighs that only one kind of source has."""
LARGE: Final = frozenset({
    "ar", "bn", "de", "en", "es", "fa", "fr", "gu", "hi", "id", "it", "ja", "jv", "kn", "ko", "ml",
    "mr", "my", "pa", "pl", "pt", "ru", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "vi", "zh",
})  # fmt: skip
"""The languages of 50 million people or about as many, by their own or as a second language."""
LARGE_WEIGHT: Final = 3
"""What such a language weighs against another one with as many sources."""
_LONGEST: Final = 64
_MOST: Final = 600_000
"""The heaviest strings are kept: they have nine tenths of the weight."""


def mixed(
    running: Iterable[Counts],
    listed: Iterable[Counts],
    terms: Iterable[Counts],
    named: Iterable[Counts],
    others: Mapping[str, Mapping[str, float]],
    without: frozenset[str],
) -> Strings:
    """All strings to train on and their weights, which add up to about 1.

    Args:
        running: words of running text, by language.
        listed: lists of function words.
        terms: words in names of things.
        named: names of things.
        others: strings that belong to no language, by kind.
        without: languages that are left out.
    """
    kinds = [
        (_sum(counts, without), share)
        for counts, share in ((running, RUNNING), (listed, LISTED), (terms, TERMS))
    ]
    languages = sorted({language for counts, _ in kinds for language in counts})
    weights = {
        each: _standing([counts.get(each) for counts, _ in kinds])
        * (LARGE_WEIGHT if each in LARGE else 1)
        for each in languages
    }
    merged = {language: _language(kinds, language) for language in languages if weights[language]}
    weights = {language: weights[language] for language in merged}
    _balance_scripts(weights, merged)
    total = sum(weights.values())
    strings: dict[str, float] = defaultdict(float)
    for language in merged:
        share = weights[language] / total
        for word, weight in merged[language].items():
            strings[word] += SHARES["words"] * share * weight
            strings[word.title()] += SHARES["capitalised"] * share * weight
    names = _sum(named, without)
    standing = sum(weights.get(language, 0) for language in names)
    for language, counts in names.items():
        _add(strings, counts, SHARES["names"] * weights.get(language, 0) / standing, 0.5)
    for kind, listed_others in others.items():
        _add(strings, listed_others, SHARES[kind], 0.7)
    order = sorted(strings.items(), key=lambda each: (-each[1], each[0]))
    return {normalize(text)[:_LONGEST]: weight for text, weight in order[:_MOST] if text}


def _sum(parts: Iterable[Counts], without: frozenset[str]) -> Counts:
    total: Counts = defaultdict(Counter)
    for counts in parts:
        for language, counted in counts.items():
            if language not in without:
                total[language].update(counted)
    return total


def _standing(kinds: list[Counter[str] | None]) -> float:
    """1 for a language that all kinds of sources have, less for others."""
    return (0, MINOR, 0.6, 1)[sum(len(counts or ()) >= 20 for counts in kinds)]


def _language(kinds: list[tuple[Counts, float]], language: str) -> dict[str, float]:
    """The words of one language and their weights, which add up to 1."""
    present = [(counts[language], share) for counts, share in kinds if counts.get(language)]
    total = sum(share for _, share in present)
    words: dict[str, float] = defaultdict(float)
    for counts, share in present:
        _add(words, counts, share / total, FLATTENED)
    return words


def _add(
    strings: dict[str, float], counts: Mapping[str, float], share: float, power: float
) -> None:
    total = math.fsum(count**power for count in counts.values())
    for text, count in counts.items():
        strings[text] += share * count**power / total


def _balance_scripts(weights: dict[str, float], words: Mapping[str, Mapping[str, float]]) -> None:
    """Lessens the weights of languages whose script many others have."""
    scripts = {language: _script(counts) for language, counts in words.items()}
    totals: dict[str, float] = defaultdict(float)
    for language, weight in weights.items():
        totals[scripts[language]] += weight
    for language in weights:
        weights[language] *= max(totals[scripts[language]], 1) ** (SCRIPT - 1)


def _script(counts: Mapping[str, float]) -> str:
    """The script of most of the words: the first word of a letter's name in Unicode."""
    scripts: dict[str, float] = defaultdict(float)
    for word, weight in counts.items():
        scripts[unicodedata.name(word[0], "OTHER").split()[0]] += weight
    return max(sorted(scripts), key=scripts.__getitem__)
