"""Replays a seed: ``python -m tests.simulation --seed 7 --trace``."""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.simulation.plan import STEPS, plan
from tests.simulation.run import failure, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgresql import Postgresql


@contextmanager
def database(store: str) -> Iterator[Postgresql | None]:
    """A PostgreSQL server of its own, or None."""
    if store == "sqlite":
        yield None
        return
    from tests.postgresql import Postgresql

    server = Postgresql(fsync="off", shared_buffers="32MB")
    try:
        yield server
    finally:
        server.remove()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    """Runs seeds, and prints those that fail."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each run")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--trace", action="store_true", help="print every step")
    parser.add_argument("--shrink", action="store_true", help="leave out steps that do not matter")
    given = parser.parse_args()
    logging.disable()
    failed = 0
    with database(given.store) as server:
        for seed in range(given.seed, given.seed + given.seeds):
            steps = plan(seed, given.steps)
            say = _say if given.trace and not given.shrink else lambda _: None
            wrong = failure(seed, steps, server, say)
            if wrong is not None:
                failed += 1
                _say(f"seed {seed}: {wrong}")
                if given.shrink:
                    failure(seed, shrunk(seed, steps, server), server, _say)
    _say(f"{given.seeds - failed} of {given.seeds} seeds passed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
