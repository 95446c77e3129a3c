"""The letter code: turns any string into a few bits, so that popular strings can be discovered.

A string is coded byte by byte by a model of letters, or in parts by one of phrases, in which what
is likely has short code words. `LetterCode` cuts the bits into pieces, one for each level of the
``trie`` mechanism. A model decides how many bits a string takes, never how private a report is.
"""

from deniable_shared.letters.code import (
    DEFAULT_LONGEST,
    AnyModel,
    LetterCode,
    model_in_file,
)
from deniable_shared.letters.machine import END, Machine
from deniable_shared.letters.model import Model, shipped_model
from deniable_shared.letters.phrases import PhraseModel

__all__ = [
    "DEFAULT_LONGEST",
    "END",
    "AnyModel",
    "LetterCode",
    "Machine",
    "Model",
    "PhraseModel",
    "model_in_file",
    "shipped_model",
]
