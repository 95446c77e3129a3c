"""A disk that may lose power: which bytes would be left of the files below a folder.

Every write, sync, creation, renaming and deletion by Python's `os` is noted. What was written since
the last sync of a file may be lost in any part; so may what was created, renamed or deleted since
the last sync of its directory. A renaming is kept or lost as a whole. The calls are made as ever;
this only takes notes.
"""

from __future__ import annotations

import contextlib
import copy
import os
import shutil
from pathlib import Path

_SECTOR_BYTES = 512
"""A write of several sectors may be kept in part."""


class File:
    """The bytes of a file: as they are, and as they were synced, with all that was written since.

    A write is an offset and bytes; a truncation is a size and None.
    """

    def __init__(self, content=b""):
        self.content = bytearray(content)
        self.synced = bytes(content)
        self.unsynced = []

    def write(self, offset, data):
        _write(self.content, offset, data)
        self.unsynced.append((offset, data))

    def sync(self):
        self.synced, self.unsynced = bytes(self.content), []

    def after_power_failure(self, random):
        """The synced bytes with any part of what was written since."""
        content = bytearray(self.synced)
        share = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for offset, data in self.unsynced:
            if data is None:
                if random.random() < share:
                    _write(content, offset, data)
                continue
            for start in range(0, len(data), _SECTOR_BYTES):
                if random.random() < share:
                    _write(content, offset + start, data[start : start + _SECTOR_BYTES])
        return bytes(content)


class Disk:
    """The files below a folder.

    Attributes:
        steps: how many writes, syncs and other changes there were so far.
        stopped: the files at the step that `stop_at` asked for, once it has been reached.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.steps = 0
        self.stopped = None
        self._stop_at = None
        self._paused = False
        self.adopt()

    def adopt(self):
        """Takes the files as they are on the real disk, as if all were synced."""
        self.names = {}
        for path in sorted(self.folder.rglob("*")):
            self.names[path] = None if path.is_dir() else File(path.read_bytes())
        self.synced_names = dict(self.names)
        self.renamed = []

    def stop_at(self, steps):
        """Notes in `stopped` what the disk holds when so many more changes were made."""
        self.stopped, self._stop_at = None, self.steps + steps

    def stop_now(self):
        """Notes in `stopped` what the disk holds now, unless that has been noted."""
        if self.stopped is None:
            self.stopped = copy.deepcopy((self.names, self.synced_names, self.renamed))
        self._stop_at = None

    def go_on(self):
        """Forgets `stop_at`, which was not reached."""
        self.stopped = self._stop_at = None

    def restart(self, random=None):
        """Has the files be as they were at the stop: all of them, or as after a power failure.

        Args:
            random: decides what is lost; None if the power stayed on.
        """
        (names, synced_names, renamed), self.stopped = self.stopped, None
        if random is not None:
            names = _after_power_failure(random, synced_names, renamed)
        self._replace(names)
        if random is None:
            self.names, self.synced_names, self.renamed = names, synced_names, renamed

    def contents(self):
        """A copy of all files, as a backup has it."""
        return {
            path: None if file is None else bytes(file.content) for path, file in self.names.items()
        }

    def restore(self, contents, to=None):
        """Replaces all files by a copy, possibly of another folder `to`; forgets `stop_at`."""
        self.go_on()
        source = self.folder if to is None else to
        files = {
            self.folder / path.relative_to(source): None if content is None else File(content)
            for path, content in contents.items()
        }
        self._replace(files)

    def check(self):
        """Fails if a change of the real files went unnoticed."""
        for path, file in self.names.items():
            if file is None:
                assert path.is_dir(), path
            else:
                assert path.read_bytes() == bytes(file.content), path
        assert {*self.folder.rglob("*")} == {*self.names}

    # What the hooks call.

    def notes(self):
        """Whether it takes notes of what happens."""
        return not self._paused

    def created(self, path):
        self._name(path, File())

    def made_directory(self, path):
        self._name(path, None)

    def deleted(self, path):
        if path in self.names:
            del self.names[path]
            self.renamed.append((path, None, ()))
            self._step()

    def moved(self, path, to):
        file = self.names.pop(path)
        self.names[to] = file
        self.renamed.append((to, path, (file,)))
        self._step()

    def wrote(self, path, offset, data):
        if path in self.names:
            self.names[path].write(offset, data)
            self._step()

    def synced(self, path):
        if path in self.names and self.names[path] is not None:
            self.names[path].sync()
        else:
            self._sync_directory(path)
        self._step()

    def synced_directory(self, path):
        self._sync_directory(path)
        self._step()

    def _name(self, path, file):
        self.names[path] = file
        self.renamed.append((path, None, (file,)))
        self._step()

    def _sync_directory(self, directory):
        later = []
        for entry in self.renamed:
            if entry[0].parent == directory:
                _rename(self.synced_names, entry)
            else:
                later.append(entry)
        self.renamed = later

    def _step(self):
        self.steps += 1
        if self._stop_at is not None and self.steps >= self._stop_at:
            self.stop_now()

    def _replace(self, names):
        with self.paused():
            for path in sorted(self.folder.iterdir()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            for path in sorted(names):
                if names[path] is None:
                    path.mkdir(mode=0o700)
                else:
                    path.touch(mode=0o600)
                    path.write_bytes(bytes(names[path].content))
        self.adopt()

    @contextlib.contextmanager
    def paused(self):
        """Takes no notes of what the test itself does."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False


def _write(content, offset, data):
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _rename(names, entry):
    path, source, file = entry
    if source is not None:
        names.pop(source, None)
    if file:
        names[path] = file[0]
    else:
        names.pop(path, None)


def _after_power_failure(random, synced_names, renamed):
    names = dict(synced_names)
    share = random.choice((0.0, 0.3, 0.7, 1.0))
    for entry in renamed:
        if random.random() < share:
            _rename(names, entry)
    lost = {
        path for path in names if not all(above in names for above in _above(path, names, renamed))
    }
    return {
        path: None if file is None else File(file.after_power_failure(random))
        for path, file in names.items()
        if path not in lost
    }


def _above(path, names, renamed):
    """The directories of a path that were made while notes were taken."""
    made = {entry[0] for entry in renamed} | {*names}
    return [parent for parent in path.parents if parent in made]


_disks: dict[str, Disk] = {}


def disk_of(path):
    """The disk that has a path, if it takes notes."""
    if isinstance(path, int):
        return None, None
    text = os.fsdecode(path)
    for folder, disk in _disks.items():
        if text.startswith(folder) and disk.notes():
            return disk, Path(text)
    return None, None


class noting:  # noqa: N801  used like a function
    """Takes notes of what happens on some disks, within a ``with`` block; more can be added."""

    def __init__(self):
        self._descriptors = {}
        self._real = {}

    def add(self, disk):
        _disks[f"{disk.folder}{os.sep}"] = disk

    def __enter__(self):
        for name in (
            "open",
            "write",
            "fsync",
            "close",
            "replace",
            "rename",
            "unlink",
            "remove",
            "mkdir",
            "ftruncate",
        ):
            self._real[name] = getattr(os, name)
            own = getattr(self, f"_{name}", None)
            if own is not None:
                setattr(os, name, own)
        return self

    def __exit__(self, *_):
        for name, function in self._real.items():
            setattr(os, name, function)
        _disks.clear()

    def _open(self, path, flags, mode=0o777, **options):
        disk, place = disk_of(path) if not options else (None, None)
        existed = disk is None or place.exists()
        descriptor = self._real["open"](path, flags, mode, **options)
        self._descriptors.pop(descriptor, None)
        if disk is not None:
            self._descriptors[descriptor] = disk, place, bool(flags & os.O_APPEND)
            if not existed:
                disk.created(place)
            elif flags & os.O_TRUNC:
                disk.wrote(place, 0, None)
        return descriptor

    def _close(self, descriptor):
        self._descriptors.pop(descriptor, None)
        return self._real["close"](descriptor)

    def _write(self, descriptor, data):
        known = self._descriptors.get(descriptor)
        if known is None:
            return self._real["write"](descriptor, data)
        offset = os.lseek(descriptor, 0, os.SEEK_END if known[2] else os.SEEK_CUR)
        count = self._real["write"](descriptor, data)
        known[0].wrote(known[1], offset, bytes(data[:count]))
        return count

    def _fsync(self, descriptor):
        known = self._descriptors.get(descriptor)
        if known is not None:
            known[0].synced(known[1])
        # The real disk need not keep anything.

    def _ftruncate(self, descriptor, size):
        self._real["ftruncate"](descriptor, size)
        known = self._descriptors.get(descriptor)
        if known is not None:
            known[0].wrote(known[1], size, None)

    def _replace(self, path, to, **options):
        disk, place = disk_of(path)
        self._real["replace"](path, to, **options)
        if disk is not None:
            disk.moved(place, Path(to))

    _rename = _replace

    def _unlink(self, path, **options):
        disk, place = disk_of(path) if not options else (None, None)
        self._real["unlink"](path, **options)
        if disk is not None:
            disk.deleted(place)

    _remove = _unlink

    def _mkdir(self, path, mode=0o777, **options):
        self._real["mkdir"](path, mode, **options)
        disk, place = disk_of(path) if not options else (None, None)
        if disk is not None:
            disk.made_directory(place)
