"""How installed files differ from expected ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Comparison:
    """Expected files compared with installed ones.

    Attributes:
        compared: how many files should be there.
        changed: paths of files with another content.
        missing: paths of files that are not there.
        added: paths of files that should not be there.
    """

    compared: int
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not (self.changed or self.missing or self.added)


def compare(expected: Mapping[str, str], actual: Mapping[str, str]) -> Comparison:
    """Compares files by path and hash.

    Args:
        expected: hashes of the files that should be there, by path.
        actual: hashes of those that are.
    """
    return Comparison(
        len(expected),
        tuple(path for path in expected if actual.get(path, expected[path]) != expected[path]),
        tuple(path for path in expected if path not in actual),
        tuple(path for path in actual if path not in expected),
    )
