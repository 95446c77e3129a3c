"""Long strings of applications, and other strings of the same kind to train a model on.

User agents and browsers are those of PyPI's fake-useragent 2.2.0 (`pip install
fake-useragent==2.2.0`; Apache-2.0, for measuring only), with its own shares. Crash signatures are
all ``raise`` statements of some packages of the environment in which this runs, in random order
with shares by 1 / rank^1.1. Of each, a random half trains the model, and devices hold the others.
"""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.discovery.populations import Population, population, shared_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CRASHING: Final = ("pandas", "numpy", "scipy", "sqlalchemy", "dask", "polars", "distributed")
"""Packages whose errors are the crash signatures."""
LONGEST: Final = 64


def _halves(weights: Mapping[str, float], seed: int) -> tuple[tuple[str, ...], dict[str, float]]:
    """The strings that a model is trained on, and the others with their weights."""
    texts = sorted(weights)
    random.Random(seed).shuffle(texts)  # noqa: S311  no noise of a device
    half = len(texts) // 2
    return tuple(texts[:half]), {text: weights[text] for text in texts[half:]}


def held_half(weights: Mapping[str, float], seed: int) -> Population:
    """Devices hold a random half of some strings, and the other half trains the model."""
    training, held = _halves(weights, seed)
    made = shared_out(list(held), np.array(list(held.values())), LONGEST)
    return made._replace(training=training)


def _agents() -> list[dict[str, str | float]]:
    """What fake-useragent has of each browser that was seen."""
    lines = files("fake_useragent").joinpath("data/browsers.jsonl").read_text("utf-8")
    return [json.loads(line) for line in lines.splitlines()]


@population
def user_agents() -> Population:
    """420 that devices hold; 419 train the model."""
    weights: defaultdict[str, float] = defaultdict(float)
    for agent in _agents():
        weights[str(agent["useragent"])] += float(agent["percent"])
    return held_half(weights, 1)


@population
def browsers() -> Population:
    """Such as ``Chrome Mobile iOS 135.0.7049.53 on iOS``: 372, and as many train the model."""
    weights: defaultdict[str, float] = defaultdict(float)
    for agent in _agents():
        name = f"{agent['browser']} {agent['browser_version']} on {agent['os']}"
        weights[name] += float(agent["percent"])
    return held_half(weights, 1)


@population
def raised() -> Population:
    """Such as ``TypeError at pandas.core.ops.array_ops.logical_op``."""
    texts = sorted({text for package in CRASHING for text in _signatures(package)})
    random.Random(2).shuffle(texts)  # noqa: S311  no noise of a device
    return held_half({text: rank**-1.1 for rank, text in enumerate(texts, 1)}, 3)


def _signatures(package: str) -> Iterator[str]:
    """The exceptions that a package raises, each with the function that does."""
    for module, tree in package_files(package):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for name in _raised_in(function):
                    yield f"{name} at {module}.{function.name}"


def package_files(package: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of an installed package, without tests: their names and syntax trees.

    Raises:
        ModuleNotFoundError: if it is not installed.
    """
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{package} must be installed, to read its errors")
    root = Path(found.origin).parent
    for file in sorted(root.rglob("*.py")):
        module = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        if "test" not in module:
            yield module.removesuffix(".__init__"), ast.parse(file.read_text("utf-8", "replace"))


def _raised_in(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        raised = node.exc if isinstance(node, ast.Raise) else None
        raised = raised.func if isinstance(raised, ast.Call) else raised
        name = raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", "")
        if name[:1].isupper():
            yield name
