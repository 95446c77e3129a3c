"""Pictures of answers, in files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.answers.estimates import Distribution, Mean
from deniable_aggregator.answers.trends import Change, Series

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.answers.estimates import Estimate


def draw(answer: Estimate | Series | Change, path: Path) -> None:
    """Draws an answer into a file.

    Args:
        answer: what a server answered.
        path: ends as `output.PICTURES` says.

    Raises:
        click.ClickException: if there is nothing to draw, or what it needs is not installed.
    """
    if isinstance(answer, Mean):
        raise click.ClickException(
            "there is nothing to draw: a mean is a single number. deniable series "
            f"{answer.metric} --picture {path} draws it over time"
        )
    if isinstance(answer, Series):
        chart = _charts("trends").series_chart(answer)
    elif isinstance(answer, Change):
        chart = _charts("trends").change_chart(answer)
    elif isinstance(answer, Distribution):
        chart = _charts("estimates").distribution_chart(answer)
    else:
        chart = _charts("estimates").shares_chart(answer)
    _charts("files").save(chart, path)


def _charts(module: str) -> Any:
    try:
        return import_module(f"deniable_aggregator.charts.{module}")
    except ImportError as error:
        raise click.ClickException(
            "pictures need an extra: pip install 'deniable[charts]'"
        ) from error
