"""``make test PART=matrix``: the same deployment with many versions of what it needs, as a table.

Each line is an environment, what ran in it (`tests.matrix.deployment`), how long it took and
whether it passed. Pre-releases may fail: the line says so, and the run passes all the same.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.matrix.environments import (
    ROOT,
    UV,
    Environment,
    FailedError,
    postgresql_of_wheel,
    pythons,
    succeed,
)
from tests.postgresql import Postgresql, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAY_FAIL = "pre-releases"
SHOWN = ("click", "flask", "httpx", "msgspec", "numpy", "scipy", "sqlalchemy", "zstandard")
"""Packages whose versions are printed."""


class Matrix:
    """Runs deployments, and prints a line for each.

    Args:
        folder: an empty one.

    Attributes:
        failures: names of what failed and may not.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failures: list[str] = []

    def line(self, name: str, what: str, act: Callable[[], object]) -> bool:
        """Does something and prints its line; whether it passed."""
        started = time.monotonic()
        failure = ""
        try:
            act()
        except FailedError as error:
            failure = str(error)
        seconds = time.monotonic() - started
        may_fail = name == MAY_FAIL
        result = "passed" if not failure else "failed, as it may" if may_fail else "FAILED"
        print(f"{name:<16} {what:<44} {seconds:>4.0f}  {result}", flush=True)
        if failure:
            print(textwrap.indent(failure.rstrip()[-1500:], "    "), flush=True)
            if not may_fail:
                self.failures.append(f"{name}, {what}:\n{failure}")
        return not failure

    def deploy(
        self,
        act: str,
        environment: Environment,
        written: str,
        *,
        devices: Environment | None = None,
        server: Postgresql | None = None,
        programs: Path | None = None,
    ) -> None:
        """Runs one half of `tests.matrix.deployment`.

        Args:
            written: the name of the folder of the deployment.
            devices: whose client devices use; None for that of the environment itself.
            server: of PostgreSQL; None for SQLite.
            programs: the folder of that server's programs.
        """
        command: list[object] = [environment.interpreter, "-m", "tests.matrix.deployment", act]
        command.append(self.folder / written)
        if devices is not None:
            command += ["--devices", devices.interpreter]
        if server is not None:
            command += ["--store", server.fresh_database()]
        path = os.environ["PATH"] if programs is None else f"{programs}:{os.environ['PATH']}"
        own = {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
        succeed(*command, env=os.environ | own, cwd=self.folder)

    def environment(self, environment: Environment) -> bool:
        """Makes an environment, writes a deployment in it and reads that again."""
        name = environment.name
        if not self.line(name, "install", environment.make):
            return False
        versions = environment.versions()
        shown = ", ".join(f"{each} {versions[each]}" for each in SHOWN if each in versions)
        print(f"    Python {environment.python}: {shown}", flush=True)
        return self.line(name, "write", lambda: self.deploy("write", environment, name)) and (
            self.line(name, "read", lambda: self.deploy("read", environment, name))
        )

    def reading(self, reader: Environment, writer: Environment) -> None:
        """One environment reads what another wrote."""
        what = f"read what {writer.name} wrote"
        self.line(reader.name, what, lambda: self.deploy("read", reader, writer.name))


@contextmanager
def running(programs: Path) -> Iterator[Postgresql]:
    """A PostgreSQL server for the length of a block."""
    server = Postgresql(programs, fsync="off")
    try:
        yield server
    finally:
        server.remove()


def postgresqls(folder: Path) -> dict[str, Path]:
    """The programs of each major version of PostgreSQL that can be had, by its name."""
    found = [programs for programs in (binaries(),) if programs is not None]
    try:
        found.append(postgresql_of_wheel(folder / "postgresql"))
    except FailedError as error:
        print(f"no PostgreSQL of a wheel: {error}")
    version = {each: succeed(each / "postgres", "--version").split()[2] for each in found}
    return {f"PostgreSQL {version[each].partition('.')[0]}": each for each in found}


def main() -> int:
    """Runs the matrix; returns the exit status."""
    if not UV.exists():
        print("uv is not installed: a plain `make test` installs it, if the index has it")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="deniable-matrix-"))
    folder.chmod(0o755)  # the account of PostgreSQL reads programs below it
    matrix = Matrix(folder)
    found = pythons()
    oldest, *later = found
    print(f"Python {', '.join(found)}\n\n{'environment':<16} {'what ran':<44} sec.  result")
    lowest = Environment("lowest", found[oldest], "lowest-direct")
    newest = Environment("newest", found[oldest])
    whole = [each for each in (lowest, newest) if matrix.environment(each)]
    for version in later:
        each = Environment(f"Python {version}".replace(" ", "-"), found[version])
        if matrix.environment(each):
            whole.append(each)
    before = Environment(MAY_FAIL, found[oldest], prereleases=True)
    matrix.environment(before)
    if lowest in whole:
        for other in whole[1:]:
            matrix.reading(other, lowest)
        for other in dict.fromkeys((whole[1], whole[-1])) if whole[1:] else ():
            matrix.reading(lowest, other)
    alone = Environment("client-alone", found[oldest], extras=())
    if newest in whole and matrix.line(alone.name, "install", alone.make):
        what = "devices of it, the rest in newest"
        matrix.line(
            alone.name, what, lambda: matrix.deploy("write", newest, alone.name, devices=alone)
        )
    _with_postgresql(matrix, whole, {lowest, newest})
    for failure in matrix.failures:
        print(f"\n{failure}")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if matrix.failures else 0


def _with_postgresql(matrix: Matrix, whole: list[Environment], with_it: set[Environment]) -> None:
    """Every version of PostgreSQL with lowest and newest; the later reads the earlier's backup."""
    backups: list[str] = []
    for name, programs in postgresqls(matrix.folder).items():
        with running(programs) as server:
            deploy = partial(matrix.deploy, server=server, programs=programs)
            for each in [each for each in whole if each in with_it]:
                written = f"{each.name} {name}".replace(" ", "-")
                for act in ("write", "read"):
                    matrix.line(each.name, f"{act} on {name}", partial(deploy, act, each, written))
            reader = whole[-1]
            for earlier in backups:
                what = f"read on {name} what {earlier} wrote"
                matrix.line(reader.name, what, partial(deploy, "read", reader, earlier))
            backups.append(written)


if __name__ == "__main__":
    sys.exit(main())
