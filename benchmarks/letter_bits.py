"""Bits that the most frequent words of each language take: ``python -m benchmarks.letter_bits``."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from benchmarks.discovery.populations import packages, words
from deniable_shared.hashing import canonical
from deniable_shared.letters import LetterCode, Model, shipped_model
from deniable_shared.mechanisms.trie import FIRST_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

TOP: Final = 32
MORE: Final = 200
LONGEST: Final = 64

LANGUAGES: Final = (
    "en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "cs", "fi", "hu", "ro", "tr", "id", "vi",
    "ru", "uk", "bg", "el", "ar", "fa", "ur", "he", "hi", "bn", "ta", "zh", "ja", "ko",
)  # fmt: skip


def most_frequent(language: str) -> list[str]:
    """The most frequent words. Numbers are left out: the list has shapes of them, such as 0000."""
    listed = words(language)
    only = (word for word in listed if not any(map(str.isdigit, word)))
    return sorted(only, key=lambda word: (-listed[word], word))[:MORE]


def row(name: str, texts: Sequence[str], code: LetterCode) -> str:
    """A line of the table: what the first texts take."""
    values = [canonical(text) for text in texts[:MORE]]
    bits = [code.encode(value)[1] for value in values]
    top = bits[:TOP]
    cells = (
        name,
        f"{fmean(map(len, texts[:TOP])):.1f}",
        f"{fmean(8 * len(value) + 8 for value in values[:TOP]):.0f}",
        f"{fmean(top):.1f}",
        f"{max(top)}",
        f"{sum(each <= FIRST_BITS for each in top)}",
        f"{fmean(bits):.1f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table, for the shipped model or another one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.letter_bits", description=__doc__)
    parser.add_argument(
        "--model", type=Path, help="a model file, such as one of tools.letters --without"
    )
    parser.add_argument("languages", nargs="*", default=LANGUAGES, help="such as en zh")
    options = parser.parse_args()
    model = Model(options.model.read_bytes()) if options.model else shipped_model()
    code = LetterCode("text", LONGEST, model)
    print(
        "| | characters, mean | bits in UTF-8, mean | bits of the code, mean | longest "
        "| of 32 in the first level | top 200, mean |\n|---|---|---|---|---|---|---|"
    )
    for language in options.languages:
        print(row(language, most_frequent(language), code))
    print(row("package names", packages(), code))


if __name__ == "__main__":
    main()
