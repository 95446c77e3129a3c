"""One run of a cell: devices report, the shipped decoder reads, and the finds are compared."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from dataclasses import asdict
from fractions import Fraction
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from benchmarks.discovery import generated, long_names, populations
from benchmarks.discovery.scores import Truth, score
from benchmarks.discovery.simulation import CHUNK, Channel, Simulation, client_reports
from deniable_aggregator.answering.discovery.discover import discover
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.base import oracle_tally_for
from deniable_aggregator.counting.tallies.trie import TrieTally
from deniable_shared.hashing import canonical
from deniable_shared.letters import LetterCode, Model, PhraseModel, shipped_model
from deniable_shared.letters.left_out import bits_left_out, quantiles
from deniable_shared.letters.levels import LeftOutBits
from deniable_shared.letters.phrase_training import trained_on_phrases
from deniable_shared.mechanisms import ProjectiveGeometryResponse, Trie
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.discovery.cells import Cell
    from deniable_aggregator.answering.discovery.texts import Findings

ROOT: Final = Path(__file__).parents[2]
MODELS: Final = ROOT / "build" / "models"
"""Models that were trained without a language."""

LISTED: Final = 20_000
"""How many of the most common strings the known list has, beside which finds are put."""

MEASURED: Final = (
    "shared/deniable_shared/letters",
    "shared/deniable_shared/mechanisms/trie.py",
    "aggregator/deniable_aggregator/answering/discovery",
)
"""What the figures depend on: results of other contents of these are measured again."""


class Coded(NamedTuple):
    """A population and its strings' pieces under one model.

    Attributes:
        population: what devices hold.
        truth: the same, to compare with.
        code: of the metric.
        pieces: of every string.
    """

    population: populations.Population
    truth: Truth
    code: LetterCode
    pieces: list[tuple[int, ...]]


@lru_cache(1)
def coded(name: str, without: str) -> Coded:
    """A population and its code, with the shipped model or one trained without a language."""
    population = _made(name)
    if population.training:
        model = model_of_phrases(population.training)
        code = LetterCode("text", None, model, model.left_out.longest_bits)
    else:
        code = LetterCode(population.alphabet, population.longest, model_without(without))
    pieces = [code.pieces(canonical(string)) for string in population.strings]
    return Coded(population, Truth(population), code, pieces)


def run(cell: Cell, number: int) -> dict[str, Any]:
    """One run of a cell, whose number is its seed: the score as plain figures."""
    found = coded(cell.population, cell.without)
    spec = spec_of(cell, found.code, number)
    assert isinstance(spec.mechanism, Trie)
    generator = generator_of(cell, number)
    if cell.by_clients:
        devices = generator.multinomial(cell.devices, found.population.shares)
        reports = client_reports(spec, found.population.strings, devices)
        counts = tally_for(spec).count(b"".join(reports))
    else:
        simulation = Simulation(spec.mechanism, spec.salt, found.pieces)
        counts = simulation.tally(found.population.shares, cell.devices, generator)
    start = time.process_time()
    findings = decoded(spec, counts)
    seconds = time.process_time() - start
    return asdict(score(findings.whole, findings.prefixes, found.truth, seconds))


def spec_of(cell: Cell, code: LetterCode, number: int) -> Spec:
    """The metric of a run; each run has another hash family."""
    mechanism = Trie.for_epsilon(code.levels, Fraction(cell.epsilon), shares=code.level_shares)
    name = f"{cell.population}{number}"
    return Spec("discovery", name, "string", (), None, mechanism, "day", letters=code)


def decoded(spec: Spec, counts: NDArray[np.int64]) -> Findings:
    """What the shipped decoder finds in counters, int64, (cells,), without crowded points."""
    tally = tally_for(spec)
    assert isinstance(tally, TrieTally)
    assert isinstance(spec.mechanism, Trie)
    assert spec.letters is not None
    kept = tally.uncrowded(counts).counts
    del counts  # nothing holds them any more, if the caller does not
    return discover(partial(tally.supports_of_level, kept), spec.mechanism, spec.letters, spec.salt)


def generator_of(cell: Cell, number: int) -> np.random.Generator:
    """The random numbers of a run."""
    seed = hashlib.sha256(f"{cell.name} {number}".encode()).digest()
    return np.random.default_rng(list(seed))


def ranked_from_list(cell: Cell, number: int) -> dict[str, Any]:
    """How many of the top are the largest of a known list: the 20,000 most common strings.

    All devices answer through an optimal oracle over the list and one further item, which those
    hold whose string is not listed.
    """
    population = _made(cell.population)
    top = len(Truth(population).top)
    listed = population.shares[:LISTED]
    shares = np.append(listed, max(1 - listed.sum(), 0.0))
    oracle = ProjectiveGeometryResponse.for_epsilon(shares.size, Fraction(cell.epsilon))
    channel, generator = Channel(oracle), generator_of(cell, number)
    counts = np.zeros((1, oracle.outcomes), np.int64)
    for start in range(0, cell.devices, CHUNK):
        devices = generator.multinomial(min(CHUNK, cell.devices - start), shares / shares.sum())
        held = np.repeat(np.arange(shares.size), devices)
        counts[0] += np.bincount(channel.points(held, generator), minlength=oracle.outcomes)
    supports = oracle_tally_for(oracle).supporting(counts)[0, :-1]
    largest = np.argsort(-supports, kind="stable")[:top]
    return {"top": top, "ranked": int((largest < top).sum())}


def model_of_phrases(texts: Sequence[str]) -> PhraseModel:
    """The model that `deniable model train` makes of some strings."""
    examples = {canonical(text): 1.0 for text in texts}

    def train(half: Mapping[bytes, float]) -> Callable[[bytes], int]:
        return PhraseModel(trained_on_phrases(half, LeftOutBits(0, 0, 0))).length

    measured = quantiles(bits_left_out(examples, train))
    return PhraseModel(trained_on_phrases(examples, measured))


@cache
def model_without(language: str) -> Model:
    """The shipped model, or that of the same training without a language."""
    if not language:
        return shipped_model()
    path = MODELS / f"without-{language}.model"
    if not path.exists():
        MODELS.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "tools.letters", "--out", str(path), "--without", language],
            cwd=ROOT,
            check=True,
        )
    return Model(path.read_bytes())


@cache
def version() -> str:
    """A short name of all that the figures depend on."""
    digest = hashlib.sha256()
    for place in MEASURED:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@lru_cache(2)
def _made(name: str) -> populations.Population:
    assert generated
    assert long_names
    return populations.POPULATIONS[name]()
