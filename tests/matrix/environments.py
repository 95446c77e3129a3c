"""Environments with other versions of what Deniable needs, made by uv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv-uv/bin/uv"
FOLDER = ROOT / ".venv-matrix"
MINORS = (11, 12, 13, 14)
"""Of Python 3."""

EXTRAS = ("aggregator", "analysis", "archive", "charts", "dask", "postgresql", "redis", "tables")
WHEEL_OF_POSTGRESQL = "pgserver"
"""A package that brings a PostgreSQL server, of another version than Debian's."""


_UPPER_BOUND = re.compile(r",<[^,;]+")


class FailedError(Exception):
    """What a program said that has failed."""


class Environment(NamedTuple):
    """What is installed in an environment.

    Attributes:
        name: also of its folder.
        python: the interpreter.
        resolution: which versions uv chooses: "highest", or "lowest-direct" for the lowest that
            pyproject.toml declares.
        prereleases: whether versions that are not final are chosen, too, and upper bounds of
            pyproject.toml do not count: so it is seen what they are for, and when they can go.
        extras: of pyproject.toml.
    """

    name: str
    python: Path
    resolution: str = "highest"
    prereleases: bool = False
    extras: tuple[str, ...] = EXTRAS

    @property
    def interpreter(self) -> Path:
        """The Python of the environment."""
        return FOLDER / self.name / "bin" / "python"

    def make(self) -> None:
        """Makes it anew, with Deniable as its users install it."""
        python = self.interpreter
        succeed(UV, "venv", "-q", "--clear", "-p", self.python, FOLDER / self.name)
        wanted = FOLDER / self.name / "requirements.in"
        wanted.write_text("\n".join(self.requirements()), encoding="utf-8")
        requirements = wanted.with_suffix(".txt")
        command = [UV, "pip", "compile", "-q", "--resolution", self.resolution, "-p", python]
        command += ["--prerelease", "allow"] if self.prereleases else []
        succeed(*command, "-o", requirements, wanted)
        install = (UV, "pip", "install", "-q", "--python", python)
        succeed(*install, "-r", requirements)
        succeed(*install, "--no-deps", wheel())

    def requirements(self) -> list[str]:
        """What pyproject.toml declares for the extras."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        declared = [*project["dependencies"]]
        for extra in self.extras:
            declared += project["optional-dependencies"][extra]
        others = [each for each in declared if not each.startswith("deniable[")]
        return [_UPPER_BOUND.sub("", each) if self.prereleases else each for each in others]

    def versions(self) -> dict[str, str]:
        """What is installed, package by package."""
        listed = succeed(UV, "pip", "freeze", "-q", "--python", self.interpreter)
        return dict(line.split("==") for line in listed.splitlines() if "==" in line)


def succeed(*command: object, **options: object) -> str:
    """What a program prints.

    Raises:
        FailedError: with what it said, if it fails.
    """
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise FailedError(f"{' '.join(words)}:\n{done.stdout}{done.stderr}")
    return done.stdout


@cache
def wheel() -> Path:
    """Deniable's wheel, built from these sources."""
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    succeed(sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


def pythons() -> dict[str, Path]:
    """An interpreter of each version that is on this machine: those that uv knows, and pyenv's."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        version = f"3.{minor}"
        known = [*sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
        try:
            command = (UV, "python", "find", "-q", "--no-python-downloads", "--system", version)
            known.append(Path(succeed(*command, cwd="/").strip()))
        except FailedError:
            pass
        if known:
            found[version] = known[0]
    return found


def postgresql_of_wheel(folder: Path) -> Path:
    """Installs the server that a wheel brings; returns the folder of its programs."""
    succeed(UV, "pip", "install", "-q", "--no-deps", "--target", folder, WHEEL_OF_POSTGRESQL)
    for each in (folder, *folder.rglob("*")):
        each.chmod(each.stat().st_mode | (0o555 if each.is_dir() else 0o444))
    return folder / WHEEL_OF_POSTGRESQL / "pginstall" / "bin"
