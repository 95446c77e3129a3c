"""Names that Python sources say will be recorded: routes, classes, functions, errors, messages.

Sources are parsed, never run. What is put together when a program runs, such as a message with a
value in it, is no name: it is only counted.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KINDS: Final = ("routes", "names", "errors", "messages")
"""Routes of Flask, Django and FastAPI; classes and functions; errors and where they are raised, as
in a crash signature; and texts that they are raised with."""

_LEFT_OUT: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
"""Folders without sources of one's own, beside those whose names begin with a dot."""
_VERBS: Final = frozenset({
    "api_route", "delete", "get", "head", "options", "patch", "post", "put", "route", "websocket",
})  # fmt: skip
"""Methods of a Flask or FastAPI application, blueprint or router that decorate a view."""
_PREFIXES: Final = {"APIRouter": "prefix", "Blueprint": "url_prefix"}
"""What makes a group of routes, and the argument with the text that all of them begin with."""


class SourceNames:
    """Gathers names of sources.

    Attributes:
        found: the different names of each kind, in the order in which they were found.
        built: how many routes and messages are put together when the program runs.
        unread: files of folders that are not Python, each with the line that is not.
    """

    def __init__(self) -> None:
        self.found: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
        self.built = 0
        self.unread: list[str] = []

    def read(self, source: Path) -> None:
        """Adds what a file, or all Python files of a folder, say.

        A folder may have templates, or tests of what is wrong: these are left out.

        Raises:
            ParameterError: if the file itself is not Python.
            OSError: if it cannot be read.
        """
        for path in python_files(source):
            visitor = _Visitor(module_of(path))
            try:
                visitor.visit(ast.parse(path.read_bytes(), str(path)))
            except (SyntaxError, ValueError, RecursionError) as error:
                line = getattr(error, "lineno", None)
                place = f"{path}:{line}" if line else str(path)
                if path == source:
                    raise ParameterError(place, "Python source", str(error)) from None
                self.unread.append(place)
                continue
            for kind, name in visitor.names:
                self.found[kind].setdefault(name)
            self.built += visitor.built


def python_files(source: Path) -> list[Path]:
    """The Python files of a folder, without those of tools and environments, or the file itself."""
    if not source.is_dir():
        return [source]
    return sorted(
        path
        for path in source.rglob("*.py")
        if path.is_file()
        and not any(
            part.startswith(".") or part in _LEFT_OUT for part in path.relative_to(source).parts
        )
        and not any((parent / "pyvenv.cfg").exists() for parent in _parents(path, source))
    )


def _parents(path: Path, source: Path) -> Iterator[Path]:
    parent = path.parent
    while parent != source:
        yield parent
        parent = parent.parent


def module_of(path: Path) -> str:
    """The name by which a file is imported: from the outermost folder that is a package."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.resolve().parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


class _Visitor(ast.NodeVisitor):
    """The names of one file.

    Attributes:
        names: each with its kind.
        built: see `SourceNames`.
    """

    def __init__(self, module: str) -> None:
        self.names: list[tuple[str, str]] = []
        self.built = 0
        self._module = module
        self._within: list[str] = []
        self._prefixes: dict[str, str] = {}

    @property
    def _place(self) -> str:
        return ".".join(part for part in (self._module, *self._within) if part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class and what is in it."""
        self._visit_named(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function, its routes and what it raises."""
        self._visit_view(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Likewise."""
        self._visit_view(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A blueprint or router, whose routes begin alike."""
        call = node.value
        if isinstance(call, ast.Call) and (name := _last_name(call.func)) in _PREFIXES:
            for keyword in call.keywords:
                if keyword.arg == _PREFIXES[name] and (prefix := _text(keyword.value)) is not None:
                    for target in node.targets:
                        if isinstance(target, ast.Name):
                            self._prefixes[target.id] = prefix
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A route of Django, ``path("orders/<int:id>/", view)``, or one that Flask is told of."""
        name = _last_name(node.func)
        if isinstance(node.func, ast.Name) and name == "path" and len(node.args) > 1:
            self._add_route(node.args[0])
        elif isinstance(node.func, ast.Attribute) and name == "add_url_rule" and node.args:
            self._add_route(node.args[0], node.func.value)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """An error, as in a crash signature, and the text that it is raised with."""
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = "" if error is None else _last_name(error)
        if name[:1].isupper():
            self.names.append(("errors", f"{name} at {self._place}"))
        if isinstance(node.exc, ast.Call) and node.exc.args:
            message = node.exc.args[0]
            if (text := _text(message)) is not None:
                self.names.append(("messages", text))
            elif _is_text(message):
                self.built += 1
        self.generic_visit(node)

    def _visit_view(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            if (
                isinstance(decorator, ast.Call)
                and isinstance(decorator.func, ast.Attribute)
                and decorator.func.attr in _VERBS
                and decorator.args
            ):
                self._add_route(decorator.args[0], decorator.func.value)
        self._visit_named(node)

    def _visit_named(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._within.append(node.name)
        self.names.append(("names", self._place))
        self.generic_visit(node)
        self._within.pop()

    def _add_route(self, route: ast.expr, group: ast.expr | None = None) -> None:
        text = _text(route)
        if text is None:
            self.built += _is_text(route)
            return
        prefix = self._prefixes.get(group.id, "") if isinstance(group, ast.Name) else ""
        self.names.append(("routes", prefix + text))


def _last_name(node: ast.expr) -> str:
    """Of ``a.b.c`` the last part; empty for anything but a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str | None:
    """A literal text that is not empty; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip():
        return node.value
    return None


def _is_text(node: ast.expr) -> bool:
    """Whether a text is put together: an f-string, or one with ``%``, ``+`` or ``format``."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _text(node.left) is not None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "format"
    return isinstance(node, ast.JoinedStr)
