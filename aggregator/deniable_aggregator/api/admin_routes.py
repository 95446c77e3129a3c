"""Routes for administrators: registering a registry file, removing metrics, and managing keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from flask import Blueprint, request
from msgspec import UNSET, Struct

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    CreatedKey,
    CreateKey,
    Key,
    Keys,
    NoFields,
    OneKey,
    RemovedMetric,
    RotateKey,
)
from deniable_aggregator.answers.words import KEY_ACTIONS
from deniable_aggregator.api.metric_reader import unknown_metric
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.catalog import registered
from deniable_aggregator.dates import epoch_of
from deniable_aggregator.http.authorization import require_admin
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.security.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
    public_key,
)
from deniable_shared import registry
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Response

    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.security.key_verifier import KeyVerifier
    from deniable_aggregator.security.keys import IssuedKey
    from deniable_aggregator.store import Store, StoredKey

MAX_REGISTRY_BYTES: Final = 4 << 20
MAX_REQUEST_BYTES: Final = 16 << 10

Body = TypeVar("Body", bound=Struct)


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

    def register(self) -> Response:
        """``POST /v1/metrics``."""
        key = require_admin(self._verifier)
        request.max_content_length = MAX_REGISTRY_BYTES
        try:
            parsed = registry.parse(request.get_data(cache=False).decode())
        except UnicodeDecodeError:
            raise ProblemError("registry_refused", "A registry is TOML text in UTF-8.") from None
        except RegistryError as error:
            raise _registry_refused(
                error, "Correct what problems lists; deniable metrics check FILE says the same."
            ) from None
        if parsed.application != key.application:
            raise ProblemError(
                "wrong_scope",
                f"This key is for {key.application}, the registry for {parsed.application}.",
            )
        try:
            new = self._catalogue.register(parsed.metrics.values(), self._today(), key.id)
        except RegistryError as error:
            raise _registry_refused(error, "Nothing was registered.") from None
        return json_response(registered(parsed, new))

    def remove(self, name: str) -> Response:
        """``DELETE /v1/metrics/NAME``."""
        key = require_admin(self._verifier)
        removal = self._catalogue.remove(key.application, name, self._today(), key.id)
        if removal is None:
            raise unknown_metric(name, key.application, self._catalogue.names(key.application))
        versions = [digest.hex() for digest in removal.digests]
        return json_response(RemovedMetric(key.application, name, versions, removal.reports))

    def keys(self) -> Response:
        """``GET /v1/keys``."""
        application, keys = self._administrator()
        return json_response(Keys(application, [self._public(key) for key in keys.all()]))

    def create(self) -> Response:
        """``POST /v1/keys``."""
        application, keys = self._administrator()
        body = _read(CreateKey)
        try:
            issued = keys.create(
                scope=body.scope,
                application=application,
                label=body.label or "",
                expires=None if body.expires is None else epoch_of(body.expires),
            )
        except ParameterError as error:
            raise _malformed(error) from None
        return self._created(issued)

    def rotate(self, key_id: str) -> Response:
        """``POST /v1/keys/ID/rotate``."""
        _, keys = self._administrator()
        body = _read(RotateKey) if _has_body() else RotateKey()
        days = body.overlap_days
        try:
            rotated = keys.rotate(
                key_id,
                overlap_days=DEFAULT_OVERLAP_DAYS if days is None else days,
                expires=None if body.expires is None else epoch_of(body.expires),
            )
        except ParameterError as error:
            raise _malformed(error) from None
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return self._created(rotated.issued, rotated.old)

    def change_key(self, key_id: str, action: str) -> Response:
        """``POST /v1/keys/ID/revoke``, ``exclude`` or ``include``."""
        _, keys = self._administrator()
        if _has_body():
            _read(NoFields)
        actions = {"revoke": keys.revoke, "exclude": keys.exclude, "include": keys.include}
        try:
            key = actions[action](key_id)
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return json_response(OneKey(self._public(key)))

    def _administrator(self) -> tuple[str, KeyAdministrator]:
        key = require_admin(self._verifier)
        keys = KeyAdministrator(
            self._store, actor=key.id, today=self._today(), application=key.application
        )
        return key.application, keys

    def _created(self, issued: IssuedKey, old: StoredKey | None = None) -> Response:
        key = self._public(issued.key)
        answer = CreatedKey(key, issued.token, UNSET if old is None else self._public(old))
        # No cache may keep a token.
        return json_response(answer, status=201, headers={"Cache-Control": "no-store"})

    def _public(self, key: StoredKey) -> Key:
        return public_key(key, self._today())

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
    routes.add_url_rule("/v1/metrics/<name>", view_func=administration.remove, methods=["DELETE"])
    routes.add_url_rule("/v1/keys", view_func=administration.keys)
    routes.add_url_rule("/v1/keys", view_func=administration.create, **post)
    routes.add_url_rule("/v1/keys/<key_id>/rotate", view_func=administration.rotate, **post)
    path = f"/v1/keys/<key_id>/<any({', '.join(KEY_ACTIONS)}):action>"
    routes.add_url_rule(path, view_func=administration.change_key, **post)
    return routes


def _has_body() -> bool:
    return bool(request.content_length or request.headers.get("Transfer-Encoding"))


def _read(kind: type[Body]) -> Body:
    """The body of a request, which is a JSON object.

    Raises:
        ProblemError: ``malformed_request`` or ``upload_too_large``.
    """
    names = ", ".join(kind.__struct_fields__) or "none"
    wanted = f"Send a JSON object with no other fields than {names}."
    return read_body(kind, wanted, MAX_REQUEST_BYTES, code="malformed_request")


def _registry_refused(error: RegistryError, detail: str) -> ProblemError:
    return ProblemError("registry_refused", detail, problems=list(error.problems))


def _malformed(error: ParameterError) -> ProblemError:
    return ProblemError("malformed_request", f"{error}.")


def _refused(error: NoSuchKeyError | KeyStateError) -> ProblemError:
    code = "no_such_key" if isinstance(error, NoSuchKeyError) else "key_refused"
    return ProblemError(code, f"{error}.")
