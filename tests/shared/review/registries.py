"""Registries that reviews of tests look at."""

from __future__ import annotations

from deniable_shared.registry import parse

HEAD = (
    'registry = 1\napplication = "flightdeck"\n{top}'
    "[budget]\nepsilon_per_day = {day}\nepsilon_lifetime = {life}\n"
)


def registry(*metrics, top="", day=16, life=400):
    """A registry of metrics, each a name and its lines; they are described unless they say so."""
    text = HEAD.format(top=top, day=day, life=life)
    for name, lines in metrics:
        said = "" if "description" in lines else 'description = "what it is"\n'
        text += f"[metrics.{name}]\n{said}{lines}\n"
    return parse(text)


def category(size, more="", epsilon=1):
    """Lines of a category of so many values, the last of them for all others."""
    values = ", ".join(f'"v{number}"' for number in range(size - 1))
    return f'type = "category"\nvalues = [{values}]\nother = "another"\nepsilon = {epsilon}\n{more}'


FLAG = 'type = "boolean"\nepsilon = 1\n'
MEMOIZED = 'repeat = "memoize"\nepsilon_permanent = 2\n'
SINGLES_OUT = (
    ("birthday", category(365)),
    ("zip", category(1_024)),
    ("sex", FLAG),
)
