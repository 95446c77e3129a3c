"""``deniable typed``: a module by which type checkers and editors know the metrics."""

from __future__ import annotations

from deniable_shared.commands.typed.command import parser, run

__all__ = ["parser", "run"]
