"""What commands print: JSON for programs, tables for people, pictures into files."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

picture_option = click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also draw it, as .svg, .png or .html; needs the extra deniable[charts].",
)


def print_json(data: Any) -> None:
    """Prints data for programs."""
    click.echo(json.dumps(data, indent=2))


def literal_console() -> Console:
    """A console that shows items as they are: none of their signs mean anything."""
    return Console(highlight=False, markup=False, emoji=False)


def charts(module: str = "charts") -> Any:
    """A module of `deniable_aggregator` that draws.

    Args:
        module: its name.

    Raises:
        click.ClickException: if what it needs is not installed.
    """
    try:
        return import_module(f"deniable_aggregator.{module}")
    except ImportError as error:
        raise click.ClickException(
            "pictures need an extra: pip install 'deniable[charts]'"
        ) from error


def uncounted(answer: Mapping[str, Any]) -> Iterator[str]:
    """Lines about reports that an answer does not count."""
    if answer["pending_reports"]:
        yield (
            f"{answer['pending_reports']:,} more reports of this metric have arrived and are "
            "waiting to be counted: later answers have them."
        )
    if answer["excluded_reports"]:
        yield f"{answer['excluded_reports']:,} reports of excluded keys are left out."


def repeated(answer: Mapping[str, Any]) -> Iterator[str]:
    """Lines about specs whose devices answer with permanent noise.

    Args:
        answer: what the server answered, or a part of it with `specs`.
    """
    for spec in answer["specs"]:
        if "repeated" in spec:
            yield f"{spec['title']}: {spec['repeated']}."


def fakes(answer: Mapping[str, Any], radii: Iterable[float | None], whose: str, form: str) -> str:
    """What fakes could have done, in one line: the largest radius shown.

    Args:
        answer: what the server answered.
        radii: those that are shown; None where there is no bound.
        whose: what they are about, such as "a share".
        form: how a radius is written.
    """
    known = list(radii)
    bounded = [radius for radius in known if radius is not None]
    far = f"by up to {form.format(max(bounded, default=0.0))}"
    if len(bounded) < len(known):
        far = "anywhere"
    return (
        f"Poisoning radius: if {answer['poisoning']['fakes']:.0%} of the reports were fake, they "
        f"could have moved {whose} {far}: its interval does not allow for that."
    )


def warnings(metric: str, *health: Mapping[str, Any]) -> Iterator[str]:
    """Lines about days whose reports do not look like those of devices.

    Args:
        metric: its name.
        health: what an answer says of the days that it is about.
    """
    for each in health:
        if each["warning"] is not None:
            yield f"Warning: {each['warning']} deniable health {metric} says more."
