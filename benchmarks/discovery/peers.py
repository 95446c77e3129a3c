"""pure-ldp's heavy hitters on the same population, in the environment of the other projects."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.discovery.populations import POPULATIONS
from benchmarks.discovery.scores import TOP

if TYPE_CHECKING:
    from benchmarks.discovery.cells import Cell

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
SCRIPT: Final = Path(__file__).with_name("heavy_hitters.py")
MECHANISMS: Final = ("PEM", "TreeHist", "SFP")
LONGEST_SECONDS: Final = 600
"""A mechanism that takes longer is stopped, and has no figures."""

LETTERS: Final = 6
"""Of each word, in five bits each; what lies beyond is cut and not asked for."""


def run(cell: Cell, mechanism: str, number: int, python: Path = PYTHON) -> dict[str, Any]:
    """One run of another project's mechanism.

    A word counts as found if its first six letters are. All 32 that are shown count as shown.

    Args:
        cell: population, devices and epsilon.
        mechanism: one of `MECHANISMS`.
        number: of the run, its seed.
        python: of the environment in which the project is installed.

    Returns:
        top, ranked, whole, false and seconds as of `scores.Score`, or an error.
    """
    population, words = _words(cell.population)
    counts = np.random.default_rng(number).multinomial(cell.devices, population.shares)
    held = np.flatnonzero(counts)
    asked = {
        "epsilon": float(cell.epsilon),
        "words": [words[index] for index in held.tolist()],
        "counts": counts[held].tolist(),
    }
    try:
        done = subprocess.run(
            [str(python), str(SCRIPT), mechanism],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        return {"error": f"{type(error).__name__} after at most {LONGEST_SECONDS} s"}
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        return answer
    found = answer["found"]
    return {
        "top": TOP,
        "ranked": sum(word in found for word in words[:TOP]),
        "whole": len(found),
        "false": sum(word not in words for word in found),
        "seconds": answer["seconds"],
    }


@cache
def _words(name: str) -> tuple[Any, list[str]]:
    population = POPULATIONS[name]()
    return population, [_bits(string) for string in population.strings]


def _bits(word: str) -> str:
    """A word as 30 bits; 26 letters have numbers of their own, and all else shares five."""
    numbers = (
        ord(letter) - ord("`") if "a" <= letter <= "z" else 27 + ord(letter) % 5
        for letter in word[:LETTERS]
    )
    return "".join(f"{number:05b}" for number in numbers).ljust(5 * LETTERS, "0")
