"""The text of a Python module that declares `deniable.Client` for the metrics of one registry.

Texts of a registry stand in it only as string literals, so that none of them becomes code.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible
from deniable_shared.commands.typed.annotations import (
    aliases,
    literal,
    segment_parameter,
    value_type,
)
from deniable_shared.periods import often

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_shared.registry import Metric, Registry

MARK: Final = "# Made by deniable typed"
"""How such a module begins."""

_HEAD: Final = """\
{mark} for the application {application}. Do not edit it: make it again, in
# this folder, when the registry has changed; with --check it says whether that is due.
#
#     {command}
#
# SHA-256 of the names, values and descriptions below: {digest}
#
# ruff: noqa
# flake8: noqa
# fmt: off
# mypy: disable-error-code="override, explicit-override"
# pyright: basic, reportIncompatibleMethodOverride=false
"""

_BEFORE: Final = '''\
"""The client of {application}; type checkers and editors know its metrics and their values."""

from __future__ import annotations

from typing import {imports}

import deniable
'''

_CLASS: Final = '''
if TYPE_CHECKING:
    class Client(deniable.Client):
        """`deniable.Client` for the metrics of {application}."""'''

_IMPLEMENTATION: Final = """
        def record(
            self, metric: str, value: object, *, segment: str | None = None
        ) -> deniable.Outcome:
            raise NotImplementedError"""

_TIMER: Final = '''
        def timer(self, metric: {numbers}) -> deniable.Timer:
            """Times a block or a function, and records how many seconds it took."""
            raise NotImplementedError'''

_AT_RUN_TIME: Final = """
else:
    Client = deniable.Client
"""


def module_text(registry: Registry, command: str) -> str:
    """The module: always the same for the same metrics and command.

    Args:
        command: how to make the module again.
    """
    body = "\n".join(_body(registry))
    head = _HEAD.format(
        mark=MARK,
        application=registry.application,
        command=visible(command),
        digest=hashlib.sha256(body.encode()).hexdigest(),
    )
    return f"{head}\n{body}"


def _body(registry: Registry) -> Iterator[str]:
    metrics = registry.metrics.values()
    yield _BEFORE.format(application=registry.application, imports=", ".join(_imports(registry)))
    for metric in metrics:
        yield from aliases(metric.spec)
    yield _CLASS.format(application=registry.application)
    for metric in metrics:
        yield from _record(metric, overloaded=len(metrics) > 1)
    if len(metrics) > 1:
        yield _IMPLEMENTATION
    numbers = ", ".join(
        literal(metric.spec.name) for metric in metrics if metric.spec.range is not None
    )
    yield _TIMER.format(numbers=f"Literal[{numbers}]" if numbers else "Never")
    yield _AT_RUN_TIME


def _imports(registry: Registry) -> Iterator[str]:
    """What the module needs of `typing`, and no more: type checkers report what is not used."""
    specs = [metric.spec for metric in registry.metrics.values()]
    attributes = [attribute for spec in specs for attribute in spec.attributes]
    has_numbers = any(spec.range is not None for spec in specs)
    yield from ("TYPE_CHECKING", "Literal")
    if not has_numbers:
        yield "Never"
    if any(attribute.other is not None for attribute in attributes):
        yield "NotRequired"
    if has_numbers:
        yield "SupportsFloat"
    if any(spec.type in ("category", "set") for spec in specs):  # as are all that have segments
        yield "TypeAlias"
    if attributes:
        yield "TypedDict"
    if len(specs) > 1:
        yield "overload"


def _record(metric: Metric, *, overloaded: bool) -> Iterator[str]:
    """The signature of `record` for one metric."""
    spec = metric.spec
    yield ""
    if overloaded:
        yield "        @overload"
    yield (
        f"        def record(self, metric: Literal[{literal(spec.name)}], value: {value_type(spec)}"
        f"{segment_parameter(spec)}) -> deniable.Outcome:"
    )
    yield f"            {_docstring(' '.join(_sentences(metric)))}"
    if not overloaded:
        yield "            raise NotImplementedError"


def _sentences(metric: Metric) -> Iterator[str]:
    """What a developer wants to know of a metric."""
    spec = metric.spec
    own = spec if spec.segments is None else spec.segments.of
    if metric.description:
        yield metric.description + ("" if metric.description[-1] in ".!?" else ".")
    if own.other is not None:
        yield f"Any other value counts as '{own.other}'."
    if spec.type == "set":
        yield "All that there is at one moment; an empty set is recorded, too."
    if spec.range is not None:
        low, high = map(float, spec.range)
        yield f"A number outside [{low:.15g}, {high:.15g}] counts as the nearer end."
    if spec.segments is not None:
        yield f"Its segment is the {spec.segments.by.name}."
    yield f"Reported at most {often(spec.every)}."
    if spec.picks:
        yield f"Every value of a {spec.every} has the same chance to be the one that is reported."


def _docstring(text: str) -> str:
    quoted = literal(text)
    return f'"""{text}"""' if quoted == f'"{text}"' else quoted
