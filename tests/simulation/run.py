"""Runs of the simulation: one, many, and the shortest one that still fails."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests import in_memory
from tests.simulation.model import Violation
from tests.simulation.places import Files, Schemas
from tests.simulation.plan import plan
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence

    from tests.postgresql import Postgresql
    from tests.simulation.plan import Step


@contextmanager
def places(server: Postgresql | None) -> Iterator[Files | Schemas]:
    """Where stores are: in files, or in a database server if there is one."""
    memory = in_memory.folder()
    with tempfile.TemporaryDirectory(prefix="deniable-simulation-", dir=memory) as name:
        folder = Path(name, "stores")
        folder.mkdir()
        found = Files(folder) if server is None else Schemas(server, folder)
        try:
            yield found
        finally:
            found.close()


def run(
    seed: int,
    steps: Sequence[Step],
    server: Postgresql | None,
    say: Callable[[str], object] = lambda _: None,
) -> Counter[tuple[str, str]]:
    """One run, from an empty store to the end.

    Args:
        seed: of what is not drawn within a step.
        steps: of the run.
        server: a PostgreSQL server, or None for SQLite.
        say: called with what happens, in words.

    Returns:
        What went wrong where, and how often.

    Raises:
        Violation: if anything was not as it must be.
    """
    with places(server) as found:
        world = World(found, seed, say)
        with world.patched():
            try:
                world.begin()
                for number, step in enumerate(steps):
                    world.do(number, step)
                world.finish()
            except Violation:
                raise
            except Exception as error:
                raise Violation(f"it failed: {type(error).__name__}: {error}") from error
            finally:
                world.close()
    return world.struck


def check(seed: int, server: Postgresql | None) -> Counter[tuple[str, str]]:
    """Runs a seed; a failure says how to see it again, in the fewest steps.

    Raises:
        Violation: if anything was not as it must be.
    """
    steps = plan(seed)
    try:
        return run(seed, steps, server)
    except Violation as violation:
        said: list[str] = []
        failure(seed, shrunk(seed, steps, server), server, said.append)
        store = "sqlite" if server is None else "postgresql"
        again = f"python -m tests.simulation --seed {seed} --store {store} --trace"
        raise Violation("\n".join([f"{violation}; to see it again: {again}", *said])) from None


def failure(
    seed: int,
    steps: Sequence[Step],
    server: Postgresql | None,
    say: Callable[[str], object] = lambda _: None,
) -> str | None:
    """What is not as it must be in a run; None if all is well."""
    try:
        run(seed, steps, server, say)
    except Violation as violation:
        return str(violation)
    return None


def shrunk(seed: int, steps: Sequence[Step], server: Postgresql | None) -> list[Step]:
    """A part of failing steps that fails too, and of which no single step can be left out."""
    kept = list(steps)
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if failure(seed, rest, server):
                kept = rest
            else:
                start += size
        size //= 2
    return kept
