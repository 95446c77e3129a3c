"""The script ``deniable``: the aggregator's command line, where the aggregator is installed.

It lives here because every install has this package, and the aggregator's own refuses to be
imported without its extra.
"""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    """Runs the command line, or says how to install it and exits with status 1."""
    try:
        cli = import_module("deniable_aggregator.cli")
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        sys.exit(f"deniable: {error}")
    cli.deniable(prog_name="deniable")
