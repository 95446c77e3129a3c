"""``python -m benchmarks.discovery.costs``: processor time and memory of decoding.

For a million and ten million devices, and strings of 4, 5 and 7 levels: the processor time of
decoding once counters are there, and the most memory that the process ever has. Each line is a
process of its own on one core, which gets the counters from a file, so that the population and the
drawing of reports do not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from benchmarks.discovery import runs
from benchmarks.discovery.cells import Cell
from benchmarks.discovery.simulation import Simulation
from deniable_shared.letters import LetterCode, shipped_model

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Trie

CELLS: Final = tuple(
    Cell(population, devices, "4")
    for population in ("english", "package_names", "domains")
    for devices in (10**6, 10**7)
)


def measure(cell: Cell, folder: Path) -> dict[str, float]:
    """Seconds and megabytes of one cell, by another process."""
    found = runs.coded(cell.population, "")
    spec = runs.spec_of(cell, found.code, 0)
    trie = cast("Trie", spec.mechanism)
    simulation = Simulation(trie, spec.salt, found.pieces)
    counts = simulation.tally(found.population.shares, cell.devices, runs.generator_of(cell, 0))
    file = folder / "counts.npy"
    np.save(file, counts)
    asked = [cell.population, str(cell.devices), cell.epsilon, str(found.code.longest), str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.discovery.costs", *asked],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def decode(population: str, devices: str, epsilon: str, longest: str, file: str) -> None:
    """Decodes counters from a file, and prints what that took."""
    cell = Cell(population, int(devices), epsilon)
    code = LetterCode("text", int(longest), shipped_model())
    spec = runs.spec_of(cell, code, 0)
    before = peak_megabytes()
    start = time.process_time()
    findings = runs.decoded(spec, np.load(file))
    print(
        json.dumps(
            {
                "seconds": time.process_time() - start,
                "megabytes": peak_megabytes(),
                "megabytes_before": before,
                "shown": len(findings.whole) + len(findings.prefixes),
            }
        )
    )


def peak_megabytes() -> float:
    """The most memory that this process ever had resident.

    The kernel's figure for children starts from what the parent had, so it is not taken.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Measures all lines, or decodes for one of them."""
    if len(sys.argv) > 1:
        decode(*sys.argv[1:])
        return
    print("| population | levels | devices | CPU s | peak MB | imports, MB | shown |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for cell in CELLS:
            levels = runs.coded(cell.population, "").code.levels
            of = measure(cell, Path(folder))
            print(
                f"| {cell.population} | {levels} | {cell.devices:,} | {of['seconds']:.1f} "
                f"| {of['megabytes']:.0f} | {of['megabytes_before']:.0f} | {of['shown']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
