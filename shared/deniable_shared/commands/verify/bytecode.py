"""Bytecode that Python keeps in ``__pycache__`` and runs in place of the files of source."""

from __future__ import annotations

import marshal
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.installed import package_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

_OPTIMIZATIONS: Final = {"": 0, "1": 1, "2": 2}
"""How Python names its levels of optimization in the names of files."""

_HEADER_BYTES: Final = 16
_BY_HASH: Final = 0b01
_CHECKED: Final = 0b10
_32_BITS: Final = 0xFFFFFFFF


def foreign_bytecode(packages: Sequence[str]) -> list[str]:
    """Files of bytecode that this Python would run, and that do not come from their source.

    Args:
        packages: names of installed packages; those in a zip have no such files.

    Returns:
        Paths on this system.
    """
    folders = [package_folder(name) for name in packages]
    return sorted(
        str(cached)
        for folder in folders
        if isinstance(folder, Path)
        for source in folder.rglob("*.py")
        for cached in _foreign_of(source)
    )


def _foreign_of(source: Path) -> Iterator[Path]:
    content: bytes | None = None
    for name, level in _OPTIMIZATIONS.items():
        cached = Path(cache_from_source(str(source), optimization=name))
        try:
            stored = cached.read_bytes()
        except FileNotFoundError:
            continue
        content = source.read_bytes() if content is None else content
        if _is_run(stored, source, content) and not _comes_from(stored, content, level):
            yield cached


def _is_run(stored: bytes, source: Path, content: bytes) -> bool:
    """Whether Python takes the bytecode; it compiles the source anew if that looks newer."""
    if len(stored) < _HEADER_BYTES or stored[:4] != MAGIC_NUMBER:
        return False
    flags = int.from_bytes(stored[4:8], "little")
    if flags & _BY_HASH:
        return not flags & _CHECKED or stored[8:16] == source_hash(content)
    status = source.stat()
    modified, size = int(status.st_mtime) & _32_BITS, status.st_size & _32_BITS
    return stored[8:16] == modified.to_bytes(4, "little") + size.to_bytes(4, "little")


def _comes_from(stored: bytes, content: bytes, level: int) -> bool:
    try:
        # Not safe with hostile bytes, but these are what an import would load.
        code: CodeType = marshal.loads(stored[_HEADER_BYTES:])  # noqa: S302
        compiled = compile(content, "<source>", "exec", dont_inherit=True, optimize=level)
    except (ValueError, EOFError, TypeError, SyntaxError):
        return False
    return code == compiled
