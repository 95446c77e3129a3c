"""``deniable verify``: whether the installed files are those of the wheel, or of a certificate."""

from __future__ import annotations

from deniable_shared.commands.verify.command import parser, run

__all__ = ["parser", "run"]
