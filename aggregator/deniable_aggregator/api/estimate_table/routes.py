"""Routes: the SQL table of estimates, as JSON and in the formats of the long table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint

from deniable_aggregator.answers.estimate_table import EstimateTable, EstimateTableQuery
from deniable_aggregator.api.estimate_table.reading import read_rows
from deniable_aggregator.api.formats import VARY, asked_format
from deniable_aggregator.api.parameters import read_query
from deniable_aggregator.http.authorization import require_reader
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.tables import table_response

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.store import Store

PATH = "/v1/estimates"


def blueprint(store: Store, catalogue: MetricCatalog, verifier: KeyVerifier) -> Blueprint:
    """The routes."""
    routes = Blueprint("estimate table", __name__)

    def table(ending: str = "") -> Response:
        application, query = require_reader(verifier).application, read_query(EstimateTableQuery)
        format_, headers = asked_format(ending), {"Vary": VARY}
        found = read_rows(store, catalogue, application, query)
        if format_ is not None:
            return table_response(found, format_, f"{application}-estimates", headers)
        answer = EstimateTable(application=application, period=query.period, rows=list(found))
        return json_response(answer, headers=headers)

    for end in ("", ".<ending>"):
        routes.add_url_rule(f"{PATH}{end}", "table", table)
    return routes
