"""What is installed, by the hashes of its files."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import deniable
from deniable_shared import __version__
from deniable_shared.errors import ParameterError
from deniable_shared.installed import NOT_A_FILE, installed_files, package_folder

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX")


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """An installed package of two modules, one of them compiled."""
    folder = tmp_path / "counted"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "module.py").write_text("number = 1\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"compiled")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def paths_of(*packages: str) -> list[str]:
    return list(installed_files(packages).files)


@pytest.mark.usefixtures("package")
def test_every_file_is_named_by_its_path_and_hash_and_caches_are_not():
    found = installed_files(["counted"])
    assert found.version == __version__
    assert list(found.files) == ["counted/__init__.py", "counted/inner/module.py"]
    assert found.files["counted/inner/module.py"] == hashlib.sha256(b"number = 1\n").hexdigest()


def test_by_default_it_is_what_runs_on_a_device():
    found = installed_files()
    roots = {path.partition("/")[0] for path in found.files}
    assert roots == {"deniable", "deniable_shared"}
    client = Path(deniable.__file__).with_name("_client.py").read_bytes()
    assert found.files["deniable/_client.py"] == hashlib.sha256(client).hexdigest()


@pytest.mark.parametrize("change", ["a byte", "another module", "a name", "no module"])
def test_the_digest_changes_with(package, change):
    before = installed_files(["counted"])
    module = package / "inner" / "module.py"
    if change == "a byte":
        module.write_text("number = 2\n")
    elif change == "another module":
        (package / "module.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    elif change == "a name":
        module.rename(package / "module.py")
    else:
        module.unlink()
    after = installed_files(["counted"])
    assert after.digest != before.digest
    assert after.files != before.files


@ON_POSIX
@pytest.mark.service
def test_the_digest_is_what_programs_of_the_system_say(package, tmp_path):
    (package / "same.py").symlink_to(package / "inner" / "module.py")
    command = (
        "find counted ! -type d ! -path '*/__pycache__/*' -exec sha256sum {} + "
        "| LC_ALL=C sort | sha256sum"
    )
    told = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert installed_files(["counted"]).digest == told.stdout.split()[0]


@ON_POSIX
def test_links_to_files_are_read_and_links_to_folders_are_not_followed(package):
    (package / "same.py").symlink_to(package / "inner" / "module.py")
    (package / "loop").symlink_to(package)
    (package / "nowhere.py").symlink_to(package / "missing")
    os.mkfifo(package / "pipe.py")
    files = installed_files(["counted"]).files
    assert files["counted/same.py"] == files["counted/inner/module.py"]
    for name in ("loop", "nowhere.py", "pipe.py"):
        assert files[f"counted/{name}"] == NOT_A_FILE
    assert len(files) == 6


@ON_POSIX
def test_a_name_is_one_line_of_ascii_whatever_it_is_made_of(package):
    line = "0" * 64
    for name in (b"\xff.py", "é.py".encode(), f"x\n{line}  counted".encode(), b"back\\slash.py"):
        Path(os.fsdecode(os.fsencode(package) + b"/" + name)).write_text("")
    assert paths_of("counted") == [
        "counted/\\udcff.py",
        "counted/\\xe9.py",
        "counted/__init__.py",
        "counted/back\\\\slash.py",
        "counted/inner/module.py",
        f"counted/x\\n{line}  counted",
    ]


@pytest.mark.usefixtures("package")
def test_a_package_in_a_zip_has_the_hashes_that_it_has_in_a_folder(tmp_path, monkeypatch):
    loose = installed_files(["counted"])
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in loose.files:
            packed.write(tmp_path / path, path)
    monkeypatch.syspath_prepend(archive)
    assert installed_files(["counted"]) == loose
    assert str(package_folder("counted")).startswith(str(archive))
    assert "counted" not in sys.modules


@pytest.mark.usefixtures("package")
def test_without_its_source_a_package_is_refused(package):
    (package / "__init__.py").unlink()
    with pytest.raises(ParameterError, match="counted must be installed as files of source"):
        installed_files(["counted"])


def test_what_is_not_installed_is_refused():
    with pytest.raises(ParameterError, match="must be the name of an installed one, got 'counted'"):
        installed_files(["counted"])
