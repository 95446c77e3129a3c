"""Which calls the client makes on macOS and on Windows, of systems that are made up here.

That the branch is chosen, and no more: neither system has been tried.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import ssl
import subprocess
import sys
import types
from pathlib import Path

import pytest

from deniable import _platform

FOLDER = Path(_platform.__file__).parent
LOCKED, FREE = "locked", "free"


@pytest.fixture
def load(monkeypatch):
    """Loads a module of the package as it is on another system, under another name."""

    def load(name, system, **modules):
        monkeypatch.setattr(sys, "platform", system)
        for each, module in modules.items():
            monkeypatch.setitem(sys.modules, each, module)
        monkeypatch.setattr(os, "O_BINARY", 0o1000_0000_0000, raising=False)
        spec = importlib.util.spec_from_file_location(f"on_{system}_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


class Msvcrt(types.SimpleNamespace):
    """Locks the first byte of one file, for descriptors as Windows does."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        super().__init__(holder=None)

    def locking(self, file, how, count):
        assert count == 1
        if file < 0:
            raise OSError(errno.EBADF, "bad")
        wanted = None if how == self.LK_NBLCK else file
        if self.holder != wanted:
            raise PermissionError(errno.EACCES, "denied")
        self.holder = file if how == self.LK_NBLCK else None


@pytest.fixture
def windows_locks(load):
    return load("locks", "win32", msvcrt=Msvcrt())


def test_on_windows_one_descriptor_at_a_time_has_the_lock(windows_locks):
    change, lock, unlock = windows_locks.change_lock, windows_locks.LOCK, windows_locks.UNLOCK
    change(3, lock)
    for _ in range(2):
        with pytest.raises(BlockingIOError):
            change(4, lock)
    change(4, unlock)
    with pytest.raises(BlockingIOError):
        change(4, lock)
    change(3, unlock)
    change(3, unlock)
    change(4, lock)


def test_on_windows_a_descriptor_that_was_not_unlocked_can_be_locked_again(windows_locks):
    for how in (windows_locks.LOCK, windows_locks.LOCK):
        windows_locks.change_lock(3, how)
    with pytest.raises(BlockingIOError):
        windows_locks.change_lock(4, windows_locks.LOCK)


def test_on_windows_a_lock_that_cannot_be_tried_is_not_mistaken_for_one_that_is_held(windows_locks):
    for how in (windows_locks.LOCK, windows_locks.UNLOCK):
        with pytest.raises(OSError, match="bad") as caught:
            windows_locks.change_lock(-1, how)
        assert not isinstance(caught.value, BlockingIOError)


def test_macos_is_asked_to_empty_the_memory_of_the_disk(load, tmp_path, monkeypatch):
    calls = []
    fcntl = types.SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda _, what: calls.append(what))
    files = load("files", "darwin", fcntl=fcntl)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    (tmp_path / "file").touch()
    files.sync_file(tmp_path / "file")
    files.sync_directory(tmp_path)
    assert calls == [51, 51]

    def refuse(*_):
        raise OSError(errno.ENOTSUP, "not on a network")

    fcntl.fcntl = refuse
    files.sync_file(tmp_path / "file")
    assert calls == [51, 51, "fsync"]


def test_on_windows_files_are_synced_by_writers_and_directories_not_at_all(
    load, tmp_path, monkeypatch
):
    files, opened = load("files", "win32"), []
    (tmp_path / "file").touch()
    real = os.open
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", lambda path, flags: opened.append(flags) or real(path, flags))
        files.sync_file(tmp_path / "file")
        files.sync_directory(tmp_path)
    assert opened == [os.O_RDWR]
    assert files.BINARY == os.O_BINARY


@pytest.mark.parametrize("tries", [1, 3, 100])
def test_on_windows_a_file_that_somebody_has_open_is_tried_again_for_a_while(
    load, tmp_path, monkeypatch, tries
):
    files, waited = load("files", "win32"), []
    left = [tries]

    def opened_elsewhere(action):
        def try_it(*arguments, **named):
            left[0] -= 1
            if left[0] > 0:
                raise PermissionError(errno.EACCES, "open")
            return action(*arguments, **named)

        return try_it

    monkeypatch.setattr(files.time, "sleep", waited.append)
    monkeypatch.setattr(Path, "replace", opened_elsewhere(Path.replace))
    monkeypatch.setattr(Path, "unlink", opened_elsewhere(Path.unlink))
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    if tries == 100:
        with pytest.raises(PermissionError):
            files.replace(old, new)
        assert 0.5 < sum(waited) < 1
        return
    files.replace(old, new)
    assert new.exists()
    left[0] = tries
    files.delete(new)
    files.delete(new)
    assert not new.exists()
    assert len(waited) == 2 * (tries - 1)


@pytest.mark.parametrize(
    ("handle", "error", "waiting", "runs"),
    [
        (None, 87, 0, False),  # no such process
        (None, 5, 0, True),  # access denied
        (77, 0, 258, True),
        (77, 0, 0, False),  # it has ended, and somebody keeps a handle
    ],
)
def test_on_windows_a_process_is_asked_for_by_a_handle_and_never_killed(
    load, monkeypatch, handle, error, waiting, runs
):
    closed = []

    class Function:
        def __init__(self, answer):
            self.answer = answer

        def __call__(self, *arguments):
            return self.answer(*arguments)

    kernel = types.SimpleNamespace(
        OpenProcess=Function(lambda *_: handle),
        WaitForSingleObject=Function(lambda *_: waiting),
        CloseHandle=Function(closed.append),
    )
    ctypes = types.SimpleNamespace(
        WinDLL=lambda *_, **__: kernel,
        get_last_error=lambda: error,
        c_void_p=lambda value: value,
        c_uint32=lambda value: value,
    )
    monkeypatch.setattr(os, "kill", None)
    processes = load("processes", "win32", ctypes=ctypes)
    assert processes.is_running(4_321) is runs
    assert processes.is_running(1 << 40)  # nobody can tell
    assert closed == ([] if handle is None else [77])


def test_files_of_windows_are_not_judged_by_owners_and_modes_that_mean_nothing(load, tmp_path):
    tmp_path.chmod(0o777)
    status = os.stat_result((0o777, 0, 0, 0, os.geteuid() + 1, 0, 0, 0, 0, 0))
    for system, answer in (("win32", False), ("darwin", True)):
        permissions = load("permissions", system)
        for question in ("owned_by_another", "open_to_others", "changeable_by_others"):
            assert getattr(permissions, question)(status) is answer


@pytest.mark.parametrize("variable", [None, "SSL_CERT_FILE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("known", ["file", "folder", "empty folder", "nothing"])
def test_certificates_of_the_system_are_looked_for_where_python_has_none(
    load, monkeypatch, tmp_path, variable, known
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "/of/the/user")
    bundle = tmp_path / "bundle.pem"
    bundle.touch()
    folder = tmp_path if known == "folder" else tmp_path / "empty"
    folder.mkdir(exist_ok=True)
    paths = ssl.get_default_verify_paths()._replace(
        cafile=str(bundle) if known == "file" else None,
        capath=str(folder) if known.endswith("folder") else None,
    )
    certificates = load("certificates", "darwin")
    monkeypatch.setattr(certificates, "_FILES", (str(tmp_path / "missing"), str(bundle)))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    loaded = []
    certificates.add_system_authorities(types.SimpleNamespace(load_verify_locations=loaded.append))
    lacking = variable is None and known in ("empty folder", "nothing")
    assert loaded == ([bundle] if lacking else [])


MADE_UP = """
import errno, fcntl, http.client, json, logging, os, pathlib, socket, ssl, sys, tempfile
import threading, tomllib, types, urllib.request

def locking(file, how, count):
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "denied") from None

def open_file(path, flags, *mode, real=os.open):
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "a directory")
    binary.append(bool(flags & os.O_BINARY))
    return real(path, flags & ~os.O_BINARY, *mode)

binary = []
os.O_BINARY, os.open = 1 << 40, open_file
real = fcntl
sys.modules["fcntl"] = None
sys.modules["msvcrt"] = types.SimpleNamespace(
    locking=locking, LK_NBLCK=fcntl.LOCK_EX | fcntl.LOCK_NB, LK_UNLCK=fcntl.LOCK_UN
)
for name in ("fork", "forkpty", "pread", "geteuid", "getuid", "kill", "register_at_fork", "chown"):
    delattr(os, name)
del os.fchmod
sys.platform = "win32"

import deniable
from tests.client.transports import Accepting

registry, directory = sys.argv[1:]
transport = Accepting()
with deniable.Client(
    registry, transport=transport, directory=directory, consent=True, background=False
) as client:
    assert client.record("theme", "dark") == "recorded", client.status()
    assert client.flush().sent == len(transport.bodies) == 1, client.status()
    assert client.record("late", True) == "recorded"
    client.consent = False
    client.consent = True
    assert client.record("emoji", "x") == "recorded"
shown = deniable.disclosure(directory)
assert (shown.problem, shown.pending) == (None, 1), shown
assert any(binary), "the journal is written byte by byte"
"""


@pytest.mark.service
def test_the_client_works_without_what_windows_lacks(registry, directory):
    done = subprocess.run(
        [sys.executable, "-c", MADE_UP, registry, directory],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
