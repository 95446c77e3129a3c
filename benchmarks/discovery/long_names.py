"""Names, links and messages that real programs have, and others of their kind to train a model on.

Names of Maven's packages are 2,106 that a list of November 2026 has, those of npm the 4,000 with a
scope that were downloaded most often in a month, as npm says it. Links, modules and messages are
those of the packages of the environment in which this runs. Where not said otherwise, shares are by
1 / rank in random order, and a random half trains the model.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.discovery.long_strings import CRASHING, LONGEST, held_half, package_files
from benchmarks.discovery.populations import Population, population, shared_out

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FOLDER: Final = Path(__file__).parent
_LINK: Final = re.compile(r"https?://[\w./~%?=&#:+-]*\w")
_MESSAGE_LETTERS: Final = range(20, 120)
_TRAINING_PACKAGES: Final = CRASHING[::2]
"""Whose messages train the model of those of the others."""


@population
def maven() -> Population:
    """Such as ``software.amazon.awssdk:aws-core``."""
    return held_half(_by_rank(_lines("maven_names"), 4), 5)


@population
def npm_scoped() -> Population:
    """Such as ``@types/node``, by their downloads; the model knows other scopes."""
    rows = [line.split("\t") for line in _lines("npm_scoped")]
    weights = {name: float(downloads) for name, downloads in rows}
    scopes = sorted({name.split("/")[0] for name in weights})
    random.Random(6).shuffle(scopes)  # noqa: S311  no noise of a device
    known = set(scopes[: len(scopes) // 2])
    training = [name for name in weights if name.split("/")[0] in known]
    return _trained_on(training, weights)


@population
def links() -> Population:
    """Such as ``https://github.com/numpy/numpy``, of other packages than those of the training."""
    texts = [
        sorted({*_LINK.findall(each.read_text("METADATA") or "")})
        for each in sorted(distributions(), key=lambda each: str(each.metadata["Name"]).lower())
    ]
    random.Random(7).shuffle(texts)  # noqa: S311  no noise of a device
    half = len(texts) // 2
    training = sorted({text for each in texts[:half] for text in each})
    return _trained_on(training, _by_rank({text for each in texts for text in each}, 8))


@population
def links_by_messages() -> Population:
    """The same links, and the wrong model: it was trained on messages."""
    return links()._replace(training=messages().training)


@population
def modules() -> Population:
    """Such as ``pandas.core.arrays.sparse.array``."""
    texts = {module for package in CRASHING for module, _ in package_files(package)}
    return held_half(_by_rank(texts, 9), 10)


@population
def messages() -> Population:
    """Texts of exceptions, of other packages than those of the training."""
    training = {text for package in _TRAINING_PACKAGES for text in _messages(package)}
    others = {text for package in CRASHING for text in _messages(package)}
    return _trained_on(sorted(training), _by_rank(training | others, 11))


def _trained_on(training: Collection[str], weights: dict[str, float]) -> Population:
    """Devices hold what is not in the training."""
    known = set(training)
    held = {text: weight for text, weight in weights.items() if text not in known}
    made = shared_out(list(held), np.array(list(held.values())), LONGEST)
    return made._replace(training=tuple(training))


def _by_rank(texts: Collection[str], seed: int) -> dict[str, float]:
    mixed = sorted(texts)
    random.Random(seed).shuffle(mixed)  # noqa: S311  no noise of a device
    return {text: 1 / rank for rank, text in enumerate(mixed, 1)}


def _lines(name: str) -> list[str]:
    return gzip.decompress((_FOLDER / f"{name}.txt.gz").read_bytes()).decode().splitlines()


@cache
def _messages(package: str) -> frozenset[str]:
    """The constant texts with which a package raises exceptions."""
    return frozenset(
        text
        for _, tree in package_files(package)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        for text in _constants(node.exc)
    )


def _constants(call: ast.Call) -> Iterator[str]:
    for argument in call.args[:1]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            text = " ".join(argument.value.split())
            if len(text) in _MESSAGE_LETTERS:
                yield text
