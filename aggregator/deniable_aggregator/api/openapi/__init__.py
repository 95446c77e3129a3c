"""The HTTP interface as an OpenAPI 3.1 document, served at ``/openapi.json``.

It is made of what is said of each operation where its route is added (`http.operation`): for the
questions of the table that follows from their rows.
"""

from __future__ import annotations

from deniable_aggregator.api.openapi.document import PATH, document, install

__all__ = ["PATH", "document", "install"]
