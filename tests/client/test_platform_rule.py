"""Only the platform package uses what Linux, macOS and Windows do not all have, or do alike.

`make check` has mypy look at client and shared as on each of the three, which finds names that one
lacks. Here is what mypy cannot find: names that all have and that mean something else somewhere.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import deniable
import deniable_shared

CLIENT, SHARED = Path(deniable.__file__).parent, Path(deniable_shared.__file__).parent
ALLOWED = CLIENT / "_platform"

MODULES = {
    "ctypes",
    "fcntl",
    "grp",
    "mmap",
    "msvcrt",
    "platform",
    "posix",
    "pwd",
    "resource",
    "select",
    "signal",
    "syslog",
    "termios",
    "tty",
    "winreg",
}
OF_OS = {
    "O_BINARY",
    "chmod",  # without effect on Windows
    "fsync",  # not enough on macOS, and not for directories on Windows
    "fdatasync",
    "fork",
    "geteuid",
    "getppid",
    "getuid",
    "kill",  # ends the process on Windows, whatever the signal
    "link",
    "mkfifo",
    "name",
    "register_at_fork",
    "remove",  # Windows refuses it for a file that is open, as it does the next four
    "rename",
    "replace",
    "rmdir",
    "unlink",
    "symlink",
    "sync",
    "uname",
    "umask",
}
OF_ANYTHING = {"st_gid", "st_mode", "st_uid", "unlink"}
OF_SYS = {"platform", "getwindowsversion"}


def uses(source):
    """What a program uses that only the platform package may."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from MODULES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from MODULES & {module.partition(".")[0]}
            names = {"os": OF_OS, "sys": OF_SYS}.get(module, set())
            yield from names & {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            names = OF_ANYTHING | {"os": OF_OS, "sys": OF_SYS}.get(owner, set())
            yield from names & {node.attr}


EXCEPTIONS = {
    SHARED / "commands" / "entry.py": {"platform"},
    SHARED / "replaced_file.py": {"fsync", "st_mode", "unlink"},
}
"""The shared package has no platform package. A closed pipe has another error on Windows. And what
commands write may mean a little less there: a file that is open is not replaced, which is told."""


def test_only_the_platform_package_knows_the_system():
    found = {}
    for file in sorted({*CLIENT.rglob("*.py"), *SHARED.rglob("*.py")}):
        if not file.is_relative_to(ALLOWED):
            names = set(uses(file.read_text(encoding="utf-8"))) - EXCEPTIONS.get(file, set())
            if names:
                found[file.name] = names
    assert found == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import fcntl", {"fcntl"}),
        ("def f():\n    from ctypes.wintypes import DWORD", {"ctypes"}),
        ("import os\nos.kill(1, 0)", {"kill"}),
        ("from os import fsync, getpid", {"fsync"}),
        ("import sys\nsys.platform == 'win32'", {"platform"}),
        ("path.unlink(missing_ok=True)", {"unlink"}),
        ("path.stat().st_uid", {"st_uid"}),
        ("import os\nos.urandom(4)\n'a'.replace('a', 'b')", set()),
    ],
)
def test_the_rule_finds_what_it_is_for(source, names):
    assert set(uses(source)) == names
