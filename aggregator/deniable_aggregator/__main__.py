"""``python -m deniable_aggregator`` and the script ``deniable``."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line, or says how to install it."""
    try:
        from deniable_aggregator.cli import deniable
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        sys.exit(f"deniable: {error}")
    deniable(prog_name="deniable")


if __name__ == "__main__":
    main()
