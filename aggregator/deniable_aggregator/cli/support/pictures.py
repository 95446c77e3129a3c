"""Pictures of answers, in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.telling.figure import Figure


def draw(answer: Answer, path: Path) -> None:
    """Draws an answer into a file, and says on the standard error what it could not draw.

    Args:
        answer: what a server answered.
        path: checked by `output.picture_option`.
    """
    from deniable_aggregator.telling.figures import figure_of

    save_picture(figure_of(answer), path)


def save_picture(figure: Figure, path: Path) -> None:
    """Draws a figure into a file, and says on the standard error what it could not draw.

    Args:
        figure: any.
        path: checked by `output.picture_option`.
    """
    from deniable_aggregator.media.pictures.files import save

    note = save(figure, path)
    if note is not None:
        click.echo(f"{path}: {note}", err=True)
