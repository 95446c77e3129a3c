"""How far a question is that takes long: a bar in a notebook, a line on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[float, str], None]
    """Takes how much is done, from 0 to 1, and what is being done."""

_LINE = "\r\x1b[K"
"""Erases a line of a terminal."""


@contextmanager
def shown_progress(label: str, *, wanted: bool) -> Iterator[Tell | None]:
    """Shows progress where somebody sees it, and nothing of it is left.

    Args:
        label: what is done, in words.
        wanted: if not, nothing is shown.
    """
    display = _notebook_display() if wanted else None
    if display is not None:
        yield from _in_notebook(display, label)
    elif wanted and sys.stderr.isatty():
        yield from _on_terminal(label)
    else:
        yield None


def _notebook_display() -> Any:
    """IPython's display, if this runs in a kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display


def _in_notebook(display: Any, label: str) -> Iterator[Tell]:
    from IPython import display as showing

    html: Any = showing.HTML

    def bar(part: float, stage: str) -> Any:
        words = f"{label}: {stage}" if stage else label
        said = escape(visible(words))
        return html(f'<progress max="1" value="{part:.3f}"></progress> {said}')

    handle = display(bar(0.0, ""), display_id=True)
    try:
        yield lambda part, stage: handle.update(bar(part, stage))
    finally:
        handle.update(html(""))


def _on_terminal(label: str) -> Iterator[Tell]:
    def tell(part: float, stage: str) -> None:
        sys.stderr.write(visible(f"{label}: {part:.0%} {stage}").join((_LINE, "")))
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(_LINE)
        sys.stderr.flush()
