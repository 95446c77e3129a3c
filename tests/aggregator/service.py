"""An aggregator in the test's own process, with a clock that the test moves."""

from __future__ import annotations

import secrets
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from flask import request
from werkzeug.routing import Rule

from deniable_aggregator import Settings, Store, create_app
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.app import EXTENSION
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared import registry, wire
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from werkzeug.test import TestResponse

TODAY = 20_000
APPLICATION = "flightdeck"
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
description = "Which colour theme is active"
owners = ["ui@example.org"]
expires = 2027-12-31
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 1.0
[metrics.emoji]
type = "string"
epsilon = 2.0
mechanism = { name = "cms", rows = 4, buckets = 16 }
"""
SPECS = {name: metric.spec for name, metric in registry.parse(REGISTRY).metrics.items()}
NEVER_SECONDS = 1e6
"""A pause between folds that no test outlives: such tests fold when they ask or say so."""


def upload(
    payload: bytes = b"\x00",
    *,
    metric: str = "theme",
    epoch: int = TODAY,
    upload_id: bytes | None = None,
) -> bytes:
    """The body of an upload with one part."""
    part = wire.Part(SPECS[metric].digest, epoch, payload)
    return wire.encode(wire.Upload(upload_id or secrets.token_bytes(wire.ID_BYTES), (part,)))


@dataclass
class Clock:
    """A clock that stands still at noon."""

    epoch: int = TODAY

    def __call__(self) -> float:
        return (self.epoch + 0.5) * SECONDS_PER_EPOCH


def _compile_builders_late() -> None:
    """Has what builds URLs of a route compiled when it is first used: half of making an app."""
    compile_builder = Rule._compile_builder

    def late(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        builder = cache(lambda: compile_builder(rule, append_unknown))
        return lambda *arguments, **options: builder()(*arguments, **options)

    Rule._compile_builder = late


_compile_builders_late()

UNCOUNTED = ("/v1/reports", "/v1/status", "/healthz", "/readyz")


@dataclass
class Service:
    """A running application over one store, and keys to all of it.

    Attributes:
        tokens: of the keys by scope, in the order of `SCOPES`; made if there are none.
    """

    target: str | Path
    settings: Settings
    clock: Any = field(default_factory=Clock)
    passing: Callable[[], float] | None = None
    tokens: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.store = Store(self.target)
        self.app = create_app(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            # When the test moves the clock, time has passed, unless it says otherwise.
            monotonic=self.passing or self.clock,
        )
        self.app.before_request(self._count_first)
        self.http = self.app.test_client()
        self.running = self.app.extensions[EXTENSION]
        self.tokens = self.tokens or [*map(self.key, SCOPES)]
        self.write, self.batch, self.relay, self.read, self.admin = self.tokens

    def _count_first(self) -> None:
        """Before a question all that waits is counted, as a server does by itself."""
        if not request.path.startswith(UNCOUNTED):
            with suppress(StoreUnavailableError):
                self.count()

    def key(self, scope: str, application: str = APPLICATION) -> str:
        return create_key(self.store, scope=scope, application=application, label="", today=TODAY)

    def register(self, text: str = REGISTRY) -> TestResponse:
        return self.http.post("/v1/metrics", data=text.encode(), headers=bearer(self.admin))

    def send(
        self,
        body: bytes,
        *,
        key: str | None = None,
        content_type: str = wire.CONTENT_TYPE,
        headers: dict[str, str] | None = None,
    ) -> TestResponse:
        return self.http.post(
            "/v1/reports",
            data=body,
            content_type=content_type,
            headers={**bearer(self.batch if key is None else key), **(headers or {})},
        )

    def ask(self, path: str, **options: Any) -> TestResponse:
        method = options.pop("method", "GET")
        return self.http.open(path, method=method, headers=bearer(self.read), **options)

    def sign_in(self, key: str | None = None, **form: str) -> TestResponse:
        """Signs in to pages with a read key; `http` keeps the session."""
        return self.http.post(
            "/sign-in",
            data={"token": self.read if key is None else key, **form},
            headers={"Origin": "http://localhost"},
        )

    def status(self) -> dict[str, Any]:
        return self.http.get("/v1/status", headers=bearer(self.admin)).get_json()

    def count(self) -> None:
        """Counts what waits."""
        self.running.inbox_fold.fold(seconds=60)

    def counts(self, metric: str = "theme") -> list[int]:
        """What was counted of a metric, after counting what waits."""
        self.count()
        return self.store.tallies.total(tally_for(SPECS[metric]), 0, 10**6).cells.tolist()

    def close(self) -> None:
        self.running.close()
        self.store.close()


@contextmanager
def serving(target: str | Path, tokens: Sequence[str] = (), **settings: Any) -> Iterator[Service]:
    """A service that starts no process which writes the table of estimates.

    Args:
        target: a store; a new one has no metrics.
        tokens: of its keys by scope, if it has some.
        settings: other than those of tests.
    """
    defaults = {"fold_seconds": NEVER_SECONDS, "estimate_periods": "", "batch_reports": 1}
    clock = settings.pop("clock", None) or Clock()
    service = Service(target, Settings(**{**defaults, **settings}), clock, tokens=tokens)
    try:
        yield service
    finally:
        service.close()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def problem(answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer, checked to be one."""
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    document = answer.get_json()
    assert document["code"] == code
    assert document["status"] == status
    assert document["type"].endswith(code)
    assert document["title"]
    assert document["detail"]
    return document
