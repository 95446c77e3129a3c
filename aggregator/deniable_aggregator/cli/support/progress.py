"""How far a command is that takes long."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class ShowProgress(Protocol):
    """Shows how much of how much is done, and perhaps what is being done now."""

    def __call__(self, done: int, total: int, /, label: str = ...) -> None:
        """Moves the bar."""


@contextmanager
def progress_bar(label: str) -> Iterator[ShowProgress]:
    """A progress bar on the error output, if that is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total, label=label: bar.update(
            task, completed=done, total=total, description=label
        )
