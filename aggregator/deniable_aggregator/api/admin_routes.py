"""What administrators do over HTTP: registering a registry file, and looking after keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from deniable_aggregator.dates import parse_day
from deniable_aggregator.http.authorization import require_admin
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.security.key_administration import (
    DEFAULT_OVERLAP_DAYS,
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
    key_as_json,
)
from deniable_shared import registry
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.security.keys import IssuedKey
    from deniable_aggregator.store import Store, StoredKey

MAX_REGISTRY_BYTES: Final = 1 << 20
MAX_REQUEST_BYTES: Final = 16 << 10
ACTIONS: Final = ("revoke", "exclude", "include")

_TYPES: Final = {"scope": str, "label": str, "expires": str, "overlap_days": int}
"""What JSON types the fields of requests about keys have."""

Answer = tuple[dict[str, Any], int, dict[str, str]]


class AdminApi:
    """Answers administrators, each for the application of their key.

    Args:
        store: the store.
        catalogue: the registered metrics.
        verifier: verifies tokens.
        clock: seconds since 1970; only its day is used.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        verifier: KeyVerifier,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._verifier = verifier
        self._clock = clock

    def register(self) -> dict[str, Any]:
        """``POST /v1/metrics``."""
        key = require_admin(self._verifier)
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
        specs = self._catalogue.register(parsed.metrics.values(), self._today(), key.id)
        new = {spec.digest for spec in specs}
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

    def keys(self) -> dict[str, Any]:
        """``GET /v1/keys``."""
        application, custodian = self._custodian()
        keys = [self._described(key) for key in custodian.all()]
        return {"application": application, "keys": keys}

    def create(self) -> Answer:
        """``POST /v1/keys``."""
        application, custodian = self._custodian()
        fields = _fields("scope", "label", "expires")
        if "scope" not in fields:
            raise ProblemError("malformed_request", "scope must be given: write, read or admin.")
        expires = _expires(fields)
        try:
            issued = custodian.create(
                scope=fields["scope"],
                application=application,
                label=fields.get("label", ""),
                expires=expires,
            )
        except ParameterError as error:
            raise _malformed(error) from None
        return self._issued(issued)

    def rotate(self, key_id: str) -> Answer:
        """``POST /v1/keys/ID/rotate``."""
        _, custodian = self._custodian()
        fields = _fields("overlap_days", "expires")
        overlap_days = fields.get("overlap_days", DEFAULT_OVERLAP_DAYS)
        expires = _expires(fields)
        try:
            rotated = custodian.rotate(key_id, overlap_days=overlap_days, expires=expires)
        except ParameterError as error:
            raise _malformed(error) from None
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return self._issued(rotated.issued, old=self._described(rotated.old))

    def change_key(self, key_id: str, action: str) -> dict[str, Any]:
        """``POST /v1/keys/ID/revoke``, ``exclude`` or ``include``."""
        _, custodian = self._custodian()
        _fields()
        acts = {
            "revoke": custodian.revoke,
            "exclude": custodian.exclude,
            "include": custodian.include,
        }
        try:
            key = acts[action](key_id)
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return {"key": self._described(key)}

    def _custodian(self) -> tuple[str, KeyAdministrator]:
        key = require_admin(self._verifier)
        custodian = KeyAdministrator(
            self._store, actor=key.id, today=self._today(), application=key.application
        )
        return key.application, custodian

    def _issued(self, issued: IssuedKey, **more: Any) -> Answer:
        answer = {"key": self._described(issued.key), "token": issued.token, **more}
        return answer, 201, {"Cache-Control": "no-store"}  # nobody keeps a token by accident

    def _described(self, key: StoredKey) -> dict[str, Any]:
        return key_as_json(key, self._today())

    def _today(self) -> int:
        return epoch_at(self._clock())


def blueprint(
    store: Store, catalogue: MetricCatalog, verifier: KeyVerifier, clock: Callable[[], float]
) -> Blueprint:
    """The routes."""
    routes = Blueprint("administration", __name__)
    administration = AdminApi(store, catalogue, verifier, clock)
    post = {"methods": ["POST"]}
    routes.add_url_rule("/v1/metrics", view_func=administration.register, **post)
    routes.add_url_rule("/v1/keys", view_func=administration.keys)
    routes.add_url_rule("/v1/keys", view_func=administration.create, **post)
    routes.add_url_rule("/v1/keys/<key_id>/rotate", view_func=administration.rotate, **post)
    path = f"/v1/keys/<key_id>/<any({', '.join(ACTIONS)}):action>"
    routes.add_url_rule(path, view_func=administration.change_key, **post)
    return routes


def _fields(*names: str) -> dict[str, Any]:
    """The fields of a request's body, which may be left out, each checked to be of its type.

    Raises:
        ProblemError: ``malformed_request`` or ``upload_too_large``.
    """
    request.max_content_length = MAX_REQUEST_BYTES
    if not request.content_length and not request.headers.get("Transfer-Encoding"):
        return {}
    wanted = f"Send a JSON object with no other fields than {', '.join(names) or 'none'}."
    try:
        body = request.get_json(cache=False)
    except RequestEntityTooLarge:
        raise ProblemError("upload_too_large", "Send less in one request.") from None
    except (HTTPException, RecursionError):
        raise ProblemError("malformed_request", wanted) from None
    if not isinstance(body, dict) or not body.keys() <= set(names):
        raise ProblemError("malformed_request", wanted)
    found = {name: value for name, value in body.items() if value is not None}
    for name, value in found.items():
        if type(value) is not _TYPES[name]:
            kind = "an integer" if _TYPES[name] is int else "text"
            raise ProblemError("malformed_request", f"{name} must be {kind}.")
    return found


def _expires(fields: dict[str, Any]) -> int | None:
    if "expires" not in fields:
        return None
    try:
        return parse_day(fields["expires"])
    except ValueError:
        raise ProblemError(
            "malformed_request", "expires must be a date such as 2026-01-31."
        ) from None


def _malformed(error: ParameterError) -> ProblemError:
    return ProblemError("malformed_request", f"{error}.")


def _refused(error: NoSuchKeyError | KeyStateError) -> ProblemError:
    code = "no_such_key" if isinstance(error, NoSuchKeyError) else "key_refused"
    return ProblemError(code, f"{error}.")
