"""How far a discovery is: seen on a terminal and in a notebook, and nowhere else."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from deniable_analysis.display import shown_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line_that_is_gone_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress("look for strings", wanted=True) as tell:
        tell(0.25, "search level \x1b[31m1")
    shown = terminal.getvalue()
    assert "look for strings: 25% search level <U+001B>[31m1" in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_file_has_nothing(monkeypatch, wanted):
    monkeypatch.setattr(sys, "stderr", io.StringIO() if wanted else Terminal())
    with shown_progress("look for strings", wanted=wanted) as tell:
        assert tell is None
    assert sys.stderr.getvalue() == ""


def test_a_notebook_has_a_bar_that_is_gone_at_the_end(monkeypatch):
    import IPython

    shown = []
    handle = SimpleNamespace(update=lambda html: shown.append(html.data))

    def display(html, display_id):
        assert display_id
        shown.append(html.data)
        return handle

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", display)

    def interrupted():
        with shown_progress("look for <b>", wanted=True) as tell:
            tell(0.5, "search & find")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert shown == [
        '<progress max="1" value="0.000"></progress> look for &lt;b&gt;',
        '<progress max="1" value="0.500"></progress> look for &lt;b&gt;: search &amp; find',
        "",
    ]
