"""The types of a metric's values and segments, as Python writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible_constraint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_shared.attributes import Attribute
    from deniable_shared.spec import Spec

LINE_LENGTH: Final = 100
_INDENT: Final = "    "
_NUMBER: Final = "float | SupportsFloat"
_PLAIN: Final = {"boolean": "bool", "string": "str", "number": _NUMBER, "distribution": _NUMBER}


def literal(text: str) -> str:
    """A text as a string literal: of one line, and the same in every version of Python."""
    quote = "'" if '"' in text and "'" not in text else '"'
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    # Registries have none of the characters that are escaped here.
    return f"{quote}{''.join(map(_visible, escaped))}{quote}"


def value_type(spec: Spec) -> str:
    """The type of a metric's values: a built-in one, or the name of one of its `aliases`."""
    kind = spec.value_type
    return _PLAIN.get(kind) or f"{_class_name(spec.name)}Value"


def segment_parameter(spec: Spec) -> str:
    """The parameter for a metric's segment; nothing if it has none."""
    if spec.segments is None:
        return ""
    name = f"{_class_name(spec.name)}Segment"
    by = spec.segments.by
    return f", *, segment: {name}" + ("" if by.other is None else " | None = None")


def aliases(spec: Spec) -> Iterator[str]:
    """Statements that name the types of a metric which are not built in."""
    name = _class_name(spec.name)
    own = spec if spec.segments is None else spec.segments.of
    if own.type == "category":
        yield _choice(f"{name}Value: TypeAlias = ", own.values, own.other)
    if spec.type == "set":
        item = f"{name}Item" if spec.values else "str"
        if spec.values:
            yield _choice(f"{item}: TypeAlias = ", spec.values, spec.other)
        yield f"{name}Value: TypeAlias = ("
        yield f"{_INDENT}set[{item}] | frozenset[{item}] | list[{item}] | tuple[{item}, ...]"
        yield ")"
    if spec.attributes:
        yield f'{name}Value = TypedDict("{name}Value", {{'
        yield from map(_item, spec.attributes)
        yield "})"
    if spec.segments is not None:
        by = spec.segments.by
        yield _choice(f"{name}Segment: TypeAlias = ", by.values, by.other)


def _item(attribute: Attribute) -> str:
    """One attribute. If a program may leave it out, it counts as its catch-all then."""
    before = f'{_INDENT}"{attribute.name}": '
    if attribute.type == "boolean":
        return f"{before}bool,"
    if attribute.other is None:
        return _choice(before, attribute.values, None, ",", _INDENT)
    return _choice(f"{before}NotRequired[", attribute.values, attribute.other, "],", _INDENT)


def _choice(
    before: str, values: Sequence[str], catch_all: str | None, after: str = "", indent: str = ""
) -> str:
    """One of the listed values, in a line or a line for each; or any text, if it has a catch-all.

    Editors complete the listed ones in both cases.
    """
    listed = [literal(value) for value in values if value != catch_all]
    end = f"]{'' if catch_all is None else ' | str'}{after}"
    line = f"{before}Literal[{', '.join(listed)}{end}"
    if len(line) <= LINE_LENGTH:
        return line
    lines = (f"{indent}{_INDENT}{value},\n" for value in listed)
    return f"{before}Literal[\n{''.join(lines)}{indent}{end}"


def _visible(character: str) -> str:
    return character if visible_constraint(character) is None else ascii(character)[1:-1]


def _class_name(name: str) -> str:
    """A name such as StartupSeconds for startup_seconds; different names stay different."""
    return re.sub("(?:^|_)([a-z])", lambda match: match[1].upper(), name)
