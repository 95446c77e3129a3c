"""HTTP requests to a server on a machine that may be busy with other tests."""

from __future__ import annotations

from functools import partial

import httpx

PATIENCE_SECONDS = 120.0

get = partial(httpx.get, timeout=PATIENCE_SECONDS)
head = partial(httpx.head, timeout=PATIENCE_SECONDS)
post = partial(httpx.post, timeout=PATIENCE_SECONDS)
put = partial(httpx.put, timeout=PATIENCE_SECONDS)
