"""``python -m deniable_aggregator`` is the script ``deniable``."""

from __future__ import annotations

from deniable_shared.commands.entry import main

if __name__ == "__main__":
    main()
