"""A private PostgreSQL server for tests: a temporary directory, a free port, a password."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg

from tests import in_memory, watchdog
from tests.ports import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60.0
REQUIRED = "DENIABLE_REQUIRE_POSTGRES"
MISSING = "PostgreSQL's server is not installed; make install PART=postgresql installs it"
USER = "deniable"
_ACCOUNT = "postgres"
"""Whom the server runs as where the tests run as root, which it refuses."""


def binaries() -> Path | None:
    """Where initdb and postgres are: the newest version of those installed."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    found = shutil.which("initdb")
    return debian[-1].parent if debian else Path(found).resolve().parent if found else None


def _version(initdb: Path) -> int:
    return int(initdb.parents[1].name)


class Postgresql:
    """A server that can be killed and started again.

    Args:
        found: where initdb and postgres are; None for the newest of those installed.
        settings: options of ``postgres``, such as ``fsync="off"``.

    Attributes:
        port: where it listens on 127.0.0.1.
        password: of its only user.
    """

    def __init__(self, found: Path | None = None, **settings: str) -> None:
        found = binaries() if found is None else found
        assert found is not None, MISSING
        self._binaries = found
        self._settings = settings
        self._names = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self.password = secrets.token_urlsafe(24)
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-postgresql-", dir=in_memory.folder()))
        watchdog.watch(folder=self.folder)
        self._as = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(_ACCOUNT)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self._as = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        file = self.folder / "password"
        file.write_text(self.password)
        file.chmod(0o644)  # within a directory that only its owner may enter
        self._initialise(file)
        try:
            self.start()
        except AssertionError:
            # Somebody else may have taken the port in the meantime.
            self.port = free_port()
            self.start()

    def _initialise(self, password_file: Path) -> None:
        command = [self._binaries / "initdb", "-D", self.data, "-U", USER, "-E", "UTF8"]
        # Of a password's two forms the one that costs a connection no thousands of hashes.
        command += ["--locale=C", "--auth=md5", f"--pwfile={password_file}", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self._as)

    @property
    def data(self) -> Path:
        """The directory with everything that the server keeps."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What the server has printed."""
        return self.folder / "log"

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        command = [self._binaries / "postgres", "-D", self.data, "-p", str(self.port)]
        settings = {
            "listen_addresses": HOST,
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            **self._settings,
        }
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, **self._as
            )
        watchdog.watch(process=self._process.pid, how=signal.SIGQUIT)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Ends the server, and every connection with it."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Ends it without letting it write anything more, as a failing machine does."""
        self._end(signal.SIGQUIT)

    def _children(self) -> list[int]:
        main = self._process.pid
        return [*map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split())]

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Stops all of its processes for the length of a block: it is there and says nothing."""
        # The main one first, which makes the others.
        self._process.send_signal(signal.SIGSTOP)
        stopped = self._children()
        try:
            for child in stopped:
                os.kill(child, signal.SIGSTOP)
            yield
        finally:
            for child in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGCONT)
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill -9 for all of its processes at once."""
        children = self._children()
        self._process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.wait(START_SECONDS)
        self._process = None

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(START_SECONDS)
            self._process = None

    def remove(self) -> None:
        """Ends it and deletes all that it kept."""
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}:{quote(self.password)}@{HOST}:{self.port}/{database}"

    def connect(self, url: str | None = None) -> psycopg.Connection:
        return psycopg.connect(url or self.url(), autocommit=True)

    def fresh_schema(self) -> str:
        """The URL of a new, empty schema: as good as a database, and made at once."""
        name = f"test_{next(self._names)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}?options={quote(f'-csearch_path={name}')}"

    def fresh_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._names)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)
