"""The script ``deniable``, as the test runner of click takes commands, and what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from click.testing import CliRunner

from deniable_shared.commands.entry import main

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.testing import Result


class _Script:
    name = "deniable"

    def main(self, args: Sequence[str], prog_name: str) -> NoReturn:
        assert prog_name == self.name
        main(list(args))


deniable = _Script()


def run(*words: object, columns: int = 80) -> Result:
    """Runs a command in a terminal of some width."""
    return CliRunner().invoke(deniable, [*map(str, words)], env={"COLUMNS": str(columns)})


def printed(*words: object, columns: int = 80) -> str:
    """What a command prints that succeeds."""
    result = run(*words, columns=columns)
    assert result.exit_code == 0, result.output
    return result.output
