"""HTTP requests to a server on this machine, which may be busy with other tests."""

from __future__ import annotations

from functools import partial

import httpx

PATIENCE_SECONDS = 120.0

# Without TLS there is nothing to verify, and reading the authorities takes 30 ms for each request.
client = partial(httpx.Client, timeout=PATIENCE_SECONDS, verify=False)
get = partial(httpx.get, timeout=PATIENCE_SECONDS, verify=False)
options = partial(httpx.options, timeout=PATIENCE_SECONDS, verify=False)
head = partial(httpx.head, timeout=PATIENCE_SECONDS, verify=False)
post = partial(httpx.post, timeout=PATIENCE_SECONDS, verify=False)
put = partial(httpx.put, timeout=PATIENCE_SECONDS, verify=False)
