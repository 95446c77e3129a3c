"""Prints the OpenAPI document.

``python -m deniable_aggregator.doors.export_openapi > docs/reference/openapi.json``
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

from deniable_aggregator.doors.app import EXTENSION, create_app
from deniable_aggregator.doors.http.openapi import document

INDENT: Final = 2


def text() -> str:
    """The document as it is kept in the documentation."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(store=Path(folder, "store.db"))
        try:
            return json.dumps(document(app), indent=INDENT) + "\n"
        finally:
            app.extensions[EXTENSION].close()


if __name__ == "__main__":
    print(text(), end="")  # noqa: T201  a command prints
