"""What administrators do over HTTP: registering a registry file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, request

from deniable_aggregator.access import administrator
from deniable_aggregator.problems import ProblemError
from deniable_shared import registry
from deniable_shared.errors import RegistryError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.catalogue import Catalogue
    from deniable_aggregator.keys import Keyring

MAX_REGISTRY_BYTES: Final = 1 << 20


def blueprint(catalogue: Catalogue, keyring: Keyring, clock: Callable[[], float]) -> Blueprint:
    """The route."""
    routes = Blueprint("administration", __name__)

    def register() -> dict[str, Any]:
        key = administrator(keyring)
        request.max_content_length = MAX_REGISTRY_BYTES
        try:
            parsed = registry.parse(request.get_data(cache=False).decode())
        except UnicodeDecodeError:
            raise ProblemError("registry_refused", "A registry is TOML text in UTF-8.") from None
        except RegistryError as error:
            raise ProblemError(
                "registry_refused",
                "Correct what problems lists; deniable metrics check FILE says the same.",
                problems=list(error.problems),
            ) from None
        if parsed.application != key.application:
            raise ProblemError(
                "wrong_scope",
                f"This key is for {key.application}, the registry for {parsed.application}.",
            )
        new = {
            spec.digest for spec in catalogue.register(parsed.metrics.values(), epoch_at(clock()))
        }
        return {
            "application": parsed.application,
            "metrics": [
                {
                    "name": name,
                    "digest": metric.spec.digest.hex(),
                    "new": metric.spec.digest in new,
                }
                for name, metric in parsed.metrics.items()
            ],
        }

    routes.add_url_rule("/v1/metrics", view_func=register, methods=["POST"])
    return routes
