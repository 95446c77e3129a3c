"""The script ``deniable``, in the form in which click's test runner takes commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from deniable_shared.commands.entry import main

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Script:
    name = "deniable"

    def main(self, args: Sequence[str], prog_name: str) -> NoReturn:
        assert prog_name == self.name
        main(list(args))


deniable = _Script()
