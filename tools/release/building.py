"""Builds under stated circumstances, and says whether two builds are the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DAY_SECONDS: Final = 86_400
_SOME_TIME: Final = 1_000_000_000

_BUILD: Final = """\
import os, sys, time
umask, days, kind, folder = sys.argv[1:]
os.umask(int(umask, 8))
real = time.time
time.time = lambda: real() + float(days) * 86_400
import hatchling.build
getattr(hatchling.build, f"build_{kind}")(folder)
"""


class DifferentBuildsError(Exception):
    """Two builds of the same sources differ."""


class Circumstances(NamedTuple):
    """What should not matter to a build.

    Attributes:
        variables: of the environment; the builder's own ones are not passed on.
        umask: which rights new files do not get.
        days: by which the clock is wrong.
        rights: of the source files that are kept.
        owner: of the source files, if root builds.
    """

    variables: Mapping[str, str]
    umask: int
    days: int
    rights: int
    owner: int


ORDINARY: Final = Circumstances(
    {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "USER": "one"}, 0o022, 0, 0o777, 0
)
OTHER: Final = Circumstances(
    {"TZ": "XYZ-13:45", "LC_ALL": "C", "PYTHONHASHSEED": "4242", "USER": "another"},
    0o077, 1_000, 0o700, 12_345,
)  # fmt: skip


class Built(NamedTuple):
    """What a build made.

    Attributes:
        sdist: the archive of sources.
        wheel: what is installed.
    """

    sdist: Path
    wheel: Path


def build_twice(source: Path, folder: Path) -> Built:
    """Builds sources, and again what the sdist of them holds, under other circumstances.

    Args:
        source: the sources. Nothing is written there.
        folder: an empty one, for the files that are built.

    Returns:
        The first build, which the second is equal to.

    Raises:
        DifferentBuildsError: if the builds differ; it names the files inside that do.
    """
    first = build(source, folder / "first", ORDINARY)
    unpacked = folder / "another folder"
    with tarfile.open(first.sdist) as archive:
        unpack(archive, unpacked)
    (again,) = unpacked.iterdir()
    second = build(again, folder / "second", OTHER)
    for one, other in zip(first, second, strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            named = (
                ", ".join(_differing_members(one, other)) or "the same files, packed differently"
            )
            raise DifferentBuildsError(f"two builds of {one.name} differ: {named}")
    return first


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpacks files of our own into a folder, with the filter that Python has since 3.11.4."""
    if hasattr(tarfile, "data_filter"):
        archive.extraction_filter = tarfile.data_filter
    archive.extractall(folder)  # noqa: S202  # ours


def build(source: Path, folder: Path, circumstances: Circumstances) -> Built:
    """Builds sdist and wheel, each from the sources.

    Args:
        source: the sources; their rights, owner and times are changed as the circumstances say.
        folder: for what is built; it is made.
        circumstances: under which it is built.

    Raises:
        subprocess.CalledProcessError: if it does not build.
    """
    folder.mkdir()
    changed = _SOME_TIME + circumstances.days * _DAY_SECONDS
    for path in source.rglob("*"):
        path.chmod(path.stat().st_mode & circumstances.rights)
        if os.geteuid() == 0:
            os.chown(path, circumstances.owner, circumstances.owner)
        os.utime(path, (changed, changed))
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), **circumstances.variables}
    arguments = [f"{circumstances.umask:o}", str(circumstances.days)]
    for kind in ("sdist", "wheel"):
        subprocess.run(
            [sys.executable, "-c", _BUILD, *arguments, kind, str(folder)],
            cwd=source, env=variables, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


def digest_of_installed(wheel: Path) -> str:
    """The digest that ``deniable verify`` says of what the wheel installs: 64 digits."""
    code = (
        f"import sys; sys.path.insert(0, {str(wheel.resolve())!r})\n"
        "from deniable_shared.installed import installed_files\n"
        "print(installed_files().digest)"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def _differing_members(one: Path, other: Path) -> list[str]:
    first, second = _members(one), _members(other)
    return sorted(
        name for name in first.keys() | second.keys() if first.get(name) != second.get(name)
    )


def _members(path: Path) -> dict[str, str]:
    """SHA-256 of the files in an archive, by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: hashlib.sha256(wheel.read(name)).hexdigest() for name in wheel.namelist()}
    with tarfile.open(path) as sdist:
        files = {member.name: sdist.extractfile(member) for member in sdist if member.isfile()}
        return {
            name: hashlib.sha256(file.read()).hexdigest()
            for name, file in files.items()
            if file is not None
        }
