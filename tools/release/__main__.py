"""Makes sdist and wheel of a commit: `make dist`.

    python -m tools.release [--output dist] [--commit HEAD]

builds what git has, not what lies in the folder: files that are not committed are not in it. It
builds twice, in two folders, with another clock, time zone, locale, user name, umask, hash seed and
rights of the sources, the second time from the sdist of the first, and fails unless all bytes are
the same. It writes both files and SHA256SUMS, and prints their hashes and the digest that users can
compare.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tools.release.building import DifferentBuildsError, build_twice, digest_of_installed, unpack

ROOT: Final = Path(__file__).parents[2]


def main() -> int:
    """Builds, compares, writes and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--commit", default="HEAD")
    options = parser.parse_args()
    commit = _git("rev-parse", "--verify", f"{options.commit}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory() as temporary:
        source, built = Path(temporary, "source"), Path(temporary, "built")
        built.mkdir()
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            unpack(archive, source)
        try:
            made = build_twice(source, built)
        except DifferentBuildsError as error:
            print(f"Error: {error}", file=sys.stderr)
            return 1
        options.output.mkdir(parents=True, exist_ok=True)
        paths = [Path(shutil.copy(path, options.output)) for path in made]
    _report(commit, paths, options.output)
    return 0


def _report(commit: str, paths: list[Path], folder: Path) -> None:
    """Writes SHA256SUMS, and prints what it says and the rest that should be published."""
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    sums = "".join(f"{file_hash}  {name}\n" for name, file_hash in sorted(hashes.items()))
    (folder / "SHA256SUMS").write_text(sums, "ascii")
    (wheel,) = (path for path in paths if path.suffix == ".whl")
    print(f"commit  {commit}")
    print(f"folder  {os.path.relpath(folder)}, with SHA256SUMS:")
    print(sums, end="")
    print(f"digest  {digest_of_installed(wheel)}")
    print("        of the files that run on a device, as deniable verify says")
    tools = f"hatchling {version('hatchling')}, Python {platform.python_version()}"
    print(f"built   twice, the same bytes, with {tools}, zlib {zlib.ZLIB_RUNTIME_VERSION}")


def _git(*words: str) -> bytes:
    """What git answers.

    Raises:
        SystemExit: if it fails; it has said why.
    """
    done = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
