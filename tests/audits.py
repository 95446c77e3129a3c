"""Costly audits need not run where they have passed with the very same sources.

An audit is a test marked ``audit``, whose outcome follows from files of the project alone.
``python -m tests.audits`` runs each module of them, or those that it is given, in a process of its
own, sees which files they read, and writes a digest of those to ``audits.json`` if they passed.
Where ``DENIABLE_TRUST_AUDITS`` is set, as in CI, audits are skipped whose digest is still the same.
All other runs run them.

What a digest is of:

- every file that the process imported or read, and whatever else stands in the same packages;
- what the marker names: ``audit("client")`` stands for files that other processes read;
- pyproject.toml, the version of Python, and those of the packages that devices calculate with.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from subprocess import run
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = Path(__file__).with_name("audits.json")
TRUSTED: Final = "DENIABLE_TRUST_AUDITS"
_SEEN: Final = "DENIABLE_AUDIT_SEEN"
"""Names the file to which a run writes the paths that it has read."""

ALWAYS: Final = ("pyproject.toml", "tests/audits.py", "tests/conftest.py")
PACKAGES: Final = ("mmh3", "msgpack", "numpy", "scipy")
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-m", "audit")
_GENERATED: Final = {"__pycache__", ".pytest_cache", ".hypothesis", ".git", "build", "site"}


def digest(paths: Iterable[str], root: Path = ROOT) -> str:
    """A digest of files, of all that is directly in folders, and of what runs them.

    Args:
        paths: of files and, ending with ``/``, folders, from the root.
        root: the folder of the project.
    """
    total = hashlib.sha256()
    versions = [f"{name} {version(name)}" for name in PACKAGES]
    total.update(
        "\n".join([platform.python_implementation(), platform.python_version(), *versions]).encode()
    )
    for path in sorted({*paths, *ALWAYS}):
        for file in _files(root / path):
            content = file.read_bytes() if file.is_file() else b"missing"
            name = file.relative_to(root).as_posix()
            total.update(f"\n{name} {hashlib.sha256(content).hexdigest()}".encode())
    return total.hexdigest()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.is_file() and each.suffix != ".pyc")


def passed(module: str, root: Path = ROOT, record: Path = RECORD) -> bool:
    """Whether the audits of a test module have passed with what stands there now.

    Args:
        module: the path of the test module, from the root.
        root: the folder of the project.
        record: what ``python -m tests.audits`` has written.
    """
    known = json.loads(record.read_text("utf-8")) if record.exists() else {}
    entry = known.get(module)
    return bool(entry) and entry["digest"] == digest(entry["paths"], root)


class Watch:
    """Sees which files of the project a run reads, and writes them down if all audits passed."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._named: set[str] = set()
        self._passed = self._others = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            self._opened.add(os.fspath(arguments[0]))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for marker in item.iter_markers("audit"):
            self._named.update(marker.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self._passed += report.passed
            self._others += not report.passed

    def pytest_sessionfinish(self) -> None:
        if self._passed and not self._others:
            Path(os.environ[_SEEN]).write_text(json.dumps(sorted({*self._paths()})), "utf-8")

    def _paths(self) -> Iterator[str]:
        imported = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for name in {*self._opened, *filter(None, imported)}:
            path = _source(Path(name).absolute())
            if path.is_relative_to(ROOT) and path.is_file():
                yield _entry(path)
        for name in self._named:
            for path in (ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name]:
                if path.is_file() and not _GENERATED & {*path.parts}:
                    yield _entry(path)


def _source(path: Path) -> Path:
    """The source of a compiled module; any other path as it is."""
    if path.parent.name == "__pycache__":
        return path.parents[1] / f"{path.name.partition('.')[0]}.py"
    return path


def _entry(path: Path) -> str:
    """The file, or the package that it is in: what is added there may be imported, too."""
    relative = path.relative_to(ROOT)
    if relative.parts[0].startswith(".") or _GENERATED & {*relative.parts}:
        return ALWAYS[0]
    if (path.parent / "__init__.py").exists():
        return f"{relative.parent.as_posix()}/"
    return relative.as_posix()


def watch(config: pytest.Config) -> None:
    """Has a run watched, if ``python -m tests.audits`` has started it."""
    if _SEEN in os.environ:
        config.pluginmanager.register(Watch())


def _modules() -> list[str]:
    """All test modules that have audits."""
    command = [*_PYTEST, "--collect-only", "tests"]
    done = run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line})


def _read_by(module: str) -> list[str]:
    """Runs the audits of a module; returns what they read, and nothing if one did not pass."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "seen.json"
        environment = {**os.environ, _SEEN: str(seen)}
        environment.pop(TRUSTED, None)
        done = run([*_PYTEST, module], cwd=ROOT, env=environment, capture_output=True, check=False)
        passed = not done.returncode and seen.exists()
        said = "passed" if passed else f"not recorded\n{done.stdout.decode()}"
        sys.stdout.write(f"{module}: {said}\n")
        return json.loads(seen.read_text("utf-8")) if passed else []


def _changed(paths: Iterable[str], since: float) -> bool:
    """Whether files were written while audits ran, which may have read others."""
    files = [file for path in {*paths, *ALWAYS} for file in _files(ROOT / path)]
    return any(not file.exists() or file.stat().st_mtime >= since for file in files)


def main(chosen: list[str]) -> int:
    """Runs the audits of some modules, or of all; records what passed; returns the exit status."""
    began = time.time()
    modules = chosen or _modules()
    known = json.loads(RECORD.read_text("utf-8")) if chosen and RECORD.exists() else {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        read = dict(zip(modules, pool.map(_read_by, modules), strict=True))
    passing = {
        module: {"digest": digest(paths), "paths": paths}
        for module, paths in read.items()
        if paths and not _changed(paths, began)
    }
    kept = {module: entry for module, entry in known.items() if module not in modules}
    RECORD.write_text(json.dumps({**kept, **passing}, indent=1, sort_keys=True) + "\n", "utf-8")
    return len(passing) != len(modules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
