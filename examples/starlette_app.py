"""A Starlette app that people host themselves; FastAPI takes the same `lifespan`.

::

    uvicorn --workers 2 examples.starlette_app:app
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import deniable


@contextlib.asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, deniable.Client]]:
    """Makes the client of one worker; all share the directory, so they are one device."""
    with deniable.Client(
        Path(__file__).with_name("metrics.toml"),
        directory=Path(os.environ["FLIGHTDECK_STATE"], "telemetry"),
        consent=os.environ.get("FLIGHTDECK_TELEMETRY") == "on",
    ) as telemetry:
        yield {"telemetry": telemetry}


async def choose_theme(request: Request) -> JSONResponse:
    """Stores the theme (not shown), and records it; this never waits for the network."""
    theme = (await request.json())["theme"]
    outcome = request.state.telemetry.record("theme", theme)
    return JSONResponse({"outcome": outcome, "worker": os.getpid()})


app = Starlette(routes=[Route("/theme", choose_theme, methods=["POST"])], lifespan=lifespan)
