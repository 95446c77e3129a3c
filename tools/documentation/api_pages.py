"""Pages of the Python interface: every public name, from its docstring."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Final

PACKAGES: Final = {
    "deniable": "The client, which an application embeds.",
    "deniable.testing": "For tests of programs that embed the client.",
    "deniable_analysis": "Answers of an aggregator in a notebook. Needs the extra `analysis`.",
    "deniable_aggregator": "The aggregator as a WSGI application. Needs the extra `aggregator`.",
}
"""Packages with public names, and what each is for. Nothing of `deniable_shared` is public."""

INDEX: Final = "api/index.rst"


def api_pages() -> dict[str, str]:
    """Pages as reStructuredText, by their paths from the folder of all pages."""
    listed = "\n".join(f"   {name} <{name}>" for name in PACKAGES)
    rows = "\n".join(f"* :doc:`{name} <{name}>`: {purpose}" for name, purpose in PACKAGES.items())
    beginning = (
        "Which names may a program import, and what do they do? These pages are made of\n"
        "docstrings. What is not named here is private, and changes without notice."
    )
    index = (
        f"{_title('Python interface')}\n{beginning}\n\n{rows}\n\n"
        f".. toctree::\n   :hidden:\n\n{listed}\n"
    )
    return {INDEX: index} | {f"api/{name}.rst": _page(name) for name in PACKAGES}


def _page(package: str) -> str:
    module = import_module(package)
    names = [name for name in module.__all__ if not name.startswith("__")]
    entries = [_entry(package, name, getattr(module, name)) for name in names]
    return "\n".join(
        [_title(package), PACKAGES[package], "", f".. py:module:: {package}", "", *entries]
    )


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def _entry(package: str, name: str, value: object) -> str:
    if inspect.ismodule(value):
        return f".. automodule:: {package}.{name}\n   :members:\n"
    if not inspect.isclass(value):
        return f".. autofunction:: {package}.{name}\n"
    kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
    # What a notebook asks with stands in a class of its own.
    asks = any(each.__name__.endswith("Questions") for each in value.__mro__)
    more = "   :inherited-members:\n" if asks else ""
    return f".. {kind}:: {package}.{name}\n   :members:\n{more}"
