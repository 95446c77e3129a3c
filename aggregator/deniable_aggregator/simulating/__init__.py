"""Simulated deployments: what devices hold, their reports, and the answers beside the truth."""

from typing import Final, Literal, get_args

ForgerKind = Literal["naive", "patient", "upload"]
"""Who sends one report again and again; who sends a few fresh ones every day; who sends fresh ones
in one upload, on one day."""

FORGERS: Final[tuple[str, ...]] = get_args(ForgerKind)
