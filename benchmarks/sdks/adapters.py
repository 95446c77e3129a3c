"""One class for each SDK that sets it up, records and ends as the SDK's own documentation says.

Each class does what the SDK's guide tells everybody to do, with default settings and the
benchmark's server as the endpoint. `close` does what the guide puts at the end of a program; it is
empty if the SDK registers that itself. SDKs are imported in the constructors, so that a process
imports only its own.
"""

from __future__ import annotations

import time
from typing import Any

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 40
"""How many different events a program can record; Deniable has one metric for each."""

_DAY_SECONDS = 86_400.0
_FLUSH_SECONDS = 0.5


class Posthog:
    """https://posthog.com/docs/libraries/python: `shutdown` at the end of a script."""

    def __init__(self, endpoint: str, directory: str) -> None:  # noqa: ARG002
        from posthog import Posthog as Client

        self._client = Client("phc_benchmark", host=endpoint)

    def record(self, number: int) -> None:
        """One event."""
        self._client.capture(f"event {number}", distinct_id="device", properties={"theme": "dark"})

    def close(self) -> None:
        """Ends."""
        self._client.shutdown()


class Sentry:
    """https://docs.sentry.io/platforms/python: its atexit integration drains by itself."""

    def __init__(self, endpoint: str, directory: str) -> None:  # noqa: ARG002
        import sentry_sdk

        sentry_sdk.init(dsn=endpoint.replace("://", "://benchmark@") + "/1")
        self._capture: Callable[[str], object] = sentry_sdk.capture_message

    def record(self, number: int) -> None:
        """One event."""
        self._capture(f"event {number}")

    def close(self) -> None:
        """Does nothing: the guide asks for nothing."""


class OpenTelemetry:
    """https://opentelemetry.io/docs/languages/python: spans; the provider shuts down by itself."""

    def __init__(self, endpoint: str, directory: str) -> None:  # noqa: ARG002
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        provider = TracerProvider(resource=Resource.create({"service.name": "benchmark"}))
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        self._tracer: Any = trace.get_tracer("benchmark")

    def record(self, number: int) -> None:
        """One span with one attribute."""
        with self._tracer.start_as_current_span(f"event {number}") as span:
            span.set_attribute("theme", "dark")

    def close(self) -> None:
        """Does nothing: the guide asks for nothing."""


class Segment:
    """https://segment.com/docs/connections/sources/catalog/libraries/server/python: `shutdown`."""

    def __init__(self, endpoint: str, directory: str) -> None:  # noqa: ARG002
        import segment.analytics as analytics

        analytics.write_key = "benchmark"
        analytics.host = endpoint
        self._analytics: Any = analytics

    def record(self, number: int) -> None:
        """One event."""
        self._analytics.track("device", f"event {number}", {"theme": "dark"})

    def close(self) -> None:
        """Ends."""
        self._analytics.shutdown()


class Glean:
    """https://mozilla.github.io/glean/book: inactive at the end, which submits, then `shutdown`."""

    _METRICS = """
$schema: moz://mozilla.org/schemas/glean/metrics/2-0-0
benchmark:
  happened:
    type: event
    description: Something happened.
    bugs: ["https://bugzilla.mozilla.org/show_bug.cgi?id=1"]
    data_reviews: ["https://bugzilla.mozilla.org/show_bug.cgi?id=1"]
    notification_emails: ["nobody@example.org"]
    expires: never
    extra_keys:
      number: {type: quantity, description: Which one.}
"""

    def __init__(self, endpoint: str, directory: str) -> None:
        from pathlib import Path

        from glean import Configuration, load_metrics
        from glean import Glean as Library

        path = Path(directory) / "metrics.yaml"
        if not path.exists():
            path.write_text(self._METRICS)
        loaded = load_metrics(path)
        Library.initialize(
            application_id="benchmark",
            application_version="1.0",
            upload_enabled=True,
            configuration=Configuration(server_endpoint=endpoint),
            data_dir=Path(directory) / "glean",
        )
        Library.handle_client_active()
        self._glean: Any = Library
        self._event: Any = loaded.benchmark.happened
        self._extra: Any = loaded.benchmark.HappenedExtra

    def record(self, number: int) -> None:
        """One event."""
        self._event.record(self._extra(number=number))

    def close(self) -> None:
        """Submits and ends."""
        self._glean.handle_client_inactive()
        self._glean.shutdown()


class Deniable:
    """docs/client/quickstart.md, with `close`: the next run sends what is left.

    Every event is a metric of its own, since a metric reports once a day. Uploads are not delayed;
    by default each one waits a random time.
    """

    REGISTRY = """
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 0.01
[metrics.word]
type = "string"
epsilon = 0.01
mechanism = { name = "cms", rows = 64, buckets = 1024 }
""" + "".join(
        f'[metrics.event_{number}]\ntype = "boolean"\nepsilon = 0.01\n' for number in range(EVENTS)
    )

    def __init__(self, endpoint: str, directory: str) -> None:
        from deniable import Client

        path = f"{directory}/metrics.toml"
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  pathlib would cost start-up time
            file.write(self.REGISTRY)
        self._ahead_seconds = 0.0
        self._client = Client(
            path,
            endpoint=endpoint,
            key="benchmark",
            directory=f"{directory}/device",
            consent=True,
            upload_delay_seconds=0.0,
            clock=lambda: time.time() + self._ahead_seconds,
        )

    def record(self, number: int) -> None:
        """One report."""
        outcome = self._client.record(f"event_{number}", True)
        if outcome != "recorded":
            raise RuntimeError(f"recording answered {outcome}")

    def close(self) -> None:
        """Ends."""
        self._client.close()

    def again(self, metric: str = "theme") -> None:
        """One report of a metric that has reported before, dated to the next day."""
        self._ahead_seconds += _DAY_SECONDS
        outcome = self._client.record(metric, "dark")
        # Two threads share the clock, so one may find that the other has reported that day.
        if outcome not in {"recorded", "already_reported"}:
            raise RuntimeError(f"recording answered {outcome}")


class DeniableJob(Deniable):
    """docs/client/recipes.md, a job worker: `flush` for half a second at most, then `close`."""

    def close(self) -> None:
        """Sends what can be sent, and ends."""
        self._client.flush(timeout_seconds=_FLUSH_SECONDS)
        super().close()


ADAPTERS: dict[str, type[Any]] = {
    "deniable": Deniable,
    "deniable-flush": DeniableJob,
    "posthog": Posthog,
    "sentry-sdk": Sentry,
    "opentelemetry-sdk": OpenTelemetry,
    "segment-analytics-python": Segment,
    "glean-sdk": Glean,
}
