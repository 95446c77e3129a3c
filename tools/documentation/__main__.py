"""``python -m tools.documentation [FOLDER]``: writes the site to ``site``, or to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.documentation.site import build
from tools.documentation.staging import SiteError

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    try:
        build(folder)
    except SiteError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    print(f"The documentation is at {(folder / 'index.html').resolve().as_uri()}")
