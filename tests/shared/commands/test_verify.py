"""The command ``deniable verify``, of an installation that is whole and of ones that are not."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_shared import __version__
from deniable_shared.installed import DEVICE_PACKAGES, package_folder

pytestmark = pytest.mark.service

RUN = (
    "import sys; sys.path[:0] = {paths!r}; from deniable_shared.commands.entry import main; main()"
)


def verify(site: Path, *options: str, before: Path | None = None):
    """Runs the command of the installation in a folder, with another folder before it or not."""
    paths = [str(path) for path in (before, site) if path is not None]
    return subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", RUN.format(paths=paths), "verify", *options],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip


def told(site: Path, *options: str, **where):
    done = verify(site, "--json", *options, **where)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def site(tmp_path) -> Path:
    """What runs on a device, and a module more, as an installer leaves them."""
    folder = tmp_path / "site"
    for package in DEVICE_PACKAGES:
        source = Path(str(package_folder(package)))
        shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "deniable_aggregator" / "doors").mkdir(parents=True)
    (folder / "deniable_aggregator" / "__init__.py").write_text("")
    (folder / "deniable_aggregator" / "doors" / "app.py").write_text("")
    about = folder / f"deniable-{__version__}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: deniable\nVersion: {__version__}\n"
    )
    lines = [
        f"{path.relative_to(folder)},sha256={_hash(path)},{path.stat().st_size}\n"
        for path in folder.rglob("*")
        if path.is_file()
    ]
    (about / "RECORD").write_text("".join([*lines, f"{about.name}/RECORD,,\n"]))
    return folder


def _hash(path: Path) -> str:
    """As RECORD has it."""
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@pytest.fixture
def certificate(site, tmp_path) -> Path:
    """What a certificate says of the installed files, as ``deniable audit`` writes it."""
    code = (
        f"import sys, json; sys.path.insert(0, {str(site)!r})\n"
        "from deniable_shared.installed import installed_files\n"
        "print(json.dumps({'installed': vars(installed_files())}))"
    )
    text = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    path = tmp_path / "certificate.json"
    path.write_text(text)
    return path


def test_what_the_wheel_brought_is_as_record_and_a_certificate_say(site, certificate):
    status, said = told(site, "--certificate", str(certificate))
    assert (status, said["same"]) == (0, True)
    nothing = {"changed": [], "missing": [], "added": []}
    assert said["record"] == {"compared": said["record"]["compared"], **nothing}
    assert said["certificate"] == {"compared": said["files"], **nothing}
    # RECORD is of all packages and the metadata, the certificate of what runs on a device.
    assert said["record"]["compared"] > said["files"] > 100
    assert said["folder"] == str(site)
    groups = " ".join(said["digest"][at : at + 4] for at in (0, 4, 8, 12))
    assert f"{groups} (the first 16 of 64 digits" in verify(site).stdout


def test_a_certificate_of_another_version_is_named(site, certificate):
    content = json.loads(certificate.read_text())
    own, content["installed"]["version"] = content["installed"]["version"], "0.0.9"
    certificate.write_text(json.dumps(content))
    assert told(site, "--certificate", str(certificate))[1]["certified_version"] == "0.0.9"
    said = verify(site, "--certificate", str(certificate)).stdout
    assert f"of deniable 0.0.9, and {own} is installed" in said


def test_a_missing_file_that_the_command_needs_is_said_without_a_traceback(site):
    (site / "deniable_shared" / "installed.py").unlink()
    done = verify(site)
    assert done.returncode == 1
    assert "the module deniable_shared.installed is missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_differs_is_named_by_both(site, certificate):
    with (site / "deniable" / "_client.py").open("a") as file:
        file.write("\n")
    (site / "deniable_shared" / "wire.py").rename(site / "deniable_shared" / "wires.py")
    (site / "deniable_aggregator" / "doors" / "app.py").unlink()
    status, said = told(site, "--certificate", str(certificate))
    assert (status, said["same"]) == (1, False)
    assert said["certificate"] == {
        "compared": said["files"],
        "changed": ["deniable/_client.py"],
        "missing": ["deniable_shared/wire.py"],
        "added": ["deniable_shared/wires.py"],
    }
    assert said["record"]["changed"] == ["deniable/_client.py"]
    assert sorted(said["record"]["missing"]) == [
        "deniable_aggregator/doors/app.py", "deniable_shared/wire.py"
    ]  # fmt: skip
    assert said["record"]["added"] == ["deniable_shared/wires.py"]
    lines = [line.split() for line in verify(site).stdout.splitlines()]
    assert ["RECORD", "changed", "deniable/_client.py"] in lines
    assert ["added", "deniable_shared/wires.py"] in lines


def test_whoever_changes_record_as_well_is_found_by_a_certificate_alone(site, certificate):
    module = site / "deniable" / "_client.py"
    (record,) = site.glob("*.dist-info/RECORD")
    lines = [line for line in record.read_text().splitlines() if "deniable/_client.py" not in line]
    module.write_text("")
    empty = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
    record.write_text("\n".join([*lines, f"deniable/_client.py,{empty},0\n"]))
    assert told(site)[0] == 0
    status, said = told(site, "--certificate", str(certificate))
    assert (status, said["certificate"]["changed"]) == (1, ["deniable/_client.py"])
    assert "RECORD is on the same disk" in verify(site).stdout


def test_a_script_that_lies_elsewhere_than_record_says_does_not_matter(site):
    """`pip install --target` puts it there; devices do not run it."""
    record = site / f"deniable-{__version__}.dist-info" / "RECORD"
    script = site.parent / "deniable"
    script.write_text("script")
    record.write_text(f"{record.read_text()}../deniable,sha256={_hash(script)},6\n")
    assert told(site)[0] == 0
    script.write_text("another")
    status, said = told(site)
    assert (status, said["record"]["changed"]) == (1, ["../deniable"])
    script.unlink()
    assert told(site)[0] == 0


def test_a_package_that_is_gone_is_missing(site):
    shutil.rmtree(site / "deniable_aggregator")
    status, said = told(site)
    assert (status, said["record"]["changed"], said["record"]["added"]) == (1, [], [])
    assert sorted(said["record"]["missing"]) == [
        "deniable_aggregator/__init__.py", "deniable_aggregator/doors/app.py"
    ]  # fmt: skip


def test_what_is_in_the_metadata_is_compared_too(site):
    (metadata,) = site.glob("*.dist-info/METADATA")
    metadata.write_text(metadata.read_text() + "x")
    assert told(site)[1]["record"]["changed"] == [str(metadata.relative_to(site))]


def test_without_a_record_of_its_files_there_is_nothing_to_compare_with(site, certificate):
    (record,) = site.glob("*.dist-info/RECORD")
    kept = [line for line in record.read_text().splitlines() if ".dist-info" in line]
    record.write_text("\n".join(kept))
    done = verify(site)
    assert done.returncode == 1
    assert "nothing to compare with: RECORD lists no such files" in done.stdout
    origin = {"url": "file:///source", "dir_info": {"editable": True}}
    (record.parent / "direct_url.json").write_text(json.dumps(origin))
    assert "nothing to compare with: an editable install" in verify(site).stdout
    assert told(site, "--certificate", str(certificate))[0] == 0
    shutil.rmtree(record.parent)
    assert "nothing to compare with: not installed" in verify(site).stdout


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\x00b,sha256=AA,1", b"a" * 200_000])
def test_a_record_that_is_no_list_is_nothing_to_compare_with(site, content):
    (record,) = site.glob("*.dist-info/RECORD")
    record.write_bytes(content)
    status, said = told(site)
    assert (status, said["record"]["compared"]) == (1, 0)
    assert said["record"]["reason"] == "RECORD is no list of files and hashes"


def test_a_copy_that_python_finds_first_is_not_what_record_speaks_of(site, tmp_path):
    other = tmp_path / "first"
    for package in ("deniable", "deniable_shared"):
        shutil.copytree(site / package, other / package)
    status, said = told(site, before=other)
    assert status == 1
    assert said["record"]["reason"].startswith(f"RECORD is of {site}, but Python imports ")
    assert str(other) in said["folder"]


@pytest.mark.parametrize("how", ["times", "hash that is not checked"])
def test_bytecode_that_does_not_come_from_its_file_is_named(site, how):
    module = site / "deniable" / "_client.py"
    original, seen = module.read_bytes(), module.stat()
    mode = getattr(
        py_compile.PycInvalidationMode, "TIMESTAMP" if how == "times" else "UNCHECKED_HASH"
    )
    # A module of the same size and time as the original, compiled, and the original put back.
    module.write_bytes(original.replace(b"return", b"yield ", 1))
    os.utime(module, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    compiled = py_compile.compile(str(module), doraise=True, invalidation_mode=mode)
    module.write_bytes(original)
    os.utime(module, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    status, said = told(site)
    assert (status, said["foreign_bytecode"]) == (1, [compiled])
    assert f"Python would run it: {compiled}" in verify(site).stdout


def test_bytecode_of_the_file_and_bytecode_that_python_would_not_run_do_not_matter(site):
    py_compile.compile(str(site / "deniable" / "_engine.py"), doraise=True)
    module = site / "deniable" / "_client.py"
    original = module.read_bytes()
    module.write_text("older = 1\n")
    compiled = Path(py_compile.compile(str(module), doraise=True))
    module.write_bytes(original)
    compiled.with_name("_client.cpython-27.pyc").write_bytes(b"of another version of Python")
    assert told(site)[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"[]",
        b'{"installed": {"version": 1, "files": {}, "digest": ""}}',
        b'{"installed": {"version": "1", "files": {"\\ud800": ""}, "digest": ""}}',
    ],
)
def test_what_is_no_certificate_is_refused(site, tmp_path, content):
    path = tmp_path / "none.json"
    path.write_bytes(content)
    done = verify(site, "--certificate", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "certificate must be a file that deniable audit --certificate wrote" in done.stderr


def test_a_certificate_whose_digest_is_not_that_of_its_files_is_refused(site, certificate):
    content = json.loads(certificate.read_text())
    content["installed"]["files"]["deniable/_client.py"] = "0" * 64
    certificate.write_text(json.dumps(content))
    done = verify(site, "--certificate", str(certificate))
    assert done.returncode == 1
    assert "the certificate's digest must be that of the files it lists" in done.stderr
