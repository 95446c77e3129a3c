"""The HTTP interface as an OpenAPI 3.1 document, served at ``/openapi.json``.

Paths, methods and path parameters are those of the application's own routes, choices and problem
codes those of the code. What a route takes and answers stands in `operations`; a route without an
entry there, or an entry without a route, is an error, and so fails a test.
"""

from __future__ import annotations

from deniable_aggregator.api.openapi.document import PATH, document, install
from deniable_aggregator.api.openapi.operation import Operation

__all__ = ["PATH", "Operation", "document", "install"]
