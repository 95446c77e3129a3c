"""What SQLite writes and syncs, told to a `Disk`.

SQLite does its input and output through a table of functions. Here the functions for opening and
deleting a file are replaced in the table of the library that Python's module sqlite3 has loaded;
an opened file gets a copy of its own table in which writing, truncating, syncing and closing are
replaced. Each calls what it replaces.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path

_POINTER_BYTES = ctypes.sizeof(c_void_p)
_METHODS = 18
_CLOSE, _WRITE, _TRUNCATE, _SYNC = 0, 2, 3, 4
_CREATE = 4
_X_OPEN, _X_DELETE = 40, 48
"""Where the functions stand in a sqlite3_vfs of a machine of 64 bits."""

# A path is passed as an address, because SQLite keeps the one that it gets.
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_Close = CFUNCTYPE(c_int, c_void_p)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class _Methods(ctypes.Structure):
    _fields_ = (("version", c_int), ("functions", c_void_p * _METHODS))


_kept = []
"""What SQLite refers to must not be collected."""

_disk_of = None
_slots = []
"""Where functions of ours stand in SQLite's own table: the address, theirs and ours."""

_files = {}
_tables = {}
_originals = {}
"""Of each of our tables, by its address: the address of SQLite's own."""


def _library():
    """The SQLite that the module sqlite3 uses, or None if it cannot be reached."""
    import sqlite3  # loads it

    maps = Path("/proc/self/maps")
    if _POINTER_BYTES != 8 or not maps.exists():
        return None
    lines = maps.read_text(encoding="utf-8").splitlines()
    paths = {line.split()[-1] for line in lines if "libsqlite3" in line}
    if len(paths) != 1:
        return None
    library = ctypes.CDLL(*paths)
    library.sqlite3_libversion.restype = c_char_p
    same = library.sqlite3_libversion().decode() == sqlite3.sqlite_version
    return library if same else None


def available():
    """Whether SQLite's calls can be watched on this machine."""
    return _library() is not None


def install(disk_of):
    """Has what SQLite does told to the disk that `disk_of` finds for a path."""
    global _disk_of
    _disk_of = disk_of
    if not _slots:
        library = _library()
        library.sqlite3_vfs_find.restype = c_void_p
        vfs = library.sqlite3_vfs_find(None)
        for address, kind, make in (
            (vfs + _X_OPEN, _Open, _opening),
            (vfs + _X_DELETE, _Delete, _deleting),
        ):
            real = c_void_p.from_address(address).value
            function = kind(make(kind(real)))
            _kept.append(function)
            _slots.append((address, real, ctypes.cast(function, c_void_p).value))
    for address, _, ours in _slots:
        c_void_p.from_address(address).value = ours


def uninstall():
    """Gives SQLite its own functions back, also for files that are open."""
    for address, real, _ in _slots:
        c_void_p.from_address(address).value = real
    for file in list(_files):
        slot = c_void_p.from_address(file)
        slot.value = _originals.get(slot.value, slot.value)
    _files.clear()


def _opening(real):
    def call(vfs, name, file, flags, out_flags):
        disk, path = _disk_of(ctypes.string_at(name)) if name else (None, None)
        existed = disk is None or path.exists()
        result = real(vfs, name, file, flags, out_flags)
        if result == 0 and name:
            _files[file] = Path(os.fsdecode(ctypes.string_at(name))), bool(flags & _CREATE)
            _use_own_table(file)
            if not existed:
                disk.created(path)
        return result

    return call


def _deleting(real):
    def call(vfs, name, sync_directory):
        result = real(vfs, name, sync_directory)
        disk, path = _disk_of(ctypes.string_at(name))
        if disk is not None and result == 0:
            disk.deleted(path)
            if sync_directory:
                disk.synced_directory(path.parent)
        return result

    return call


def _use_own_table(file):
    slot = c_void_p.from_address(file)
    table = _tables.get(slot.value)
    if table is None:
        real = _Methods.from_address(slot.value)
        table = _tables[slot.value] = _Methods(real.version, real.functions)
        _originals[ctypes.addressof(table)] = slot.value
        for place, kind, make in (
            (_CLOSE, _Close, _closing),
            (_WRITE, _Write, _writing),
            (_TRUNCATE, _Truncate, _truncating),
            (_SYNC, _Sync, _syncing),
        ):
            function = kind(make(kind(table.functions[place])))
            _kept.append(function)
            table.functions[place] = ctypes.cast(function, c_void_p).value
    slot.value = ctypes.addressof(table)


def _told(file):
    path, new = _files.get(file, (None, False))
    return (*_disk_of(path), new) if path else (None, None, False)


def _closing(real):
    def call(file):
        _files.pop(file, None)
        return real(file)

    return call


def _writing(real):
    def call(file, data, count, offset):
        result = real(file, data, count, offset)
        disk, path, _ = _told(file)
        if disk is not None and result == 0:
            disk.wrote(path, offset, ctypes.string_at(data, count))
        return result

    return call


def _truncating(real):
    def call(file, size):
        result = real(file, size)
        disk, path, _ = _told(file)
        if disk is not None and result == 0:
            disk.wrote(path, size, None)
        return result

    return call


def _syncing(real):  # the real disk need not keep anything, so it is not called
    def call(file, flags):
        disk, path, new = _told(file)
        if disk is None:
            return real(file, flags)
        disk.synced(path)
        # The first time after it has opened a log, SQLite syncs the directory, too.
        if new and path.name.endswith(("-wal", "-journal")):
            disk.synced_directory(path.parent)
            _files[file] = path, False
        return 0

    return call
